/*
 * lib/base/names.c - which number a name has
 *
 * Open addressing with linear probing, at most three quarters full. A slot keeps the whole hash:
 * growing never reads a name again, and a probe reads one only when all 64 bits agree. XXH3 runs
 * over a secret of random bytes drawn once per process.
 */
#include "lib/base/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FIRST_SLOTS 64

struct slot {
	uint64_t hash;
	const char *data;
	size_t size;
	uint32_t value;
	bool taken;
};

struct names {
	struct slot *slots;
	size_t n_slots; /* a power of two */
	size_t count;
};

static unsigned char secret[192];
static int secret_errno;
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

static void draw_secret(void)
{
	size_t have = 0;

	while (have < sizeof(secret)) {
		ssize_t n = getrandom(secret + have, sizeof(secret) - have, 0);

		if (n < 0 && errno != EINTR) {
			secret_errno = errno;
			return;
		}
		have += n > 0 ? (size_t)n : 0;
	}
}

static uint64_t hash_of(struct bytes name)
{
	return XXH3_64bits_withSecret(name.data, name.size, secret, sizeof(secret));
}

int names_new(struct names **out)
{
	struct names *n;

	pthread_once(&secret_once, draw_secret);
	if (secret_errno) {
		errno = secret_errno;
		return err_system("random bytes for a table of names");
	}
	n = mem_new(1, sizeof(*n));
	if (!n)
		return -1;
	n->n_slots = FIRST_SLOTS;
	n->slots = mem_new(n->n_slots, sizeof(*n->slots));
	if (!n->slots) {
		free(n);
		return -1;
	}
	*out = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	free(n->slots);
	free(n);
}

void names_clear(struct names *n)
{
	memset(n->slots, 0, n->n_slots * sizeof(*n->slots));
	n->count = 0;
}

/* The slot that holds NAME, or the free one where it belongs. */
static struct slot *find_slot(const struct names *n, struct bytes name, uint64_t hash)
{
	size_t mask = n->n_slots - 1, i = (size_t)hash & mask;

	while (n->slots[i].taken) {
		struct slot *s = &n->slots[i];

		if (s->hash == hash && bytes_equal((struct bytes){ s->data, s->size }, name))
			return s;
		i = (i + 1) & mask;
	}
	return &n->slots[i];
}

/* Moves every name into a table of N_SLOTS, more than now. All differ, so none is compared. */
static int grow(struct names *n, size_t n_slots)
{
	size_t mask = n_slots - 1;
	struct slot *slots = mem_table(n_slots, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t from = 0; from < n->n_slots; from++) {
		size_t to = (size_t)n->slots[from].hash & mask;

		if (!n->slots[from].taken)
			continue;
		while (slots[to].taken)
			to = (to + 1) & mask;
		slots[to] = n->slots[from];
	}
	free(n->slots);
	n->slots = slots;
	n->n_slots = n_slots;
	return 0;
}

int names_reserve(struct names *n, size_t count)
{
	size_t n_slots = n->n_slots;

	while (count > n_slots / 4 * 3) {
		if (n_slots > SIZE_MAX / 2)
			return err_set(ERR_MEMORY, "out of memory: %zu names refused", count);
		n_slots *= 2;
	}
	return n_slots == n->n_slots ? 0 : grow(n, n_slots);
}

int names_add(struct names *n, struct bytes name, uint32_t value, uint32_t *old)
{
	uint64_t hash = hash_of(name);
	struct slot *s = find_slot(n, name, hash);

	if (s->taken) {
		if (old)
			*old = s->value;
		return 0;
	}
	if (n->count >= n->n_slots / 4 * 3) {
		if (grow(n, n->n_slots * 2))
			return -1;
		s = find_slot(n, name, hash);
	}
	*s = (struct slot){ hash, name.data, name.size, value, true };
	n->count++;
	return 1;
}

bool names_find(const struct names *n, struct bytes name, uint32_t *value)
{
	const struct slot *s = find_slot(n, name, hash_of(name));

	if (s->taken && value)
		*value = s->value;
	return s->taken;
}

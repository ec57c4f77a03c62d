/*
 * lib/base/names.c - which number a name has
 *
 * Names lie in the order in which they came; a table of 8 bytes a slot, with linear probing, at most three quarters full, says where. A slot
 * keeps 32 bits of the hash: growing never reads a name again, and a probe reads one only when all of them agree. XXH3 runs over a secret of random
 * bytes drawn once per process.
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

#define FREE UINT32_MAX

struct slot {
	uint32_t hash;
	uint32_t at; /* in entries, or FREE */
};

struct entry {
	struct bytes name;
	uint32_t value;
};

struct names {
	struct slot *slots;
	size_t n_slots; /* a power of two */
	struct entry *entries;
	size_t count, capacity;
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

static uint32_t hash_of(struct bytes name)
{
	return (uint32_t)XXH3_64bits_withSecret(name.data, name.size, secret, sizeof(secret));
}

static struct slot *free_slots(size_t n)
{
	struct slot *slots = mem_table(n, sizeof(*slots));

	if (slots)
		memset(slots, 0xFF, n * sizeof(*slots));
	return slots;
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
	n->slots = free_slots(n->n_slots);
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
	free(n->entries);
	free(n);
}

void names_clear(struct names *n)
{
	memset(n->slots, 0xFF, n->n_slots * sizeof(*n->slots));
	n->count = 0;
}

/* The slot that holds NAME, or the free one where it belongs. */
static struct slot *find_slot(const struct names *n, struct bytes name, uint32_t hash)
{
	size_t mask = n->n_slots - 1, i = hash & mask;

	while (n->slots[i].at != FREE) {
		struct slot *s = &n->slots[i];

		if (s->hash == hash && bytes_equal(n->entries[s->at].name, name))
			return s;
		i = (i + 1) & mask;
	}
	return &n->slots[i];
}

/* Moves every slot into a table of N_SLOTS, more than now. All names differ, so none is compared. */
static int grow(struct names *n, size_t n_slots)
{
	size_t mask = n_slots - 1;
	struct slot *slots = free_slots(n_slots);

	if (!slots)
		return -1;
	for (size_t from = 0; from < n->n_slots; from++) {
		size_t to = n->slots[from].hash & mask;

		if (n->slots[from].at == FREE)
			continue;
		while (slots[to].at != FREE)
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

	if (count >= FREE)
		return err_set(ERR_MEMORY, "out of memory: %zu names refused", count);
	while (count > n_slots / 4 * 3)
		n_slots *= 2;
	if (mem_grow(&n->entries, &n->capacity, count, sizeof(*n->entries)) < 0)
		return -1;
	return n_slots == n->n_slots ? 0 : grow(n, n_slots);
}

int names_add(struct names *n, struct bytes name, uint32_t value, uint32_t *old)
{
	const uint32_t hash = hash_of(name);
	struct slot *s = find_slot(n, name, hash);

	if (s->at != FREE) {
		if (old)
			*old = n->entries[s->at].value;
		return 0;
	}
	if (n->count == n->capacity || n->count >= n->n_slots / 4 * 3) {
		if (names_reserve(n, n->count + 1) < 0)
			return -1;
		s = find_slot(n, name, hash);
	}
	*s = (struct slot){ hash, (uint32_t)n->count };
	n->entries[n->count++] = (struct entry){ name, value };
	return 1;
}

bool names_find(const struct names *n, struct bytes name, uint32_t *value)
{
	const struct slot *s = find_slot(n, name, hash_of(name));

	if (s->at == FREE)
		return false;
	if (value)
		*value = n->entries[s->at].value;
	return true;
}

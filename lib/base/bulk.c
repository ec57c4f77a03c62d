/*
 * lib/base/bulk.c - many bytes to a file: past the page cache, hashed on the way, written while more are made
 *
 * The maker fills and hashes one room while a thread writes another: the disk never waits for more than a hand-over. Rooms begin at pages and are whole blocks; only the last one need
 * not be, and goes through the cache.
 */
#define _GNU_SOURCE
#include "lib/base/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define PAGE	  4096
#define ROOM_SIZE ((size_t)8 << 20)
#define ROOMS	  3
#define PIECE	  ((size_t)128 << 10) /* copied and hashed while it is in the cache */
#define STACK	  ((size_t)128 << 10) /* of the thread, which only writes */

/* The rooms of the last one that ended, for the next: fresh pages are dear, and a checkpoint every now and then would ask for them anew. */
static _Atomic(unsigned char *) spare;

struct bulk {
	int fd;
	const char *name;
	struct hasher *hasher;
	unsigned char *rooms; /* ROOMS of them */
	size_t sizes[ROOMS];
	size_t filled; /* of room TAKEN, which is the maker's */
	pthread_t thread;
	bool has_thread, stop;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t taken, written; /* rooms */
	int failed;		 /* errno of the first failure: nothing is written any more */
};

/* --- writing --- */

/* Past the cache or not; a file system that cannot stays as it is. */
static void set_direct(int fd, bool on)
{
#ifdef O_DIRECT
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && !(flags & O_DIRECT) == on)
		fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
#endif
}

/* What is left after a write of a part need not be a block, and some file systems take the flag but no such write. */
static int write_all(int fd, const unsigned char *p, size_t n)
{
	bool direct = n % PAGE == 0;

	set_direct(fd, direct);
	while (n) {
		ssize_t got = write(fd, p, n);

		if (got < 0 && errno == EINVAL && direct) {
			set_direct(fd, direct = false);
			continue;
		}
		if (got < 0 && errno != EINTR)
			return errno;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

static int write_room(struct bulk *b, size_t i)
{
	return write_all(b->fd, b->rooms + i * ROOM_SIZE, b->sizes[i]);
}

/* The next room to write; -1 when no more will come. Called with the lock held. */
static int next_room(struct bulk *b)
{
	while (b->taken == b->written && !b->stop)
		pthread_cond_wait(&b->changed, &b->lock);
	return b->taken == b->written ? -1 : (int)(b->written % ROOMS);
}

static void *run(void *arg)
{
	struct bulk *b = arg;
	int room;

	pthread_mutex_lock(&b->lock);
	while ((room = next_room(b)) >= 0) {
		int failed = b->failed;

		pthread_mutex_unlock(&b->lock);
		if (!failed)
			failed = write_room(b, (size_t)room);
		pthread_mutex_lock(&b->lock);
		b->failed = failed;
		b->written++;
		pthread_cond_signal(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* --- making --- */

static void begin_thread(struct bulk *b)
{
	pthread_attr_t attributes;

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	b->has_thread = pthread_create(&b->thread, &attributes, run, b) == 0;
	pthread_attr_destroy(&attributes);
}

static unsigned char *take_rooms(void)
{
	unsigned char *rooms = atomic_exchange(&spare, NULL);

	return rooms ? rooms : mem_pages(ROOMS * ROOM_SIZE);
}

static void give_rooms(unsigned char *rooms)
{
	free(atomic_exchange(&spare, rooms));
}

int bulk_new(struct bulk **out, int fd, const char *name)
{
	struct bulk *b = mem_new(1, sizeof(*b));

	*out = b;
	if (!b)
		return -1;
	b->fd = fd;
	b->name = name;
	begin_thread(b);
	b->rooms = take_rooms();
	if (b->rooms && hasher_new(&b->hasher) == 0)
		return 0;
	bulk_free(b);
	*out = NULL;
	return -1;
}

void bulk_free(struct bulk *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (b->has_thread)
		pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	hasher_free(b->hasher);
	if (b->rooms)
		give_rooms(b->rooms);
	free(b);
}

/* --- giving --- */

static int fail(const struct bulk *b, int failed)
{
	if (!failed)
		return 0;
	errno = failed;
	err_system("%s", b->name);
	errno = failed;
	return -1;
}

/* Until at most LEFT rooms are not written. */
static int wait_for(struct bulk *b, uint64_t left)
{
	int failed;

	pthread_mutex_lock(&b->lock);
	while (b->taken - b->written > left)
		pthread_cond_wait(&b->changed, &b->lock);
	failed = b->failed;
	pthread_mutex_unlock(&b->lock);
	return fail(b, failed);
}

/* Hands over what is filled; where no thread could be had, the maker writes. */
static int hand_over(struct bulk *b)
{
	size_t room = b->taken % ROOMS;

	b->sizes[room] = b->filled;
	b->filled = 0;
	if (!b->has_thread) {
		b->failed = b->failed ? b->failed : write_room(b, room);
		return fail(b, b->failed);
	}
	pthread_mutex_lock(&b->lock);
	b->taken++;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	return wait_for(b, ROOMS - 1);
}

int bulk_put(struct bulk *b, const void *data, size_t n)
{
	const unsigned char *from = data;

	while (n) {
		size_t room = ROOM_SIZE - b->filled, part = n < room ? n : room;

		if (part > PIECE)
			part = PIECE;
		memcpy(b->rooms + b->taken % ROOMS * ROOM_SIZE + b->filled, from, part);
		hasher_add(b->hasher, from, part);
		b->filled += part;
		from += part;
		n -= part;
		if (b->filled == ROOM_SIZE && hand_over(b) < 0)
			return -1;
	}
	return 0;
}

int bulk_end(struct bulk *b, struct hash128 *hash)
{
	if ((b->filled && hand_over(b) < 0) || wait_for(b, 0) < 0)
		return -1;
	set_direct(b->fd, false);
	*hash = hasher_value(b->hasher);
	return 0;
}

/*
 * lib/data/documents_ahead.c - an input that another thread reads, some blocks ahead
 *
 * Unpacking and what is done with the result then take the time of the slower of the two. Only for inputs
 * over regular files: a read from a pipe may take for ever, and closing waits for the thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define N_BLOCKS 8
#define BLOCK	 ((size_t)1 << 17)
/* Blocks that a thread which waits is woken for: a waking takes about as long as a block. */
#define MANY (N_BLOCKS / 2)

struct block {
	size_t size, at;
	char data[BLOCK];
};

struct ahead {
	struct input *from;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t filled, taken; /* blocks; at most N_BLOCKS between them */
	bool ended, stop;
	enum err_code failed; /* of FROM, met after the blocks that are filled */
	char error[ERR_TEXT_MAX + 1];
	struct block blocks[N_BLOCKS];
};

/* --- the thread --- */

/* As much as a block holds: the block's size is 0 at the end. */
static int fill(struct ahead *a, struct block *b)
{
	size_t got = 1;

	b->at = b->size = 0;
	while (got && b->size < BLOCK) {
		if (input_read(a->from, b->data + b->size, BLOCK - b->size, &got))
			return -1;
		b->size += got;
	}
	return 0;
}

/* A block that is free; NULL when the reader wants no more. */
static struct block *wait_free(struct ahead *a)
{
	bool stop;

	pthread_mutex_lock(&a->lock);
	if (a->filled - a->taken == N_BLOCKS)
		while (!a->stop && a->filled - a->taken > N_BLOCKS - MANY)
			pthread_cond_wait(&a->changed, &a->lock);
	stop = a->stop;
	pthread_mutex_unlock(&a->lock);
	return stop ? NULL : &a->blocks[a->filled % N_BLOCKS];
}

static void *run(void *arg)
{
	struct ahead *a = arg;
	struct block *b;
	bool ended = false;

	while (!ended && (b = wait_free(a))) {
		int result = fill(a, b);

		pthread_mutex_lock(&a->lock);
		if (result) {
			a->failed = err_last();
			snprintf(a->error, sizeof a->error, "%s", err_text());
		}
		a->filled += b->size > 0;
		a->ended = ended = result || b->size < BLOCK;
		if (ended || a->filled - a->taken == MANY)
			pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* --- the reader --- */

/* A block that is filled; NULL at the end or the error. */
static struct block *wait_filled(struct ahead *a)
{
	struct block *b = NULL;

	pthread_mutex_lock(&a->lock);
	if (a->filled == a->taken)
		while (!a->ended && a->filled - a->taken < MANY)
			pthread_cond_wait(&a->changed, &a->lock);
	if (a->filled > a->taken)
		b = &a->blocks[a->taken % N_BLOCKS];
	pthread_mutex_unlock(&a->lock);
	return b;
}

static void give_back(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->taken++;
	if (a->filled - a->taken == N_BLOCKS - MANY)
		pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static int read_ahead(void *state, void *data, size_t n, size_t *got)
{
	struct ahead *a = state;
	struct block *b = wait_filled(a);

	*got = 0;
	if (!b)
		return a->failed ? err_set(a->failed, "%s", a->error) : 0;
	*got = n < b->size - b->at ? n : b->size - b->at;
	memcpy(data, b->data + b->at, *got);
	b->at += *got;
	if (b->at == b->size)
		give_back(a);
	return 0;
}

static void destroy(struct ahead *a)
{
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	input_close(a->from);
	free(a);
}

static void close_ahead(void *state)
{
	struct ahead *a = state;

	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	destroy(a);
}

int input_ahead(struct input **in)
{
	struct ahead *a = mem_new(1, sizeof *a);
	struct input *from = *in;

	if (!a)
		return -1;
	a->from = from;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (pthread_create(&a->thread, NULL, run, a)) {
		a->from = NULL;
		destroy(a);
		return 0;
	}
	*in = NULL;
	if (input_new(in, from->name, read_ahead, close_ahead, a))
		return -1;
	(*in)->unpacked = from->unpacked;
	return 0;
}

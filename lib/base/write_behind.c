/* lib/base/write_behind.c - bytes that another thread writes while more are made */
#include "lib/base/write_behind.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define N_BUFFERS 3
#define STACK	  ((size_t)128 << 10) /* of the thread, which only writes */

struct write_behind {
	int fd;
	const char *name;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t taken, written; /* buffers; at most N_BUFFERS between them */
	bool stop;
	int failed; /* errno: nothing is written any more */
	struct buffer buffers[N_BUFFERS];
};

/* 0, or errno. */
static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t got = write(fd, p, n);

		if (got < 0 && errno != EINTR)
			return errno;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

/* The next one to write; NULL when no more will come. Called with the lock held. */
static struct buffer *next_buffer(struct write_behind *w)
{
	while (w->taken == w->written && !w->stop)
		pthread_cond_wait(&w->changed, &w->lock);
	return w->taken == w->written ? NULL : &w->buffers[w->written % N_BUFFERS];
}

static void *run(void *arg)
{
	struct write_behind *w = arg;
	struct buffer *b;

	pthread_mutex_lock(&w->lock);
	while ((b = next_buffer(w))) {
		int failed = w->failed;

		pthread_mutex_unlock(&w->lock);
		if (!failed)
			failed = write_all(w->fd, b->data, b->size);
		pthread_mutex_lock(&w->lock);
		w->failed = failed;
		w->written++;
		pthread_cond_signal(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int write_behind_new(struct write_behind **out, int fd, const char *name)
{
	struct write_behind *w = mem_new(1, sizeof(*w));
	pthread_attr_t attributes;

	*out = w;
	if (!w)
		return -1;
	w->fd = fd;
	w->name = name;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	w->has_thread = pthread_create(&w->thread, &attributes, run, w) == 0;
	pthread_attr_destroy(&attributes);
	return 0;
}

void write_behind_free(struct write_behind *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	for (size_t i = 0; i < N_BUFFERS; i++)
		buffer_free(&w->buffers[i]);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Until at most so many buffers are not written. */
static int wait_for(struct write_behind *w, uint64_t left)
{
	int failed;

	pthread_mutex_lock(&w->lock);
	while (w->taken - w->written > left)
		pthread_cond_wait(&w->changed, &w->lock);
	failed = w->failed;
	pthread_mutex_unlock(&w->lock);
	if (!failed)
		return 0;
	errno = failed;
	return err_system("%s", w->name);
}

static int write_here(struct write_behind *w, struct buffer *b)
{
	if (!w->failed)
		w->failed = write_all(w->fd, b->data, b->size);
	buffer_clear(b);
	return wait_for(w, 0);
}

int write_behind_put(struct write_behind *w, struct buffer *b)
{
	struct buffer *place, old;

	if (buffer_check(b) < 0)
		return -1;
	if (!w->has_thread)
		return write_here(w, b);
	if (wait_for(w, N_BUFFERS - 1) < 0)
		return -1;
	/* TAKEN is changed by this thread alone, and the place is free. */
	place = &w->buffers[w->taken % N_BUFFERS];
	old = *place;
	*place = *b;
	*b = old;
	buffer_clear(b);
	pthread_mutex_lock(&w->lock);
	w->taken++;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

int write_behind_wait(struct write_behind *w)
{
	return wait_for(w, 0);
}

/* lib/data/batch.c - records encoded by a team, in order */

#include "lib/data/batch.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define DEFAULT_BYTES ((size_t)256 << 10)

/* Heaps for each thread: while one thread is at a long record, the others go on by so many. */
#define HEAPS 4

/* No more is read while so many bytes are held: then long records wait for each other, and memory goes by one of them. */
#define HELD_MAX ((size_t)8 << 20)

/* What one record may keep for the next one in its place. */
#define KEEP_TOKENS ((size_t)1 << 16)

/* An error of any thread, to be told later. */
struct failure {
	bool failed;
	enum err_code code;
	char *text; /* owned; NULL: there was no memory for it */
};

struct slot {
	size_t at, size; /* in the heap's bytes */
	struct record_place place;
	struct encoded_record result;
	struct failure failure;
};

/* Records that one thread encodes. */
struct heap {
	struct buffer bytes;
	struct slot *slots;
	size_t n, capacity;
	bool encoded;
};

/*
 * Heaps are counted from 0; number i is heaps[i % n_heaps], written <= taken <= filled <= written + n_heaps. What stands
 * under the counts is changed with the lock held, a heap by the one thread whose it is at that time.
 */
struct batch {
	struct team *team;
	struct record_encoder **encoders; /* one a thread */
	int n_encoders;
	size_t full; /* bytes of a heap */
	struct heap *heaps;
	size_t n_heaps;
	const struct batch_io *io;
	uint64_t n_documents;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t filled, taken, written;
	size_t held;		     /* bytes of records in heaps that are filled */
	bool is_reading, is_writing; /* some thread is */
	bool ended;		     /* the last record was read */
	bool stopped;		     /* a record failed, or writing did: no more is done */
	struct failure encoding, reading, writing;
};

static int make_heaps(struct batch *b)
{
	b->n_heaps = HEAPS * (size_t)team_size(b->team);
	b->heaps = mem_new(b->n_heaps, sizeof(*b->heaps));
	b->encoders = mem_new((size_t)team_size(b->team), sizeof(struct record_encoder *));
	return b->heaps && b->encoders ? 0 : -1;
}

int batch_new(struct batch **out, const struct tokenizer *t, struct team *team,
	      const struct record_options *o, size_t bytes)
{
	struct batch *b = mem_new(1, sizeof(*b));
	int got;

	*out = NULL;
	if (!b)
		return -1;
	b->team = team;
	b->full = bytes ? bytes : DEFAULT_BYTES;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	got = make_heaps(b);
	while (got == 0 && b->n_encoders < team_size(team)) {
		got = record_encoder_new(&b->encoders[b->n_encoders], t, o);
		b->n_encoders += got == 0;
	}
	if (got < 0) {
		batch_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

static void free_heap(struct heap *h)
{
	for (size_t i = 0; i < h->capacity; i++) {
		encoded_record_free(&h->slots[i].result);
		free(h->slots[i].failure.text);
	}
	free(h->slots);
	buffer_free(&h->bytes);
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_encoders; i++)
		record_encoder_free(b->encoders[i]);
	free(b->encoders);
	for (size_t i = 0; b->heaps && i < b->n_heaps; i++)
		free_heap(&b->heaps[i]);
	free(b->heaps);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b->encoding.text);
	free(b->reading.text);
	free(b->writing.text);
	free(b);
}

static void clear_failure(struct failure *f)
{
	free(f->text);
	*f = (struct failure){ 0 };
}

/* The thread's present error. */
static void keep_failure(struct failure *f)
{
	clear_failure(f);
	f->failed = true;
	f->code = err_last();
	f->text = mem_copy(err_text(), strlen(err_text()));
}

static int tell(const struct failure *f)
{
	return err_set(f->code, "%s", f->text ? f->text : "out of memory");
}

/* --- reading and writing --- */

static int add(struct batch *b, struct heap *h, struct bytes record,
	       const struct record_place *place)
{
	size_t before = h->capacity;
	struct slot *s;

	if (mem_grow(&h->slots, &h->capacity, h->n + 1, sizeof(*h->slots)) < 0)
		return -1;
	memset(h->slots + before, 0, (h->capacity - before) * sizeof(*h->slots));
	s = &h->slots[h->n];
	s->at = h->bytes.size;
	s->size = record.size;
	s->place = *place;
	s->place.document = b->n_documents;
	buffer_put(&h->bytes, record.data, record.size);
	if (buffer_check(&h->bytes) < 0)
		return -1;
	b->n_documents++;
	h->n++;
	return 0;
}

/* Until H is full, the records end, or reading fails; true when they did. */
static bool fill(struct batch *b, struct heap *h)
{
	int got = 1;

	while (got > 0 && h->bytes.size < b->full) {
		struct record_place place = { .name = "" };
		struct bytes record;

		got = b->io->read(b->io->arg, &record, &place);
		if (got > 0)
			got = add(b, h, record, &place) < 0 ? -1 : 1;
		if (got < 0)
			keep_failure(&b->reading);
	}
	return got <= 0;
}

/* Up to the first record that failed; false when there is one, or writing fails. */
static bool write_out(struct batch *b, struct heap *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct slot *s = &h->slots[i];

		if (s->failure.failed) {
			b->encoding = s->failure;
			s->failure = (struct failure){ 0 };
			return false;
		}
		if (b->io->write(b->io->arg, &s->result, &s->place) < 0) {
			keep_failure(&b->writing);
			return false;
		}
	}
	return true;
}

/* For other records. Memory is kept, but not what one huge record needed. */
static void clear(const struct batch *b, struct heap *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct slot *s = &h->slots[i];

		clear_failure(&s->failure);
		if (s->result.encoding.capacity > KEEP_TOKENS)
			encoded_record_free(&s->result);
	}
	h->n = 0;
	h->encoded = false;
	buffer_clear(&h->bytes);
	if (h->bytes.capacity > 4 * b->full)
		buffer_free(&h->bytes);
}

/* --- what a thread may do: each is called with the lock held, and lets it go meanwhile ------------- */

static struct heap *heap_at(const struct batch *b, size_t i)
{
	return &b->heaps[i % b->n_heaps];
}

static void release(struct batch *b)
{
	pthread_mutex_unlock(&b->lock);
}

static void regain(struct batch *b)
{
	pthread_mutex_lock(&b->lock);
	pthread_cond_broadcast(&b->changed);
}

static bool can_write(const struct batch *b)
{
	return !b->is_writing && b->written < b->taken && heap_at(b, b->written)->encoded;
}

static void write_one(struct batch *b)
{
	struct heap *h = heap_at(b, b->written);
	size_t size = h->bytes.size;
	bool went_well;

	b->is_writing = true;
	release(b);
	went_well = write_out(b, h);
	clear(b, h);
	regain(b);
	b->is_writing = false;
	b->written++;
	b->held -= size;
	b->stopped |= !went_well;
}

static bool can_read(const struct batch *b)
{
	return !b->is_reading && !b->ended && b->filled < b->written + b->n_heaps &&
	       b->held < HELD_MAX;
}

static void read_one(struct batch *b)
{
	struct heap *h = heap_at(b, b->filled);
	bool ended;

	b->is_reading = true;
	release(b);
	ended = fill(b, h);
	regain(b);
	b->is_reading = false;
	b->ended = ended;
	b->filled++;
	b->held += h->bytes.size;
}

static void encode_one(struct batch *b, int part)
{
	struct heap *h = heap_at(b, b->taken++);

	release(b);
	for (size_t i = 0; i < h->n; i++) {
		struct slot *s = &h->slots[i];
		struct bytes record = { h->bytes.data + s->at, s->size };

		if (record_encode(b->encoders[part], record, &s->place, &s->result) == 0)
			continue;
		/* What comes behind it is not asked for. */
		keep_failure(&s->failure);
		break;
	}
	regain(b);
	h->encoded = true;
}

/* Writing first, since it makes room; reading last, so that no more is held than keeps all threads at work. */
static void work(void *arg, int part, int parts)
{
	struct batch *b = arg;

	(void)parts;
	pthread_mutex_lock(&b->lock);
	while (!b->stopped && !(b->ended && b->written == b->filled)) {
		if (can_write(b))
			write_one(b);
		else if (b->taken < b->filled)
			encode_one(b, part);
		else if (can_read(b))
			read_one(b);
		else
			pthread_cond_wait(&b->changed, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

int batch_pump(struct batch *b, const struct batch_io *io)
{
	b->io = io;
	b->ended = false;
	team_run(b->team, work, b);
	if (b->writing.failed)
		return tell(&b->writing);
	if (b->encoding.failed)
		return tell(&b->encoding);
	return b->reading.failed ? tell(&b->reading) : 0;
}

uint64_t batch_dropped(const struct batch *b)
{
	uint64_t n = 0;

	for (int i = 0; i < b->n_encoders; i++)
		n += record_encoder_dropped(b->encoders[i]);
	return n;
}

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

/* A record with more tokens keeps them where they were made; memory of other kinds is kept up to so many bytes. */
#define MANY_TOKENS ((size_t)1 << 19)
#define KEEP_BYTES  ((size_t)4 << 20)

/* An error of any thread, to be told later. */
struct failure {
	bool failed;
	enum err_code code;
	char *text; /* owned; NULL: there was no memory for it */
};

struct slot {
	size_t at, size; /* in the heap's bytes */
	struct record_place place;
	struct encoded_record
		result; /* owned when `large`; else its arrays lie in the heap's buffers, and are set when it is written */
	bool large;
	size_t ids, offsets, runs; /* where they begin in those */
	struct failure failure;
};

/* Records that one thread encodes. */
struct heap {
	struct buffer bytes;
	struct slot *slots;
	size_t n, capacity;
	struct buffer ids, offsets, runs;
	bool encoded;
};

/*
 * Heaps are counted from 0; number i is heaps[i % n_heaps], written <= taken <= filled <= written + n_heaps. What stands
 * under the counts is changed with the lock held, a heap by the one thread whose it is at that time.
 */
struct batch {
	struct team *team;
	struct record_encoder **encoders; /* one a thread */
	struct encoded_record *results;	  /* the same: what it encodes into */
	int n_encoders;
	size_t full; /* bytes of a heap */
	bool offsets;
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
	b->results = mem_new((size_t)team_size(b->team), sizeof(*b->results));
	return b->heaps && b->encoders && b->results ? 0 : -1;
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
	b->offsets = o->encode.offsets;
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

static void clear_failure(struct failure *f)
{
	free(f->text);
	*f = (struct failure){ 0 };
}

static void clear_slot(struct slot *s)
{
	clear_failure(&s->failure);
	if (s->large)
		encoded_record_free(&s->result);
	else
		free(s->result.difference);
	*s = (struct slot){ 0 };
}

static void free_heap(struct heap *h)
{
	for (size_t i = 0; i < h->n; i++)
		clear_slot(&h->slots[i]);
	free(h->slots);
	buffer_free(&h->bytes);
	buffer_free(&h->ids);
	buffer_free(&h->offsets);
	buffer_free(&h->runs);
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_encoders; i++) {
		record_encoder_free(b->encoders[i]);
		encoded_record_free(&b->results[i]);
	}
	free(b->encoders);
	free(b->results);
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
	struct slot *s;

	if (mem_grow(&h->slots, &h->capacity, h->n + 1, sizeof(*h->slots)) < 0)
		return -1;
	s = &h->slots[h->n];
	*s = (struct slot){ .at = h->bytes.size, .size = record.size, .place = *place };
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
	if (b->io->rest)
		b->io->rest(b->io->arg);
	return got <= 0;
}

static void *place_in(const struct buffer *b, size_t at)
{
	return b->data ? b->data + at : NULL;
}

/* The result's arrays, which lie still only once all of the heap was encoded. */
static void find_result(const struct heap *h, struct slot *s)
{
	if (s->large)
		return;
	s->result.encoding.ids = place_in(&h->ids, s->ids);
	s->result.encoding.offsets = place_in(&h->offsets, s->offsets);
	s->result.runs = place_in(&h->runs, s->runs);
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
		find_result(h, s);
		if (b->io->write(b->io->arg, &s->result, &s->place) < 0) {
			keep_failure(&b->writing);
			return false;
		}
	}
	return true;
}

static void clear_buffer(struct buffer *b)
{
	buffer_clear(b);
	if (b->capacity > KEEP_BYTES)
		buffer_free(b);
}

/* For other records. Memory is kept, but not what huge ones needed. */
static void clear(struct heap *h)
{
	for (size_t i = 0; i < h->n; i++)
		clear_slot(&h->slots[i]);
	h->n = 0;
	h->encoded = false;
	clear_buffer(&h->bytes);
	clear_buffer(&h->ids);
	clear_buffer(&h->offsets);
	clear_buffer(&h->runs);
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
	clear(h);
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

/* R, which is a thread's, to S: what is large with its memory, of anything else a copy. */
static int keep_result(struct heap *h, struct slot *s, struct encoded_record *r, bool offsets)
{
	const struct encoding *e = &r->encoding;
	size_t n_offsets = e->n < e->offsets_capacity ? e->n : e->offsets_capacity;

	s->result = *r;
	r->difference = NULL;
	s->large = e->n > MANY_TOKENS;
	if (s->large) {
		*r = (struct encoded_record){ 0 };
		return 0;
	}
	s->ids = h->ids.size;
	s->offsets = h->offsets.size;
	s->runs = h->runs.size;
	buffer_put(&h->ids, e->ids, e->n * sizeof(*e->ids));
	if (offsets)
		buffer_put(&h->offsets, e->offsets, n_offsets * sizeof(*e->offsets));
	buffer_put(&h->runs, r->runs, r->n_runs * sizeof(*r->runs));
	return buffer_check(&h->ids) < 0 || buffer_check(&h->offsets) < 0 ? -1
									  : buffer_check(&h->runs);
}

static void encode_one(struct batch *b, int part)
{
	struct heap *h = heap_at(b, b->taken++);
	struct encoded_record *r = &b->results[part];

	release(b);
	for (size_t i = 0; i < h->n; i++) {
		struct slot *s = &h->slots[i];
		struct bytes record = { h->bytes.data + s->at, s->size };

		if (record_encode(b->encoders[part], record, &s->place, r) == 0 &&
		    keep_result(h, s, r, b->offsets) == 0)
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

/* lib/data/batch.c - records encoded by a team, in order */

#include "lib/data/batch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define DEFAULT_BYTES ((size_t)4 << 20)

/* Records that a thread takes at a time hold about this many bytes: enough that taking costs nothing. */
#define TAKE_BYTES ((size_t)32 << 10)

/* What one record may keep for the next one in its place. */
#define KEEP_TOKENS ((size_t)1 << 16)

/* An error of any thread, to be told later. */
struct failure {
	bool failed;
	enum err_code code;
	char *text; /* owned; NULL: there was no memory for it */
};

struct slot {
	size_t at, size; /* in the half's bytes */
	struct record_place place;
	struct encoded_record result;
	struct failure failure;
};

/* One of the two batches: while one is encoded, the other is written and filled. */
struct half {
	struct buffer bytes;
	struct slot *slots;
	size_t n, capacity;
};

struct batch {
	struct team *team;
	struct record_encoder **encoders; /* one a thread */
	int n_encoders;
	size_t full; /* bytes */
	struct half halves[2];
	struct half *now, *other;
	const struct batch_io *io;
	uint64_t n_documents;
	bool ended; /* the last record was read */
	atomic_size_t next;
	struct failure reading, writing;
};

int batch_new(struct batch **out, const struct tokenizer *t, struct team *team,
	      const struct record_options *o, size_t bytes)
{
	struct batch *b = mem_new(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -1;
	b->team = team;
	b->full = bytes ? bytes : DEFAULT_BYTES;
	b->now = &b->halves[0];
	b->other = &b->halves[1];
	b->encoders = mem_new((size_t)team_size(team), sizeof(struct record_encoder *));
	for (int i = 0; b->encoders && i < team_size(team); i++) {
		if (record_encoder_new(&b->encoders[i], t, o) < 0) {
			batch_free(b);
			return -1;
		}
		b->n_encoders = i + 1;
	}
	if (!b->encoders) {
		batch_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

static void free_half(struct half *h)
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
	free_half(&b->halves[0]);
	free_half(&b->halves[1]);
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

static int add(struct batch *b, struct half *h, struct bytes record,
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

/* Until H is full, the records end, or reading fails. */
static void fill(struct batch *b, struct half *h)
{
	while (!b->ended && h->bytes.size < b->full) {
		struct record_place place = { .name = "" };
		struct bytes record;
		int got = b->io->read(b->io->arg, &record, &place);

		if (got > 0)
			got = add(b, h, record, &place) < 0 ? -1 : 1;
		if (got < 0)
			keep_failure(&b->reading);
		b->ended = got <= 0;
	}
}

static void write_out(struct batch *b, const struct half *h)
{
	for (size_t i = 0; i < h->n && !h->slots[i].failure.failed; i++) {
		if (b->io->write(b->io->arg, &h->slots[i].result, &h->slots[i].place) == 0)
			continue;
		keep_failure(&b->writing);
		b->ended = true;
		return;
	}
}

/* For the next batch. Memory is kept, but not what one huge record needed. */
static void clear(const struct batch *b, struct half *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct slot *s = &h->slots[i];

		clear_failure(&s->failure);
		if (s->result.encoding.capacity > KEEP_TOKENS)
			encoded_record_free(&s->result);
	}
	h->n = 0;
	buffer_clear(&h->bytes);
	if (h->bytes.capacity > 4 * b->full)
		buffer_free(&h->bytes);
}

/* --- encoding --- */

static void encode(struct batch *b, int part, struct slot *s)
{
	struct bytes record = { b->now->bytes.data + s->at, s->size };

	if (record_encode(b->encoders[part], record, &s->place, &s->result) == 0)
		return;
	keep_failure(&s->failure);
}

/* Threads take runs of records until none is left. */
static void work(void *arg, int part, int parts)
{
	struct batch *b = arg;
	struct half *h = b->now;
	size_t take = TAKE_BYTES / (h->bytes.size / h->n + 1) + 1;

	(void)parts;
	if (part == 0) {
		write_out(b, b->other);
		clear(b, b->other);
		fill(b, b->other);
	}
	for (;;) {
		size_t from = atomic_fetch_add(&b->next, take);

		if (from >= h->n)
			return;
		for (size_t i = from; i < from + take && i < h->n; i++)
			encode(b, part, &h->slots[i]);
	}
}

/* The first record in order that failed, or NULL. */
static const struct slot *failed(const struct half *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->slots[i].failure.failed)
			return &h->slots[i];
	return NULL;
}

int batch_pump(struct batch *b, const struct batch_io *io)
{
	const struct slot *bad = NULL;
	struct half *done;

	b->io = io;
	b->ended = false;
	fill(b, b->now);
	while (b->now->n && !b->writing.failed && !bad) {
		atomic_store(&b->next, 0);
		team_run(b->team, work, b);
		bad = failed(b->now);
		done = b->now;
		b->now = b->other;
		b->other = done;
	}
	if (!b->writing.failed)
		write_out(b, b->other);
	if (b->writing.failed)
		return tell(&b->writing);
	if (bad)
		return tell(&bad->failure);
	clear(b, b->other);
	return b->reading.failed ? tell(&b->reading) : 0;
}

uint64_t batch_dropped(const struct batch *b)
{
	uint64_t n = 0;

	for (int i = 0; i < b->n_encoders; i++)
		n += record_encoder_dropped(b->encoders[i]);
	return n;
}

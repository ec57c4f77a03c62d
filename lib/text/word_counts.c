/*
 * lib/text/word_counts.c - how often each word occurs, in bounded memory
 *
 * The memory is divided among the parts. A part whose table is full sorts it and writes it as a run. If no table was ever
 * full, reading merges the tables; else they too are written and given up, and the memory serves to read the runs.
 * Runs that are more than it can read at once are first merged into fewer.
 */
#include "lib/text/word_counts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/word_counts_merge.h"

#define SHARE_MIN    ((size_t)1 << 20) /* of a part */
#define WRITE_BUFFER ((size_t)64 << 10)
#define READ_BUFFER  ((size_t)64 << 10) /* of a run, at least */
#define READ_MOST    ((size_t)1 << 20)
#define CHUNK_MOST   ((size_t)1 << 20)
#define RECORD_MORE  ((size_t)32) /* of a word in a run: its two numbers, and some to spare */
#define APART	     128	  /* bytes between what two threads write */

struct part {
	struct word_hash hash;
	uint64_t occurrences;
	size_t longest;	    /* word */
	char *write_buffer; /* owned; NULL before the first run */
	struct word_run *runs;
	size_t n_runs, runs_capacity;
	char apart[APART];
};

struct word_counts {
	struct part *parts;
	int n_parts;
	size_t share; /* of memory, of a part */
	char *folder;
	pthread_mutex_t lock; /* of making the spill */
	struct word_spill *spill;
	uint64_t spilled;
	bool reading, settled; /* no more is added; all is ready to be read */
	uint64_t occurrences;
	size_t longest;
	/* While reading: */
	struct word_run *runs; /* owned */
	size_t n_runs;
	struct word_merge *merge;
};

static const char *folder_of(const struct word_counts_options *o)
{
	const char *folder = o->folder ? o->folder : getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

int word_counts_new(struct word_counts **out, const struct word_counts_options *o)
{
	struct word_counts *w = mem_new(1, sizeof(*w));
	uint64_t share = o->memory / (uint64_t)o->parts;

	*out = NULL;
	if (!w)
		return -1;
	pthread_mutex_init(&w->lock, NULL);
	w->n_parts = o->parts;
	w->share = share < SHARE_MIN ? SHARE_MIN : share > SIZE_MAX / 2 ? SIZE_MAX / 2 : share;
	w->folder = mem_copy(folder_of(o), strlen(folder_of(o)));
	w->parts = mem_new((size_t)o->parts, sizeof(*w->parts));
	if (!w->folder || !w->parts) {
		word_counts_free(w);
		return -1;
	}
	for (int i = 0; i < o->parts; i++)
		word_hash_init(&w->parts[i].hash,
			       w->share / 16 < CHUNK_MOST ? w->share / 16 : CHUNK_MOST);
	*out = w;
	return 0;
}

/* What a part holds but its numbers. */
static void empty_part(struct part *p)
{
	word_hash_free(&p->hash);
	free(p->write_buffer);
	free(p->runs);
	p->write_buffer = NULL;
	p->runs = NULL;
	p->n_runs = p->runs_capacity = 0;
}

void word_counts_free(struct word_counts *w)
{
	if (!w)
		return;
	for (int i = 0; w->parts && i < w->n_parts; i++)
		empty_part(&w->parts[i]);
	word_merge_free(w->merge);
	word_spill_free(w->spill);
	pthread_mutex_destroy(&w->lock);
	free(w->runs);
	free(w->parts);
	free(w->folder);
	free(w);
}

/* --- spilling --- */

/* The spill of all parts, made by the first that needs it. */
static struct word_spill *need_spill(struct word_counts *w)
{
	struct word_spill *s;

	pthread_mutex_lock(&w->lock);
	if (!w->spill)
		word_spill_new(&w->spill, w->folder);
	s = w->spill;
	pthread_mutex_unlock(&w->lock);
	return s;
}

static uint64_t run_size(const struct word_hash *h)
{
	uint64_t size = 0;

	for (size_t i = 0; i < h->n; i++)
		size += word_record_size(word_slot_size(&h->slots[i]), h->slots[i].count);
	return size;
}

static int write_slots(struct word_writer *to, const struct word_hash *h)
{
	char room[WORD_SLOT_BYTES];

	for (size_t i = 0; i < h->n; i++)
		if (word_writer_put(to, word_slot_text(&h->slots[i], room), h->slots[i].count) < 0)
			return -1;
	return 0;
}

/* The part's table becomes a run, and is empty then. */
static int spill_part(struct word_counts *w, struct part *p)
{
	struct word_spill *spill = need_spill(w);
	struct word_writer to;

	if (!spill || mem_grow(&p->runs, &p->runs_capacity, p->n_runs + 1, sizeof(*p->runs)) < 0)
		return -1;
	if (!p->write_buffer && !(p->write_buffer = mem_new(WRITE_BUFFER, 1)))
		return -1;
	word_hash_sort(&p->hash);
	word_writer_begin(&to, spill, run_size(&p->hash), p->write_buffer, WRITE_BUFFER);
	if (write_slots(&to, &p->hash) < 0 || word_writer_end(&to, &p->runs[p->n_runs]) < 0)
		return -1;
	p->n_runs++;
	word_hash_clear(&p->hash);
	return 0;
}

/* --- adding --- */

static int too_many(void)
{
	return err_set(ERR_LIMIT, "the words occur more than %" PRIu64 " times", UINT64_MAX);
}

static int refuse(const struct word_counts *w, struct bytes word)
{
	if (w->reading)
		return err_set(ERR_ARGUMENT, "words are being read: none can be added");
	if (!word.size)
		return err_set(ERR_ARGUMENT, "a word is empty");
	return err_set(ERR_LIMIT, "a word of %zu bytes: the limit is %zu", word.size,
		       WORD_BYTES_MAX);
}

/* All occurrences together fit in 64 bits, so those of a word do. */
int word_counts_add(struct word_counts *w, int part, struct bytes word, uint64_t count)
{
	struct part *p = &w->parts[part];
	size_t limit = w->share - WRITE_BUFFER;
	int got;

	if (w->reading || !word.size || word.size > WORD_BYTES_MAX)
		return refuse(w, word);
	if (count > UINT64_MAX - p->occurrences)
		return too_many();
	got = word_hash_add(&p->hash, word, count, limit);
	if (got == 0) {
		if (spill_part(w, p) < 0)
			return -1;
		got = word_hash_add(&p->hash, word, count, limit);
	}
	if (got < 0)
		return -1;
	p->occurrences += count;
	if (word.size > p->longest)
		p->longest = word.size;
	return 0;
}

/* --- reading --- */

static size_t memory(const struct word_counts *w)
{
	return w->share * (size_t)w->n_parts;
}

/* Runs that can be read at once beside one that is written; two at least. */
static size_t most_runs(const struct word_counts *w)
{
	size_t each = w->longest + RECORD_MORE;
	size_t n = (memory(w) - WRITE_BUFFER) / (each > READ_BUFFER ? each : READ_BUFFER);

	return n < 2 ? 2 : n;
}

/* Runs FROM to TO; the caller frees. NULL with the error set. */
static struct word_merge *merge_of(const struct word_counts *w, size_t from, size_t to)
{
	size_t buffer = (memory(w) - WRITE_BUFFER) / (to - from);
	struct word_merge *m;

	if (buffer < READ_BUFFER || w->longest > READ_BUFFER)
		buffer = READ_BUFFER;
	if (buffer > READ_MOST)
		buffer = READ_MOST;
	if (word_merge_new(&m, to - from) < 0)
		return NULL;
	for (size_t i = from; i < to; i++)
		if (word_merge_add_run(m, w->spill, w->runs[i], buffer) < 0) {
			word_merge_free(m);
			return NULL;
		}
	return m;
}

/* Runs FROM to TO become one run of INTO. */
static int merge_runs(const struct word_counts *w, size_t from, size_t to, struct word_spill *into,
		      char *buffer, struct word_run *out)
{
	struct word_merge *m = merge_of(w, from, to);
	struct word_writer writer;
	struct bytes word;
	uint64_t count;
	int got = -1;

	word_writer_begin(&writer, into, 0, buffer, WRITE_BUFFER);
	while (m && (got = word_merge_next(m, &word, &count)) > 0)
		if (word_writer_put(&writer, word, count) < 0) {
			got = -1;
			break;
		}
	word_merge_free(m);
	return got < 0 ? -1 : word_writer_end(&writer, out);
}

/* As many runs at a time as can be read become one, in a file that takes the place of the old one. */
static int merge_pass(struct word_counts *w, char *buffer)
{
	size_t most = most_runs(w), n = 0;
	struct word_spill *into;

	if (word_spill_new(&into, w->folder) < 0)
		return -1;
	for (size_t from = 0; from < w->n_runs; from += most) {
		size_t to = w->n_runs - from < most ? w->n_runs : from + most;

		if (merge_runs(w, from, to, into, buffer, &w->runs[n]) < 0) {
			word_spill_free(into);
			return -1;
		}
		w->spilled += w->runs[n].to - w->runs[n].from;
		n++;
	}
	word_spill_free(w->spill);
	w->spill = into;
	w->n_runs = n;
	return 0;
}

static int merge_to_few(struct word_counts *w)
{
	char *buffer = mem_new(WRITE_BUFFER, 1);
	int result = buffer ? 0 : -1;

	while (result == 0 && w->n_runs > most_runs(w))
		result = merge_pass(w, buffer);
	free(buffer);
	return result;
}

/* The runs of all parts, which are empty then. */
static int gather_runs(struct word_counts *w)
{
	size_t capacity = 0;

	for (int i = 0; i < w->n_parts; i++) {
		struct part *p = &w->parts[i];

		if (p->hash.n && spill_part(w, p) < 0)
			return -1;
		if (mem_grow(&w->runs, &capacity, w->n_runs + p->n_runs, sizeof(*w->runs)) < 0)
			return -1;
		for (size_t r = 0; r < p->n_runs; r++) {
			w->spilled += p->runs[r].to - p->runs[r].from;
			w->runs[w->n_runs++] = p->runs[r];
		}
		empty_part(p);
	}
	return merge_to_few(w);
}

static int count_all(struct word_counts *w)
{
	for (int i = 0; i < w->n_parts; i++) {
		const struct part *p = &w->parts[i];

		if (p->occurrences > UINT64_MAX - w->occurrences)
			return too_many();
		w->occurrences += p->occurrences;
		if (p->longest > w->longest)
			w->longest = p->longest;
	}
	return 0;
}

/* Once, when the last word was added. */
static int settle(struct word_counts *w)
{
	if (w->settled)
		return 0;
	if (w->reading)
		return err_set(ERR_ARGUMENT, "words that could not be merged are not to be read");
	w->reading = true;
	if (count_all(w) < 0 || (w->spill && gather_runs(w) < 0))
		return -1;
	for (int i = 0; i < w->n_parts; i++)
		word_hash_sort(&w->parts[i].hash);
	w->settled = true;
	return 0;
}

int word_counts_begin(struct word_counts *w)
{
	word_merge_free(w->merge);
	w->merge = NULL;
	if (settle(w) < 0)
		return -1;
	if (w->spill) {
		w->merge = merge_of(w, 0, w->n_runs);
		return w->merge ? 0 : -1;
	}
	if (word_merge_new(&w->merge, (size_t)w->n_parts) < 0)
		return -1;
	for (int i = 0; i < w->n_parts; i++)
		if (word_merge_add_table(w->merge, &w->parts[i].hash) < 0)
			return -1;
	return 0;
}

int word_counts_next(struct word_counts *w, struct bytes *word, uint64_t *count)
{
	return word_merge_next(w->merge, word, count);
}

uint64_t word_counts_occurrences(const struct word_counts *w)
{
	return w->occurrences;
}

uint64_t word_counts_spilled(const struct word_counts *w)
{
	return w->spilled;
}

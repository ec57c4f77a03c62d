/*
 * lib/data/count_words.c - documents cut into words and counted, by a team
 *
 * Threads read in turn, under a lock: each takes the next block of records of one input, then counts it while others
 * read on. Blocks are taken in order, and after a failure none is: so every record before the one that failed is
 * still looked at, and the first failure is the same for any number of threads.
 */
#include "lib/data/count_words.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/data/counted_line.h"
#include "lib/data/record_text.h"

#define BLOCK_BYTES  ((size_t)256 << 10) /* so many are enough; a record may be longer */
#define BLOCK_KEPT   ((size_t)4 << 20)	 /* memory that a block keeps for the next */
#define DOCUMENT_MAX ((size_t)1 << 30)

struct record {
	size_t at, size; /* in the block's bytes */
	uint64_t line;
};

/* Records of one input; of plain text none: the thread reads it by itself. */
struct block {
	size_t input;
	struct buffer bytes;
	struct record *records;
	size_t n, capacity;
};

struct counting;

/* One thread's own. */
struct worker {
	struct counting *job;
	int part;
	struct words_scratch *scratch;
	struct json *json;
	struct buffer decoded; /* of base64 */
	struct block block;
	struct count_words_totals totals;
};

struct counting {
	struct word_counts *counts;
	const struct words *words;
	const char *const *paths;
	size_t n_paths;
	struct count_words_options o;
	struct worker *workers;
	int n_workers;

	pthread_mutex_t lock; /* of all that follows */
	size_t input;	      /* the next to be read, or being read */
	struct jsonl *in;     /* NULL: not open */
	bool failed;
	size_t failed_input; /* the first failure: its place, and what it is */
	uint64_t failed_line;
	enum err_code code;
	char text[ERR_TEXT_MAX + 1];
};

/* --- failures --- */

/* The calling thread's error; the lock is held. What ends the reading of an input comes after its records. */
static void note_failure(struct counting *job, size_t input, uint64_t line)
{
	bool first = !job->failed || input < job->failed_input ||
		     (input == job->failed_input && line < job->failed_line);
	size_t n = strlen(err_text());

	job->failed = true;
	if (!first)
		return;
	job->failed_input = input;
	job->failed_line = line;
	job->code = err_last();
	memcpy(job->text, err_text(), n < ERR_TEXT_MAX ? n : ERR_TEXT_MAX);
	job->text[n < ERR_TEXT_MAX ? n : ERR_TEXT_MAX] = 0;
}

static void fail(struct worker *w, uint64_t line)
{
	pthread_mutex_lock(&w->job->lock);
	note_failure(w->job, w->block.input, line);
	pthread_mutex_unlock(&w->job->lock);
}

/* The place before errors that are about the text; the disk and the memory have none in it. */
static int at_place(const struct counting *job, const char *path, uint64_t line)
{
	if (err_last() == ERR_IO || err_last() == ERR_MEMORY)
		return -1;
	if (job->o.kind == COUNT_WORDS_TEXT)
		return err_prefix("%s", path);
	return err_prefix("%s:%" PRIu64, path, line);
}

/* --- words --- */

/* Bytes of the first part of TEXT, of at most MOST unless its first character is longer. */
static size_t first_part(struct bytes text, size_t most)
{
	uint32_t ignored;
	size_t n;

	if (text.size <= most)
		return text.size;
	for (size_t at = most; at > 0 && most - at < 4; at--)
		if (((unsigned char)text.data[at] & 0xC0) != 0x80)
			return at;
	n = utf8_decode(text.data, text.size, &ignored);
	return n > most ? n : most;
}

static int count_parts(struct worker *w, struct bytes word, uint64_t count)
{
	w->totals.cut += count;
	while (word.size) {
		size_t n = first_part(word, w->job->o.max_word);

		if (word_counts_add(w->job->counts, w->part, (struct bytes){ word.data, n },
				    count) < 0)
			return -1;
		w->totals.occurrences += count;
		word.data += n;
		word.size -= n;
	}
	return 0;
}

static int count_word(struct worker *w, struct bytes word, uint64_t count)
{
	if (w->job->o.max_word && word.size > w->job->o.max_word)
		return count_parts(w, word, count);
	w->totals.occurrences += count;
	return word_counts_add(w->job->counts, w->part, word, count);
}

static int take_piece(void *arg, struct bytes piece)
{
	return count_word(arg, piece, 1);
}

/* --- records --- */

static int count_document(struct worker *w, struct bytes document)
{
	w->totals.documents++;
	w->totals.bytes += document.size;
	return words_cut(w->job->words, w->scratch, document, take_piece, w);
}

static int count_line(struct worker *w, struct bytes line)
{
	struct bytes word;
	uint64_t count;
	size_t valid;

	if (counted_line(line, &word, &count) < 0)
		return -1;
	valid = utf8_valid_prefix(word.data, word.size);
	if (valid < word.size && !words_is_byte_level(w->job->words))
		return err_set(ERR_FORMAT, "byte %zu: not UTF-8, and words are no bytes", valid);
	w->totals.documents++;
	w->totals.bytes += word.size;
	return count_word(w, word, count);
}

static int count_record(struct worker *w, const struct record *r)
{
	const struct counting *job = w->job;
	const char *path = job->paths[w->block.input];
	struct bytes document = { w->block.bytes.data + r->at, r->size };
	int result;

	if (job->o.kind == COUNT_WORDS_JSON) {
		/* Its errors have the place already. */
		if (record_text(&document, w->json, &w->decoded, document, job->o.field, path,
				r->line) < 0)
			return -1;
		result = count_document(w, document);
	} else {
		result = count_line(w, document);
	}
	return result < 0 ? at_place(job, path, r->line) : 0;
}

static void count_block(struct worker *w)
{
	uint64_t before = w->totals.bytes;

	for (size_t i = 0; i < w->block.n; i++)
		if (count_record(w, &w->block.records[i]) < 0) {
			fail(w, w->block.records[i].line);
			break;
		}
	progress_add(w->job->o.progress, w->totals.bytes - before);
}

static void count_text(struct worker *w)
{
	const char *path = w->job->paths[w->block.input];
	char *text = NULL;
	size_t size;
	int result = file_read(path, w->job->o.max_document, &text, &size);

	if (result == 0) {
		result = count_document(w, (struct bytes){ text, size });
		if (result < 0)
			at_place(w->job, path, 0);
	}
	free(text);
	if (result < 0)
		fail(w, 0);
	else
		progress_add(w->job->o.progress, size);
}

/* --- blocks --- */

static void clear_block(struct block *b)
{
	if (b->bytes.capacity > BLOCK_KEPT)
		buffer_free(&b->bytes);
	buffer_clear(&b->bytes);
	b->n = 0;
}

static int add_record(struct block *b, struct bytes record, uint64_t line)
{
	if (mem_grow(&b->records, &b->capacity, b->n + 1, sizeof(*b->records)) < 0)
		return -1;
	b->records[b->n++] = (struct record){ b->bytes.size, record.size, line };
	buffer_put(&b->bytes, record.data, record.size);
	return buffer_check(&b->bytes);
}

/* Fills B from the input that is open, and closes that at its end. */
static int fill_block(struct counting *job, struct block *b)
{
	struct bytes record;
	int got = 1;

	while (b->bytes.size < BLOCK_BYTES && (got = jsonl_next(job->in, &record)) > 0)
		if (add_record(b, record, jsonl_line(job->in)) < 0)
			return -1;
	if (got == 0) {
		jsonl_close(job->in);
		job->in = NULL;
		job->input++;
	}
	return got < 0 ? -1 : 0;
}

/* 1 and the next records, which may be none; 0: there are no more; -1. The lock is held. */
static int next_block(struct counting *job, struct block *b)
{
	struct jsonl_options limits = { .line_max = job->o.max_document };

	clear_block(b);
	if (job->failed || job->input == job->n_paths)
		return 0;
	b->input = job->input;
	if (job->o.kind == COUNT_WORDS_TEXT) {
		job->input++;
		return 1;
	}
	if (!job->in && jsonl_open(&job->in, job->paths[job->input], &limits) < 0)
		return -1;
	return fill_block(job, b) < 0 ? -1 : 1;
}

/* False: there is nothing more to do. After a failure the records that were read before it are still given. */
static bool take_block(struct worker *w)
{
	struct counting *job = w->job;
	int got;

	pthread_mutex_lock(&job->lock);
	got = next_block(job, &w->block);
	if (got < 0)
		note_failure(job, w->block.input, UINT64_MAX);
	pthread_mutex_unlock(&job->lock);
	return got > 0 || w->block.n > 0;
}

static void work(void *arg, int part, int parts)
{
	struct counting *job = arg;
	struct worker *w = &job->workers[part];

	(void)parts;
	while (take_block(w)) {
		if (job->o.kind == COUNT_WORDS_TEXT)
			count_text(w);
		else
			count_block(w);
	}
}

/* --- the whole --- */

static int make_workers(struct counting *job, int n)
{
	job->workers = mem_new((size_t)n, sizeof(*job->workers));
	if (!job->workers)
		return -1;
	for (int i = 0; i < n; i++) {
		struct worker *w = &job->workers[i];

		job->n_workers = i + 1;
		w->job = job;
		w->part = i;
		if (words_scratch_new(&w->scratch, job->words) < 0 || json_new(&w->json) < 0)
			return -1;
	}
	return 0;
}

static void free_workers(struct counting *job)
{
	for (int i = 0; i < job->n_workers; i++) {
		struct worker *w = &job->workers[i];

		words_scratch_free(w->scratch);
		json_free(w->json);
		buffer_free(&w->decoded);
		buffer_free(&w->block.bytes);
		free(w->block.records);
	}
	free(job->workers);
	jsonl_close(job->in);
}

static void add_totals(struct counting *job, struct count_words_totals *out)
{
	for (int i = 0; i < job->n_workers; i++) {
		const struct count_words_totals *t = &job->workers[i].totals;

		out->documents += t->documents;
		out->bytes += t->bytes;
		out->occurrences += t->occurrences;
		out->cut += t->cut;
	}
}

static void run(struct counting *job)
{
	pthread_mutex_init(&job->lock, NULL);
	if (job->o.team)
		team_run(job->o.team, work, job);
	else
		work(job, 0, 1);
	pthread_mutex_destroy(&job->lock);
}

int count_words(struct word_counts *counts, const struct words *w, const char *const *paths,
		size_t n, const struct count_words_options *o, struct count_words_totals *totals)
{
	struct counting job = {
		.counts = counts, .words = w, .paths = paths, .n_paths = n, .o = *o
	};
	int result;

	if (!job.o.field)
		job.o.field = "text";
	if (!job.o.max_document)
		job.o.max_document = DOCUMENT_MAX;
	result = make_workers(&job, o->team ? team_size(o->team) : 1);
	if (result == 0) {
		run(&job);
		add_totals(&job, totals);
		if (job.failed)
			result = err_set(job.code, "%s", job.text);
	}
	free_workers(&job);
	return result;
}

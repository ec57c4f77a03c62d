/* lib/train/feed.c - windows of packed tokens into rows of micro-batches */

#include "lib/train/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/stream_windows.h"

struct feed {
	struct mix *mix; /* or */
	struct stream_windows *stream;
	bool ended;
	struct feed_options options;
	uint32_t *ids;	     /* owned: (length + 1) of each window read */
	uint32_t *documents; /* the same */
	uint8_t *learnt;     /* length of each */
	size_t n_read;
};

static uint32_t *ids_of(const struct feed *f, size_t window)
{
	return f->ids + window * ((size_t)f->options.length + 1);
}

static uint32_t *documents_of(const struct feed *f, size_t window)
{
	return f->documents + window * ((size_t)f->options.length + 1);
}

static uint8_t *learnt_of(const struct feed *f, size_t window)
{
	return f->learnt + window * (size_t)f->options.length;
}

static int feed_new(struct feed **out, const struct feed_options *o)
{
	struct feed *f = mem_new(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return -1;
	f->options = *o;
	f->ids = mem_new(o->sequences, ((size_t)o->length + 1) * sizeof(*f->ids));
	f->documents = mem_new(o->sequences, ((size_t)o->length + 1) * sizeof(*f->documents));
	f->learnt = mem_new(o->sequences, o->length);
	*out = f;
	return f->ids && f->documents && f->learnt ? 0 : -1;
}

int feed_open(struct feed **out, const char *path, const struct feed_options *o)
{
	struct windows_options w = {
		.length = o->length, .fit = o->fit, .seed = o->seed, .apart = o->apart
	};

	if (feed_new(out, o) == 0 && mix_open(&(*out)->mix, path, &w) == 0)
		return 0;
	feed_close(*out);
	*out = NULL;
	return -1;
}

int feed_open_stream(struct feed **out, const char *path, const struct feed_options *o,
		     uint64_t shuffle)
{
	uint64_t span = shuffle ? shuffle / o->length : o->sequences;
	struct stream_windows_options w = { .length = o->length,
					    .span = (size_t)(span ? span : 1),
					    .seed = o->seed,
					    .apart = o->apart };

	*out = NULL;
	if (o->fit != FIT_NONE && o->fit != FIT_CUT)
		return err_set(ERR_ARGUMENT,
			       "%s: a stream is cut into windows as it comes; only a packed file "
			       "(pack-tokens) can be fitted otherwise",
			       path);
	if (feed_new(out, o) == 0 && stream_windows_open(&(*out)->stream, path, &w) == 0)
		return 0;
	feed_close(*out);
	*out = NULL;
	return -1;
}

bool feed_ended(const struct feed *f)
{
	return f->ended;
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	mix_close(f->mix);
	stream_windows_close(f->stream);
	free(f->ids);
	free(f->documents);
	free(f->learnt);
	free(f);
}

const struct mix *feed_mix(const struct feed *f)
{
	return f->mix;
}

const struct token_header *feed_header(const struct feed *f)
{
	return f->stream ? stream_windows_header(f->stream)
			 : &token_pack_info(mix_pack(f->mix, 0))->header;
}

uint64_t feed_epoch(const struct feed *f)
{
	return windows_n(mix_windows(f->mix, 0));
}

/* Digests and weights, as they stand in the mix. */
struct hash128 feed_hash(const struct feed *f)
{
	struct hash128 all[2] = { 0 };
	uint64_t weight;
	struct hash128 out = { 0 };

	if (mix_n_parts(f->mix) == 1)
		return token_pack_hash(mix_pack(f->mix, 0));
	for (size_t i = 0; i < mix_n_parts(f->mix); i++) {
		unsigned char room[2 * sizeof(out) + 8];

		all[0] = out;
		all[1] = token_pack_hash(mix_pack(f->mix, i));
		weight = mix_weight(f->mix, i);
		memcpy(room, all, sizeof(all));
		for (int k = 0; k < 8; k++)
			room[sizeof(all) + (size_t)k] = (unsigned char)(weight >> 8 * k);
		hash_memory(NULL, room, sizeof(room), &out);
	}
	return out;
}

/* --- reading --- */

static int read_window(struct feed *f, size_t at, const struct windows *w, uint64_t i)
{
	return windows_get(w, i, ids_of(f, at), documents_of(f, at), learnt_of(f, at));
}

static int read_streamed(struct feed *f, size_t at, uint64_t place)
{
	int got = stream_windows_get(f->stream, place, ids_of(f, at), documents_of(f, at),
				     learnt_of(f, at));

	if (got)
		return got < 0 ? -1 : 0;
	f->ended = true;
	return err_set(ERR_MISSING,
		       "%s: the stream has ended after %" PRIu64 " tokens, within step %" PRIu64
		       ": window %" PRIu64 " of %" PRIu32 " tokens",
		       stream_windows_name(f->stream), stream_windows_counts(f->stream).tokens,
		       place / f->options.sequences + 1, place + 1, f->options.length);
}

static int read_place(struct feed *f, size_t at, uint64_t place)
{
	struct mix_place p;

	if (f->stream)
		return read_streamed(f, at, place);
	p = mix_at(f->mix, place);
	return read_window(f, at, mix_windows(f->mix, p.part), p.window);
}

/* The window was read: its targets. */
static void count_window(struct feed *f, uint64_t *targets)
{
	const uint8_t *learnt = learnt_of(f, f->n_read);

	for (uint32_t k = 0; k < f->options.length; k++)
		*targets += learnt[k];
	f->n_read++;
}

/* Memory must not grow with the part of the corpus that was read. */
static void forget(const struct feed *f)
{
	for (size_t i = 0; f->mix && i < mix_n_parts(f->mix); i++)
		token_pack_forget(mix_pack(f->mix, i));
}

int feed_step(struct feed *f, uint64_t step, uint64_t skip, uint64_t *targets)
{
	*targets = 0;
	f->n_read = 0;
	f->ended = false;
	for (size_t i = 0; i < f->options.sequences; i++) {
		if (read_place(f, i, (step - 1) * f->options.sequences + skip + i) < 0)
			return -1;
		count_window(f, targets);
	}
	forget(f);
	return 0;
}

int feed_pass(struct feed *f, uint64_t first, size_t *n, uint64_t *targets)
{
	const struct windows *w = mix_windows(f->mix, 0);
	uint64_t all = windows_n(w), left = first < all ? all - first : 0;

	*targets = 0;
	*n = left < f->options.sequences ? (size_t)left : f->options.sequences;
	f->n_read = 0;
	for (size_t i = 0; i < *n; i++) {
		if (read_window(f, i, w, first + i) < 0)
			return -1;
		count_window(f, targets);
	}
	forget(f);
	return 0;
}

/* --- rows --- */

/* LENGTH rows from AT on; documents are numbered from FIRST. */
static void fill_window(const struct feed *f, size_t window, size_t at, int32_t first,
			const struct trainer_batch *b)
{
	const uint32_t *ids = ids_of(f, window), *documents = documents_of(f, window);
	const uint8_t *learnt = learnt_of(f, window);
	int32_t position = 0;

	for (size_t i = 0; i < f->options.length; i++, position++) {
		if (i && f->options.apart && documents[i] != documents[i - 1])
			position = 0;
		b->ids[at + i] = (int32_t)ids[i];
		b->targets[at + i] = learnt[i] ? (int32_t)ids[i + 1] : -1;
		b->positions[at + i] = position;
		b->documents[at + i] = first + (f->options.apart ? (int32_t)documents[i] : 0);
	}
}

static void fill_nothing(size_t from, size_t to, int32_t document, const struct trainer_batch *b)
{
	for (size_t i = from; i < to; i++) {
		b->ids[i] = 0;
		b->targets[i] = -1;
		b->positions[i] = (int32_t)(i - from);
		b->documents[i] = document;
	}
}

void feed_fill(const struct feed *f, size_t from, size_t n, size_t tokens,
	       const struct trainer_batch *b)
{
	size_t length = f->options.length, at = 0;

	for (size_t i = from; i < from + n && i < f->n_read; i++, at += length)
		fill_window(f, i, at, (int32_t)((i - from) * (length + 1)), b);
	fill_nothing(at, tokens, (int32_t)(n * (length + 1)), b);
}

/*
 * formats/token_pack_write.c - writes a packed token file
 *
 * Ids go straight to the file; the two tables are put aside and follow them. Nothing is written twice, so
 * that a pipe will do.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "formats/token_pack_parts.h"
#include "formats/token_spool.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define STEP 16384 /* ids that are encoded at a time */

struct token_pack_writer {
	struct outfile *out; /* borrowed */
	struct hasher *hasher;
	struct token_spool *documents, *runs;
	struct token_pack_info info;
	uint32_t width;
	uint64_t start;	   /* of the document */
	uint64_t runs_end; /* the end of the last run, in the document */
	unsigned char bytes[STEP * 4];
};

void token_pack_free(struct token_pack_writer *w)
{
	if (!w)
		return;
	token_spool_free(w->documents);
	token_spool_free(w->runs);
	hasher_free(w->hasher);
	free(w);
}

static int put(struct token_pack_writer *w, const void *data, size_t n)
{
	hasher_add(w->hasher, data, n);
	return outfile_write(w->out, data, n);
}

static int put_header(struct token_pack_writer *w)
{
	unsigned char header[TOKEN_HEADER_SIZE];

	token_header_encode(&w->info.header, TOKEN_PACK_MAGIC, header);
	return put(w, header, sizeof(header));
}

/* Where the next document begins, into its table. */
static int put_start(struct token_pack_writer *w)
{
	uint64_t start = htole64(w->info.n_tokens);

	w->start = w->info.n_tokens;
	w->runs_end = 0;
	return token_spool_write(w->documents, &start, sizeof(start));
}

int token_pack_new(struct token_pack_writer **out, struct outfile *f, const struct token_header *h,
		   const struct token_pack_options *o, const char *near)
{
	struct token_pack_writer *w;

	if (token_header_check(h, outfile_path(f)) != 0)
		return -1;
	w = mem_new(1, sizeof(*w));
	if (!w)
		return -1;
	w->out = f;
	w->info = (struct token_pack_info){
		.header = *h,
		.learnt = o->learnt & ROLES_ALL,
		.fit = o->fit,
		.window = o->window,
	};
	w->width = token_width(h->vocab);
	if (hasher_new(&w->hasher) != 0 || token_spool_new(&w->documents, near) != 0 ||
	    token_spool_new(&w->runs, near) != 0 || put_header(w) != 0 || put_start(w) != 0) {
		token_pack_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

static int put_ids(struct token_pack_writer *w, const uint32_t *ids, size_t n)
{
	uint32_t top = 0;

	for (size_t i = 0; i < n; i++)
		top = ids[i] > top ? ids[i] : top;
	if (top >= w->info.header.vocab)
		return err_set(ERR_ARGUMENT,
			       "%s: token id %" PRIu32 " is not below the vocabulary size %" PRIu32,
			       outfile_path(w->out), top, w->info.header.vocab);
	if (n > PACK_COUNT_MAX - w->info.n_tokens)
		return err_set(ERR_LIMIT, "%s: more than 2^56 tokens", outfile_path(w->out));
	token_ids_encode(w->bytes, ids, n, w->width);
	w->info.n_tokens += n;
	return put(w, w->bytes, n * w->width);
}

int token_pack_add(struct token_pack_writer *w, const uint32_t *ids, size_t n)
{
	for (size_t at = 0; at < n; at += STEP)
		if (put_ids(w, ids + at, n - at < STEP ? n - at : STEP) != 0)
			return -1;
	return 0;
}

int token_pack_add_separator(struct token_pack_writer *w, uint32_t id)
{
	w->info.n_separators++;
	return token_pack_add(w, &id, 1);
}

int token_pack_add_run(struct token_pack_writer *w, const struct token_run *run)
{
	unsigned char bytes[TOKEN_RUN_SIZE];
	uint64_t sent = w->info.n_tokens - w->start;
	struct token_run moved = *run;

	if (run->start < w->runs_end || run->length == 0 || run->role >= N_ROLES ||
	    run->start > sent || run->length > sent - run->start)
		return err_set(ERR_ARGUMENT,
			       "%s: a run of %" PRIu64 " tokens from %" PRIu64
			       " on with role %" PRIu32
			       " does not follow in a document of %" PRIu64,
			       outfile_path(w->out), run->length, run->start, run->role, sent);
	w->runs_end = run->start + run->length;
	moved.start += w->start;
	w->info.n_runs++;
	token_run_encode(&moved, bytes);
	return token_spool_write(w->runs, bytes, sizeof(bytes));
}

int token_pack_end_document(struct token_pack_writer *w)
{
	w->info.n_documents++;
	return put_start(w);
}

static int put_spool(struct token_pack_writer *w, struct token_spool *s)
{
	struct bytes b;

	if (token_spool_bytes(s, &b) != 0)
		return -1;
	return put(w, b.data, b.size);
}

static void put_end_fields(struct buffer *b, const struct token_pack_info *info)
{
	buffer_put(b, PACK_END_MAGIC, 8);
	buffer_put_u64(b, info->n_tokens);
	buffer_put_u64(b, info->n_documents);
	buffer_put_u64(b, info->n_runs);
	buffer_put_u64(b, info->n_separators);
	buffer_put_u32(b, info->learnt);
	buffer_put_u32(b, info->fit);
	buffer_put_u64(b, info->window);
	buffer_put_zeros(b, 16);
}

static int put_end(struct token_pack_writer *w)
{
	struct buffer b = { 0 };
	struct hash128 hash;
	int result = -1;

	put_end_fields(&b, &w->info);
	if (buffer_check(&b) == 0 && put(w, b.data, b.size) == 0) {
		hash = hasher_value(w->hasher);
		result = outfile_write(w->out, hash.digest, sizeof(hash.digest));
	}
	buffer_free(&b);
	return result;
}

int token_pack_end(struct token_pack_writer *w)
{
	static const unsigned char zeros[8];
	size_t gap = (size_t)(8 - w->info.n_tokens * w->width % 8) % 8;

	if (w->info.n_tokens != w->start)
		return err_set(ERR_ARGUMENT, "%s: ends within a document", outfile_path(w->out));
	if (put(w, zeros, gap) != 0 || put_spool(w, w->documents) != 0 ||
	    put_spool(w, w->runs) != 0)
		return -1;
	return put_end(w);
}

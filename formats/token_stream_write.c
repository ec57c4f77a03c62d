/*
 * formats/token_stream_write.c - writes a token stream
 *
 * Records are gathered in one buffer, which is handed on when it is full. The record of ids that is
 * being filled lies at its end; its count is put in when something else follows.
 */
#include "formats/token_stream.h"

#include <inttypes.h>

#include "formats/token_stream_parts.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FLUSH_SIZE ((size_t)128 << 10)
#define STEP	   16384 /* ids between two looks at the buffer's size */

struct token_writer {
	struct token_header header;
	uint32_t width;
	token_write_fn *write;
	void *arg;
	struct hasher *hasher;
	struct buffer out;
	bool in_ids;	   /* the last record is one of ids, with its count open */
	size_t ids_at;	   /* where it begins */
	uint64_t sent;	   /* tokens of this document */
	uint64_t runs_end; /* the end of its last run */
	bool in_document;  /* something of it was added */
	struct token_counts counts;
};

void token_writer_free(struct token_writer *w)
{
	if (!w)
		return;
	hasher_free(w->hasher);
	buffer_free(&w->out);
	free(w);
}

int token_writer_new(struct token_writer **out, const struct token_header *h, token_write_fn *write,
		     void *arg)
{
	unsigned char header[TOKEN_HEADER_SIZE];
	struct token_writer *w;

	if (token_header_check(h, "token stream") != 0)
		return -1;
	w = mem_new(1, sizeof(*w));
	if (!w)
		return -1;
	w->header = *h;
	w->width = token_width(h->vocab);
	w->write = write;
	w->arg = arg;
	token_header_encode(h, TOKEN_STREAM_MAGIC, header);
	buffer_put(&w->out, header, sizeof(header));
	if (hasher_new(&w->hasher) != 0 || buffer_check(&w->out) != 0) {
		token_writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

static void put_count(struct token_writer *w)
{
	size_t n = (w->out.size - w->ids_at - RECORD_HEADER_SIZE) / w->width;

	for (int i = 0; i < 4; i++)
		w->out.data[w->ids_at + 4 + (size_t)i] = (char)(n >> (8 * i));
}

static void end_ids(struct token_writer *w)
{
	if (w->in_ids && !w->out.failed)
		put_count(w);
	w->in_ids = false;
}

static void put_record(struct token_writer *w, uint32_t kind, uint32_t count)
{
	end_ids(w);
	buffer_put_u32(&w->out, kind);
	buffer_put_u32(&w->out, count);
}

int token_writer_flush(struct token_writer *w)
{
	struct bytes b;

	end_ids(w);
	if (buffer_check(&w->out) != 0)
		return -1;
	b = buffer_bytes(&w->out);
	hasher_add(w->hasher, b.data, b.size);
	if (b.size && w->write(w->arg, b.data, b.size) != 0)
		return -1;
	buffer_clear(&w->out);
	return 0;
}

static int flush_when_full(struct token_writer *w)
{
	if (buffer_check(&w->out) != 0)
		return -1;
	return w->out.size < FLUSH_SIZE ? 0 : token_writer_flush(w);
}

static int put_ids(struct token_writer *w, const uint32_t *ids, size_t n)
{
	if (!w->in_ids) {
		w->ids_at = w->out.size;
		put_record(w, RECORD_IDS, 0);
		w->in_ids = true;
	}
	if (buffer_reserve(&w->out, n * w->width) != 0)
		return -1;
	token_ids_encode((unsigned char *)w->out.data + w->out.size, ids, n, w->width);
	w->out.size += n * w->width;
	return flush_when_full(w);
}

static int check_ids(const struct token_writer *w, const uint32_t *ids, size_t n)
{
	uint32_t top = 0;

	for (size_t i = 0; i < n; i++)
		top = ids[i] > top ? ids[i] : top;
	if (n == 0 || top < w->header.vocab)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "token id %" PRIu32 " is not below the vocabulary size %" PRIu32, top,
		       w->header.vocab);
}

int token_writer_add(struct token_writer *w, const uint32_t *ids, size_t n)
{
	if (check_ids(w, ids, n) != 0)
		return -1;
	w->in_document |= n > 0;
	w->sent += n;
	w->counts.tokens += n;
	for (size_t at = 0; at < n; at += STEP)
		if (put_ids(w, ids + at, n - at < STEP ? n - at : STEP) != 0)
			return -1;
	return 0;
}

int token_writer_run(struct token_writer *w, const struct token_run *run)
{
	unsigned char bytes[TOKEN_RUN_SIZE];

	if (run->start < w->runs_end || run->length == 0 || run->role >= N_ROLES ||
	    run->start > w->sent || run->length > w->sent - run->start)
		return err_set(ERR_ARGUMENT,
			       "a run of %" PRIu64 " tokens from %" PRIu64 " on with role %" PRIu32
			       " does not follow in a document of %" PRIu64,
			       run->length, run->start, run->role, w->sent);
	w->runs_end = run->start + run->length;
	token_run_encode(run, bytes);
	put_record(w, RECORD_RUNS, 1);
	buffer_put(&w->out, bytes, sizeof(bytes));
	return flush_when_full(w);
}

int token_writer_end_document(struct token_writer *w)
{
	put_record(w, RECORD_DOCUMENT_END, 0);
	w->counts.documents++;
	w->sent = w->runs_end = 0;
	w->in_document = false;
	return flush_when_full(w);
}

int token_writer_end(struct token_writer *w)
{
	struct hash128 hash;

	if (w->in_document)
		return err_set(ERR_ARGUMENT, "a token stream ends within a document");
	put_record(w, RECORD_END, 0);
	buffer_put_u64(&w->out, w->counts.documents);
	buffer_put_u64(&w->out, w->counts.tokens);
	if (token_writer_flush(w) != 0)
		return -1;
	hash = hasher_value(w->hasher);
	return w->write(w->arg, hash.digest, sizeof(hash.digest));
}

struct token_counts token_writer_counts(const struct token_writer *w)
{
	return w->counts;
}

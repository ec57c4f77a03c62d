/* lib/data/token_sink.c - documents of token ids into any kind of file */
#include "lib/data/token_sink.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define STEP 16384 /* ids that are encoded at a time */

struct token_sink {
	struct outfile *out;
	enum token_format format;
	struct token_header header;
	struct token_sink_counts counts;
	struct token_pack_writer *pack;
	struct token_writer *stream;
	unsigned char bytes[STEP * 4]; /* .bin */
};

static bool is_bin(const struct token_sink *s)
{
	return s->format == TOKENS_LLMC || s->format == TOKENS_NANOGPT;
}

void token_sink_free(struct token_sink *s)
{
	if (!s)
		return;
	token_pack_free(s->pack);
	token_writer_free(s->stream);
	free(s);
}

/* --- .bin ----------------------------------------------------------------------------------- */

static int write_llmc_header(struct token_sink *s, bool again)
{
	bool small = token_width(s->header.vocab) == 2;
	struct buffer b = { 0 };
	int result;

	buffer_put_u32(&b, small ? LLMC_MAGIC_2 : LLMC_MAGIC_4);
	buffer_put_u32(&b, small ? LLMC_VERSION_2 : LLMC_VERSION_4);
	buffer_put_u32(&b, (uint32_t)s->counts.tokens);
	buffer_put_zeros(&b, LLMC_HEADER_SIZE - 12);
	result = buffer_check(&b);
	if (result == 0)
		result = again ? outfile_patch(s->out, 0, b.data, b.size)
			       : outfile_write(s->out, b.data, b.size);
	buffer_free(&b);
	return result;
}

static int begin_bin(struct token_sink *s)
{
	if (s->format == TOKENS_LLMC)
		return write_llmc_header(s, false);
	if (token_width(s->header.vocab) == 2)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "%s: nanoGPT's files have ids of 2 bytes, which a vocabulary of %" PRIu32
		       " does not fit",
		       outfile_path(s->out), s->header.vocab);
}

static int add_to_bin(struct token_sink *s, const uint32_t *ids, size_t n)
{
	uint32_t width = token_width(s->header.vocab);

	for (size_t at = 0; at < n; at += STEP) {
		size_t m = n - at < STEP ? n - at : STEP;

		token_ids_encode(s->bytes, ids + at, m, width);
		if (outfile_write(s->out, s->bytes, m * width) != 0)
			return -1;
	}
	if (s->format == TOKENS_LLMC && s->counts.tokens + n >= LLMC_IDS_MAX)
		return err_set(ERR_LIMIT, "%s: llm.c's files have fewer than 2^31 ids",
			       outfile_path(s->out));
	return 0;
}

/* --- any ------------------------------------------------------------------------------------ */

static int write_out(void *arg, const void *data, size_t n)
{
	return outfile_write(arg, data, n);
}

static int begin(struct token_sink *s, const struct token_sink_options *o)
{
	if (o->format == TOKENS_PACKED)
		return token_pack_new(&s->pack, s->out, &o->header, &o->pack, o->near);
	if (o->format == TOKENS_STREAM)
		return token_writer_new(&s->stream, &o->header, write_out, s->out);
	return begin_bin(s);
}

int token_sink_new(struct token_sink **out, struct outfile *f, const struct token_sink_options *o)
{
	struct token_sink *s = mem_new(1, sizeof(*s));

	if (!s)
		return -1;
	s->out = f;
	s->format = o->format;
	s->header = o->header;
	if (begin(s, o) != 0) {
		token_sink_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

int token_sink_add(struct token_sink *s, const uint32_t *ids, size_t n)
{
	int result = s->pack	 ? token_pack_add(s->pack, ids, n)
		     : s->stream ? token_writer_add(s->stream, ids, n)
				 : add_to_bin(s, ids, n);

	s->counts.tokens += n;
	return result;
}

int token_sink_add_separator(struct token_sink *s, uint32_t id)
{
	s->counts.separators++;
	if (!s->pack)
		return token_sink_add(s, &id, 1);
	s->counts.tokens++;
	return token_pack_add_separator(s->pack, id);
}

int token_sink_add_run(struct token_sink *s, const struct token_run *run)
{
	if (is_bin(s)) {
		s->counts.runs_dropped++;
		return 0;
	}
	s->counts.runs++;
	return s->pack ? token_pack_add_run(s->pack, run) : token_writer_run(s->stream, run);
}

int token_sink_end_document(struct token_sink *s)
{
	s->counts.documents++;
	if (is_bin(s))
		return 0;
	return s->pack ? token_pack_end_document(s->pack) : token_writer_end_document(s->stream);
}

int token_sink_end(struct token_sink *s)
{
	if (s->format == TOKENS_LLMC)
		return write_llmc_header(s, true);
	if (is_bin(s))
		return 0;
	return s->pack ? token_pack_end(s->pack) : token_writer_end(s->stream);
}

struct token_sink_counts token_sink_counts(const struct token_sink *s)
{
	return s->counts;
}

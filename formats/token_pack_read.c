/* formats/token_pack_read.c - opens a packed token file, and takes ids and rows of its tables from it */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "formats/token_pack_parts.h"
#include "lib/base/cursor.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

static uint64_t get_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

void token_pack_close(struct token_pack *p)
{
	if (!p)
		return;
	mapfile_close(p->map);
	free(p->name);
	free(p);
}

/* --- opening -------------------------------------------------------------------------- */

static int check_end(struct cursor *c, const struct token_pack_info *i, uint32_t fit)
{
	if (i->n_tokens > PACK_COUNT_MAX || i->n_documents > PACK_COUNT_MAX ||
	    i->n_runs > PACK_COUNT_MAX)
		return cursor_fail(c, "a count in the end record is above 2^56");
	if (i->n_separators > i->n_tokens)
		return cursor_fail(c, "%" PRIu64 " separators among %" PRIu64 " tokens",
				   i->n_separators, i->n_tokens);
	if (i->learnt & ~ROLES_ALL)
		return cursor_fail(c, "roles that are not known");
	if (fit >= N_FITS)
		return cursor_fail(c, "a filling of windows that is not known");
	return 0;
}

static int read_end(struct token_pack *p, struct cursor *c)
{
	struct token_pack_info *i = &p->info;
	struct bytes magic, zeros;
	uint32_t fit = 0;

	if (cursor_bytes(c, 8, &magic, "end record") != 0)
		return -1;
	if (!bytes_are(magic, PACK_END_MAGIC))
		return err_set(ERR_FORMAT,
			       "%s: does not end in an end record: it is cut, or bytes follow it",
			       p->name);
	if (cursor_u64(c, &i->n_tokens, "tokens") != 0 ||
	    cursor_u64(c, &i->n_documents, "documents") != 0 ||
	    cursor_u64(c, &i->n_runs, "runs") != 0 ||
	    cursor_u64(c, &i->n_separators, "separators") != 0 ||
	    cursor_u32(c, &i->learnt, "roles") != 0 || cursor_u32(c, &fit, "fill") != 0 ||
	    cursor_u64(c, &i->window, "window") != 0 ||
	    cursor_bytes(c, 16, &zeros, "reserved bytes") != 0)
		return -1;
	if (get_u64((const unsigned char *)zeros.data) ||
	    get_u64((const unsigned char *)zeros.data + 8))
		return cursor_fail(c, "reserved bytes that are not 0");
	i->fit = (enum token_fit)fit;
	return check_end(c, i, fit);
}

/* The size that the counts give is the file's, and the table of documents spans the tokens. */
static int check_layout(struct token_pack *p, size_t size)
{
	const struct token_pack_info *i = &p->info;
	uint64_t first, last;

	p->layout = token_pack_layout(p->width, i->n_tokens, i->n_documents, i->n_runs);
	if (p->layout.size != size)
		return err_set(ERR_FORMAT,
			       "%s: has %zu bytes, but %" PRIu64 " tokens, %" PRIu64
			       " documents and %" PRIu64 " runs take %" PRIu64,
			       p->name, size, i->n_tokens, i->n_documents, i->n_runs,
			       p->layout.size);
	first = get_u64(p->data + p->layout.documents);
	last = get_u64(p->data + p->layout.runs - 8);
	if (first == 0 && last == i->n_tokens)
		return 0;
	return err_set(ERR_FORMAT,
		       "%s: byte %" PRIu64 ": documents from %" PRIu64 " to %" PRIu64
		       ", but there are %" PRIu64 " tokens",
		       p->name, p->layout.documents, first, last, i->n_tokens);
}

static int open_bytes(struct token_pack *p, const void *data, size_t size)
{
	struct cursor c;

	if (token_header_decode(&p->info.header, TOKEN_PACK_MAGIC, data, size, p->name) != 0)
		return -1;
	p->data = data;
	p->width = token_width(p->info.header.vocab);
	if (size < TOKEN_HEADER_SIZE + 8 + PACK_END_SIZE)
		return err_set(ERR_FORMAT, "%s: is cut: %zu bytes", p->name, size);
	cursor_init(&c, data, size, p->name);
	if (cursor_seek(&c, size - PACK_END_SIZE, "end record") != 0 || read_end(p, &c) != 0)
		return -1;
	return check_layout(p, size);
}

static struct token_pack *new_pack(const char *name)
{
	struct token_pack *p = mem_new(1, sizeof(*p));

	if (!p)
		return NULL;
	p->name = mem_copy(name, strlen(name));
	if (p->name)
		return p;
	token_pack_close(p);
	return NULL;
}

int token_pack_open_memory(struct token_pack **out, const void *data, size_t size, const char *name)
{
	struct token_pack *p = new_pack(name);

	if (!p)
		return -1;
	if (open_bytes(p, data, size) != 0) {
		token_pack_close(p);
		return -1;
	}
	*out = p;
	return 0;
}

int token_pack_open(struct token_pack **out, const char *path)
{
	struct token_pack *p = new_pack(path);
	struct bytes b;

	if (!p)
		return -1;
	if (mapfile_open(&p->map, path) != 0) {
		token_pack_close(p);
		return -1;
	}
	b = mapfile_bytes(p->map);
	if (open_bytes(p, b.data, b.size) != 0) {
		token_pack_close(p);
		return -1;
	}
	*out = p;
	return 0;
}

const struct token_pack_info *token_pack_info(const struct token_pack *p)
{
	return &p->info;
}

const char *token_pack_name(const struct token_pack *p)
{
	return p->name;
}

void token_pack_forget(const struct token_pack *p)
{
	if (p->map)
		mapfile_forget(p->map);
}

struct hash128 token_pack_hash(const struct token_pack *p)
{
	struct hash128 h;

	memcpy(h.digest, p->data + p->layout.end + PACK_HASH_AT, sizeof(h.digest));
	return h;
}

/* --- ids and tables ------------------------------------------------------------------- */

int token_pack_read(const struct token_pack *p, uint64_t at, size_t n, uint32_t *ids)
{
	uint32_t top;

	if (at > p->info.n_tokens || n > p->info.n_tokens - at)
		return err_set(ERR_ARGUMENT,
			       "%s: %zu tokens from %" PRIu64 " on, but there are %" PRIu64,
			       p->name, n, at, p->info.n_tokens);
	top = token_ids_decode(ids, p->data + TOKEN_HEADER_SIZE + at * p->width, n, p->width);
	if (n == 0 || top < p->info.header.vocab)
		return 0;
	return err_set(ERR_FORMAT,
		       "%s: token id %" PRIu32 " among the %zu from token %" PRIu64
		       " on is not below the vocabulary size %" PRIu32,
		       p->name, top, n, at, p->info.header.vocab);
}

static uint64_t start_of(const struct token_pack *p, uint64_t i)
{
	return get_u64(p->data + p->layout.documents + i * 8);
}

int token_pack_document(const struct token_pack *p, uint64_t i, uint64_t *from, uint64_t *to)
{
	if (i >= p->info.n_documents)
		return err_set(ERR_ARGUMENT, "%s: document %" PRIu64 " of %" PRIu64, p->name, i,
			       p->info.n_documents);
	*from = start_of(p, i);
	*to = start_of(p, i + 1);
	if (*from <= *to && *to <= p->info.n_tokens)
		return 0;
	return err_set(ERR_FORMAT,
		       "%s: document %" PRIu64 " from %" PRIu64 " to %" PRIu64 " of %" PRIu64
		       " tokens",
		       p->name, i, *from, *to, p->info.n_tokens);
}

int token_pack_find(const struct token_pack *p, uint64_t at, uint64_t *document)
{
	uint64_t low = 0, high = p->info.n_documents; /* start(low) <= AT < start(high) */
	uint64_t from, to;

	if (at >= p->info.n_tokens)
		return err_set(ERR_ARGUMENT, "%s: token %" PRIu64 " of %" PRIu64, p->name, at,
			       p->info.n_tokens);
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (start_of(p, middle) <= at)
			low = middle;
		else
			high = middle;
	}
	*document = low;
	if (token_pack_document(p, low, &from, &to) != 0)
		return -1;
	if (from <= at && at < to)
		return 0;
	return err_set(ERR_FORMAT, "%s: the documents do not ascend near %" PRIu64, p->name, low);
}

int token_pack_run(const struct token_pack *p, uint64_t i, struct token_run *run)
{
	const char *wrong;

	if (i >= p->info.n_runs)
		return err_set(ERR_ARGUMENT, "%s: run %" PRIu64 " of %" PRIu64, p->name, i,
			       p->info.n_runs);
	wrong = token_run_decode(run, p->data + p->layout.runs + i * TOKEN_RUN_SIZE);
	if (!wrong && run->start + run->length > p->info.n_tokens)
		wrong = "past the last token";
	return wrong ? err_set(ERR_FORMAT, "%s: run %" PRIu64 ": %s", p->name, i, wrong) : 0;
}

int token_pack_find_run(const struct token_pack *p, uint64_t at, uint64_t *run)
{
	uint64_t low = 0, high = p->info.n_runs;
	struct token_run r;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (token_pack_run(p, middle, &r) != 0)
			return -1;
		if (r.start + r.length > at)
			high = middle;
		else
			low = middle + 1;
	}
	*run = low;
	return 0;
}

int token_pack_roles(const struct token_pack *p, uint64_t at, size_t n, uint8_t *roles)
{
	struct token_run r;
	uint64_t i, done = at;

	if (at > p->info.n_tokens || n > p->info.n_tokens - at)
		return err_set(ERR_ARGUMENT,
			       "%s: %zu roles from %" PRIu64 " on, but there are %" PRIu64, p->name,
			       n, at, p->info.n_tokens);
	if (n == 0)
		return 0;
	memset(roles, ROLE_TEXT, n);
	if (token_pack_find_run(p, at, &i) != 0)
		return -1;
	for (; i < p->info.n_runs; i++) {
		uint64_t end;

		if (token_pack_run(p, i, &r) != 0)
			return -1;
		if (r.start >= at + n)
			break;
		end = r.start + r.length < at + n ? r.start + r.length : at + n;
		if (end <= done || (r.start < done && done > at))
			return err_set(ERR_FORMAT, "%s: run %" PRIu64 ": runs do not ascend",
				       p->name, i);
		done = r.start > at ? r.start : at;
		memset(roles + (done - at), (int)r.role, (size_t)(end - done));
		done = end;
	}
	return 0;
}

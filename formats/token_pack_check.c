/* formats/token_pack_check.c - every byte of a packed token file against what it should be */
#include <inttypes.h>
#include <string.h>

#include "formats/token_pack_parts.h"
#include "lib/base/err.h"

#define STEP 8192

static int check_ids(const struct token_pack *p)
{
	uint32_t ids[STEP];
	uint64_t n = p->info.n_tokens;

	for (uint64_t at = 0; at < n; at += STEP)
		if (token_pack_read(p, at, n - at < STEP ? (size_t)(n - at) : STEP, ids) != 0)
			return -1;
	return 0;
}

static int check_gap(const struct token_pack *p)
{
	uint64_t at = TOKEN_HEADER_SIZE + p->info.n_tokens * p->width;

	for (; at < p->layout.documents; at++)
		if (p->data[at])
			return err_set(ERR_FORMAT, "%s: byte %" PRIu64 ": a gap that is not 0",
				       p->name, at);
	return 0;
}

static int check_documents(const struct token_pack *p)
{
	uint64_t from, to;

	for (uint64_t i = 0; i < p->info.n_documents; i++)
		if (token_pack_document(p, i, &from, &to) != 0)
			return -1;
	return 0;
}

/* Runs ascend, each within one document: the documents are walked beside them. */
static int check_runs(const struct token_pack *p)
{
	uint64_t document = 0, from = 0, to = 0, end = 0;
	struct token_run r;

	for (uint64_t i = 0; i < p->info.n_runs; i++) {
		if (token_pack_run(p, i, &r) != 0)
			return -1;
		if (r.start < end)
			return err_set(ERR_FORMAT, "%s: run %" PRIu64 ": runs do not ascend",
				       p->name, i);
		end = r.start + r.length;
		while (to <= r.start)
			if (token_pack_document(p, document++, &from, &to) != 0)
				return -1;
		if (end > to)
			return err_set(ERR_FORMAT,
				       "%s: run %" PRIu64 ": passes into another document", p->name,
				       i);
	}
	return 0;
}

static int check_hash(const struct token_pack *p, struct team *t)
{
	struct hash128 is, said = token_pack_hash(p);
	char hex_is[HASH_HEX], hex_said[HASH_HEX];

	if (hash_memory(t, p->data, (size_t)(p->layout.end + PACK_HASH_AT), &is) != 0)
		return -1;
	if (memcmp(&is, &said, sizeof(is)) == 0)
		return 0;
	hash_hex(&is, hex_is);
	hash_hex(&said, hex_said);
	return err_set(ERR_FORMAT, "%s: is damaged: its hash is %s, the end record says %s",
		       p->name, hex_is, hex_said);
}

int token_pack_check(const struct token_pack *p, struct team *t)
{
	if (check_hash(p, t) != 0 || check_ids(p) != 0 || check_gap(p) != 0 ||
	    check_documents(p) != 0)
		return -1;
	return check_runs(p);
}

/* formats/token_header.c - whose tokens these are (man/man5/token-stream.5) */
#include "formats/token_header.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cursor.h"
#include "lib/base/err.h"

#define VERSION 1

static void put_u32(unsigned char *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(v >> (8 * i));
}

static int check_id(const char *what, uint32_t id, uint32_t vocab, const char *name)
{
	if (id == TOKEN_NONE || id < vocab)
		return 0;
	return err_set(ERR_FORMAT,
		       "%s: %s id %" PRIu32 " is not below the vocabulary size %" PRIu32, name,
		       what, id, vocab);
}

int token_header_check(const struct token_header *h, const char *name)
{
	if (h->vocab == 0 || h->vocab > TOKEN_VOCAB_MAX)
		return err_set(ERR_FORMAT, "%s: vocabulary size %" PRIu32 ", but it is 1 to 2^31",
			       name, h->vocab);
	if (check_id("beginning", h->bos, h->vocab, name) != 0 ||
	    check_id("end", h->eos, h->vocab, name) != 0)
		return -1;
	return check_id("padding", h->pad, h->vocab, name);
}

void token_header_encode(const struct token_header *h, const char *magic,
			 unsigned char out[TOKEN_HEADER_SIZE])
{
	memset(out, 0, TOKEN_HEADER_SIZE);
	memcpy(out, magic, 8);
	put_u32(out + 8, VERSION);
	put_u32(out + 12, token_width(h->vocab));
	put_u32(out + 16, h->vocab);
	memcpy(out + 24, h->plain.digest, 16);
	memcpy(out + 40, h->whole.digest, 16);
	put_u32(out + 56, h->bos);
	put_u32(out + 60, h->eos);
	put_u32(out + 64, h->pad);
}

/* The other kind of file is told by its name, since it is the likely mistake. */
static int check_magic(struct cursor *c, const char *magic)
{
	struct bytes b;

	if (cursor_bytes(c, 8, &b, "magic") != 0)
		return -1;
	if (bytes_are(b, magic))
		return 0;
	if (bytes_are(b, TOKEN_STREAM_MAGIC))
		return err_set(ERR_FORMAT, "%s: is a token stream, not a packed token file",
			       c->file);
	if (bytes_are(b, TOKEN_PACK_MAGIC))
		return err_set(ERR_FORMAT, "%s: is a packed token file, not a token stream",
			       c->file);
	return err_set(ERR_FORMAT, "%s: byte 0: is no %s", c->file,
		       strcmp(magic, TOKEN_PACK_MAGIC) == 0 ? "packed token file" : "token stream");
}

static int read_version(struct cursor *c)
{
	uint32_t version;

	if (cursor_u32(c, &version, "version") != 0)
		return -1;
	if (version == VERSION)
		return 0;
	return err_set(ERR_UNSUPPORTED, "%s: byte 8: version %" PRIu32 ", and 1 is known", c->file,
		       version);
}

static int read_zeros(struct cursor *c, size_t n)
{
	struct bytes b;

	if (cursor_bytes(c, n, &b, "reserved bytes") != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (b.data[i])
			return cursor_fail(c, "reserved bytes that are not 0");
	return 0;
}

static int read_hash(struct cursor *c, struct hash128 *out)
{
	struct bytes b;

	if (cursor_bytes(c, sizeof(out->digest), &b, "fingerprint") != 0)
		return -1;
	memcpy(out->digest, b.data, sizeof(out->digest));
	return 0;
}

static int read_fields(struct cursor *c, struct token_header *h)
{
	uint32_t width;

	if (cursor_u32(c, &width, "bytes an id") != 0 ||
	    cursor_u32(c, &h->vocab, "vocabulary size") != 0 || read_zeros(c, 4) != 0 ||
	    read_hash(c, &h->plain) != 0 || read_hash(c, &h->whole) != 0 ||
	    cursor_u32(c, &h->bos, "id") != 0 || cursor_u32(c, &h->eos, "id") != 0 ||
	    cursor_u32(c, &h->pad, "id") != 0 || read_zeros(c, 12) != 0)
		return -1;
	if (token_header_check(h, c->file) != 0)
		return -1;
	if (width != token_width(h->vocab))
		return err_set(ERR_FORMAT,
			       "%s: byte 12: %" PRIu32 " bytes an id, but a vocabulary of %" PRIu32
			       " has %" PRIu32,
			       c->file, width, h->vocab, token_width(h->vocab));
	return 0;
}

int token_header_decode(struct token_header *h, const char *magic, const void *data, size_t n,
			const char *name)
{
	struct cursor c;

	cursor_init(&c, data, n < TOKEN_HEADER_SIZE ? n : TOKEN_HEADER_SIZE, name);
	if (check_magic(&c, magic) != 0 || read_version(&c) != 0)
		return -1;
	return read_fields(&c, h);
}

bool token_header_known(const struct token_header *h)
{
	static const struct hash128 none;

	return memcmp(&h->plain, &none, sizeof(none)) != 0;
}

int token_header_match(const struct token_header *a, const char *name_a,
		       const struct token_header *b, const char *name_b)
{
	char hex_a[HASH_HEX], hex_b[HASH_HEX];

	if (a->vocab != b->vocab)
		return err_set(ERR_MISMATCH, "%s: vocabulary size %" PRIu32 ", but %s has %" PRIu32,
			       name_b, b->vocab, name_a, a->vocab);
	if (memcmp(&a->plain, &b->plain, sizeof(a->plain)) == 0)
		return 0;
	hash_hex(&a->plain, hex_a);
	hash_hex(&b->plain, hex_b);
	return err_set(ERR_MISMATCH, "%s: tokens of tokenizer %s, but %s has those of %s", name_b,
		       token_header_known(b) ? hex_b : "(not known)", name_a,
		       token_header_known(a) ? hex_a : "(not known)");
}

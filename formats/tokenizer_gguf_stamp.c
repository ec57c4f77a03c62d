/* formats/tokenizer_gguf_stamp.c - the fingerprints that a GGUF states of its tokenizer */

#include "formats/tokenizer_gguf_plan.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"

#define STAMP	      "nnutils.tokenizer."
#define STAMP_VERSION 2 /* changes with lib/text/fingerprint.c's */

/* Every key that a tokenizer is read from. */
static const char *const heeded[] = {
	"tokenizer.huggingface.json",
	"tokenizer.ggml.model",
	"tokenizer.ggml.pre",
	"tokenizer.ggml.tokens",
	"tokenizer.ggml.scores",
	"tokenizer.ggml.token_type",
	"tokenizer.ggml.merges",
	"tokenizer.ggml.bos_token_id",
	"tokenizer.ggml.eos_token_id",
	"tokenizer.ggml.unknown_token_id",
	"tokenizer.ggml.padding_token_id",
	"tokenizer.ggml.cls_token_id",
	"tokenizer.ggml.seperator_token_id",
	"tokenizer.ggml.add_bos_token",
	"tokenizer.ggml.add_eos_token",
	"tokenizer.ggml.add_sep_token",
	"tokenizer.ggml.add_space_prefix",
	"tokenizer.ggml.remove_extra_whitespaces",
	"tokenizer.ggml.precompiled_charsmap",
	"tokenizer.ggml.normalizer.lowercase",
	"tokenizer.ggml.normalizer.strip_accents",
	"tokenizer.chat_template",
};

static void add_number(struct hasher *h, uint64_t v)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(v >> (8 * i));
	hasher_add(h, bytes, sizeof(bytes));
}

static void add_value(struct hasher *h, size_t place, const struct gguf_value *v)
{
	add_number(h, place);
	add_number(h, v->type);
	add_number(h, v->type == GGUF_ARRAY ? v->item_type : 0);
	add_number(h, v->n);
	add_number(h, v->raw.size);
	hasher_add(h, v->raw.data, v->raw.size);
}

int gguf_keys_hash(const struct gguf *g, struct hash128 *out)
{
	struct hasher *h;

	if (hasher_new(&h) < 0)
		return -1;
	add_number(h, STAMP_VERSION);
	for (size_t i = 0; i < sizeof(heeded) / sizeof(heeded[0]); i++) {
		const struct gguf_value *v = gguf_get(g, heeded[i]);

		if (v)
			add_value(h, i, v);
	}
	*out = hasher_value(h);
	hasher_free(h);
	return 0;
}

/* --- reading --- */

/* A hash in hexadecimal under KEY: 1, 0 when it is not there. */
static int read_hash(const struct gguf *g, const char *key, struct hash128 *out)
{
	char hex[HASH_HEX] = { 0 };
	struct bytes text;
	int got = gguf_get_string(g, key, &text);

	if (got <= 0)
		return got;
	if (text.size == HASH_HEX - 1)
		memcpy(hex, text.data, text.size);
	if (hash_parse(hex, out) < 0)
		return err_prefix("%s: key %s", gguf_file_path(g, 0), key);
	return 1;
}

static int read_stated(struct arena *arena, const struct gguf *g, const char *key,
		       const struct hash128 **out)
{
	struct hash128 *h = arena_alloc(arena, 1, sizeof(*h));
	int got = h ? read_hash(g, key, h) : -1;

	if (got > 0)
		*out = h;
	return got < 0 ? -1 : 0;
}

int gguf_stamp_read(struct tokenizer_spec *out, struct arena *arena, const struct gguf *g)
{
	struct hash128 stated, now;
	int got = read_hash(g, STAMP "pieces_hash", &stated);

	if (got <= 0)
		return got;
	if (gguf_keys_hash(g, &now) < 0)
		return -1;
	if (memcmp(&stated, &now, sizeof(now)) != 0)
		return 0;
	return read_stated(arena, g, STAMP "fingerprint.plain", &out->stated_plain) < 0
		       ? -1
		       : read_stated(arena, g, STAMP "fingerprint.whole", &out->stated_whole);
}

/* --- writing --- */

static void put_hash(struct gguf_writer *w, const char *key, const struct hash128 *h)
{
	char hex[HASH_HEX];

	if (!h)
		return;
	hash_hex(h, hex);
	gguf_put_string(w, key, bytes_of(hex));
}

static int declared_hash(struct gguf_writer *w, struct hash128 *out)
{
	struct buffer b = { 0 };
	struct gguf *g = NULL;
	int result = -1;

	if (gguf_writer_preview(w, &b) == 0 &&
	    gguf_open_memory(&g, b.data, b.size, "the keys declared so far") == 0)
		result = gguf_keys_hash(g, out);
	gguf_close(g);
	buffer_free(&b);
	return result;
}

int gguf_stamp_put(struct gguf_writer *w, const struct hash128 *plain, const struct hash128 *whole)
{
	struct hash128 now;

	if (!plain && !whole)
		return 0;
	if (declared_hash(w, &now) < 0)
		return -1;
	put_hash(w, STAMP "pieces_hash", &now);
	put_hash(w, STAMP "fingerprint.plain", plain);
	put_hash(w, STAMP "fingerprint.whole", whole);
	return 0;
}

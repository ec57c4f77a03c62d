/* lib/text/bpe_spm_put.c - the tokens that a symbol becomes in the end: itself, what it is cut into, bytes, the unknown one */
#include "lib/base/utf8.h"
#include "lib/text/bpe_spm_parts.h"

/* What is left of an unused piece, the rightmost at the bottom. A piece is cut at most once a character. */
#define DEPTH_MAX 1024

static int refuse(struct bytes text)
{
	uint32_t code_point;

	if (utf8_decode(text.data, text.size, &code_point))
		return err_set(ERR_UNSUPPORTED,
			       "U+%04X has no piece, and the model has no unknown token",
			       (unsigned)code_point);
	return err_set(ERR_FORMAT, "byte 0x%02X is not UTF-8, and the model has no bytes",
		       (unsigned char)text.data[0]);
}

/* A character that is no piece, or a byte that is part of none. */
static int put_unknown(const struct bpe_spm *b, struct bytes piece, size_t from, size_t size,
		       struct model_tokens *out)
{
	bool has_bytes = b->falls_back;

	for (size_t i = from; i < from + size; i++)
		has_bytes &= b->bytes[(unsigned char)piece.data[i]] != TOKEN_NONE;
	if (!has_bytes && b->unknown == TOKEN_NONE)
		return refuse((struct bytes){ piece.data + from, size });
	if (!has_bytes)
		return model_tokens_put(out, b->unknown, from, from + size);
	for (size_t i = from; i < from + size; i++)
		if (model_tokens_put(out, b->bytes[(unsigned char)piece.data[i]], i, i + 1) < 0)
			return -1;
	return 0;
}

int bpe_spm_put(const struct bpe_spm *b, const struct bpe_split *splits, struct bpe_symbol symbol,
		struct bytes piece, size_t from, struct model_tokens *out)
{
	struct bpe_symbol waiting[DEPTH_MAX];
	size_t n = 1;
	int result = 0;

	if (symbol.id < b->size && !(splits && b->types[symbol.id] == PIECE_UNUSED))
		return model_tokens_put(out, symbol.id, from, from + symbol.size);
	waiting[0] = symbol;
	while (n > 0 && result == 0) {
		struct bpe_symbol s = waiting[--n];
		bool unused = s.id < b->size && b->types[s.id] == PIECE_UNUSED;

		if (unused && splits[s.id].left != TOKEN_NONE && n + 2 <= DEPTH_MAX) {
			const struct bpe_split *cut = &splits[s.id];

			waiting[n++] = (struct bpe_symbol){ cut->right, s.size - cut->left_size };
			waiting[n++] = (struct bpe_symbol){ cut->left, cut->left_size };
			continue;
		}
		result = s.id < b->size && !unused
				 ? model_tokens_put(out, s.id, from, from + s.size)
				 : put_unknown(b, piece, from, s.size, out);
		from += s.size;
	}
	return result;
}

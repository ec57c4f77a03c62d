/* lib/text/token_kind.c - what sort of token an id is, and which bytes it stands for */

#include "lib/text/token_kind.h"

const char *token_kind_name(enum token_kind k)
{
	static const char *const names[] = {
		"normal", "special", "added", "byte", "unknown", "none"
	};

	return names[k];
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that `<0x0A>` spells, or -1. */
static int spelled_byte(struct bytes piece)
{
	int high, low;

	if (piece.size != 6 || !bytes_start_with(piece, "<0x") || piece.data[5] != '>')
		return -1;
	high = hex_digit(piece.data[3]);
	low = hex_digit(piece.data[4]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* An added token of that spelling is text, and no byte. */
static int byte_of(const struct tokenizer *t, uint32_t id)
{
	if (!tokenizer_spec(t)->model.byte_fallback || tokenizer_added(t, id))
		return -1;
	return spelled_byte(tokenizer_piece(t, id));
}

enum token_kind token_kind(const struct tokenizer *t, uint32_t id)
{
	const struct added_spec *added = tokenizer_added(t, id);

	/* Byte-level models stand for any text: what their files call unknown never comes of text. */
	if (id == tokenizer_spec(t)->model.unk && !tokenizer_is_byte_level(t))
		return TOKEN_KIND_UNKNOWN;
	if (added)
		return added->special ? TOKEN_KIND_SPECIAL : TOKEN_KIND_ADDED;
	if (tokenizer_piece(t, id).size == 0)
		return TOKEN_KIND_NONE;
	return byte_of(t, id) >= 0 ? TOKEN_KIND_BYTE : TOKEN_KIND_NORMAL;
}

struct bytes token_bytes(const struct tokenizer *t, uint32_t id, char *byte)
{
	int value = byte_of(t, id);

	if (value < 0)
		return tokenizer_piece(t, id);
	*byte = (char)value;
	return (struct bytes){ byte, 1 };
}

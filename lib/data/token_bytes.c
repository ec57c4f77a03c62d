/* lib/data/token_bytes.c - the bytes of tokens in text and in JSON, and the vocabulary line by line */

#include "lib/data/token_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json.h"
#include "lib/base/base64.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/printable.h"
#include "lib/base/utf8.h"
#include "lib/text/token_kind.h"

static void put_hex(struct buffer *b, struct bytes bytes)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < bytes.size; i++) {
		unsigned char c = (unsigned char)bytes.data[i];

		buffer_put_u8(b, (uint8_t)digits[c >> 4]);
		buffer_put_u8(b, (uint8_t)digits[c & 15]);
	}
}

void token_bytes_hex(struct buffer *b, const struct tokenizer *t, uint32_t id)
{
	char byte;

	put_hex(b, token_bytes(t, id, &byte));
}

void token_bytes_json(struct buffer *b, const char *key, struct bytes value)
{
	char name[64];

	if (utf8_valid_prefix(value.data, value.size) == value.size) {
		json_put_text_member(b, key, value);
		return;
	}
	snprintf(name, sizeof(name), "%s_base64", key);
	json_put_key(b, name);
	buffer_put_u8(b, '"');
	base64_put(b, value);
	buffer_put_u8(b, '"');
}

/* --- the vocabulary ------------------------------------------------------------------------------- */

struct vocab_lines {
	const struct tokenizer *tokenizer;
	uint32_t vocab;
	const struct piece_spec **pieces; /* by id; NULL: an added token, or none */
	bool scores;
};

int vocab_lines_new(struct vocab_lines **out, const struct tokenizer *t)
{
	const struct model_spec *m = &tokenizer_spec(t)->model;
	struct vocab_lines *v = mem_new(1, sizeof(*v));

	*out = NULL;
	if (!v)
		return -1;
	v->tokenizer = t;
	v->vocab = tokenizer_vocab_size(t);
	v->scores = m->kind == MODEL_UNIGRAM;
	v->pieces = mem_new(v->vocab, sizeof(*v->pieces));
	if (!v->pieces) {
		free(v);
		return -1;
	}
	for (size_t i = 0; i < m->n_pieces; i++)
		if (m->pieces[i].id < v->vocab)
			v->pieces[m->pieces[i].id] = &m->pieces[i];
	*out = v;
	return 0;
}

void vocab_lines_free(struct vocab_lines *v)
{
	if (!v)
		return;
	free(v->pieces);
	free(v);
}

/* As the file has it: a byte-level piece in its alphabet, an added token as its text. */
static struct bytes spelled(const struct vocab_lines *v, uint32_t id)
{
	if (tokenizer_added(v->tokenizer, id) || !v->pieces[id])
		return tokenizer_piece(v->tokenizer, id);
	return v->pieces[id]->text;
}

static bool is_there(const struct vocab_lines *v, uint32_t id)
{
	return id < v->vocab && (v->pieces[id] || tokenizer_added(v->tokenizer, id));
}

void vocab_line_headings(struct buffer *b)
{
	buffer_put_text(b, "id\tkind\tscore\tbytes\ttext\tspelled\n");
}

bool vocab_line(struct buffer *b, const struct vocab_lines *v, uint32_t id)
{
	char number[NUMBER_TEXT], byte;

	if (!is_there(v, id))
		return false;
	buffer_format(b, "%" PRIu32 "\t%s\t%s\t", id, token_kind_name(token_kind(v->tokenizer, id)),
		      v->scores && v->pieces[id] ? number_f64(v->pieces[id]->score, number) : "-");
	token_bytes_hex(b, v->tokenizer, id);
	buffer_put_u8(b, '\t');
	quote_text(b, token_bytes(v->tokenizer, id, &byte));
	buffer_put_u8(b, '\t');
	quote_text(b, spelled(v, id));
	buffer_put_u8(b, '\n');
	return true;
}

bool vocab_line_json(struct buffer *b, const struct vocab_lines *v, uint32_t id)
{
	char byte;

	if (!is_there(v, id))
		return false;
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "id", id);
	json_put_text_member(b, "kind", bytes_of(token_kind_name(token_kind(v->tokenizer, id))));
	if (v->scores && v->pieces[id])
		json_put_f64_member(b, "score", v->pieces[id]->score);
	json_put_key(b, "bytes");
	buffer_put_u8(b, '"');
	token_bytes_hex(b, v->tokenizer, id);
	buffer_put_u8(b, '"');
	token_bytes_json(b, "text", token_bytes(v->tokenizer, id, &byte));
	json_put_text_member(b, "spelled", spelled(v, id));
	buffer_put_text(b, "}\n");
	return true;
}

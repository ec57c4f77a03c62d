/* formats/tokenizer_vocab.c - vocabularies in plain files: vocab.txt, and vocab.json beside merges.txt */

#include <stdlib.h>

#include "formats/tokenizer_json_vocab.h"
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_wordpiece.h"
#include "lib/base/err.h"

int tokenizer_lines(struct bytes data, int (*take)(void *arg, struct bytes line, size_t number),
		    void *arg)
{
	size_t at = 0;

	for (size_t number = 1; at < data.size; number++) {
		const char *start = data.data + at;
		const char *end = memchr(start, '\n', data.size - at);
		size_t n = end ? (size_t)(end - start) : data.size - at;

		at += n + 1;
		if (n && start[n - 1] == '\r')
			n--;
		if (take(arg, (struct bytes){ start, n }, number) < 0)
			return -1;
	}
	return 0;
}

/* --- vocab.txt --- */

static int add_line(void *arg, struct bytes line, size_t number)
{
	struct tokenizer_pieces *p = arg;

	line = tokenizer_copy(p->arena, line);
	if (!line.data)
		return -1;
	return tokenizer_pieces_add(p, line, number - 1, 0) < 0 ? -1 : 0;
}

/* BERT's five, as far as they are there. */
static int add_special(struct tokenizer_spec *out, struct arena *arena)
{
	static const char *const texts[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
	struct added_spec *list = arena_alloc(arena, 5, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -1;
	for (size_t i = 0; i < out->model.n_pieces; i++)
		for (size_t k = 0; k < 5; k++)
			if (bytes_are(out->model.pieces[i].text, texts[k]))
				list[n++] = (struct added_spec){ .id = out->model.pieces[i].id,
								 .text = out->model.pieces[i].text,
								 .special = true };
	out->added = list;
	out->n_added = n;
	return 0;
}

static uint32_t id_of(const struct tokenizer_spec *spec, const char *text)
{
	for (size_t i = 0; i < spec->n_added; i++)
		if (bytes_are(spec->added[i].text, text))
			return spec->added[i].id;
	return TOKEN_NONE;
}

int tokenizer_vocab_txt(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
			const char *name, const struct wordpiece_options *options)
{
	struct tokenizer_pieces p;
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (tokenizer_pieces_new(&p, arena, name) < 0)
		return -1;
	if (tokenizer_lines(data, add_line, &p) == 0 &&
	    tokenizer_pieces_finish(&p, &out->model, false) == 0)
		result = add_special(out, arena) < 0
				 ? -1
				 : wordpiece_assemble(out, arena, name, options);
	tokenizer_pieces_free(&p);
	if (result == 0) {
		out->unk = out->model.unk;
		out->pad = id_of(out, "[PAD]");
	}
	return result;
}

/* --- vocab.json and merges.txt --- */

static int add_merge(void *arg, struct bytes line, size_t number)
{
	if (!line.size || bytes_start_with(line, "#version"))
		return 0;
	return tokenizer_pieces_merge_line(arg, line, 0) < 0 ? err_prefix("merges.txt:%zu", number)
							     : 0;
}

int tokenizer_vocab_json(struct tokenizer_spec *out, struct arena *arena, struct bytes vocab,
			 struct bytes merges, const char *name, enum scanner split)
{
	struct tokenizer_pieces p;
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	out->model =
		(struct model_spec){ .kind = MODEL_BPE, .unk = TOKEN_NONE, .max_word_chars = 100 };
	if (tokenizer_pieces_new(&p, arena, name) < 0)
		return -1;
	if (tokenizer_vocab_object(&p, vocab, name) == 0 &&
	    tokenizer_lines(merges, add_merge, &p) == 0 &&
	    tokenizer_pieces_finish(&p, &out->model, true) == 0)
		result = tokenizer_byte_level_steps(out, arena, REGEX_ONIGURUMA, split);
	tokenizer_pieces_free(&p);
	return result;
}

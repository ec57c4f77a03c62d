/* formats/tokenizer_json_put.c - a tokenizer.json, to the byte as tokenizers 0.23 saves it */

#include "formats/tokenizer_json_put.h"

#include "formats/tokenizer_json.h"
#include "formats/tokenizer_spm.h"
#include "lib/base/arena.h"

static void put_added(struct json_pretty *w, const struct added_spec *a)
{
	pretty_next(w);
	pretty_open(w, '{');
	pretty_u32(w, "id", a->id);
	pretty_text(w, "content", a->text);
	pretty_bool(w, "single_word", a->single_word);
	pretty_bool(w, "lstrip", a->lstrip);
	pretty_bool(w, "rstrip", a->rstrip);
	pretty_bool(w, "normalized", a->normalized);
	pretty_bool(w, "special", a->special);
	pretty_close(w, '}');
}

static int put_spec(struct buffer *b, const struct tokenizer_spec *spec)
{
	struct json_pretty w = { .out = b };

	pretty_open(&w, '{');
	pretty_text(&w, "version", bytes_of("1.0"));
	pretty_null(&w, "truncation");
	pretty_null(&w, "padding");
	pretty_key(&w, bytes_of("added_tokens"));
	pretty_open(&w, '[');
	for (size_t i = 0; i < spec->n_added; i++)
		put_added(&w, &spec->added[i]);
	pretty_close(&w, ']');
	tokenizer_put_normalizers(&w, spec);
	tokenizer_put_pretokenizers(&w, spec);
	if (tokenizer_put_posts(&w, spec) < 0)
		return -1;
	tokenizer_put_decoders(&w, spec);
	if (tokenizer_put_model(&w, spec) < 0)
		return -1;
	pretty_close(&w, '}');
	return buffer_check(b);
}

int tokenizer_json_put(struct buffer *b, const struct tokenizer_spec *spec)
{
	struct tokenizer_spec converted;
	struct arena *arena;
	int result = -1;

	if (!spec->model.sentencepiece)
		return put_spec(b, spec);
	if (arena_new(&arena) < 0)
		return -1;
	if (tokenizer_spm_convert(&converted, arena, spec) == 0)
		result = put_spec(b, &converted);
	arena_free(arena);
	return result;
}

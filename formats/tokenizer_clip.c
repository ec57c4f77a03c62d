/*
 * formats/tokenizer_clip.c - CLIP's bpe_simple_vocab
 *
 * A first line, then merges. The vocabulary is not in the file: the 256 characters of bytes, the same with `</w>`,
 * what each merge makes, and two special tokens. The steps are those of transformers' CLIPConverter.
 */
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"

#define MERGES_MAX (49152 - 256 - 2) /* those that OpenAI's code takes of the file */
#define END	   "</w>"
#define PATTERN	   "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"

struct clip {
	struct tokenizer_pieces p;
	size_t n_merges;
	const char *file;
};

static int add_text(struct clip *c, const struct buffer *b)
{
	struct bytes text;

	if (buffer_check(b))
		return -1;
	text = tokenizer_copy(c->p.arena, buffer_bytes(b));
	return text.data ? tokenizer_pieces_add(&c->p, text, c->p.n, 0) : -1;
}

static int add_bytes(struct clip *c, const char *suffix)
{
	struct buffer b = { 0 };
	int result = 0;

	for (unsigned i = 0; i < 256 && result == 0; i++) {
		char byte = (char)tokenizer_byte_order(i);

		buffer_clear(&b);
		tokenizer_put_byte_level(&b, (struct bytes){ &byte, 1 });
		buffer_put_text(&b, suffix);
		result = add_text(c, &b);
	}
	buffer_free(&b);
	return result;
}

/* The piece that a merge makes comes before the merge. */
static int add_merge(void *arg, struct bytes line, size_t number)
{
	struct clip *c = arg;
	const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	struct buffer b = { 0 };
	size_t left;
	int result;

	if (number == 1 || !line.size || c->n_merges == MERGES_MAX)
		return 0;
	if (!space)
		return err_set(ERR_FORMAT, "%s:%zu: is not two pieces with a space between",
			       c->file, number);
	left = (size_t)(space - line.data);
	buffer_put(&b, line.data, left);
	buffer_put(&b, space + 1, line.size - left - 1);
	result = add_text(c, &b);
	buffer_free(&b);
	c->n_merges++;
	if (result < 0 || tokenizer_pieces_merge_line(&c->p, line, 0) < 0)
		return err_prefix("line %zu", number);
	return 0;
}

static int add_specials(struct clip *c, struct tokenizer_spec *out)
{
	struct added_spec *list = arena_alloc(c->p.arena, 2, sizeof(*list));

	if (!list)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		struct bytes text = bytes_of(i ? "<|endoftext|>" : "<|startoftext|>");

		list[i] = (struct added_spec){ .id = (uint32_t)c->p.n,
					       .text = text,
					       .special = true };
		if (tokenizer_pieces_add(&c->p, text, c->p.n, 0) < 0)
			return -1;
	}
	out->added = list;
	out->n_added = 2;
	out->bos = list[0].id;
	out->eos = out->pad = out->unk = list[1].id;
	return 0;
}

static int add_normalizers(struct tokenizer_spec *out, struct arena *arena)
{
	struct normalizer_spec *list = arena_alloc(arena, 3, sizeof(*list));

	if (!list)
		return -1;
	list[0].kind = NORMALIZER_NFC;
	list[1].kind = NORMALIZER_REPLACE;
	list[1].replace.pattern =
		(struct pattern_spec){ .is_regex = true, .text = bytes_of("\\s+") };
	list[1].replace.content = bytes_of(" ");
	list[2].kind = NORMALIZER_LOWERCASE;
	out->normalizers = list;
	out->n_normalizers = 3;
	return 0;
}

static int add_steps(struct tokenizer_spec *out, struct arena *arena)
{
	struct pretokenizer_spec *split = arena_alloc(arena, 2, sizeof(*split));
	struct post_spec *post = arena_alloc(arena, 1, sizeof(*post));
	struct decoder_spec *decoder = arena_alloc(arena, 1, sizeof(*decoder));

	if (!split || !post || !decoder)
		return -1;
	split[0].kind = PRETOKENIZER_SPLIT;
	split[0].split.pattern =
		(struct pattern_spec){ .is_regex = true, .text = bytes_of(PATTERN) };
	split[0].split.behavior = SPLIT_REMOVED;
	split[0].split.invert = true;
	split[1].kind = PRETOKENIZER_BYTE_LEVEL;
	split[1].byte_level.trim_offsets = true;
	split[1].byte_level.use_regex = true;
	post->kind = POST_ROBERTA;
	post->sep.text = out->added[1].text;
	post->sep.id = out->added[1].id;
	post->cls.text = out->added[0].text;
	post->cls.id = out->added[0].id;
	decoder->kind = DECODER_BYTE_LEVEL;
	out->pretokenizers = split;
	out->n_pretokenizers = 2;
	out->posts = post;
	out->decoders = decoder;
	out->n_posts = out->n_decoders = 1;
	return add_normalizers(out, arena);
}

int tokenizer_clip(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
		   const char *name)
{
	struct clip c = { .file = name };
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (tokenizer_pieces_new(&c.p, arena, name) < 0)
		return -1;
	if (add_bytes(&c, "") == 0 && add_bytes(&c, END) == 0 &&
	    tokenizer_lines(data, add_merge, &c) == 0 && add_specials(&c, out) == 0) {
		out->model = (struct model_spec){ .kind = MODEL_BPE,
						  .unk = out->unk,
						  .has_unk_text = true,
						  .unk_text = out->added[1].text,
						  .continuing_prefix = { "", 0 },
						  .end_of_word_suffix = bytes_of(END),
						  .max_word_chars = 100 };
		result = tokenizer_pieces_finish(&c.p, &out->model, true);
	}
	tokenizer_pieces_free(&c.p);
	return result < 0 ? -1 : add_steps(out, arena);
}

/* formats/tokenizer_wordpiece.c - BERT's steps around a WordPiece vocabulary */

#include "formats/tokenizer_wordpiece.h"

#include "lib/base/err.h"

/* The piece of ID or, without one, of the text NAME. */
static const struct piece_spec *find(const struct model_spec *m, uint32_t id, const char *name)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (id == TOKEN_NONE ? bytes_are(m->pieces[i].text, name) : m->pieces[i].id == id)
			return &m->pieces[i];
	return NULL;
}

static struct template_item special(const struct piece_spec *piece, uint32_t type)
{
	return (struct template_item){
		.ids = &piece->id, .n_ids = 1, .type_id = type, .name = piece->text
	};
}

static struct template_item sequence(bool pair)
{
	return (struct template_item){ .is_sequence = true, .is_pair = pair, .type_id = pair };
}

/* [CLS] A [SEP], and [CLS] A [SEP] B [SEP]; no step when the vocabulary lacks either. */
static int add_template(struct tokenizer_spec *out, struct arena *arena,
			const struct piece_spec *cls, const struct piece_spec *sep)
{
	struct template_item *items = arena_alloc(arena, 5, sizeof(*items));
	struct post_spec *post = arena_alloc(arena, 1, sizeof(*post));

	if (!items || !post)
		return -1;
	if (!cls || !sep)
		return 0;
	items[0] = special(cls, 0);
	items[1] = sequence(false);
	items[2] = special(sep, 0);
	items[3] = sequence(true);
	items[4] = special(sep, 1);
	post->kind = POST_TEMPLATE;
	post->single = post->pair = items;
	post->n_single = 3;
	post->n_pair = 5;
	out->posts = post;
	out->n_posts = 1;
	return 0;
}

static int add_steps(struct tokenizer_spec *out, struct arena *arena,
		     const struct wordpiece_options *options)
{
	struct normalizer_spec *normalizer = arena_alloc(arena, 1, sizeof(*normalizer));
	struct pretokenizer_spec *pretokenizer = arena_alloc(arena, 1, sizeof(*pretokenizer));
	struct decoder_spec *decoder = arena_alloc(arena, 1, sizeof(*decoder));

	if (!normalizer || !pretokenizer || !decoder)
		return -1;
	normalizer->kind = NORMALIZER_BERT;
	normalizer->bert.clean_text = true;
	normalizer->bert.handle_chinese_chars = !options->keep_chinese;
	normalizer->bert.strip_accents = options->strip_accents;
	normalizer->bert.lowercase = options->lowercase;
	pretokenizer->kind = PRETOKENIZER_BERT;
	decoder->kind = DECODER_WORDPIECE;
	decoder->wordpiece.prefix = bytes_of("##");
	decoder->wordpiece.cleanup = true;
	out->normalizers = normalizer;
	out->pretokenizers = pretokenizer;
	out->decoders = decoder;
	out->n_normalizers = out->n_pretokenizers = out->n_decoders = 1;
	return 0;
}

int wordpiece_assemble(struct tokenizer_spec *out, struct arena *arena, const char *file,
		       const struct wordpiece_options *options)
{
	struct model_spec *m = &out->model;
	const struct piece_spec *unk = find(m, options->unk, "[UNK]");

	if (!unk)
		return err_set(ERR_MISSING, "%s: the vocabulary has no [UNK]", file);
	m->kind = MODEL_WORDPIECE;
	m->unk = unk->id;
	m->has_unk_text = true;
	m->unk_text = unk->text;
	m->continuing_prefix = bytes_of("##");
	m->max_word_chars = 100;
	if (add_steps(out, arena, options) < 0)
		return -1;
	return add_template(out, arena, find(m, options->cls, "[CLS]"),
			    find(m, options->sep, "[SEP]"));
}

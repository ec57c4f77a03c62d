/* formats/tokenizer_gguf_write_gpt2.c - byte-level BPE as GGUF's kind gpt2 */

#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_gguf_plan.h"
#include "formats/tokenizer_gguf_pre.h"
#include "lib/base/err.h"
#include "lib/text/model.h"

/* --- merges --- */

static int put_merge(struct gguf_plan *p, struct buffer *b, const struct merge_spec *m,
		     struct bytes *out)
{
	struct bytes left = p->pieces[m->left].text, right = p->pieces[m->right].text;

	/* A reader cuts at the first space behind the first byte. */
	if (left.size < 1 || memchr(left.data + 1, ' ', left.size - 1))
		return err_set(ERR_UNSUPPORTED,
			       "GGUF cannot say: a merge of piece %" PRIu32
			       ", which has a space in it",
			       m->left);
	buffer_clear(b);
	buffer_put(b, left.data, left.size);
	buffer_put(b, " ", 1);
	buffer_put(b, right.data, right.size);
	if (buffer_check(b))
		return -1;
	*out = (struct bytes){ arena_copy(p->arena, buffer_bytes(b)), b->size };
	return out->data ? 0 : -1;
}

static int put_merges(struct gguf_plan *p, const struct merge_spec *merges, size_t n)
{
	struct buffer b = { 0 };
	int result = 0;

	p->merges = arena_alloc(p->arena, n ? n : 1, sizeof(*p->merges));
	if (!p->merges)
		return -1;
	for (size_t i = 0; i < n && result == 0; i++)
		result = put_merge(p, &b, &merges[i], &p->merges[i]);
	buffer_free(&b);
	p->n_merges = n;
	p->has_merges = true;
	return result;
}

/* --- ignore_merges --- */

/* Whether merges alone make each piece that they are meant to make: then ignore_merges says nothing. */
static int merges_reach(const struct gguf_plan *p, const struct text_model *m, bool *all)
{
	struct model_tokens tokens = { 0 };
	struct model_scratch *s = NULL;
	int result = model_scratch_new(&s, m);

	*all = true;
	for (size_t i = 0; i < p->n && result == 0 && *all; i++) {
		struct bytes piece = text_model_piece(m, (uint32_t)i);

		if (p->pieces[i].type != SPM_NORMAL || !piece.size)
			continue;
		tokens.n = 0;
		result = text_model_encode(m, s, piece, &tokens);
		*all = result == 0 && tokens.n == 1 && tokens.items[0].id == i;
	}
	free(tokens.items);
	model_scratch_free(s);
	return result;
}

static int check_ignore_merges(struct gguf_plan *p, bool implied)
{
	struct model_spec bare = p->spec->model;
	struct text_model *m;
	bool all = false;
	int result;

	if (bare.ignore_merges == implied)
		return 0;
	bare.ignore_merges = false;
	if (text_model_new(&m, &bare, true) < 0)
		return -1;
	result = merges_reach(p, m, &all);
	text_model_free(m);
	if (result < 0 || all)
		return result;
	return gguf_plan_loss(p, LOSS_IDS,
			      "ignore_merges: is %s, and pre \"" BYTES_FMT "\" implies %s",
			      p->spec->model.ignore_merges ? "true" : "false", BYTES_ARG(p->pre),
			      implied ? "true" : "false");
}

/* --- the pattern --- */

/* The name that the caller asks for, whatever it means. */
static int given_pattern(struct gguf_plan *p)
{
	const struct pretokenizer_spec *list;
	struct gguf_pre flags;
	size_t n;

	p->pre = bytes_of(p->options->pre);
	if (gguf_pre_find(&list, &n, &flags, p->arena, p->pre, "GGUF") < 0)
		return err_set(ERR_ARGUMENT, "GGUF: no split pattern is known for pre \"%s\"",
			       p->options->pre);
	if (gguf_pre_is(p->spec, p->pre) && flags.ignore_merges == p->spec->model.ignore_merges)
		return 0;
	return gguf_plan_loss(p, LOSS_RARE, "pre \"%s\": means other steps or flags",
			      p->options->pre);
}

static int name_pattern(struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;
	struct gguf_pre flags;

	if (p->options->pre)
		return given_pattern(p);
	p->pre = gguf_pre_name(s, s->model.ignore_merges, &flags);
	if (p->pre.size)
		return check_ignore_merges(p, flags.ignore_merges);
	p->pre = bytes_of("gpt-2");
	return gguf_plan_loss(p, LOSS_IDS,
			      "pre_tokenizer: no `pre` of llama.cpp means these steps");
}

/* --- the rest --- */

static int check_model(struct gguf_plan *p)
{
	const struct model_spec *m = &p->spec->model;

	if (m->continuing_prefix.size &&
	    gguf_plan_loss(p, LOSS_IDS, "continuing_subword_prefix") < 0)
		return -1;
	if (m->end_of_word_suffix.size && gguf_plan_loss(p, LOSS_IDS, "end_of_word_suffix") < 0)
		return -1;
	return 0;
}

static int check_steps(struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;

	if (s->n_normalizers &&
	    gguf_plan_loss(p, LOSS_IDS, "normalizer: llama.cpp's gpt2 has none") < 0)
		return -1;
	if (s->pretokenizers[s->n_pretokenizers - 1].byte_level.add_prefix_space &&
	    gguf_plan_loss(p, LOSS_IDS, "add_prefix_space of ByteLevel") < 0)
		return -1;
	if (s->n_decoders != 1 || s->decoders[0].kind != DECODER_BYTE_LEVEL)
		return gguf_plan_loss(p, LOSS_WHOLE, "decoder: is not ByteLevel alone");
	return 0;
}

int gguf_plan_gpt2(struct gguf_plan *p)
{
	const struct merge_spec *merges;
	struct text_model *m;
	size_t n;
	int result;

	p->model = "gpt2";
	if (name_pattern(p) < 0 || check_model(p) < 0 || check_steps(p) < 0 ||
	    gguf_plan_added(p) < 0 || gguf_plan_posts(p) < 0 ||
	    text_model_new(&m, &p->spec->model, true) < 0)
		return -1;
	merges = text_model_merges(m, &n);
	result = put_merges(p, merges, n);
	text_model_free(m);
	return result;
}

/*
 * formats/tokenizer_gguf_write_spm.c - SentencePiece's BPE and Unigram as GGUF's kinds llama and t5
 *
 * The kinds hold pieces, scores and types, and imply all the rest. So what a reader makes of the plan is made here too
 * (tokenizer_spm_build), and held against the spec part by part.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_gguf_marks.h"
#include "formats/tokenizer_gguf_plan.h"
#include "formats/tokenizer_gguf_spm.h"
#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define NEVER (-1e9) /* the score of a piece that nothing must choose */

/* --- types --- */

static bool is_byte(struct bytes t)
{
	return t.size == 6 && bytes_start_with(t, "<0x") && t.data[5] == '>';
}

static int set_types(struct gguf_plan *p, const struct names *user)
{
	const struct model_spec *m = &p->spec->model;

	for (size_t i = 0; i < p->n; i++) {
		struct spm_piece *piece = &p->pieces[i];

		if (i == m->unk)
			piece->type = SPM_UNKNOWN;
		else if (piece->type == SPM_NORMAL && m->byte_fallback && is_byte(piece->text))
			piece->type = SPM_BYTE;
		else if (piece->type == SPM_NORMAL && names_find(user, piece->text, NULL))
			piece->type = SPM_USER_DEFINED;
	}
	return 0;
}

/* --- scores --- */

/* Whether the spec's own scores order its merges: they come from SentencePiece then. */
static bool has_scores(const struct model_spec *m)
{
	for (size_t i = 0; i < m->n_pieces; i++)
		if (m->pieces[i].score != 0)
			return true;
	return false;
}

/* The place of the first merge that makes it, downwards from 0; below all of them where there is none. */
static void score_by_merges(struct gguf_plan *p)
{
	const struct model_spec *m = &p->spec->model;

	for (size_t i = 0; i < p->n; i++)
		if (p->pieces[i].type == SPM_NORMAL)
			p->pieces[i].score = -(double)m->n_merges;
	for (size_t i = m->n_merges; i-- > 0;)
		if (p->pieces[m->merges[i].result].type == SPM_NORMAL)
			p->pieces[m->merges[i].result].score = -(double)i;
}

/* GGUF has f32. */
static void round_scores(struct gguf_plan *p, bool *changed)
{
	for (size_t i = 0; i < p->n; i++) {
		double score = p->pieces[i].type == SPM_GAP ? NEVER : p->pieces[i].score;

		p->pieces[i].score = (double)(float)score;
		*changed |= p->pieces[i].type != SPM_GAP && p->pieces[i].score != score;
	}
}

/* --- what a reader makes of it --- */

/* Whether the merges are the same, but for the order of those that make one piece. */
static bool same_merges(const struct model_spec *a, const struct model_spec *b, bool *same_order)
{
	*same_order = true;
	if (a->n_merges != b->n_merges)
		return false;
	for (size_t i = 0, end; i < a->n_merges; i = end) {
		for (end = i; end < a->n_merges && a->merges[end].result == a->merges[i].result;)
			end++;
		for (size_t k = i; k < end; k++) {
			size_t at = i;

			while (at < end && (a->merges[at].left != b->merges[k].left ||
					    a->merges[at].right != b->merges[k].right))
				at++;
			if (at == end)
				return false;
			*same_order &= at == k;
		}
	}
	return true;
}

static int build(struct gguf_plan *p, struct tokenizer_spec *again)
{
	struct tokenizer_spec rules;

	p->source.file = "GGUF";
	p->source.pieces = p->pieces;
	p->source.n = p->n;
	p->source.kind = p->spec->model.kind;
	p->source.byte_fallback = p->spec->model.byte_fallback;
	/* By SentencePiece's own rules; what is comparable are the components that say nearly the same. */
	return tokenizer_spm_build(&rules, p->arena, &p->source) < 0
		       ? -1
		       : tokenizer_spm_convert(again, p->arena, &rules);
}

static int plan_merges(struct gguf_plan *p, struct tokenizer_spec *again)
{
	bool own = has_scores(&p->spec->model), same_order, changed = false;

	if (own) {
		round_scores(p, &changed);
		if (build(p, again) < 0)
			return -1;
		if (same_merges(&p->spec->model, &again->model, &same_order) && same_order)
			return 0;
	}
	score_by_merges(p);
	round_scores(p, &changed);
	if (build(p, again) < 0)
		return -1;
	if (!same_merges(&p->spec->model, &again->model, &same_order))
		return gguf_plan_loss(
			p, LOSS_IDS,
			"merges: SentencePiece merges whatever two pieces make a third");
	return same_order ? 0 : gguf_plan_loss(p, LOSS_RARE, "the order of merges of one piece");
}

static int plan_scores(struct gguf_plan *p, struct tokenizer_spec *again)
{
	bool changed = false;

	round_scores(p, &changed);
	if (build(p, again) < 0)
		return -1;
	return changed ? gguf_plan_loss(p, LOSS_RARE, "scores: are rounded to f32") : 0;
}

/* --- held against the spec --- */

/* Pieces that text makes here, and that are control pieces there, which no text makes. */
static int compare_pieces(struct gguf_plan *p, const struct tokenizer_spec *again)
{
	const struct model_spec *m = &p->spec->model;

	if (m->n_pieces == again->model.n_pieces)
		return 0;
	if (m->kind == MODEL_BPE && !m->ignore_merges)
		return 0; /* no merge makes them */
	return gguf_plan_loss(p, LOSS_RARE, "text that spells a special token makes it");
}

static int compare_flags(struct gguf_plan *p, const struct tokenizer_spec *again)
{
	const struct model_spec *a = &p->spec->model, *b = &again->model;

	if (a->ignore_merges != b->ignore_merges &&
	    gguf_plan_loss(p, LOSS_IDS, "ignore_merges of a vocabulary like SentencePiece's") < 0)
		return -1;
	if (a->byte_fallback != b->byte_fallback &&
	    gguf_plan_loss(p, LOSS_IDS, "byte_fallback without all bytes") < 0)
		return -1;
	if (a->kind == MODEL_BPE && a->unk != TOKEN_NONE && a->fuse_unk != b->fuse_unk &&
	    !a->byte_fallback && gguf_plan_loss(p, LOSS_IDS, "fuse_unk: is false") < 0)
		return -1;
	if (a->continuing_prefix.size || a->end_of_word_suffix.size)
		return gguf_plan_loss(p, LOSS_IDS, "continuing_subword_prefix, end_of_word_suffix");
	return 0;
}

/* Those that are not special: where text is changed before they are looked for, a reader makes a split of them. */
static int compare_added(struct gguf_plan *p, const struct tokenizer_spec *again)
{
	size_t here = 0, there = 0;

	for (size_t i = 0; i < p->spec->n_added; i++)
		here += !p->spec->added[i].special;
	for (size_t i = 0; i < again->n_added; i++)
		there += !again->added[i].special;
	if (here != there)
		return gguf_plan_loss(
			p, LOSS_RARE,
			"added tokens that are not special become user-defined pieces");
	return 0;
}

static int unescape_users(struct gguf_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->pieces[i].type == SPM_USER_DEFINED &&
		    gguf_unescape_spaces(p->arena, &p->pieces[i].text) < 0)
			return -1;
	return 0;
}

/* --- a spec by SentencePiece's rules: the kinds say nearly all of it --- */

static int plan_rules(struct gguf_plan *p)
{
	struct spm_source s;
	bool changed = false;

	if (tokenizer_spm_source(&s, p->arena, p->spec, "GGUF") < 0)
		return -1;
	for (size_t i = 0; i < p->n && i < s.n; i++) {
		p->pieces[i].type = s.pieces[i].type;
		p->pieces[i].score = s.pieces[i].score;
	}
	round_scores(p, &changed);
	if (changed && gguf_plan_loss(p, LOSS_RARE, "scores: are rounded to f32") < 0)
		return -1;
	if (!s.escape_whitespaces &&
	    gguf_plan_loss(p, LOSS_IDS, "escape_whitespaces: is false") < 0)
		return -1;
	if (s.add_dummy_prefix && s.whitespace_as_suffix &&
	    gguf_plan_loss(p, LOSS_IDS, "treat_whitespace_as_suffix") < 0)
		return -1;
	s.escape_whitespaces = true;
	s.whitespace_as_suffix = false;
	p->source = s;
	return gguf_plan_added(p) < 0 || gguf_plan_posts(p) < 0 ? -1 : unescape_users(p);
}

int gguf_plan_spm(struct gguf_plan *p)
{
	bool bpe = p->spec->model.kind == MODEL_BPE;
	struct names *user = NULL;
	struct tokenizer_spec again;
	int result = -1;

	p->model = bpe ? "llama" : "t5";
	p->pre = bytes_of("default");
	p->has_spm = p->has_scores = true;
	if (p->spec->model.sentencepiece)
		return plan_rules(p);
	if (gguf_plan_loss(p, LOSS_RARE, "SentencePiece's rules of merging and normalizing") < 0)
		return -1;
	if (names_new(&user) < 0)
		return -1;
	if (gguf_spm_steps(p, user) == 0 && set_types(p, user) == 0 &&
	    (bpe ? plan_merges(p, &again) : plan_scores(p, &again)) == 0 &&
	    compare_pieces(p, &again) == 0 && compare_flags(p, &again) == 0 &&
	    compare_added(p, &again) == 0 && gguf_spm_compare_steps(p, &again) == 0 &&
	    gguf_plan_added(p) == 0)
		result = gguf_plan_posts(p);
	names_free(user);
	return result == 0 ? unescape_users(p) : -1;
}

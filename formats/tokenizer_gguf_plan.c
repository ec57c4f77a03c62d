/* formats/tokenizer_gguf_plan.c - what the kinds of GGUF vocabularies share when they are written */

#include "formats/tokenizer_gguf_plan.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"

/* Pieces that may be missing between others: a file of [unusedN] alone helps no one. */
#define GAPS_MAX ((size_t)1 << 20)

int gguf_plan_loss(struct gguf_plan *p, enum gguf_loss loss, const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	p->other_whole = true;
	p->other_ids |= loss != LOSS_WHOLE;
	if (loss == LOSS_IDS && !p->options->inexact)
		return err_set(ERR_UNSUPPORTED, "GGUF cannot say: %s", text);
	if (p->options->differences)
		buffer_format(p->options->differences, "%s\n", text);
	return 0;
}

/* --- pieces --- */

struct bytes gguf_gap_text(struct arena *arena, size_t id, unsigned underscores)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "[unused%zu%.*s]", id, (int)underscores,
			 "________________________________");

	return tokenizer_copy(arena, (struct bytes){ text, (size_t)n });
}

bool gguf_is_gap(struct bytes text, size_t id)
{
	char want[40];
	size_t n = (size_t)snprintf(want, sizeof(want), "[unused%zu", id);

	if (text.size <= n || memcmp(text.data, want, n) != 0)
		return false;
	while (n < text.size && text.data[n] == '_')
		n++;
	return n + 1 == text.size && text.data[n] == ']';
}

static size_t largest(const struct tokenizer_spec *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->model.n_pieces; i++)
		if (s->model.pieces[i].id >= n)
			n = (size_t)s->model.pieces[i].id + 1;
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].id >= n)
			n = (size_t)s->added[i].id + 1;
	return n;
}

/* An id without a piece gets a text that no other has. */
static int fill_gaps(struct gguf_plan *p)
{
	struct names *texts;
	int got = 0;

	if (names_new(&texts) < 0)
		return -1;
	for (size_t i = 0; i < p->n && got >= 0; i++)
		if (p->pieces[i].type != SPM_GAP)
			got = names_add(texts, p->pieces[i].text, 0, NULL);
	for (size_t i = 0; i < p->n && got >= 0; i++)
		for (unsigned k = 0; p->pieces[i].type == SPM_GAP && !p->pieces[i].text.data; k++) {
			struct bytes text = gguf_gap_text(p->arena, i, k);

			if (!text.data)
				got = -1;
			else if (k == 32 || !names_find(texts, text, NULL))
				p->pieces[i].text = text;
			if (got < 0)
				break;
		}
	names_free(texts);
	return got < 0 ? -1 : 0;
}

static int add_added(struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;

	for (size_t i = 0; i < s->n_added; i++) {
		const struct added_spec *a = &s->added[i];
		struct spm_piece *piece = &p->pieces[a->id];

		if (piece->type != SPM_GAP &&
		    (piece->text.size != a->text.size ||
		     memcmp(piece->text.data, a->text.data, a->text.size) != 0))
			return err_set(ERR_UNSUPPORTED,
				       "GGUF cannot say: id %" PRIu32
				       " is a piece and an added token of another text",
				       a->id);
		piece->text = a->text;
		piece->type = a->special ? SPM_CONTROL : SPM_USER_DEFINED;
		if (a->special && (a->id == s->model.unk || a->id == s->unk))
			piece->type = SPM_UNKNOWN;
	}
	return 0;
}

/* A piece without text gets the name that readers give it. */
static int name_empty(struct gguf_plan *p)
{
	char name[40];

	for (size_t i = 0; i < p->n; i++) {
		struct spm_piece *piece = &p->pieces[i];

		if (piece->type == SPM_GAP || piece->text.size)
			continue;
		snprintf(name, sizeof(name), "[EMPTY_%zu]", i);
		piece->text = tokenizer_copy(p->arena, bytes_of(name));
		if (!piece->text.data ||
		    gguf_plan_loss(p, LOSS_WHOLE, "piece %zu: has no text", i) < 0)
			return -1;
	}
	return 0;
}

int gguf_plan_pieces(struct gguf_plan *p)
{
	const struct model_spec *m = &p->spec->model;

	p->n = largest(p->spec);
	if (p->options->n_ids && p->n > p->options->n_ids)
		return err_set(ERR_MISMATCH,
			       "the tokenizer has ids up to %zu, the model %" PRIu64
			       " rows of them",
			       p->n - 1, p->options->n_ids);
	if (p->n < p->options->n_ids)
		p->n = (size_t)p->options->n_ids;
	if (p->n > m->n_pieces + p->spec->n_added + GAPS_MAX)
		return err_set(ERR_LIMIT, "GGUF: ids up to %zu for %zu pieces", p->n - 1,
			       m->n_pieces);
	p->pieces = arena_alloc(p->arena, p->n + 1, sizeof(*p->pieces));
	if (!p->pieces)
		return -1;
	for (size_t i = 0; i < p->n; i++)
		p->pieces[i].type = SPM_GAP;
	for (size_t i = 0; i < m->n_pieces; i++)
		p->pieces[m->pieces[i].id] =
			(struct spm_piece){ m->pieces[i].text, m->pieces[i].score, SPM_NORMAL };
	return add_added(p) < 0 || name_empty(p) < 0 ? -1 : fill_gaps(p);
}

int gguf_plan_added(struct gguf_plan *p)
{
	for (size_t i = 0; i < p->spec->n_added; i++) {
		const struct added_spec *a = &p->spec->added[i];

		if ((a->single_word || a->lstrip || a->rstrip) &&
		    gguf_plan_loss(p, a->special ? LOSS_WHOLE : LOSS_IDS,
				   "single_word, lstrip or rstrip of the added token %" PRIu32,
				   a->id) < 0)
			return -1;
	}
	return 0;
}

/* --- what begins and ends a text --- */

/* Takes ID as the role *ROLE, which is added: false where another token has that role. */
static bool take(uint32_t id, uint32_t *role, bool *add)
{
	if (*role != TOKEN_NONE && *role != id)
		return false;
	*role = id;
	*add = true;
	return true;
}

/* `bos? $A eos?`, one id each. */
static bool template_roles(struct gguf_plan *p, const struct post_spec *post)
{
	const struct template_item *items = post->single;
	size_t n = post->n_single, at = 0;

	if (at < n && !items[at].is_sequence) {
		if (items[at].n_ids != 1 || !take(items[at].ids[0], &p->bos, &p->add_bos))
			return false;
		at++;
	}
	if (at >= n || !items[at].is_sequence)
		return false;
	at++;
	if (at < n && !items[at].is_sequence) {
		if (items[at].n_ids != 1 || !take(items[at].ids[0], &p->eos, &p->add_eos))
			return false;
		at++;
	}
	return at == n;
}

int gguf_plan_posts(struct gguf_plan *p)
{
	bool whole = true;

	for (size_t i = 0; i < p->spec->n_posts; i++) {
		const struct post_spec *post = &p->spec->posts[i];

		if (post->kind == POST_TEMPLATE)
			whole &= template_roles(p, post);
		else if (post->kind != POST_BYTE_LEVEL)
			whole &= take(post->cls.id, &p->bos, &p->add_bos) &&
				 take(post->sep.id, &p->eos, &p->add_eos);
	}
	if (!whole)
		return gguf_plan_loss(p, LOSS_WHOLE,
				      "post_processor: adds more than a BOS and an EOS");
	return 0;
}

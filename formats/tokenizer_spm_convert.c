/* formats/tokenizer_spm_convert.c - SentencePiece's pieces as the components of tokenizers */

#include "formats/tokenizer_spm.h"

#include <stdlib.h>

#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_spm_steps.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

/* --- merges --- */

static int compare_scores(const void *a, const void *b)
{
	const struct piece_spec *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* An unused piece takes part in SentencePiece's merges and is taken apart again: no list of merges says that. */
static int check_unused(const struct spm_source *s, const struct names *normal)
{
	for (size_t i = 0; i < s->n; i++) {
		struct bytes t = s->pieces[i].text;

		if (s->pieces[i].type != SPM_UNUSED || t.size > TOKENIZER_PIECE_MAX)
			continue;
		for (size_t at = 1; at < t.size; at++)
			if (names_find(normal, (struct bytes){ t.data, at }, NULL) &&
			    names_find(normal, (struct bytes){ t.data + at, t.size - at }, NULL))
				return err_set(ERR_UNSUPPORTED,
					       "%s: piece %zu is unused, and two pieces make it",
					       s->file, i);
	}
	return 0;
}

static int merges_of(struct tokenizer_pieces *p, const struct spm_source *s,
		     struct piece_spec *ordered, size_t n, const struct names *normal)
{
	qsort(ordered, n, sizeof(*ordered), compare_scores);
	return tokenizer_pieces_splits(p, normal, ordered, n, MERGE_BY_LENGTH) < 0
		       ? -1
		       : check_unused(s, normal);
}

/* Normal pieces alone are merged: the higher score first, then the lower id. */
static int add_merges(struct tokenizer_pieces *p, const struct spm_source *s)
{
	struct piece_spec *ordered = mem_new(s->n + 1, sizeof(*ordered));
	struct names *normal = NULL;
	size_t n = 0;
	int result = -1;

	if (!ordered || names_new(&normal) < 0)
		goto out;
	for (size_t i = 0; i < s->n; i++) {
		const struct spm_piece *piece = &s->pieces[i];

		if (piece->type != SPM_NORMAL)
			continue;
		if (names_add(normal, piece->text, (uint32_t)i, NULL) < 0)
			goto out;
		ordered[n++] = (struct piece_spec){ piece->text, (uint32_t)i, piece->score };
	}
	result = merges_of(p, s, ordered, n, normal);
out:
	free(ordered);
	names_free(normal);
	return result;
}

/* --- pieces --- */

/* Unigram's search knows neither control pieces nor unused ones; BPE's vocabulary may keep the latter. */
static bool in_model(const struct spm_source *s, enum spm_type type)
{
	return type != SPM_CONTROL && type != SPM_GAP &&
	       (type != SPM_UNUSED || s->kind == MODEL_BPE);
}

static int add_pieces(struct tokenizer_pieces *p, const struct spm_source *s, struct model_spec *m)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct spm_piece *piece = &s->pieces[i];

		if (piece->type == SPM_UNKNOWN) {
			m->unk = (uint32_t)i;
			m->has_unk_text = true;
			m->unk_text = piece->text;
		}
		if (in_model(s, piece->type) &&
		    tokenizer_pieces_add(p, piece->text, i, piece->score) < 0)
			return -1;
	}
	return 0;
}

static int build_model(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	struct model_spec *m = &out->model;
	struct tokenizer_pieces p;
	int result = -1;

	*m = (struct model_spec){ .kind = s->kind,
				  .unk = TOKEN_NONE,
				  .fuse_unk = s->kind == MODEL_BPE,
				  .byte_fallback = s->byte_fallback,
				  .max_word_chars = 100 };
	if (tokenizer_pieces_new(&p, arena, s->file) < 0)
		return -1;
	if (add_pieces(&p, s, m) == 0 && (s->kind != MODEL_BPE || add_merges(&p, s) == 0))
		result = tokenizer_pieces_finish(&p, m, false);
	tokenizer_pieces_free(&p);
	return result;
}

/* --- added tokens --- */

static bool is_added(const struct spm_source *s, enum spm_type type)
{
	return type == SPM_CONTROL || type == SPM_UNKNOWN ||
	       (type == SPM_USER_DEFINED && spm_plain(s));
}

static int build_added(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	struct added_spec *list;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_added(s, s->pieces[i].type);
	list = arena_alloc(arena, n ? n : 1, sizeof(*list));
	if (!list)
		return -1;
	out->added = list;
	out->n_added = n;
	for (size_t i = 0; i < s->n; i++) {
		bool user = s->pieces[i].type == SPM_USER_DEFINED;

		if (is_added(s, s->pieces[i].type))
			*list++ = (struct added_spec){ .id = (uint32_t)i,
						       .text = s->pieces[i].text,
						       .normalized = user,
						       .special = !user };
	}
	return 0;
}

static int check(const struct spm_source *s)
{
	if (s->add_dummy_prefix && !s->escape_whitespaces)
		return err_set(
			ERR_UNSUPPORTED,
			"%s: a tokenizer.json has no add_dummy_prefix without escape_whitespaces",
			s->file);
	if (s->add_dummy_prefix && s->whitespace_as_suffix)
		return err_set(ERR_UNSUPPORTED,
			       "%s: a tokenizer.json has no treat_whitespace_as_suffix", s->file);
	return 0;
}

int tokenizer_spm_convert(struct tokenizer_spec *out, struct arena *arena,
			  const struct tokenizer_spec *spec)
{
	struct spm_source s;

	if (tokenizer_spm_source(&s, arena, spec, "tokenizer.json") < 0 || check(&s) < 0)
		return -1;
	*out = *spec;
	out->stated_plain = out->stated_whole = NULL;
	return build_model(out, arena, &s) < 0 || build_added(out, arena, &s) < 0
		       ? -1
		       : spm_steps(out, arena, &s);
}

/* formats/tokenizer_spm_steps.c - what SentencePiece does around its model, as components */

#include "formats/tokenizer_spm_steps.h"

#include <stdlib.h>

#include "formats/tokenizer_pieces.h"
#include "lib/base/memory.h"

#define MARK	   "\xE2\x96\x81" /* U+2581, the escaped space */
#define MARK_POINT 0x2581

bool spm_plain(const struct spm_source *s)
{
	return !s->add_dummy_prefix && !s->remove_extra_whitespaces && !s->charsmap.size;
}

static struct normalizer_spec replace(const char *pattern, bool is_regex, const char *content)
{
	struct normalizer_spec n = { .kind = NORMALIZER_REPLACE };

	n.replace.pattern = (struct pattern_spec){ .is_regex = is_regex,
						   .dialect = REGEX_ONIGURUMA,
						   .text = bytes_of(pattern) };
	n.replace.content = bytes_of(content);
	return n;
}

static int add_normalizers(struct tokenizer_spec *out, struct arena *arena,
			   const struct spm_source *s)
{
	struct normalizer_spec *list = arena_alloc(arena, 5, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -1;
	if (s->charsmap.size)
		list[n++] = (struct normalizer_spec){ .kind = NORMALIZER_PRECOMPILED,
						      .charsmap = s->charsmap };
	if (s->remove_extra_whitespaces) {
		list[n++] = replace("\\A +| +\\z", true, "");
		list[n++] = replace(" {2,}", true, " ");
	}
	if (s->escape_whitespaces)
		list[n++] = replace(" ", false, MARK);
	/* Metaspace gives no prefix to a text that begins with the mark; SentencePiece does. */
	if (s->add_dummy_prefix)
		list[n++] = replace("\\A" MARK, true, MARK MARK);
	out->normalizers = list;
	out->n_normalizers = n;
	return 0;
}

/* --- user-defined pieces, which are never cut --- */

static void put_escaped(struct buffer *b, struct bytes text)
{
	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (c == '\n' || c == '\r' || c == '\t') {
			buffer_put_text(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
			continue;
		}
		if (c && strchr("\\^$.|?*+()[]{}", c))
			buffer_put_text(b, "\\");
		buffer_put(b, &c, 1);
	}
}

/* The longer text first, then the lower place. */
static int compare_lengths(const void *a, const void *b)
{
	const struct spm_piece *const *x = a, *const *y = b;

	if ((*x)->text.size != (*y)->text.size)
		return (*x)->text.size > (*y)->text.size ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* An alternation of all user-defined pieces; empty when there are none. */
static int user_pattern(struct buffer *b, const struct spm_source *s)
{
	const struct spm_piece **user = mem_new(s->n + 1, sizeof(*user));
	size_t n = 0;

	if (!user)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (s->pieces[i].type == SPM_USER_DEFINED)
			user[n++] = &s->pieces[i];
	qsort(user, n, sizeof(*user), compare_lengths);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buffer_put_text(b, "|");
		put_escaped(b, user[i]->text);
	}
	free(user);
	return buffer_check(b);
}

static int add_user_split(struct tokenizer_spec *out, struct arena *arena,
			  const struct spm_source *s, struct pretokenizer_spec *split)
{
	struct buffer pattern = { 0 };
	int result = -1;

	split->kind = PRETOKENIZER_SPLIT;
	split->split.behavior = SPLIT_ISOLATED;
	if (user_pattern(&pattern, s) == 0) {
		struct bytes text = tokenizer_copy(arena, buffer_bytes(&pattern));

		split->split.pattern = (struct pattern_spec){ .is_regex = true,
							      .dialect = REGEX_ONIGURUMA,
							      .text = text };
		out->n_pretokenizers += text.size > 0;
		out->model.ignore_merges = text.size > 0 && s->kind == MODEL_BPE;
		result = text.data ? 0 : -1;
	}
	buffer_free(&pattern);
	return result;
}

static int add_pretokenizers(struct tokenizer_spec *out, struct arena *arena,
			     const struct spm_source *s)
{
	struct pretokenizer_spec *list = arena_alloc(arena, 2, sizeof(*list));

	if (!list)
		return -1;
	out->pretokenizers = list;
	out->n_pretokenizers = 0;
	if (s->add_dummy_prefix) {
		list->kind = PRETOKENIZER_METASPACE;
		list->metaspace.replacement = MARK_POINT;
		list->metaspace.scheme = PREPEND_ALWAYS;
		out->n_pretokenizers = 1;
	}
	return spm_plain(s) ? 0 : add_user_split(out, arena, s, list + out->n_pretokenizers);
}

/* --- decoders --- */

int spm_decoders(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	struct decoder_spec *list = arena_alloc(arena, 4, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -1;
	list[n].kind = DECODER_REPLACE;
	list[n].replace.pattern.text = bytes_of(MARK);
	list[n++].replace.content = bytes_of(" ");
	if (s->byte_fallback)
		list[n++].kind = DECODER_BYTE_FALLBACK;
	if (s->byte_fallback || s->add_dummy_prefix)
		list[n++].kind = DECODER_FUSE;
	if (s->add_dummy_prefix) {
		list[n].kind = DECODER_STRIP;
		list[n].strip.content = ' ';
		list[n].strip.start = !s->whitespace_as_suffix;
		list[n++].strip.stop = s->whitespace_as_suffix;
	}
	out->decoders = list;
	out->n_decoders = n;
	return 0;
}

int spm_steps(struct tokenizer_spec *out, struct arena *arena, const struct spm_source *s)
{
	return add_normalizers(out, arena, s) < 0 || add_pretokenizers(out, arena, s) < 0
		       ? -1
		       : spm_decoders(out, arena, s);
}

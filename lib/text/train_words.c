/* lib/text/train_words.c - words as they may be learnt from: no piece becomes a special token's text */

#include "lib/text/train_words.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"

/* A text that no piece may be, as it stands in words. */
struct needle {
	struct bytes text;
	size_t cut; /* bytes of its first character */
};

struct train_words {
	struct needle *needles; /* by their first byte */
	size_t n;
	size_t from[257]; /* those that begin with byte B: from[B] to from[B + 1] */
	struct buffer raw;
};

static int refuse(struct bytes text)
{
	return err_set(ERR_ARGUMENT,
		       "special token '" BYTES_FMT "' is one character, which is a piece of text",
		       BYTES_ARG(text));
}

/* TEXT as raw bytes, if ByteLevel's alphabet spells it; a piece is spelled so only then. */
static int add_raw(struct train_words *w, struct bytes text, size_t *offset)
{
	*offset = w->raw.size;
	if (bytelevel_decode(&w->raw, text) && w->raw.size == *offset + 1)
		return refuse(text);
	return buffer_check(&w->raw);
}

static int add_all_raw(struct train_words *w, const struct bytes *first, size_t n)
{
	size_t *offsets = mem_new(n + 1, sizeof(*offsets));
	int result = -1;

	if (!offsets)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (add_raw(w, first[i], &offsets[i]) < 0)
			goto end;
	offsets[n] = w->raw.size;
	for (size_t i = 0; i < n; i++)
		if (offsets[i + 1] > offsets[i])
			w->needles[w->n++] = (struct needle){
				{ w->raw.data + offsets[i], offsets[i + 1] - offsets[i] }, 1
			};
	result = 0;
end:
	free(offsets);
	return result;
}

static void add_all(struct train_words *w, const struct bytes *first, size_t n)
{
	uint32_t code_point;

	for (size_t i = 0; i < n; i++) {
		size_t cut = utf8_decode(first[i].data, first[i].size, &code_point);

		if (cut)
			w->needles[w->n++] = (struct needle){ first[i], cut };
	}
}

static unsigned char lead(const struct needle *n)
{
	return (unsigned char)n->text.data[0];
}

static int by_lead(const void *a, const void *b)
{
	return (int)lead(a) - (int)lead(b);
}

static void index_leads(struct train_words *w)
{
	size_t at = 0;

	if (w->n)
		qsort(w->needles, w->n, sizeof(*w->needles), by_lead);
	for (unsigned b = 0; b <= 256; b++) {
		while (at < w->n && lead(&w->needles[at]) < b)
			at++;
		w->from[b] = at;
	}
}

int train_words_new(struct train_words **out, const struct bytes *first, size_t n, bool byte_level)
{
	struct train_words *w = mem_new(1, sizeof(*w));

	if (!w)
		return -1;
	w->needles = mem_new(n, sizeof(*w->needles));
	if (!w->needles || (byte_level && add_all_raw(w, first, n) < 0)) {
		train_words_free(w);
		return -1;
	}
	if (!byte_level)
		add_all(w, first, n);
	index_leads(w);
	*out = w;
	return 0;
}

void train_words_free(struct train_words *w)
{
	if (!w)
		return;
	free(w->needles);
	buffer_free(&w->raw);
	free(w);
}

/* The needle that WORD has at AT, or NULL. */
static const struct needle *match(const struct train_words *w, struct bytes word, size_t at)
{
	unsigned char b = (unsigned char)word.data[at];

	for (size_t i = w->from[b]; i < w->from[b + 1]; i++) {
		const struct needle *n = &w->needles[i];

		if (n->text.size <= word.size - at &&
		    memcmp(n->text.data, word.data + at, n->text.size) == 0)
			return n;
	}
	return NULL;
}

int train_words_part(const struct train_words *w, struct bytes word, size_t *size)
{
	for (size_t at = 0; at < word.size; at++) {
		const struct needle *n = match(w, word, at);

		if (!n)
			continue;
		if (n->cut == n->text.size)
			return refuse(n->text);
		*size = at + n->cut;
		return 0;
	}
	*size = word.size;
	return 0;
}

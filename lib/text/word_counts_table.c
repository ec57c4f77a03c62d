/* lib/text/word_counts_table.c - counted words as an array */
#include "lib/text/word_counts_table.h"

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/number.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* Sums up N words and the bytes of their texts. */
static int measure(struct word_counts *w, uint64_t *n, uint64_t *text)
{
	struct bytes word;
	uint64_t count;
	int got;

	*n = *text = 0;
	if (word_counts_begin(w) < 0)
		return -1;
	while ((got = word_counts_next(w, &word, &count)) > 0) {
		if (utf8_valid_prefix(word.data, word.size) != word.size)
			return err_set(ERR_FORMAT, "a word is not UTF-8");
		++*n;
		*text += word.size;
	}
	return got;
}

static int too_large(uint64_t n, uint64_t need, uint64_t memory)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	return err_set(ERR_LIMIT, "%" PRIu64 " distinct words take %s of memory: the limit is %s",
		       n, number_bytes(need, a), number_bytes(memory, b));
}

static int fill(struct word_counts *w, struct train_word *words, char *text)
{
	struct bytes word;
	uint64_t count;
	size_t n = 0;
	int got;

	if (word_counts_begin(w) < 0)
		return -1;
	while ((got = word_counts_next(w, &word, &count)) > 0) {
		memcpy(text, word.data, word.size);
		words[n++] = (struct train_word){ { text, word.size }, count };
		text += word.size;
	}
	return got;
}

int word_counts_table(struct word_counts *w, struct arena *arena, uint64_t memory,
		      struct train_word **words, size_t *n)
{
	uint64_t n_words, text, need;
	char *texts;

	if (measure(w, &n_words, &text) < 0)
		return -1;
	if (__builtin_mul_overflow(n_words, sizeof(**words), &need) ||
	    __builtin_add_overflow(need, text, &need) || need > SIZE_MAX)
		return err_memory(SIZE_MAX);
	if (memory && need > memory)
		return too_large(n_words, need, memory);
	*words = arena_alloc(arena, (size_t)n_words, sizeof(**words));
	texts = arena_alloc(arena, (size_t)text, 1);
	if (!*words || !texts)
		return -1;
	*n = (size_t)n_words;
	return fill(w, *words, texts);
}

/* tests/steps.c - pre-tokenizers and decoders in a line of words, as the golden files write them */
#include "tests/steps.h"

#include <stdlib.h>

#define MAX_WORDS 8

static int digit(char c)
{
	const char *at = c ? strchr("0123456789abcdef", c) : NULL;

	return at ? (int)(at - "0123456789abcdef") : -1;
}

bool steps_hex(struct bytes *out, struct arena *arena, const char *word)
{
	size_t n = strcmp(word, "-") ? strlen(word) / 2 : 0;
	char *data = arena_alloc(arena, n + 1, 1);

	if (!data)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = digit(word[2 * i]), low = digit(word[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		data[i] = (char)(high * 16 + low);
	}
	*out = (struct bytes){ data, n };
	return true;
}

static uint32_t number(const char *word, int base)
{
	return (uint32_t)strtoul(word, NULL, base);
}

/* The place of WORD in NAMES, a list with spaces between; past the end when it is not there. */
static int choice(const char *word, const char *names)
{
	size_t n = strlen(word);
	int at = 0;

	for (; *names; at++) {
		size_t length = strcspn(names, " ");

		if (length == n && !memcmp(names, word, n))
			return at;
		names += length + (names[length] == ' ');
	}
	return at;
}

static enum split_behavior behavior(const char *word)
{
	return (enum split_behavior)choice(word, "removed isolated previous next contiguous");
}

static enum prepend_scheme scheme(const char *word)
{
	return (enum prepend_scheme)choice(word, "always first never");
}

static bool pattern(struct pattern_spec *out, struct arena *arena, char **words)
{
	int kind = choice(words[0], "string onig fancy");

	out->is_regex = kind > 0;
	out->dialect = kind == 2 ? REGEX_FANCY : REGEX_ONIGURUMA;
	return kind < 3 && steps_hex(&out->text, arena, words[1]);
}

static bool pretokenizer(void *at, struct arena *arena, char **w)
{
	struct pretokenizer_spec *s = at;

	s->kind = (enum pretokenizer_kind)choice(
		w[0], "byte_level split digits punctuation metaspace whitespace "
		      "whitespace_split bert delimiter fixed scripts");
	switch (s->kind) {
	case PRETOKENIZER_BYTE_LEVEL:
		s->byte_level.add_prefix_space = number(w[1], 10);
		s->byte_level.use_regex = number(w[2], 10);
		return true;
	case PRETOKENIZER_SPLIT:
		s->split.behavior = behavior(w[3]);
		s->split.invert = number(w[4], 10);
		return pattern(&s->split.pattern, arena, w + 1);
	case PRETOKENIZER_DIGITS: s->digits.individual = number(w[1], 10); return true;
	case PRETOKENIZER_PUNCTUATION: s->punctuation.behavior = behavior(w[1]); return true;
	case PRETOKENIZER_METASPACE:
		s->metaspace.replacement = number(w[1], 16);
		s->metaspace.scheme = scheme(w[2]);
		s->metaspace.split = number(w[3], 10);
		return true;
	case PRETOKENIZER_CHAR_DELIMITER: s->delimiter = number(w[1], 16); return true;
	case PRETOKENIZER_FIXED_LENGTH: s->length = number(w[1], 10); return true;
	case PRETOKENIZER_WHITESPACE:
	case PRETOKENIZER_WHITESPACE_SPLIT:
	case PRETOKENIZER_BERT:
	case PRETOKENIZER_UNICODE_SCRIPTS: return true;
	}
	return false;
}

static bool decoder(void *at, struct arena *arena, char **w)
{
	struct decoder_spec *s = at;

	s->kind = (enum decoder_kind)choice(
		w[0], "byte_level metaspace wordpiece bpe byte_fallback fuse replace strip ctc");
	switch (s->kind) {
	case DECODER_METASPACE:
		s->metaspace.replacement = number(w[1], 16);
		s->metaspace.scheme = scheme(w[2]);
		return true;
	case DECODER_WORDPIECE:
		s->wordpiece.cleanup = number(w[2], 10);
		return steps_hex(&s->wordpiece.prefix, arena, w[1]);
	case DECODER_BPE: return steps_hex(&s->suffix, arena, w[1]);
	case DECODER_REPLACE:
		return pattern(&s->replace.pattern, arena, w + 1) &&
		       steps_hex(&s->replace.content, arena, w[3]);
	case DECODER_STRIP:
		s->strip.content = number(w[1], 16);
		s->strip.start = number(w[2], 10);
		s->strip.stop = number(w[3], 10);
		return true;
	case DECODER_CTC:
		s->ctc.cleanup = number(w[3], 10);
		return steps_hex(&s->ctc.pad, arena, w[1]) &&
		       steps_hex(&s->ctc.word_delimiter, arena, w[2]);
	case DECODER_BYTE_LEVEL:
	case DECODER_BYTE_FALLBACK:
	case DECODER_FUSE: return true;
	}
	return false;
}

static int read_steps(void *out, size_t size, struct arena *arena, char *line,
		      bool (*read)(void *at, struct arena *arena, char **words))
{
	int n = 0;

	while (*line) {
		char empty[] = "", *words[MAX_WORDS];
		size_t n_words = 0;

		for (size_t i = 0; i < MAX_WORDS; i++)
			words[i] = empty;
		while (*line && *line != '|') {
			size_t length = strcspn(line, " ");
			bool more = line[length] == ' ';

			line[length] = '\0';
			if (length && n_words < MAX_WORDS)
				words[n_words++] = line;
			line += length + more;
		}
		line += *line == '|';
		line += *line == ' ';
		if (n == 8 || !read((char *)out + (size_t)n * size, arena, words))
			return -1;
		n++;
	}
	return n;
}

int steps_pretokenizers(struct pretokenizer_spec out[8], struct arena *arena, char *line)
{
	memset(out, 0, 8 * sizeof(*out));
	return read_steps(out, sizeof(*out), arena, line, pretokenizer);
}

int steps_decoders(struct decoder_spec out[8], struct arena *arena, char *line)
{
	memset(out, 0, 8 * sizeof(*out));
	return read_steps(out, sizeof(*out), arena, line, decoder);
}

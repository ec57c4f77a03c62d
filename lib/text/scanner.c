/* lib/text/scanner.c - which scanner a pattern is, and the way to it */
#include "lib/text/scanner.h"

#include <string.h>

#include "lib/text/scanner_parts.h"

#define BOTH		(1u << REGEX_ONIGURUMA | 1u << REGEX_FANCY)
#define CONTRACTIONS	"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACE		"\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define PREFIX		"[^\\r\\n\\p{L}\\p{N}]?"
#define U		"[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define W		"[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SIGNS		" ?[^\\s\\p{L}\\p{N}]+"
#define ASCII_SIGNS	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
#define GPT2(l, n)	"'s|'t|'re|'ve|'m|'ll|'d| ?" l "+| ?" n "+|" SIGNS "|\\s+(?!\\S)|\\s+"
#define LLAMA3(numbers) CONTRACTIONS "|" PREFIX "\\p{L}+|" numbers "|" SIGNS "[\\r\\n]*|" SPACE
#define CL100K(numbers, end)                                      \
 "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|" numbers \
 "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++" end "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
#define O200K(end, numbers) \
 PREFIX U "*" W "+" end "|" PREFIX U "+" W "*" end "|" numbers "|" SIGNS "[\\r\\n/]*|" SPACE
#define DEEPSEEK(r, n)                                                                       \
 ASCII_SIGNS "[A-Za-z]+|[^" r n "\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[" r n \
	     "]*|\\s*[" r n "]+|\\s+(?!\\S)|\\s+"

/* The first of a scanner in a dialect is the one that scanner_pattern gives. */
static const struct {
	enum scanner scanner;
	unsigned dialects;
	const char *text;
} patterns[] = {
	{ SCANNER_GPT2, BOTH, GPT2("\\p{L}", "\\p{N}") },
	{ SCANNER_GPT2, BOTH, GPT2("[\\p{L}]", "[\\p{N}]") },
	/* tiktoken's r50k; in Ruby's syntax its $ would be the end of a line. */
	{ SCANNER_GPT2, 1u << REGEX_FANCY,
	  "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| "
	  "?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s" },
	{ SCANNER_CL100K, 1u << REGEX_FANCY, CL100K("\\p{N}{1,3}+", "$") },
	/* The same in Ruby's syntax, where {1,3}+ is no possessive mark and $ no end of the text. */
	{ SCANNER_CL100K, BOTH, CL100K("\\p{N}{1,3}", "\\z") },
	{ SCANNER_O200K, BOTH, O200K(CONTRACTIONS "?", "\\p{N}{1,3}") },
	{ SCANNER_LLAMA3, BOTH, LLAMA3("\\p{N}{1,3}") },
	{ SCANNER_QWEN2, BOTH, LLAMA3("\\p{N}") },
	{ SCANNER_TEKKEN, BOTH, O200K("", "\\p{N}") },
	{ SCANNER_DEEPSEEK, BOTH, DEEPSEEK("\r", "\n") },
	{ SCANNER_DEEPSEEK, BOTH, DEEPSEEK("\\r", "\\n") },
};

static const char *const names[SCANNER_COUNT] = {
	[SCANNER_GPT2] = "gpt2",	 [SCANNER_CL100K] = "cl100k", [SCANNER_O200K] = "o200k",
	[SCANNER_LLAMA3] = "llama3",	 [SCANNER_QWEN2] = "qwen2",   [SCANNER_TEKKEN] = "tekken",
	[SCANNER_DEEPSEEK] = "deepseek",
};

#define N_PATTERNS (sizeof(patterns) / sizeof(*patterns))

enum scanner scanner_find(struct bytes pattern, enum regex_dialect dialect)
{
	for (size_t i = 0; i < N_PATTERNS; i++)
		if (patterns[i].dialects >> dialect & 1 && bytes_are(pattern, patterns[i].text))
			return patterns[i].scanner;
	return SCANNER_NONE;
}

struct bytes scanner_pattern(enum scanner s, enum regex_dialect dialect)
{
	for (size_t i = 0; i < N_PATTERNS; i++)
		if (patterns[i].scanner == s && patterns[i].dialects >> dialect & 1)
			return bytes_of(patterns[i].text);
	return (struct bytes){ 0 };
}

const char *scanner_name(enum scanner s)
{
	return s > SCANNER_NONE && s < SCANNER_COUNT ? names[s] : "none";
}

enum scanner scanner_by_name(const char *name)
{
	for (int s = SCANNER_NONE + 1; s < SCANNER_COUNT; s++)
		if (strcmp(name, names[s]) == 0)
			return (enum scanner)s;
	return SCANNER_NONE;
}

static const uint8_t *next(enum scanner s, const uint8_t *p, const uint8_t *end)
{
	switch (s) {
	case SCANNER_GPT2: return scanner_gpt2(p, end);
	case SCANNER_CL100K: return scanner_cl100k(p, end);
	case SCANNER_O200K: return scanner_o200k(p, end);
	case SCANNER_LLAMA3: return scanner_llama3(p, end);
	case SCANNER_QWEN2: return scanner_qwen2(p, end);
	case SCANNER_TEKKEN: return scanner_tekken(p, end);
	case SCANNER_DEEPSEEK: return scanner_deepseek(p, end);
	default: return end;
	}
}

size_t scanner_next(enum scanner s, struct bytes text, size_t at)
{
	const uint8_t *data = (const uint8_t *)text.data;

	return (size_t)(next(s, data + at, data + text.size) - data);
}

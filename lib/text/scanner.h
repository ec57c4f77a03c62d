/*
 * lib/text/scanner.h - the split patterns that most models use, by hand
 *
 * Each scanner cuts text into the very pieces that its regular expression gives, in the dialect of its file, and
 * covers every byte. A pattern is recognised by dialect and exact text, never by likeness.
 */
#ifndef LIB_TEXT_SCANNER_H
#define LIB_TEXT_SCANNER_H

#include "lib/text/spec.h"

enum scanner {
	SCANNER_NONE,
	SCANNER_GPT2, /* also ByteLevel's use_regex */
	SCANNER_CL100K,
	SCANNER_O200K,
	SCANNER_LLAMA3,
	SCANNER_QWEN2,
	SCANNER_TEKKEN,
	SCANNER_DEEPSEEK, /* deepseek-llm, -coder and v3 where their sequences are one pattern */
	SCANNER_COUNT
};

enum scanner scanner_find(struct bytes pattern, enum regex_dialect dialect);
const char *scanner_name(enum scanner s); /* `gpt2`, … : the words of --split */
enum scanner scanner_by_name(const char *name);
/* The text of the regular expression that S stands for, in DIALECT; empty when it has none there. */
struct bytes scanner_pattern(enum scanner s, enum regex_dialect dialect);

/*
 * The end of the piece that begins at AT (< text.size): the engine's next match there. TEXT is well-formed UTF-8. S is
 * not SCANNER_NONE. Linear over a whole text.
 */
size_t scanner_next(enum scanner s, struct bytes text, size_t at);

#endif

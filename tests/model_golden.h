/*
 * tests/model_golden.h - models and what a peer says that they make of texts
 *
 * A file of lines, fields between tabs, texts in hexadecimal (- for an empty one):
 *	model KIND UNK-ID-or-- BYTE-FALLBACK MAX-WORD-CHARS CONTINUING-PREFIX UNK-TEXT
 *	piece ID SCORE TEXT	of the model above
 *	text TEXT TOKENS	ID:FROM:TO with spaces between, or `error`
 */
#ifndef TESTS_MODEL_GOLDEN_H
#define TESTS_MODEL_GOLDEN_H

#include <stddef.h>

/*
 * Checks every text of the fixture PATH, one line of TAP a model. Models with NO_UNK are given to the library without
 * the unknown token's id, which it then finds by its text. Returns the number of texts.
 */
size_t model_golden_check(const char *path, int no_unk);

#endif

/*
 * formats/tokenizer_json_score.h - a score of tokenizer.json as `tokenizers` reads it
 *
 * It goes through serde_json without `float_roundtrip`: the digits as an integer of 64 bits, those that do not fit left out, then one
 * multiplication or division by a power of ten. So about a fifth of the scores that a trainer writes are one unit of the last
 * place off, and where two ways to cut a text have one score, that decides between them.
 */
#ifndef FORMATS_TOKENIZER_JSON_SCORE_H
#define FORMATS_TOKENIZER_JSON_SCORE_H

#include "lib/base/bytes.h"

/* TEXT is a number by JSON's grammar. Infinite where it is past the range. */
double tokenizer_json_score(struct bytes text);

#endif

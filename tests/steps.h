/*
 * tests/steps.h - pre-tokenizers and decoders in a line of words, as the golden files write them
 *
 * Steps stand between `|`. Strings are hexadecimal, `-` when empty; characters are hexadecimal code points.
 *	byte_level PREFIX REGEX | split string|onig|fancy TEXT BEHAVIOR INVERT | digits INDIVIDUAL | punctuation BEHAVIOR
 *	metaspace CHARACTER SCHEME SPLIT | whitespace | whitespace_split | bert | delimiter CHARACTER | fixed LENGTH | scripts
 *	byte_level | metaspace CHARACTER SCHEME | wordpiece PREFIX CLEANUP | bpe SUFFIX | byte_fallback | fuse
 *	replace string|onig|fancy TEXT CONTENT | strip CHARACTER START STOP | ctc PAD DELIMITER CLEANUP
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "lib/text/spec.h"

/* The bytes that WORD spells; *OUT lives in ARENA. False for what is no such word. */
bool steps_hex(struct bytes *out, struct arena *arena, const char *word);

/* Reads at most 8 steps from LINE, which is changed. How many, or -1. */
int steps_pretokenizers(struct pretokenizer_spec out[8], struct arena *arena, char *line);
int steps_decoders(struct decoder_spec out[8], struct arena *arena, char *line);

#endif

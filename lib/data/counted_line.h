/* lib/data/counted_line.h - a line that holds a word and how often it occurs */
#ifndef LIB_DATA_COUNTED_LINE_H
#define LIB_DATA_COUNTED_LINE_H

#include <stdint.h>

#include "lib/base/bytes.h"

/*
 * LINE is the word, white space, the count in decimal digits; spaces and TABs behind it do not count. What stands before
 * the count is a TAB: the word is all before it, else all before the last run of spaces and TABs. Not empty, the
 * count 1 or more. 0, or -1 with the error set: `what`.
 */
int counted_line(struct bytes line, struct bytes *word, uint64_t *count);

#endif

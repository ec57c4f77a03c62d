/*
 * lib/base/printable.h - text from anywhere, made safe for a line and a terminal
 *
 * Printable here: well-formed UTF-8 that is no control character (C0, DEL, C1), no line or paragraph
 * separator and no bidirectional override, so that text from a hostile file can neither break a
 * line nor drive or disguise a terminal.
 */
#ifndef LIB_BASE_PRINTABLE_H
#define LIB_BASE_PRINTABLE_H

#include "lib/base/buffer.h"
#include "lib/base/bytes.h"

/* Bytes (1 to 4) of the printable character at the start of N bytes; 0 when there is none. */
size_t printable_length(const char *data, size_t n);

/*
 * Appends TEXT in double quotes, as a C string: \n \t \r \" \\, and \xNN (always two digits) for
 * every other byte that is not part of a printable character. Reversible.
 */
void quote_text(struct buffer *b, struct bytes text);

/* As it is when it is printable, not empty and free of spaces, quotes and backslashes; else quote_text. */
void quote_name(struct buffer *b, struct bytes name);

#endif

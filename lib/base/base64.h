/* lib/base/base64.h - RFC 4648, section 4: the standard alphabet, with padding */
#ifndef LIB_BASE_BASE64_H
#define LIB_BASE_BASE64_H

#include "lib/base/buffer.h"

/* Appends DATA in base64. A caller that cuts DATA cuts it at multiples of 3. */
void base64_put(struct buffer *b, struct bytes data);

/* Appends what TEXT stands for. False, with the place of the first wrong character to *BAD, unless TEXT is
   base64 as base64_put writes it: no white space, padding, no bits left over. */
bool base64_get(struct buffer *b, struct bytes text, size_t *bad);

#endif

/*
 * formats/tokenizer_base64.h - bytes that tokenizer files carry in base64
 */
#ifndef FORMATS_TOKENIZER_BASE64_H
#define FORMATS_TOKENIZER_BASE64_H

#include "lib/base/arena.h"
#include "lib/base/base64.h"

/* The bytes that TEXT stands for, in ARENA. ERR_FORMAT for anything but whole, padded base64. */
int base64_decode(struct arena *arena, struct bytes text, struct bytes *out);

#endif

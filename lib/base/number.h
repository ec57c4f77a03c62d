/*
 * lib/base/number.h - numbers in people's text
 *
 * Parsers take the whole string or fail, setting a line that tells the allowed range.
 * Suffixes: k M G T are powers of 1000, Ki Mi Gi Ti of 1024.
 */
#ifndef LIB_BASE_NUMBER_H
#define LIB_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* A whole number in [lo, hi], with an optional suffix; `1.5M` is fine when the product is whole. */
int number_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);
int number_i64(const char *text, int64_t lo, int64_t hi, int64_t *out); /* no suffix */
/* Finite, in [lo, hi]; exponents allowed, hexadecimal not; locale ignored. */
int number_real(const char *text, double lo, double hi, double *out);
/* A share in [0, 1]: `0.25` or `25%`. */
int number_ratio(const char *text, double *out);

#define NUMBER_TEXT 40
/* `253.1 MB`, `12.6 M`: three or four digits and a power of 1000. Returns OUT. */
char *number_bytes(uint64_t n, char out[NUMBER_TEXT]);
char *number_count(uint64_t n, char out[NUMBER_TEXT]);
/* `1 token`, `2 tokens` of WHAT, a noun of at most 16 letters, whose plural is with an s. Returns OUT. */
char *number_things(uint64_t n, const char *what, char out[NUMBER_TEXT]);
/* `3.2 s`, `4 min 10 s`, `2 h 05 min`. Returns OUT. */
char *number_duration(double seconds, char out[NUMBER_TEXT]);
/* The shortest decimal that reads back as the same f32 or f64; nan, inf, -inf. Returns OUT. */
char *number_f32(float v, char out[NUMBER_TEXT]);
char *number_f64(double v, char out[NUMBER_TEXT]);

#endif

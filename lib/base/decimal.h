/*
 * lib/base/decimal.h - the shortest decimal digits of a binary float
 *
 * Of all decimals that read back as the same value (reading rounds to the nearest, ties to even),
 * those with the fewest digits; of these, the nearest to the value. Steele and White 1990, "How to
 * print floating-point numbers accurately", in the form of Burger and Dybvig 1996, "Printing
 * floating-point numbers quickly and accurately", section 3. Exact, and apart from any locale.
 */
#ifndef LIB_BASE_DECIMAL_H
#define LIB_BASE_DECIMAL_H

#define DECIMAL_DIGITS 17 /* f64 needs no more, f32 at most 9 */

struct decimal {
	int n;			     /* digits, 1 or more; the last is not 0 */
	int point;		     /* the value is 0.DIGITS times 10^point */
	char digits[DECIMAL_DIGITS]; /* '0' to '9', no NUL after them */
};

/* V is finite and above 0. */
void decimal_f32(float v, struct decimal *out);
void decimal_f64(double v, struct decimal *out);

#endif

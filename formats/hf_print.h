/*
 * formats/hf_print.h - a printer of indented JSON, as Python's json.dumps(indent=2) writes it
 *
 * Private to formats/hf_*.c.
 */
#ifndef FORMATS_HF_PRINT_H
#define FORMATS_HF_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"

/* A line for each member, a comma before all but the first. A zeroed one with its buffer is new. */
struct printer {
	struct buffer *b;
	int depth;
	bool first; /* nothing has been printed since the bracket was opened */
};

void print_line(struct printer *p); /* what stands before a member */
void print_open(struct printer *p, const char *bracket);
void print_close(struct printer *p, const char *bracket);

/* In an object: `"key": `, and then most often a value. */
void print_key(struct printer *p, const char *key);
void print_text(struct printer *p, const char *key, struct bytes text);
void print_whole(struct printer *p, const char *key, uint64_t v);
void print_flag(struct printer *p, const char *key, bool v);
void print_null(struct printer *p, const char *key);
void print_real(struct printer *p, const char *key, double v);	 /* always a float to Python */
void print_number(struct printer *p, const char *key, double v); /* an integer where it is one */
void print_real_or_null(struct printer *p, const char *key, double v); /* null for 0 */

/* The value alone. */
void print_float(struct printer *p, double v);

#endif

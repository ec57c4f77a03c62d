/* formats/hf_print.c - a printer of indented JSON */
#include "formats/hf_print.h"

#include <math.h>

#include "formats/json.h"

void print_line(struct printer *p)
{
	buffer_put_text(p->b, p->first ? "\n" : ",\n");
	for (int i = 0; i < p->depth; i++)
		buffer_put_text(p->b, "  ");
	p->first = false;
}

void print_open(struct printer *p, const char *bracket)
{
	buffer_put_text(p->b, bracket);
	p->depth++;
	p->first = true;
}

void print_close(struct printer *p, const char *bracket)
{
	bool empty = p->first;

	p->depth--;
	p->first = true;
	if (!empty)
		print_line(p);
	p->first = false;
	buffer_put_text(p->b, bracket);
}

void print_key(struct printer *p, const char *key)
{
	print_line(p);
	json_put_string(p->b, bytes_of(key));
	buffer_put_text(p->b, ": ");
}

void print_text(struct printer *p, const char *key, struct bytes text)
{
	print_key(p, key);
	json_put_string(p->b, text);
}

void print_whole(struct printer *p, const char *key, uint64_t v)
{
	print_key(p, key);
	json_put_u64(p->b, v);
}

void print_flag(struct printer *p, const char *key, bool v)
{
	print_key(p, key);
	buffer_put_text(p->b, v ? "true" : "false");
}

void print_null(struct printer *p, const char *key)
{
	print_key(p, key);
	buffer_put_text(p->b, "null");
}

/* A number without point or exponent would be an integer to Python. */
void print_float(struct printer *p, double v)
{
	struct buffer *b = p->b;
	size_t from = b->size;

	json_put_f64(b, v);
	for (size_t i = from; i < b->size; i++)
		if (b->data[i] == '.' || b->data[i] == 'e')
			return;
	buffer_put_text(b, ".0");
}

static bool is_whole(double v)
{
	return v >= 0 && v < 9007199254740992.0 && v == floor(v);
}

void print_real(struct printer *p, const char *key, double v)
{
	print_key(p, key);
	print_float(p, v);
}

/* An integer where it is one, a float where it is not. */
void print_number(struct printer *p, const char *key, double v)
{
	if (is_whole(v))
		print_whole(p, key, (uint64_t)v);
	else
		print_real(p, key, v);
}

void print_real_or_null(struct printer *p, const char *key, double v)
{
	if (v == 0)
		print_null(p, key);
	else
		print_real(p, key, v);
}

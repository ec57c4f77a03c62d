/* formats/tokenizer_json_pretty.c - indented JSON, as serde_json writes it pretty */

#include <inttypes.h>
#include <math.h>

#include "formats/json.h"
#include "formats/tokenizer_json_put.h"
#include "lib/base/decimal.h"
#include "lib/base/utf8.h"

static void new_line(struct json_pretty *w)
{
	buffer_put_text(w->out, "\n");
	for (unsigned i = 0; i < w->depth; i++)
		buffer_put_text(w->out, "  ");
}

void pretty_open(struct json_pretty *w, char bracket)
{
	buffer_put(w->out, &bracket, 1);
	w->depth++;
	w->empty = true;
}

void pretty_close(struct json_pretty *w, char bracket)
{
	w->depth--;
	if (!w->empty)
		new_line(w);
	buffer_put(w->out, &bracket, 1);
	w->empty = false;
}

void pretty_next(struct json_pretty *w)
{
	if (!w->empty)
		buffer_put_text(w->out, ",");
	w->empty = false;
	new_line(w);
}

void pretty_key(struct json_pretty *w, struct bytes key)
{
	pretty_next(w);
	json_put_string(w->out, key);
	buffer_put_text(w->out, ": ");
}

void pretty_text(struct json_pretty *w, const char *key, struct bytes value)
{
	pretty_key(w, bytes_of(key));
	if (value.data)
		json_put_string(w->out, value);
	else
		buffer_put_text(w->out, "null");
}

void pretty_bool(struct json_pretty *w, const char *key, bool value)
{
	pretty_key(w, bytes_of(key));
	buffer_put_text(w->out, value ? "true" : "false");
}

void pretty_u32(struct json_pretty *w, const char *key, uint32_t value)
{
	pretty_key(w, bytes_of(key));
	json_put_u64(w->out, value);
}

void pretty_char(struct json_pretty *w, const char *key, uint32_t value)
{
	char text[4];

	pretty_text(w, key, (struct bytes){ text, utf8_encode(value, text) });
}

void pretty_null(struct json_pretty *w, const char *key)
{
	pretty_key(w, bytes_of(key));
	buffer_put_text(w->out, "null");
}

void pretty_type(struct json_pretty *w, const char *type)
{
	pretty_open(w, '{');
	pretty_text(w, "type", bytes_of(type));
}

/* N digits with the point before digit POINT, and zeros where there are no digits. */
static void put_plain(struct buffer *b, const struct decimal *d)
{
	if (d->point <= 0) {
		buffer_put_text(b, "0.");
		for (int i = d->point; i < 0; i++)
			buffer_put_text(b, "0");
		buffer_put(b, d->digits, (size_t)d->n);
		return;
	}
	for (int i = 0; i < d->n || i < d->point; i++) {
		if (i == d->point)
			buffer_put_text(b, ".");
		buffer_put(b, i < d->n ? &d->digits[i] : "0", 1);
	}
	if (d->n <= d->point)
		buffer_put_text(b, ".0");
}

static void put_exponent(struct buffer *b, const struct decimal *d)
{
	buffer_put(b, d->digits, 1);
	if (d->n > 1) {
		buffer_put_text(b, ".");
		buffer_put(b, d->digits + 1, (size_t)d->n - 1);
	}
	buffer_format(b, "e%+d", d->point - 1);
}

/* D are the digits of V without its sign; nothing when V is 0. */
static void put_real(struct json_pretty *w, double v, const struct decimal *d)
{
	if (!isfinite(v)) {
		buffer_put_text(w->out, "null");
		return;
	}
	if (signbit(v))
		buffer_put_text(w->out, "-");
	if (v == 0)
		buffer_put_text(w->out, "0.0");
	else if (d->point > -5 && d->point <= 16)
		put_plain(w->out, d);
	else
		put_exponent(w->out, d);
}

void pretty_real(struct json_pretty *w, double v)
{
	struct decimal d = { 0 };

	if (isfinite(v) && v != 0)
		decimal_f64(fabs(v), &d);
	put_real(w, v, &d);
}

void pretty_real32(struct json_pretty *w, float v)
{
	struct decimal d = { 0 };

	if (isfinite(v) && v != 0)
		decimal_f32(fabsf(v), &d);
	put_real(w, (double)v, &d);
}

void tokenizer_put_family(struct json_pretty *w, const char *key, const char *list, size_t n,
			  const void *items, size_t item_size,
			  void (*put)(struct json_pretty *w, const void *item))
{
	const char *at = items;

	pretty_key(w, bytes_of(key));
	if (n == 0) {
		buffer_put_text(w->out, "null");
		return;
	}
	if (n == 1) {
		put(w, at);
		return;
	}
	pretty_type(w, "Sequence");
	pretty_key(w, bytes_of(list));
	pretty_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		pretty_next(w);
		put(w, at + i * item_size);
	}
	pretty_close(w, ']');
	pretty_close(w, '}');
}

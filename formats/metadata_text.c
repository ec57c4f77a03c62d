/* formats/metadata_text.c - metadata values as text and as JSON */

#include <inttypes.h>

#include "formats/json.h"
#include "formats/metadata.h"
#include "lib/base/number.h"
#include "lib/base/printable.h"

/* How arrays are opened; nesting is bounded by the reader (man/man5/gguf.5). */
#define NESTING_MAX 16

struct style {
	uint64_t max_items; /* 0: all */
	bool json;
};

static void put_float(struct buffer *b, const struct gguf_value *v, bool json)
{
	double value = gguf_value_f64(v);
	char text[NUMBER_TEXT];

	if (json && v->type == GGUF_F32)
		json_put_f32(b, (float)value);
	else if (json)
		json_put_f64(b, value);
	else if (v->type == GGUF_F32)
		buffer_put_text(b, number_f32((float)value, text));
	else
		buffer_put_text(b, number_f64(value, text));
}

static void put_scalar(struct buffer *b, const struct gguf_value *v, bool json)
{
	switch (v->type) {
	case GGUF_U8:
	case GGUF_U16:
	case GGUF_U32:
	case GGUF_U64: buffer_format(b, "%" PRIu64, gguf_value_u64(v)); break;
	case GGUF_I8:
	case GGUF_I16:
	case GGUF_I32:
	case GGUF_I64: buffer_format(b, "%" PRId64, gguf_value_i64(v)); break;
	case GGUF_BOOL: buffer_put_text(b, gguf_value_u64(v) ? "true" : "false"); break;
	case GGUF_STRING:
		if (json)
			json_put_string(b, gguf_value_string(v));
		else
			quote_text(b, gguf_value_string(v));
		break;
	default: put_float(b, v, json);
	}
}

static void put_comma(struct buffer *b, bool first, bool json)
{
	if (!first)
		buffer_put_text(b, json ? "," : ", ");
}

/* Nested arrays without recursion: one iterator a level. */
static void put_array(struct buffer *b, const struct gguf_value *array, const struct style *style)
{
	struct gguf_items levels[NESTING_MAX];
	uint64_t shown[NESTING_MAX] = { 0 };
	struct gguf_value item;
	int depth = 0;

	gguf_items(&levels[0], array);
	buffer_put_u8(b, '[');
	while (depth >= 0) {
		struct gguf_items *it = &levels[depth];

		if (it->left && style->max_items && shown[depth] == style->max_items) {
			buffer_format(b, ", ... %" PRIu64 " more]", it->left);
			depth--;
		} else if (gguf_items_next(it, &item) <= 0) {
			buffer_put_u8(b, ']');
			depth--;
		} else {
			put_comma(b, shown[depth]++ == 0, style->json);
			if (item.type != GGUF_ARRAY) {
				put_scalar(b, &item, style->json);
			} else if (depth + 1 < NESTING_MAX) {
				gguf_items(&levels[++depth], &item);
				shown[depth] = 0;
				buffer_put_u8(b, '[');
			}
		}
	}
}

static void put_value(struct buffer *b, const struct metadata_entry *e, const struct style *style)
{
	if (e->gguf && e->gguf->type == GGUF_ARRAY)
		put_array(b, e->gguf, style);
	else if (e->gguf)
		put_scalar(b, e->gguf, style->json);
	else if (style->json)
		json_put_string(b, e->raw);
	else
		quote_text(b, e->raw);
}

/* JSON text as it stood, its line ends and indentation (which lie outside strings) as one space. */
static void put_one_line(struct buffer *b, struct bytes json)
{
	for (size_t i = 0; i < json.size; i++) {
		size_t from = i;

		while (i < json.size && strchr("\n\r\t", json.data[i]) == NULL)
			i++;
		buffer_put(b, json.data + from, i - from);
		while (i + 1 < json.size && strchr("\n\r\t ", json.data[i + 1]))
			i++;
		if (i < json.size)
			buffer_put_u8(b, ' ');
	}
}

void metadata_put_text(struct buffer *b, const struct metadata_entry *e, uint64_t max_items)
{
	if (e->is_json)
		put_one_line(b, e->raw);
	else
		put_value(b, e, &(struct style){ .max_items = max_items });
}

void metadata_put_json(struct buffer *b, const struct metadata_entry *e)
{
	if (e->is_json)
		put_one_line(b, e->raw);
	else
		put_value(b, e, &(struct style){ .json = true });
}

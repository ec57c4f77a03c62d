/*
 * formats/gguf_value.c - metadata values: checked once when read, then walked
 *
 * ggml's specification, docs/gguf.md: a value is a type number and its bytes; an array is an
 * item type, a count and the items without types. Arrays may hold arrays.
 */
#include "formats/gguf_private.h"
#include "lib/base/utf8.h"

#include <inttypes.h>

static const struct {
	const char *name;
	size_t size;
} types[GGUF_TYPE_COUNT] = {
	[GGUF_U8] = { "u8", 1 },       [GGUF_I8] = { "i8", 1 },	    [GGUF_U16] = { "u16", 2 },
	[GGUF_I16] = { "i16", 2 },     [GGUF_U32] = { "u32", 4 },   [GGUF_I32] = { "i32", 4 },
	[GGUF_F32] = { "f32", 4 },     [GGUF_BOOL] = { "bool", 1 }, [GGUF_STRING] = { "string", 0 },
	[GGUF_ARRAY] = { "array", 0 }, [GGUF_U64] = { "u64", 8 },   [GGUF_I64] = { "i64", 8 },
	[GGUF_F64] = { "f64", 8 },
};

const char *gguf_type_name(enum gguf_type t)
{
	return (size_t)t < GGUF_TYPE_COUNT ? types[t].name : "unknown";
}

size_t gguf_type_size(enum gguf_type t)
{
	return types[t].size;
}

const char *gguf_name_fault(struct bytes name)
{
	if (name.size == 0)
		return "is empty";
	if (name.size > GGUF_NAME_MAX)
		return "is longer than 65535 bytes";
	if (memchr(name.data, 0, name.size))
		return "holds a NUL byte";
	if (utf8_valid_prefix(name.data, name.size) != name.size)
		return "is not UTF-8";
	return NULL;
}

/* --- checking --- */

/* Whether N things of at least SIZE bytes can be in what is left. */
static int need(struct cursor *c, struct bytes key, uint64_t n, size_t size, const char *things)
{
	if (n <= cursor_left(c) / size)
		return 0;
	return cursor_fail(c, "key " BYTES_FMT ": needs %" PRIu64 " %s, %zu bytes left",
			   BYTES_ARG(key), n, things, cursor_left(c));
}

static int read_type(struct cursor *c, struct bytes key, enum gguf_type *out)
{
	struct cursor at = *c;
	uint32_t type;

	if (need(c, key, 4, 1, "bytes for a type") || cursor_u32(c, &type, "type"))
		return -1;
	if (type >= GGUF_TYPE_COUNT)
		return cursor_fail(&at, "key " BYTES_FMT ": unknown value type %" PRIu32,
				   BYTES_ARG(key), type);
	*out = (enum gguf_type)type;
	return 0;
}

static int read_array_header(struct cursor *c, struct bytes key, enum gguf_type *type, uint64_t *n)
{
	if (read_type(c, key, type) || need(c, key, 8, 1, "bytes for a count"))
		return -1;
	return cursor_u64(c, n, "count");
}

static int walk_bools(struct cursor *c, struct bytes key, uint64_t n)
{
	uint8_t v = 0;

	if (need(c, key, n, 1, "bools"))
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		struct cursor at = *c;

		if (cursor_u8(c, &v, "bool"))
			return -1;
		if (v > 1)
			return cursor_fail(&at, "key " BYTES_FMT ": a bool is %u, not 0 or 1",
					   BYTES_ARG(key), v);
	}
	return 0;
}

static int walk_strings(struct cursor *c, struct bytes key, uint64_t n)
{
	struct bytes ignored;
	uint64_t size = 0;

	if (need(c, key, n, GGUF_STRING_MIN, "strings"))
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		if (need(c, key, 8, 1, "bytes for a string's length") ||
		    cursor_u64(c, &size, "length") || need(c, key, size, 1, "bytes of a string") ||
		    cursor_bytes(c, size, &ignored, "string"))
			return -1;
	}
	return 0;
}

static int walk_items(struct cursor *c, struct bytes key, enum gguf_type type, uint64_t n,
		      int depth);

static int walk_arrays(struct cursor *c, struct bytes key, uint64_t n, int depth)
{
	enum gguf_type type;
	uint64_t count;

	if (depth >= GGUF_NEST_MAX)
		return cursor_fail(c, "key " BYTES_FMT ": arrays nested deeper than %d",
				   BYTES_ARG(key), GGUF_NEST_MAX);
	if (need(c, key, n, GGUF_ARRAY_MIN, "arrays"))
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		if (read_array_header(c, key, &type, &count) ||
		    walk_items(c, key, type, count, depth + 1))
			return -1;
	}
	return 0;
}

/* N items of TYPE. DEPTH is how many arrays they are in; it bounds the recursion. */
static int walk_items(struct cursor *c, struct bytes key, enum gguf_type type, uint64_t n,
		      int depth)
{
	size_t size = gguf_type_size(type);
	struct bytes ignored;

	switch (type) {
	case GGUF_BOOL: return walk_bools(c, key, n);
	case GGUF_STRING: return walk_strings(c, key, n);
	case GGUF_ARRAY: return walk_arrays(c, key, n, depth);
	default: break;
	}
	if (need(c, key, n, size, gguf_type_name(type)))
		return -1;
	return cursor_bytes(c, n * size, &ignored, "value");
}

int gguf_value_read(struct cursor *c, struct gguf_value *v)
{
	bool array;

	if (read_type(c, v->key, &v->type))
		return -1;
	array = v->type == GGUF_ARRAY;
	v->item_type = v->type;
	v->n = 1;
	if (array && read_array_header(c, v->key, &v->item_type, &v->n))
		return -1;
	v->raw.data = (const char *)c->at;
	if (walk_items(c, v->key, v->item_type, v->n, array))
		return -1;
	v->raw.size = (size_t)((const char *)c->at - v->raw.data);
	return 0;
}

/* --- walking what was checked --- */

static uint64_t load(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static const unsigned char *skip_items(const unsigned char *at, enum gguf_type type, uint64_t n)
{
	if (type != GGUF_STRING && type != GGUF_ARRAY)
		return at + n * gguf_type_size(type);
	for (uint64_t i = 0; i < n; i++) {
		if (type == GGUF_STRING)
			at += 8 + load(at, 8);
		else
			at = skip_items(at + 12, (enum gguf_type)load(at, 4), load(at + 4, 8));
	}
	return at;
}

void gguf_items(struct gguf_items *it, const struct gguf_value *array)
{
	it->at = (const unsigned char *)array->raw.data;
	it->left = array->type == GGUF_ARRAY ? array->n : 0;
	it->type = array->item_type;
}

int gguf_items_next(struct gguf_items *it, struct gguf_value *item)
{
	const unsigned char *at = it->at;

	if (it->left == 0)
		return 0;
	*item = (struct gguf_value){ .type = it->type, .item_type = it->type, .n = 1 };
	if (it->type == GGUF_ARRAY) {
		item->item_type = (enum gguf_type)load(at, 4);
		item->n = load(at + 4, 8);
		at += 12;
	}
	it->at = skip_items(at, item->item_type, item->n);
	it->left--;
	item->raw = (struct bytes){ (const char *)at, (size_t)(it->at - at) };
	return 1;
}

uint64_t gguf_value_u64(const struct gguf_value *v)
{
	return load(v->raw.data, v->raw.size);
}

int64_t gguf_value_i64(const struct gguf_value *v)
{
	uint64_t bits = load(v->raw.data, v->raw.size);
	uint64_t sign = UINT64_C(1) << (8 * v->raw.size - 1);

	/* Two's complement of any width: the sign bit counts negative. */
	return (int64_t)((bits ^ sign) - sign);
}

double gguf_value_f64(const struct gguf_value *v)
{
	uint64_t bits = load(v->raw.data, v->raw.size);
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	if (v->type == GGUF_F32) {
		memcpy(&narrow, &low, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, &bits, sizeof(wide));
	return wide;
}

struct bytes gguf_value_string(const struct gguf_value *v)
{
	return (struct bytes){ v->raw.data + 8, v->raw.size - 8 };
}

/* formats/protobuf.c - the fields of a protocol buffer message, one by one */

#include "formats/protobuf.h"

#include <inttypes.h>

/* Seven bits a byte, the lowest first, at most ten bytes. */
static int varint(struct cursor *c, uint64_t *out, const char *what)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (cursor_u8(c, &byte, what) < 0)
			return -1;
		if (shift == 63 && byte > 1)
			return cursor_fail(c, "%s: a number of more than 64 bits", what);
		value |= (uint64_t)(byte & 0x7F) << shift;
	}
	*out = value;
	return 0;
}

static int read_value(struct cursor *c, struct protobuf_field *out)
{
	uint64_t size = 0;
	uint32_t word = 0;

	switch ((unsigned)out->wire) {
	case PROTOBUF_VARINT: return varint(c, &out->value, "value");
	case PROTOBUF_FIXED64: return cursor_u64(c, &out->value, "value");
	case PROTOBUF_FIXED32:
		if (cursor_u32(c, &word, "value") < 0)
			return -1;
		out->value = word;
		return 0;
	case PROTOBUF_BYTES:
		return varint(c, &size, "length") < 0 ? -1
						      : cursor_bytes(c, size, &out->bytes, "value");
	default: return cursor_fail(c, "field %" PRIu32 ": no such wire type", out->number);
	}
}

int protobuf_next(struct cursor *c, struct protobuf_field *out)
{
	uint64_t tag = 0;

	if (!cursor_left(c))
		return 0;
	if (varint(c, &tag, "tag") < 0)
		return -1;
	if (tag >> 3 == 0 || tag >> 3 > 536870911)
		return cursor_fail(c, "no field has the number %" PRIu64, tag >> 3);
	*out = (struct protobuf_field){ .number = (uint32_t)(tag >> 3),
					.wire = (enum protobuf_wire)(tag & 7) };
	return read_value(c, out) < 0 ? -1 : 1;
}

int protobuf_want(const struct cursor *c, const struct protobuf_field *f, enum protobuf_wire wire)
{
	if (f->wire != wire)
		return cursor_fail(c, "field %" PRIu32 " has wire type %d, not %d", f->number,
				   (int)f->wire, (int)wire);
	return 0;
}

float protobuf_float(const struct protobuf_field *f)
{
	uint32_t bits = (uint32_t)f->value;
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

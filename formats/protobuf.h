/*
 * formats/protobuf.h - the fields of a protocol buffer message, one by one
 *
 * The wire format of https://protobuf.dev/programming-guides/encoding: numbers, fixed numbers and runs of
 * bytes. Groups are refused. Messages within a message come as their bytes, and are walked in turn.
 */
#ifndef FORMATS_PROTOBUF_H
#define FORMATS_PROTOBUF_H

#include "lib/base/cursor.h"

enum protobuf_wire {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_wire wire;
	uint64_t value;	    /* varint, fixed64, fixed32 */
	struct bytes bytes; /* of PROTOBUF_BYTES, in place */
};

/* The next field: 1, 0 at the end, -1 with the error set (`FILE: byte N: …`). */
int protobuf_next(struct cursor *c, struct protobuf_field *out);

/* A field of a type other than wanted: ERR_FORMAT. */
int protobuf_want(const struct cursor *c, const struct protobuf_field *f, enum protobuf_wire wire);
/* The bits of a fixed32 as a float. */
float protobuf_float(const struct protobuf_field *f);

#endif

/*
 * formats/npy.c - NumPy's file for one array
 *
 * The header is a Python dictionary of three keys. What NumPy and its forerunners write in it
 * is a small language: strings in either quotes, True and False, tuples of whole numbers (with
 * an L behind them when Python 2 wrote the file). That is read, and nothing more of Python.
 */
#include "formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cursor.h"
#include "lib/base/err.h"
#include "lib/base/size.h"

#define MAGIC	      "\x93NUMPY"
#define MAGIC_SIZE    6
#define ALIGN	      64
#define GROWTH_DIGITS 21 /* NumPy leaves room for the axis that grows to become this long */

static const struct {
	const char *descr;
	enum dtype dtype;
} types[] = {
	{ "<f8", DTYPE_F64 }, { "<f4", DTYPE_F32 }, { "<f2", DTYPE_F16 }, { "<i8", DTYPE_I64 },
	{ "<i4", DTYPE_I32 }, { "<i2", DTYPE_I16 }, { "|i1", DTYPE_I8 },  { "<u8", DTYPE_U64 },
	{ "<u4", DTYPE_U32 }, { "<u2", DTYPE_U16 }, { "|u1", DTYPE_U8 },  { "|b1", DTYPE_BOOL },
	{ "<c8", DTYPE_C64 },
};

#define N_TYPES (sizeof types / sizeof types[0])

const char *npy_descr(enum dtype t)
{
	for (size_t i = 0; i < N_TYPES; i++)
		if (types[i].dtype == t)
			return types[i].descr;
	return NULL;
}

/* --- the dictionary's language --- */

static void skip_space(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
		c->at++;
}

/* Passes WORD, and space before it. */
static bool take(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	skip_space(c);
	if (cursor_left(c) < n || memcmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

static int need(struct cursor *c, const char *word)
{
	return take(c, word) ? 0 : cursor_fail(c, "the header needs %s here", word);
}

static int take_text(struct cursor *c, struct bytes *out, const char *what)
{
	const char *quote = take(c, "'") ? "'" : take(c, "\"") ? "\"" : NULL;
	const unsigned char *close;

	if (!quote)
		return cursor_fail(c, "the header needs %s in quotes here", what);
	close = memchr(c->at, *quote, cursor_left(c));
	if (!close || memchr(c->at, '\\', (size_t)(close - c->at)))
		return cursor_fail(c, "%s that does not end, or has a backslash", what);
	*out = (struct bytes){ (const char *)c->at, (size_t)(close - c->at) };
	c->at = close + 1;
	return 0;
}

static int take_dim(struct cursor *c, uint64_t *out, bool python2)
{
	const unsigned char *from;
	uint64_t v = 0;

	skip_space(c);
	for (from = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		unsigned digit = (unsigned)(*c->at - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10)
			return cursor_fail(c, "an axis of the shape is past 2^63 - 1");
		v = v * 10 + digit;
	}
	if (c->at == from)
		return cursor_fail(c, "the shape needs a whole number here");
	if (python2)
		take(c, "L");
	*out = v;
	return 0;
}

/* --- the three values --- */

/* (), (3,), (3, 4): one number alone is a tuple only with its comma. */
static int take_shape(struct cursor *c, struct npy *n, bool python2)
{
	bool comma = true;

	if (need(c, "("))
		return -1;
	for (n->n_dims = 0; !take(c, ")"); comma = take(c, ",")) {
		uint64_t dim = 0;

		if (!comma)
			return cursor_fail(c, "the shape needs a comma here");
		if (take_dim(c, &dim, python2))
			return -1;
		if (n->n_dims == TENSOR_DIMS_MAX) {
			cursor_fail(c, "more than %d axes", TENSOR_DIMS_MAX);
			return err_set(ERR_LIMIT, "%s", err_text());
		}
		n->shape[n->n_dims++] = dim;
	}
	if (n->n_dims == 1 && !comma)
		return cursor_fail(c, "the shape is a number, not a tuple");
	return 0;
}

static int unsupported(struct cursor *c, struct bytes descr, const char *why)
{
	cursor_fail(c, "descr '" BYTES_FMT "' is not handled here: %s", BYTES_ARG(descr), why);
	return err_set(ERR_UNSUPPORTED, "%s", err_text());
}

/* Why there is no dtype for DESCR, whose byte order has been looked at. */
static const char *reason(struct bytes descr)
{
	switch (descr.size > 1 ? descr.data[1] : 0) {
	case 'O': return "Python objects";
	case 'V': return "raw bytes (bf16 and other types that NumPy does not know are saved so)";
	case 'S':
	case 'a':
	case 'U': return "strings";
	case 'M':
	case 'm': return "dates and times";
	default: return "no such type";
	}
}

static int find_type(struct cursor *c, struct bytes descr, enum dtype *out)
{
	bool one_byte = descr.size == 3 && descr.data[2] == '1' && descr.data[1] != 'V';
	char order = descr.size ? descr.data[0] : 0;

	for (size_t i = 0; i < N_TYPES; i++) {
		const char *known = types[i].descr;

		if (descr.size != 3 || memcmp(descr.data + 1, known + 1, 2) != 0)
			continue;
		/* For items of one byte the order says nothing; NumPy takes any. */
		if (one_byte ? strchr("<>|=", order) && order : order == '<') {
			*out = types[i].dtype;
			return 0;
		}
		return unsupported(c, descr, order == '>' ? "big-endian" : "no byte order");
	}
	return unsupported(c, descr, reason(descr));
}

static int take_descr(struct cursor *c, struct npy *n)
{
	struct cursor at = *c;
	struct bytes descr = { (const char *)c->at, 0 };

	if (take(&at, "[") || take(&at, "(")) {
		skip_space(c);
		descr = (struct bytes){ (const char *)c->at,
					cursor_left(c) > 24 ? 24 : cursor_left(c) };
		return unsupported(c, descr, "a structured type");
	}
	if (take_text(&at, &descr, "descr"))
		return -1;
	if (find_type(c, descr, &n->dtype))
		return -1;
	*c = at;
	return 0;
}

static int take_order(struct cursor *c, struct npy *n)
{
	n->fortran = take(c, "True");
	return n->fortran ? 0 : need(c, "False");
}

/* --- the header --- */

enum { DESCR, ORDER, SHAPE, N_KEYS };

static const char *const keys[N_KEYS] = { "descr", "fortran_order", "shape" };

static int take_pair(struct cursor *c, struct npy *n, bool seen[N_KEYS], bool python2)
{
	struct bytes key;
	int k = 0;

	if (take_text(c, &key, "a key") || need(c, ":"))
		return -1;
	while (k < N_KEYS && !bytes_are(key, keys[k]))
		k++;
	if (k == N_KEYS)
		return cursor_fail(c, "unknown key '" BYTES_FMT "'", BYTES_ARG(key));
	if (seen[k])
		return cursor_fail(c, "duplicate key '%s'", keys[k]);
	seen[k] = true;
	switch (k) {
	case DESCR: return take_descr(c, n);
	case ORDER: return take_order(c, n);
	default: return take_shape(c, n, python2);
	}
}

static int take_dictionary(struct cursor *c, struct npy *n, bool python2)
{
	bool seen[N_KEYS] = { false }, comma = true;

	if (need(c, "{"))
		return -1;
	for (; !take(c, "}"); comma = take(c, ",")) {
		if (!comma)
			return cursor_fail(c, "the header needs a comma here");
		if (take_pair(c, n, seen, python2))
			return -1;
	}
	for (int k = 0; k < N_KEYS; k++)
		if (!seen[k])
			return cursor_fail(c, "the header has no key '%s'", keys[k]);
	skip_space(c);
	return c->at == c->end ? 0 : cursor_fail(c, "bytes after the header's dictionary");
}

/* Magic and version; the dictionary's place to *HEADER, with offsets as in the file. */
static int take_preamble(struct cursor *c, struct cursor *header, uint8_t *major)
{
	struct bytes magic, text;
	uint8_t minor;
	uint16_t few;
	uint32_t size;

	if (cursor_bytes(c, MAGIC_SIZE, &magic, "magic"))
		return -1;
	if (!bytes_equal(magic, (struct bytes){ MAGIC, MAGIC_SIZE }))
		return err_set(ERR_FORMAT, "%s: byte 0: not an npy file", c->file);
	if (cursor_u8(c, major, "major version") || cursor_u8(c, &minor, "minor version"))
		return -1;
	if (*major < 1 || *major > 3 || minor != 0)
		return err_set(ERR_UNSUPPORTED,
			       "%s: byte 6: npy version %u.%u is not handled here; 1.0 to 3.0 are",
			       c->file, *major, minor);
	if (*major == 1 ? cursor_u16(c, &few, "header size") : cursor_u32(c, &size, "header size"))
		return -1;
	size = *major == 1 ? few : size;
	if (size > NPY_HEADER_MAX)
		return err_set(ERR_LIMIT, "%s: byte 8: a header of %" PRIu32 " bytes; at most %d",
			       c->file, size, NPY_HEADER_MAX);
	*header = *c;
	if (cursor_bytes(c, size, &text, "header"))
		return -1;
	header->end = c->at;
	return 0;
}

int npy_read(struct npy *out, const void *data, size_t size, const char *file)
{
	struct cursor c, header;
	struct npy n = { .dtype = DTYPE_UNKNOWN };
	struct bytes elements;
	uint8_t major;
	size_t count, n_bytes;

	cursor_init(&c, data, size, file);
	if (take_preamble(&c, &header, &major) || take_dictionary(&header, &n, major < 3))
		return -1;
	if (!size_product(n.shape, n.n_dims, &count) || !dtype_size(n.dtype, count, &n_bytes))
		return cursor_fail(&c, "the shape's product does not fit");
	n.offset = cursor_offset(&c);
	if (cursor_bytes(&c, n_bytes, &elements, "elements"))
		return -1;
	if (cursor_left(&c))
		return cursor_fail(&c, "%zu bytes after the elements", cursor_left(&c));
	n.n_elements = count;
	n.n_bytes = n_bytes;
	n.data = (const unsigned char *)elements.data;
	*out = n;
	return 0;
}

/* --- writing --- */

/* A buffer of its own, since the padding depends on the text's length. */
static void put_dictionary(struct buffer *b, const char *descr, bool fortran, const uint64_t *shape,
			   uint32_t n_dims)
{
	char digits[24];
	uint64_t grows;

	buffer_format(b, "{'descr': '%s', 'fortran_order': %s, 'shape': (", descr,
		      fortran ? "True" : "False");
	for (uint32_t i = 0; i < n_dims; i++)
		buffer_format(b, "%s%" PRIu64, i ? ", " : "", shape[i]);
	buffer_put_text(b, n_dims == 1 ? ",), }" : "), }");
	if (!n_dims)
		return;
	grows = shape[fortran ? n_dims - 1 : 0];
	buffer_format(b, "%*s", GROWTH_DIGITS - snprintf(digits, sizeof digits, "%" PRIu64, grows),
		      "");
}

int npy_put_header(struct buffer *b, enum dtype t, bool fortran, const uint64_t *shape,
		   uint32_t n_dims)
{
	const char *descr = npy_descr(t);
	struct buffer text = { 0 };
	size_t before = MAGIC_SIZE + 2 + 2, padding;
	int result;

	if (!descr)
		return err_set(ERR_UNSUPPORTED, "npy has no type for %s", dtype_name(t));
	if (n_dims > TENSOR_DIMS_MAX)
		return err_set(ERR_LIMIT, "%u axes; at most %d", n_dims, TENSOR_DIMS_MAX);
	put_dictionary(&text, descr, fortran, shape, n_dims);
	/* A text that would end just so gets 64 more, as NumPy has it. */
	padding = ALIGN - (before + text.size + 1) % ALIGN;
	buffer_put(b, MAGIC "\x01\x00", MAGIC_SIZE + 2);
	buffer_put_u16(b, (uint16_t)(text.size + padding + 1));
	buffer_put(b, text.data, text.size);
	buffer_format(b, "%*s\n", (int)padding, "");
	result = buffer_check(&text) || buffer_check(b) ? -1 : 0;
	buffer_free(&text);
	return result;
}

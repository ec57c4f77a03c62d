/*
 * formats/gguf_write.c - writes version 3, byte for byte as ggml and gguf-py do
 *
 * The keys and the tensor table grow in two buffers as they are declared; offsets depend on the
 * tensors alone. gguf_writer_begin puts the counts before them and zeros after them, up to
 * the alignment; each tensor's data is filled with zeros likewise.
 */
#include "formats/gguf_private.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

#include <inttypes.h>
#include <stdlib.h>

#define NAME_MAX_GGML 63 /* GGML_MAX_NAME less its NUL: llama.cpp reads no longer one */
#define ALIGNMENT_MAX 65536
#define FIRST_BYTES   24 /* magic, version, two counts */

struct pending {
	struct bytes name; /* in the arena */
	uint64_t n_bytes;
};

struct gguf_writer {
	uint32_t alignment;
	bool alignment_declared;
	struct arena *arena; /* the names */
	struct names *key_names, *tensor_names;
	struct buffer keys, table;
	size_t n_keys;
	struct pending *tensors;
	size_t n_tensors, capacity;
	uint64_t offset; /* of the next tensor from the start of the data */

	enum err_code failed; /* the first error, kept until begin */
	char failed_text[ERR_TEXT_MAX + 1];

	struct outfile *file; /* from begin on */
	size_t at;	      /* the present tensor */
	uint64_t written;     /* of it */
};

int gguf_writer_new(struct gguf_writer **out, uint32_t alignment)
{
	struct gguf_writer *w;

	if (alignment < GGUF_ALIGNMENT_MIN || alignment > ALIGNMENT_MAX ||
	    (alignment & (alignment - 1)) != 0)
		return err_set(ERR_ARGUMENT,
			       "alignment %" PRIu32 ": must be a power of two from %d to %d",
			       alignment, GGUF_ALIGNMENT_MIN, ALIGNMENT_MAX);
	w = mem_new(1, sizeof(*w));
	if (!w)
		return -1;
	w->alignment = alignment;
	if (arena_new(&w->arena) || names_new(&w->key_names) || names_new(&w->tensor_names)) {
		gguf_writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void gguf_writer_free(struct gguf_writer *w)
{
	if (!w)
		return;
	arena_free(w->arena);
	names_free(w->key_names);
	names_free(w->tensor_names);
	buffer_free(&w->keys);
	buffer_free(&w->table);
	free(w->tensors);
	free(w);
}

/* --- declaring --- */

/* Keeps the thread's error as the writer's, after which declarations do nothing. */
static void keep_error(struct gguf_writer *w)
{
	size_t n = strlen(err_text());

	w->failed = err_last();
	memcpy(w->failed_text, err_text(), n < ERR_TEXT_MAX ? n : ERR_TEXT_MAX);
}

static int add_name(struct gguf_writer *w, struct names *names, const char *what, struct bytes name,
		    size_t number, struct bytes *kept)
{
	const char *fault = gguf_name_fault(name);
	int added;

	if (fault)
		return err_set(ERR_ARGUMENT, "the name of %s %zu %s", what, number, fault);
	if (number >= GGUF_COUNT_MAX)
		return err_set(ERR_LIMIT, "%s " BYTES_FMT ": is one more than %d", what,
			       BYTES_ARG(name), GGUF_COUNT_MAX);
	*kept = (struct bytes){ arena_copy(w->arena, name), name.size };
	if (!kept->data)
		return -1;
	added = names_add(names, *kept, (uint32_t)number, NULL);
	if (added == 0)
		return err_set(ERR_ARGUMENT, "%s " BYTES_FMT ": is declared twice", what,
			       BYTES_ARG(name));
	return added < 0 ? -1 : 0;
}

static void put_string(struct buffer *b, struct bytes s)
{
	buffer_put_u64(b, s.size);
	buffer_put(b, s.data, s.size);
}

/* Writes the key and its type. False when the writer has failed, now or before. */
static bool put_key(struct gguf_writer *w, struct bytes key, enum gguf_type type)
{
	struct bytes kept;

	if (w->failed)
		return false;
	if (add_name(w, w->key_names, "key", key, w->n_keys, &kept)) {
		keep_error(w);
		return false;
	}
	w->n_keys++;
	put_string(&w->keys, key);
	buffer_put_u32(&w->keys, type);
	return true;
}

static void note_alignment(struct gguf_writer *w, struct bytes key, enum gguf_type type, uint64_t v)
{
	if (!bytes_are(key, GGUF_ALIGNMENT_KEY))
		return;
	w->alignment_declared = true;
	if (type == GGUF_U32 && v == w->alignment)
		return;
	err_set(ERR_MISMATCH, "key %s: must be u32 and %" PRIu32 ", as the writer aligns",
		GGUF_ALIGNMENT_KEY, w->alignment);
	keep_error(w);
}

static void put_scalar(struct gguf_writer *w, const char *key, enum gguf_type type, uint64_t bits)
{
	struct bytes name = bytes_of(key);

	if (!put_key(w, name, type))
		return;
	note_alignment(w, name, type, bits);
	switch (gguf_type_size(type)) {
	case 1: buffer_put_u8(&w->keys, (uint8_t)bits); break;
	case 2: buffer_put_u16(&w->keys, (uint16_t)bits); break;
	case 4: buffer_put_u32(&w->keys, (uint32_t)bits); break;
	default: buffer_put_u64(&w->keys, bits); break;
	}
}

void gguf_put_u16(struct gguf_writer *w, const char *key, uint16_t v)
{
	put_scalar(w, key, GGUF_U16, v);
}

void gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t v)
{
	put_scalar(w, key, GGUF_U32, v);
}

void gguf_put_u64(struct gguf_writer *w, const char *key, uint64_t v)
{
	put_scalar(w, key, GGUF_U64, v);
}

void gguf_put_i32(struct gguf_writer *w, const char *key, int32_t v)
{
	put_scalar(w, key, GGUF_I32, (uint32_t)v);
}

void gguf_put_f32(struct gguf_writer *w, const char *key, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_scalar(w, key, GGUF_F32, bits);
}

void gguf_put_bool(struct gguf_writer *w, const char *key, bool v)
{
	put_scalar(w, key, GGUF_BOOL, v);
}

void gguf_put_string(struct gguf_writer *w, const char *key, struct bytes v)
{
	if (!put_key(w, bytes_of(key), GGUF_STRING))
		return;
	note_alignment(w, bytes_of(key), GGUF_STRING, 0);
	put_string(&w->keys, v);
}

static bool put_array_key(struct gguf_writer *w, struct bytes key, enum gguf_type type, uint64_t n)
{
	if (!put_key(w, key, GGUF_ARRAY))
		return false;
	note_alignment(w, key, GGUF_ARRAY, 0);
	buffer_put_u32(&w->keys, type);
	buffer_put_u64(&w->keys, n);
	return true;
}

void gguf_put_array(struct gguf_writer *w, const char *key, enum gguf_type type, uint64_t n,
		    const void *items)
{
	size_t item = (size_t)type < GGUF_TYPE_COUNT ? gguf_type_size(type) : 0;
	size_t size = 0;

	if (w->failed)
		return;
	if (item == 0 || !size_mul(n, item, &size)) {
		err_set(ERR_ARGUMENT, "key %s: an array of %" PRIu64 " %s cannot be put so", key, n,
			gguf_type_name(type));
		keep_error(w);
		return;
	}
	if (put_array_key(w, bytes_of(key), type, n))
		buffer_put(&w->keys, items, size);
}

void gguf_put_strings(struct gguf_writer *w, const char *key, uint64_t n, const struct bytes *items)
{
	if (!put_array_key(w, bytes_of(key), GGUF_STRING, n))
		return;
	for (uint64_t i = 0; i < n; i++)
		put_string(&w->keys, items[i]);
}

void gguf_put_value(struct gguf_writer *w, const struct gguf_value *v)
{
	bool put;

	if (v->type == GGUF_ARRAY)
		put = put_array_key(w, v->key, v->item_type, v->n);
	else
		put = put_key(w, v->key, v->type);
	if (!put)
		return;
	if (v->type != GGUF_ARRAY)
		note_alignment(w, v->key, v->type, v->type == GGUF_U32 ? gguf_value_u64(v) : 0);
	buffer_put(&w->keys, v->raw.data, v->raw.size);
}

/* --- tensors --- */

static int check_shape(const struct tensor_info *t)
{
	const struct dtype_info *info = dtype_info(t->dtype);
	uint64_t row = t->n_dims ? t->shape[t->n_dims - 1] : 1;
	size_t n_elements, n_bytes;

	if (info->gguf < 0)
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": GGUF has no type %s",
			       BYTES_ARG(t->name), info->name);
	if (!size_product(t->shape, t->n_dims, &n_elements) || row % info->block != 0 ||
	    !dtype_size(t->dtype, n_elements, &n_bytes) || n_bytes != t->n_bytes)
		return err_set(ERR_ARGUMENT,
			       "tensor " BYTES_FMT ": %" PRIu64 " bytes of %s do not fit its shape",
			       BYTES_ARG(t->name), t->n_bytes, info->name);
	return 0;
}

static int check_tensor(const struct tensor_info *t)
{
	if (t->name.size > NAME_MAX_GGML)
		return err_set(ERR_LIMIT,
			       "tensor " BYTES_FMT
			       ": a name of %zu bytes, and llama.cpp reads at most %d",
			       BYTES_ARG(t->name), t->name.size, NAME_MAX_GGML);
	if (t->n_dims > GGUF_DIMS_MAX)
		return err_set(ERR_LIMIT,
			       "tensor " BYTES_FMT ": %" PRIu32
			       " dimensions, and GGUF has at most %d",
			       BYTES_ARG(t->name), t->n_dims, GGUF_DIMS_MAX);
	return check_shape(t);
}

static void put_table_row(struct gguf_writer *w, const struct tensor_info *t)
{
	put_string(&w->table, t->name);
	buffer_put_u32(&w->table, t->n_dims);
	for (uint32_t i = t->n_dims; i-- > 0;)
		buffer_put_u64(&w->table, t->shape[i]);
	buffer_put_u32(&w->table, (uint32_t)dtype_info(t->dtype)->gguf);
	buffer_put_u64(&w->table, w->offset);
}

static int add_tensor(struct gguf_writer *w, const struct tensor_info *t)
{
	struct pending *p;
	size_t end;

	if (check_tensor(t) ||
	    mem_grow(&w->tensors, &w->capacity, w->n_tensors + 1, sizeof(*w->tensors)))
		return -1;
	p = &w->tensors[w->n_tensors];
	if (add_name(w, w->tensor_names, "tensor", t->name, w->n_tensors, &p->name))
		return -1;
	if (!size_add(w->offset, t->n_bytes, &end) || !size_round_up(end, w->alignment, &end))
		return err_set(ERR_LIMIT, "tensor " BYTES_FMT ": the data is too large",
			       BYTES_ARG(t->name));
	put_table_row(w, t);
	p->n_bytes = t->n_bytes;
	w->offset = end;
	w->n_tensors++;
	return 0;
}

void gguf_put_tensor(struct gguf_writer *w, const struct tensor_info *t)
{
	if (!w->failed && add_tensor(w, t))
		keep_error(w);
}

/* --- writing --- */

static int write_zeros(struct gguf_writer *w, uint64_t from)
{
	static const char zeros[4096];
	uint64_t left = from % w->alignment ? w->alignment - from % w->alignment : 0;

	while (left > 0) {
		size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

		if (outfile_write(w->file, zeros, n))
			return -1;
		left -= n;
	}
	return 0;
}

/* Tensors without bytes are written by being passed over. */
static void pass_empty(struct gguf_writer *w)
{
	while (w->at < w->n_tensors && w->tensors[w->at].n_bytes == 0)
		w->at++;
}

static void put_first(struct buffer *b, uint64_t n_tensors, uint64_t n_keys)
{
	buffer_put_text(b, "GGUF");
	buffer_put_u32(b, GGUF_VERSION);
	buffer_put_u64(b, n_tensors);
	buffer_put_u64(b, n_keys);
}

int gguf_writer_preview(struct gguf_writer *w, struct buffer *b)
{
	if (w->failed)
		return err_set(w->failed, "%s", w->failed_text);
	if (buffer_check(&w->keys))
		return -1;
	put_first(b, 0, w->n_keys);
	buffer_put(b, w->keys.data, w->keys.size);
	buffer_put_zeros(b, w->alignment);
	return buffer_check(b);
}

static int write_first(struct gguf_writer *w)
{
	struct buffer b = { 0 };
	int result;

	put_first(&b, w->n_tensors, w->n_keys);
	result = buffer_check(&b);
	if (result == 0)
		result = outfile_write(w->file, b.data, b.size);
	buffer_free(&b);
	return result;
}

int gguf_writer_begin(struct gguf_writer *w, struct outfile *f)
{
	if (w->alignment != GGUF_ALIGNMENT && !w->alignment_declared)
		gguf_put_u32(w, GGUF_ALIGNMENT_KEY, w->alignment);
	if (w->failed)
		return err_set(w->failed, "%s: %s", outfile_path(f), w->failed_text);
	if (buffer_check(&w->keys) || buffer_check(&w->table))
		return -1;
	w->file = f;
	if (write_first(w) || outfile_write(f, w->keys.data, w->keys.size) ||
	    outfile_write(f, w->table.data, w->table.size) ||
	    write_zeros(w, FIRST_BYTES + (uint64_t)w->keys.size + w->table.size))
		return -1;
	pass_empty(w);
	return 0;
}

/* The present tensor, of which at least N bytes are still to come, or NULL with the error set. */
static const struct pending *expect(const struct gguf_writer *w, uint64_t n)
{
	const struct pending *p;

	if (w->at == w->n_tensors) {
		err_set(ERR_ARGUMENT, "%s: %" PRIu64 " bytes after the last tensor",
			outfile_path(w->file), n);
		return NULL;
	}
	p = &w->tensors[w->at];
	if (n > p->n_bytes - w->written) {
		err_set(ERR_ARGUMENT,
			"%s: tensor " BYTES_FMT ": %" PRIu64 " bytes, %" PRIu64 " are to come",
			outfile_path(w->file), BYTES_ARG(p->name), n, p->n_bytes - w->written);
		return NULL;
	}
	return p;
}

/* N bytes of P were written. */
static int advance(struct gguf_writer *w, const struct pending *p, uint64_t n)
{
	w->written += n;
	if (w->written < p->n_bytes)
		return 0;
	if (write_zeros(w, p->n_bytes))
		return -1;
	w->written = 0;
	w->at++;
	pass_empty(w);
	return 0;
}

int gguf_writer_data(struct gguf_writer *w, const void *data, size_t n)
{
	const struct pending *p;

	if (n == 0)
		return 0;
	p = expect(w, n);
	if (!p || outfile_write(w->file, data, n))
		return -1;
	return advance(w, p, n);
}

int gguf_writer_copy(struct gguf_writer *w, int fd, uint64_t offset, uint64_t n)
{
	const struct pending *p;

	if (n == 0)
		return 0;
	p = expect(w, n);
	if (!p || outfile_copy(w->file, fd, offset, n))
		return -1;
	return advance(w, p, n);
}

int gguf_writer_end(struct gguf_writer *w)
{
	const struct pending *p;

	if (w->at == w->n_tensors)
		return 0;
	p = &w->tensors[w->at];
	return err_set(ERR_ARGUMENT,
		       "%s: tensor " BYTES_FMT ": %" PRIu64 " of %" PRIu64 " bytes written",
		       outfile_path(w->file), BYTES_ARG(p->name), w->written, p->n_bytes);
}

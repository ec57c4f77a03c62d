/*
 * formats/gguf_get.c - what an open GGUF says: its files, tensors and keys
 */
#include "formats/gguf_private.h"
#include "lib/base/err.h"

#include <inttypes.h>

uint32_t gguf_version(const struct gguf *g)
{
	return g->files[0].version;
}

uint32_t gguf_alignment(const struct gguf *g)
{
	return g->files[0].alignment;
}

size_t gguf_n_files(const struct gguf *g)
{
	return g->n_files;
}

const char *gguf_file_path(const struct gguf *g, size_t i)
{
	return g->files[i].path;
}

int gguf_file_fd(const struct gguf *g, size_t i)
{
	return g->files[i].map ? mapfile_fd(g->files[i].map) : -1;
}

uint64_t gguf_file_size(const struct gguf *g, size_t i)
{
	return g->files[i].data.size;
}

size_t gguf_n_tensors(const struct gguf *g)
{
	return g->n_tensors;
}

const struct tensor_info *gguf_tensor(const struct gguf *g, size_t i)
{
	return &g->tensors[i];
}

const struct tensor_info *gguf_find(const struct gguf *g, struct bytes name)
{
	uint32_t i;

	return names_find(g->tensor_names, name, &i) ? &g->tensors[i] : NULL;
}

size_t gguf_n_keys(const struct gguf *g)
{
	return g->files[0].n_keys;
}

const struct gguf_value *gguf_key(const struct gguf *g, size_t i)
{
	return &g->files[0].keys[i];
}

const struct gguf_value *gguf_file_get(const struct gguf_file *f, const char *key)
{
	uint32_t i;

	return names_find(f->key_names, bytes_of(key), &i) ? &f->keys[i] : NULL;
}

const struct gguf_value *gguf_get(const struct gguf *g, const char *key)
{
	return gguf_file_get(&g->files[0], key);
}

/* --- typed --- */

static int wrong_type(const struct gguf_file *f, const struct gguf_value *v, const char *wanted)
{
	return err_set(ERR_FORMAT, "%s: key " BYTES_FMT ": is %s, not %s", f->path,
		       BYTES_ARG(v->key), gguf_type_name(v->type), wanted);
}

static bool is_signed(enum gguf_type t)
{
	return t == GGUF_I8 || t == GGUF_I16 || t == GGUF_I32 || t == GGUF_I64;
}

static bool is_unsigned(enum gguf_type t)
{
	return t == GGUF_U8 || t == GGUF_U16 || t == GGUF_U32 || t == GGUF_U64;
}

int gguf_file_get_u64(const struct gguf_file *f, const char *key, uint64_t *out)
{
	const struct gguf_value *v = gguf_file_get(f, key);
	int64_t n;

	if (!v)
		return 0;
	if (is_unsigned(v->type)) {
		*out = gguf_value_u64(v);
		return 1;
	}
	if (!is_signed(v->type))
		return wrong_type(f, v, "an integer");
	n = gguf_value_i64(v);
	if (n < 0)
		return err_set(ERR_FORMAT, "%s: key %s: is %" PRId64 ", must not be negative",
			       f->path, key, n);
	*out = (uint64_t)n;
	return 1;
}

int gguf_get_u64(const struct gguf *g, const char *key, uint64_t *out)
{
	return gguf_file_get_u64(&g->files[0], key, out);
}

int gguf_get_real(const struct gguf *g, const char *key, double *out)
{
	const struct gguf_value *v = gguf_get(g, key);

	if (!v)
		return 0;
	if (v->type == GGUF_F32 || v->type == GGUF_F64)
		*out = gguf_value_f64(v);
	else if (is_signed(v->type))
		*out = (double)gguf_value_i64(v);
	else if (is_unsigned(v->type))
		*out = (double)gguf_value_u64(v);
	else
		return wrong_type(&g->files[0], v, "a number");
	return 1;
}

int gguf_get_bool(const struct gguf *g, const char *key, bool *out)
{
	const struct gguf_value *v = gguf_get(g, key);

	if (!v)
		return 0;
	if (v->type != GGUF_BOOL)
		return wrong_type(&g->files[0], v, "bool");
	*out = gguf_value_u64(v) != 0;
	return 1;
}

int gguf_get_string(const struct gguf *g, const char *key, struct bytes *out)
{
	const struct gguf_value *v = gguf_get(g, key);

	if (!v)
		return 0;
	if (v->type != GGUF_STRING)
		return wrong_type(&g->files[0], v, "string");
	*out = gguf_value_string(v);
	return 1;
}

int gguf_get_array(const struct gguf *g, const char *key, enum gguf_type type,
		   struct gguf_value *out)
{
	const struct gguf_value *v = gguf_get(g, key);

	if (!v)
		return 0;
	if (v->type != GGUF_ARRAY)
		return wrong_type(&g->files[0], v, "array");
	if (v->item_type != type)
		return err_set(ERR_FORMAT, "%s: key %s: is an array of %s, not of %s",
			       g->files[0].path, key, gguf_type_name(v->item_type),
			       gguf_type_name(type));
	*out = *v;
	return 1;
}

/*
 * formats/gguf_config_key.c - keys of one architecture, and tensors of one layer
 */
#include "formats/gguf_config_parts.h"
#include "lib/base/number.h"

#include <float.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

char *config_key(const struct config_reader *r, const char *suffix, char out[CONFIG_KEY_SIZE])
{
	snprintf(out, CONFIG_KEY_SIZE, "%s.%s", r->arch, suffix);
	return out;
}

int config_fail(const struct config_reader *r, enum err_code code, const char *suffix,
		const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return err_set(code, "%s: key %s.%s: %s", r->file, r->arch, suffix, text);
}

/* *ALL is what every item is. */
static int read_equal(const struct config_reader *r, const char *suffix,
		      const struct gguf_value *array, uint64_t *all)
{
	struct gguf_value item;
	struct gguf_items it;
	int64_t first = 0;

	if (array->n == 0 || array->n != r->c->n_layers)
		return config_fail(r, ERR_MISMATCH, suffix,
				   "has %" PRIu64 " items for %" PRIu32 " layers", array->n,
				   r->c->n_layers);
	if (array->item_type != GGUF_I32 && array->item_type != GGUF_U32)
		return config_fail(r, ERR_FORMAT, suffix, "is an array of %s, not of i32 or u32",
				   gguf_type_name(array->item_type));
	gguf_items(&it, array);
	for (uint64_t i = 0; gguf_items_next(&it, &item); i++) {
		int64_t v = item.type == GGUF_I32 ? gguf_value_i64(&item)
						  : (int64_t)gguf_value_u64(&item);

		if (i > 0 && v != first)
			return config_fail(r, ERR_UNSUPPORTED, suffix,
					   "differs from layer to layer, which is not supported");
		first = v;
	}
	if (first < 0)
		return config_fail(r, ERR_FORMAT, suffix, "is %" PRId64 " in every layer", first);
	*all = (uint64_t)first;
	return 1;
}

int config_u64(const struct config_reader *r, const char *suffix, uint64_t high, uint64_t *out)
{
	char key[CONFIG_KEY_SIZE];
	const struct gguf_value *v = gguf_get(r->gguf, config_key(r, suffix, key));
	uint64_t n = 0;
	int got;

	if (v && v->type == GGUF_ARRAY)
		got = read_equal(r, suffix, v, &n);
	else
		got = gguf_get_u64(r->gguf, key, &n);
	if (got <= 0)
		return got;
	if (n < 1)
		return config_fail(r, ERR_FORMAT, suffix, "is 0");
	if (n > high)
		return config_fail(r, ERR_LIMIT, suffix, "is %" PRIu64 ", the limit is %" PRIu64, n,
				   high);
	*out = n;
	return 1;
}

int config_real(const struct config_reader *r, const char *suffix, double *out)
{
	char key[CONFIG_KEY_SIZE], text[NUMBER_TEXT];
	const struct gguf_value *v = gguf_get(r->gguf, config_key(r, suffix, key));
	double x = 0;
	int got = gguf_get_real(r->gguf, key, &x);

	if (got <= 0)
		return got;
	if (!(x > 0 && x <= DBL_MAX))
		return config_fail(r, ERR_FORMAT, suffix, "is %g, must be above 0 and finite", x);
	if (v->type == GGUF_F32 && number_real(number_f32((float)x, text), 0, DBL_MAX, &x))
		return -1;
	*out = x;
	return 1;
}

static int missing(const struct config_reader *r, const char *suffix)
{
	return config_fail(r, ERR_MISSING, suffix, "is missing");
}

int config_need_u64(const struct config_reader *r, const char *suffix, uint64_t high, uint64_t *out)
{
	int got = config_u64(r, suffix, high, out);

	if (got == 0)
		return missing(r, suffix);
	return got < 0 ? -1 : 0;
}

int config_need_real(const struct config_reader *r, const char *suffix, double *out)
{
	int got = config_real(r, suffix, out);

	if (got == 0)
		return missing(r, suffix);
	return got < 0 ? -1 : 0;
}

size_t config_n_tensors(const struct config_reader *r)
{
	return r->tensors ? r->n_tensors : gguf_n_tensors(r->gguf);
}

const struct tensor_info *config_tensor_at(const struct config_reader *r, size_t i)
{
	return r->tensors ? r->tensors[i] : gguf_tensor(r->gguf, i);
}

static const struct tensor_info *find(const struct config_reader *r, struct bytes name)
{
	uint32_t place;

	if (!r->tensors)
		return gguf_find(r->gguf, name);
	return names_find(r->names, name, &place) ? r->tensors[place] : NULL;
}

const struct tensor_info *config_tensor(const struct config_reader *r, int64_t layer,
					const char *name)
{
	char full[CONFIG_KEY_SIZE];

	if (layer < 0)
		return find(r, bytes_of(name));
	snprintf(full, sizeof(full), "blk.%" PRId64 ".%s", layer, name);
	return find(r, bytes_of(full));
}

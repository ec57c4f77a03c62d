/* lib/train/training_model.c - the model that a run trains */

#include "lib/train/training_model.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

/* --- blocks become numbers --- */

static bool is_plain(const struct store_entry *e)
{
	return dtype_info(e->dtype)->block == 1;
}

/* Row by row, through f32. */
static int decode_rows(const struct store_entry *from, struct store_entry *to)
{
	size_t n = from->shape.n ? from->shape.at[from->shape.n - 1] : 1;
	size_t all = shape_elements(&from->shape), from_row = 0, to_row = 0;
	float *row = mem_new(n, sizeof(*row));

	if (!row || !dtype_size(from->dtype, n, &from_row) || !dtype_size(to->dtype, n, &to_row)) {
		free(row);
		return err_set(ERR_LIMIT, "%s: a row has no size", from->name);
	}
	for (size_t i = 0; n && i < all / n; i++) {
		dtype_to_f32(from->dtype, (const char *)from->data + i * from_row, row, n);
		dtype_from_f32(to->dtype, row, (char *)to->data + i * to_row, n);
	}
	free(row);
	return 0;
}

static int copy_entry(struct store *s, const struct store_entry *from, enum dtype weights)
{
	struct store_entry *e;

	if (!is_plain(from) && !dtype_decodes(from->dtype))
		return err_set(ERR_UNSUPPORTED, "%s: %s is not decoded here", from->name,
			       dtype_name(from->dtype));
	e = store_add(s, from->name, STORE_PARAMETER, is_plain(from) ? from->dtype : weights,
		      &from->shape);
	if (!e)
		return -1;
	if (is_plain(from))
		return store_borrow(s, e, from->data, from->size);
	if (store_allocate(s, e) < 0 || decode_rows(from, e) < 0)
		return -1;
	store_touch(e);
	return 0;
}

/* A store without blocks; plain values stay where they are. */
static int decode_blocks(struct training_model *m, enum dtype weights)
{
	const struct store *from = m->lm.store;
	bool plain = true;

	m->store = m->lm.store;
	for (size_t i = 0; i < store_n(from); i++)
		plain = plain && is_plain(store_at(from, i));
	if (plain)
		return 0;
	if (store_new(&m->store) < 0)
		return -1;
	m->own_store = true;
	for (size_t i = 0; i < store_n(from); i++)
		if (copy_entry(m->store, store_at(from, i), weights) < 0)
			return -1;
	return 0;
}

/* --- opening --- */

int training_model_open(struct training_model *out, const char *path, enum dtype weights)
{
	const struct lm_open_options o = { .dtype = weights, .permute = true };

	*out = (struct training_model){ 0 };
	if (lm_open(&out->lm, path, &o) < 0)
		return -1;
	out->config = out->lm.config;
	if (arena_new(&out->arena) < 0 || decode_blocks(out, weights) < 0 ||
	    lm_rules(&out->rules, out->arena, out->config, MODEL_FOLDER, true) < 0) {
		training_model_close(out);
		return -1;
	}
	out->path = path;
	if (model_kind(out->lm.model) == MODEL_FOLDER)
		out->folder = path;
	return 0;
}

void training_model_close(struct training_model *m)
{
	if (m->own_store)
		store_free(m->store);
	lm_close(&m->lm);
	arena_free(m->arena);
	*m = (struct training_model){ 0 };
}

/* --- going back --- */

static int reload_entry(struct store *to, const struct store_entry *from)
{
	struct store_entry *e = store_find(to, from->name);

	if (!e || e->size != from->size || e->dtype != from->dtype)
		return err_set(ERR_MISMATCH, "%s: is not a parameter of this run", from->name);
	if (store_allocate(to, e) < 0)
		return -1;
	memcpy(e->data, from->data, e->size);
	store_touch(e);
	return 0;
}

int training_model_reload(struct training_model *m, const char *path)
{
	struct lm lm;
	int result = lm_open(&lm, path, NULL);

	if (result < 0)
		return -1;
	for (size_t i = 0; i < store_n(lm.store) && result == 0; i++)
		result = reload_entry(m->store, store_at(lm.store, i));
	lm_close(&lm);
	return result < 0 ? err_prefix("%s", path) : 0;
}

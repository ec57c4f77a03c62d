/* lib/train/run_optimizer.c - optimizer.safetensors: the store's entries of kind STORE_STATE, by name */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/safetensors.h"
#include "formats/shape_text.h"
#include "lib/base/copies.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/run_parts.h"

int run_check_values(const struct store_entry *e)
{
	if (!e->data && e->size)
		return err_set(ERR_ARGUMENT, "%s: has no values to save", e->name);
	if (e->host_version != e->version)
		return err_set(ERR_ARGUMENT, "%s: its newest values are on a device", e->name);
	return 0;
}

/* --- writing --- */

static struct tensor_info info_of(const struct store_entry *e)
{
	struct tensor_info t = { .name = bytes_of(e->name),
				 .dtype = e->dtype,
				 .n_dims = (uint32_t)e->shape.n,
				 .n_elements = shape_elements(&e->shape),
				 .n_bytes = e->size };

	for (int i = 0; i < e->shape.n; i++)
		t.shape[i] = e->shape.at[i];
	return t;
}

/* The entries, in the store's order; owned by the caller. */
static const struct store_entry **states_of(const struct store *s, size_t *n)
{
	const struct store_entry **all = mem_new(store_n(s) + 1, sizeof(*all));

	*n = 0;
	for (size_t i = 0; all && i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_STATE)
			all[(*n)++] = store_at(s, i);
	return all;
}

static int write_all(struct safetensors_writer *w, struct outfile *f,
		     const struct store_entry **all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tensor_info t = info_of(all[i]);

		if (run_check_values(all[i]) < 0)
			return -1;
		safetensors_put_tensor(w, &t);
	}
	if (safetensors_writer_begin(w, f) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct store_entry *e = all[safetensors_writer_order(w, i)];

		if (e->size && safetensors_writer_data(w, e->data, e->size) < 0)
			return -1;
	}
	return safetensors_writer_end(w);
}

int run_optimizer_write(struct outdir *d, const struct store *s)
{
	struct safetensors_writer *w = NULL;
	struct outfile *f = NULL;
	size_t n;
	const struct store_entry **all = states_of(s, &n);
	int result = -1;

	if (!all)
		return -1;
	if (n == 0)
		result = 0;
	else if (safetensors_writer_new(&w, false) == 0 && outdir_file(d, RUN_OPTIMIZER, &f) == 0)
		result = write_all(w, f, all, n);
	if (f && result == 0)
		result = outfile_commit(f);
	else
		outfile_discard(f);
	safetensors_writer_free(w);
	free(all);
	return result;
}

/* --- reading --- */

static bool same_shape(const struct store_entry *e, const struct tensor_info *t)
{
	if (e->shape.n != (int)t->n_dims)
		return false;
	for (int i = 0; i < e->shape.n; i++)
		if (e->shape.at[i] != t->shape[i])
			return false;
	return true;
}

static int check_entry(const char *path, const struct store_entry *e, const struct tensor_info *t)
{
	if (!t)
		return err_set(ERR_MISSING, "%s: tensor %s: is missing", path, e->name);
	if (t->dtype == e->dtype && same_shape(e, t) && t->n_bytes == e->size)
		return 0;
	return err_set(ERR_MISMATCH,
		       "%s: tensor %s: is " BYTES_FMT " with %u axes, %" PRIu64
		       " elements; the run has %s %s",
		       path, e->name, BYTES_ARG(t->dtype_name), (unsigned)t->n_dims, t->n_elements,
		       dtype_name(e->dtype), shape_string(&e->shape));
}

/* Nothing is changed before everything fits. */
static int check_all(const char *path, const struct safetensors *in, const struct store *s)
{
	size_t used = 0;

	for (size_t i = 0; i < store_n(s); i++) {
		const struct store_entry *e = store_at(s, i);

		if (e->kind != STORE_STATE)
			continue;
		if (check_entry(path, e, safetensors_find(in, bytes_of(e->name))) < 0)
			return -1;
		used++;
	}
	for (size_t i = 0; used < safetensors_n_tensors(in) && i < safetensors_n_tensors(in); i++) {
		const struct tensor_info *t = safetensors_tensor(in, i);
		const struct store_entry *e = NULL;

		for (size_t k = 0; k < store_n(s) && !e; k++)
			if (store_at(s, k)->kind == STORE_STATE &&
			    bytes_are(t->name, store_at(s, k)->name))
				e = store_at(s, k);
		if (!e)
			return err_set(ERR_MISMATCH,
				       "%s: tensor " BYTES_FMT
				       ": this run keeps nothing of the name",
				       path, BYTES_ARG(t->name));
	}
	return 0;
}

static int read_all(const struct safetensors *in, struct store *s, struct team *team)
{
	struct copy *copies = mem_new(store_n(s) + 1, sizeof(*copies));
	size_t n = 0;
	int result = copies ? 0 : -1;

	for (size_t i = 0; i < store_n(s) && result == 0; i++) {
		struct store_entry *e = store_at(s, i);

		if (e->kind != STORE_STATE)
			continue;
		result = store_allocate(s, e);
		copies[n++] = (struct copy){ e->data, safetensors_find(in, bytes_of(e->name))->data,
					     result == 0 ? e->size : 0 };
		store_touch(e);
	}
	if (result == 0)
		copies_run(team, copies, n);
	free(copies);
	return result;
}

static size_t count_states(const struct store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < store_n(s); i++)
		n += store_at(s, i)->kind == STORE_STATE;
	return n;
}

int run_folder_restore(const struct run_folder *r, struct store *s, struct team *team)
{
	struct safetensors *in = NULL;
	struct stat st;
	char *path;
	int result;

	if (!r->last)
		return err_set(ERR_ARGUMENT, "%s: has no checkpoint", r->path);
	path = mem_format("%s/" RUN_OPTIMIZER, r->last);
	if (!path)
		return -1;
	if (count_states(s) == 0 && lstat(path, &st) != 0) {
		free(path);
		return 0;
	}
	result = safetensors_open(&in, path);
	if (result == 0)
		result = check_all(path, in, s);
	if (result == 0)
		result = read_all(in, s, team);
	safetensors_close(in);
	free(path);
	return result;
}

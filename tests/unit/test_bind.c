/*
 * tests/unit/test_bind.c - rules between a store's parameters and a checkpoint's tensors
 *
 * Each kind of rule on small tensors whose values tell their places; then there and back to the byte.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/model/bind.h"
#include "tests/tap.h"

struct given {
	const char *name;
	enum dtype dtype;
	uint32_t n_dims;
	uint64_t shape[3];
};

/* A file of tensors whose elements count on from 1, f32 or bf16. */
static const char *write_file(const char *name, const struct given *g, size_t n)
{
	struct safetensors_writer *w;
	struct outfile *f;
	const char *path = tap_path(name);
	float next = 1;

	tap_works(outfile_new(&f, path), "a file");
	tap_works(safetensors_writer_new(&w, true), "a writer");
	for (size_t i = 0; i < n; i++) {
		struct tensor_info t = { .name = bytes_of(g[i].name),
					 .dtype = g[i].dtype,
					 .n_dims = g[i].n_dims,
					 .n_elements = 1 };
		size_t size;

		for (uint32_t k = 0; k < t.n_dims; k++)
			t.n_elements *= t.shape[k] = g[i].shape[k];
		dtype_size(t.dtype, t.n_elements, &size);
		t.n_bytes = size;
		safetensors_put_tensor(w, &t);
	}
	tap_works(safetensors_writer_begin(w, f), "its header");
	for (size_t i = 0; i < n; i++) {
		uint64_t all = 1;

		for (uint32_t k = 0; k < g[i].n_dims; k++)
			all *= g[i].shape[k];
		for (uint64_t k = 0; k < all; k++, next++) {
			char value[4];

			dtype_from_f32(g[i].dtype, &next, value, 1);
			safetensors_writer_data(w, value, dtype_info(g[i].dtype)->bytes);
		}
	}
	tap_works(safetensors_writer_end(w), "its end");
	tap_works(outfile_commit(f), "on disk");
	safetensors_writer_free(w);
	return path;
}

struct loaded {
	struct model *model;
	struct store *store;
	struct bind_report report;
	int result;
};

static struct loaded load(const char *path, const struct bind_rule *rules, size_t n,
			  enum dtype dtype)
{
	struct loaded l = { 0 };

	tap_works(model_open(&l.model, path), "a model");
	tap_works(store_new(&l.store), "a store");
	l.result = bind_load(l.store, l.model, &(struct bind_rules){ rules, n },
			     &(struct bind_options){ .dtype = dtype }, &l.report);
	return l;
}

static void end(struct loaded *l)
{
	bind_report_free(&l->report);
	store_free(l->store);
	model_close(l->model);
}

static void is_values(const struct loaded *l, const char *name, struct shape shape,
		      const float *want)
{
	const struct store_entry *e = store_find(l->store, name);

	if (!tap_ok(e != NULL, "%s is there", name))
		return;
	tap_ok(shape_equal(&e->shape, &shape), "%s: %s is %s", name, shape_string(&e->shape),
	       shape_string(&shape));
	for (size_t i = 0; i < shape_elements(&shape); i++) {
		float got;

		dtype_to_f32(e->dtype, (char *)e->data + i * dtype_info(e->dtype)->bytes, &got, 1);
		if (got != want[i]) {
			tap_ok(false, "%s: element %zu is %g, not %g", name, i, (double)got,
			       (double)want[i]);
			return;
		}
	}
	tap_ok(true, "%s: every element", name);
}

/* What is saved by the same rules is what was loaded; how many of the tensors need not be made. */
static size_t check_back(const struct loaded *l, const struct bind_rule *rules, size_t n)
{
	struct bind_saver *b;
	size_t n_data = 0;

	if (!tap_works(bind_saver_new(&b, l->store, &(struct bind_rules){ rules, n }), "a saver"))
		return 0;
	tap_is_u64(bind_saver_n(b), l->report.n_tensors, "as many tensors");
	for (size_t i = 0; i < bind_saver_n(b); i++) {
		const struct tensor_info *t = bind_saver_tensor(b, i);
		const struct tensor_info *want = model_find(l->model, t->name);
		const void *data = bind_saver_data(b, i);
		void *values = malloc(t->n_bytes + 1);

		n_data += data != NULL;
		tap_ok(!data || memcmp(want->data, data, t->n_bytes) == 0,
		       BYTES_FMT " stands as it is to be, or is made", BYTES_ARG(t->name));
		tap_ok(want && want->n_dims == t->n_dims && want->n_bytes == t->n_bytes &&
			       memcmp(want->shape, t->shape, t->n_dims * sizeof(*t->shape)) == 0,
		       BYTES_FMT " has its shape", BYTES_ARG(t->name));
		tap_works(bind_saver_values(b, i, values, NULL), "its values");
		tap_ok(want && memcmp(values, want->data, t->n_bytes) == 0,
		       BYTES_FMT " has its values", BYTES_ARG(t->name));
		free(values);
	}
	bind_saver_free(b);
	return n_data;
}

#define N(list) (sizeof(list) / sizeof(*(list)))

static void test_names(void)
{
	uint32_t n[BIND_NUMBERS];
	char out[40];

	tap_ok(bind_match("a.{}.b.{}.c", bytes_of("a.12.b.0.c"), n) && n[0] == 12 && n[1] == 0,
	       "two numbers");
	tap_ok(!bind_match("a.{}.b", bytes_of("a.x.b"), n), "no number");
	tap_ok(!bind_match("a.{}.b", bytes_of("a..b"), n), "an empty one");
	tap_ok(!bind_match("a.{}.b", bytes_of("a.01.b"), n), "a leading zero");
	tap_ok(!bind_match("a.{}.b", bytes_of("a.1.bc"), n), "more behind");
	tap_ok(!bind_match("a.{}.b", bytes_of("a.99999999999999999999.b"), n), "too large");
	tap_ok(bind_name("blk.{}.x", (uint32_t[]){ 7, 0 }, out, sizeof(out)), "a name");
	tap_is_text(out, "blk.7.x", "made");
	tap_ok(!bind_name("blk.{}.x", (uint32_t[]){ 7, 0 }, out, 7), "one that does not fit");
}

static void test_rename(void)
{
	static const struct given file[] = { { "blk.0.w", DTYPE_F32, 2, { 2, 3 } },
					     { "blk.11.w", DTYPE_BF16, 2, { 1, 2 } },
					     { "other", DTYPE_F32, 1, { 1 } } };
	static const struct bind_rule rules[] = { { .ours = "layer.{}.weight",
						    .theirs = "blk.{}.w" } };
	struct loaded l = load(write_file("rename", file, N(file)), rules, 1, 0);

	tap_works(l.result, "loaded");
	is_values(&l, "layer.0.weight", SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 });
	is_values(&l, "layer.11.weight", SHAPE(1, 2), (float[]){ 7, 8 });
	tap_is_u64(l.report.n_unknown, 1, "one is not known");
	tap_is_text(l.report.unknown[0], "other", "by name");
	tap_is_u64(l.report.copied, 0, "nothing is copied");
	tap_is_u64(l.report.borrowed, 28, "all is borrowed");
	tap_is_u64(check_back(&l, rules, 1), 2, "and need not be made");
	end(&l);
	l = load(tap_path("rename"), rules, 1, DTYPE_F32);
	tap_is_u64(l.report.copied, 8, "what is converted is copied");
	is_values(&l, "layer.11.weight", SHAPE(1, 2), (float[]){ 7, 8 });
	end(&l);
}

static void test_transposed(void)
{
	static const struct given file[] = { { "w", DTYPE_F32, 2, { 2, 3 } } };
	static const struct bind_rule rules[] = { { "weight", "w", .transposed = true } };
	struct loaded l = load(write_file("turn", file, 1), rules, 1, 0);

	is_values(&l, "weight", SHAPE(3, 2), (float[]){ 1, 4, 2, 5, 3, 6 });
	check_back(&l, rules, 1);
	end(&l);
}

/* llama.cpp's order for rope on neighbours: of a head of 4 rows, 0 2 1 3 are there 0 1 2 3. */
static void test_paired(void)
{
	static const struct given file[] = { { "w", DTYPE_F32, 2, { 8, 1 } },
					     { "b", DTYPE_F32, 1, { 8 } } };
	static const struct bind_rule rules[] = { { "weight", "w", .paired = 4 },
						  { "bias", "b", .paired = 4 } };
	struct loaded l = load(write_file("paired", file, 2), rules, 2, 0);

	is_values(&l, "weight", SHAPE(8, 1), (float[]){ 1, 3, 2, 4, 5, 7, 6, 8 });
	is_values(&l, "bias", SHAPE(8), (float[]){ 9, 11, 10, 12, 13, 15, 14, 16 });
	check_back(&l, rules, 2);
	end(&l);
}

static void test_added(void)
{
	static const struct given file[] = { { "w", DTYPE_F32, 1, { 3 } } };
	static const struct bind_rule rules[] = { { "norm", "w", .added = 1 } };
	struct loaded l = load(write_file("added", file, 1), rules, 1, 0);
	struct store_entry *e = store_find(l.store, "norm");
	struct bind_saver *b;
	float values[3];
	uint64_t inexact = 0;

	is_values(&l, "norm", SHAPE(3), (float[]){ 0, 1, 2 });
	tap_is_u64(l.report.inexact, 0, "exactly");
	check_back(&l, rules, 1);
	((float *)e->data)[1] = 1e-9f;
	tap_works(bind_saver_new(&b, l.store, &(struct bind_rules){ rules, 1 }), "a saver");
	tap_works(bind_saver_values(b, 0, values, &inexact), "values");
	tap_is_u64(inexact, 1, "what f32 does not hold is counted");
	bind_saver_free(b);
	end(&l);
}

static void test_split(void)
{
	static const struct given file[] = { { "qkv", DTYPE_F32, 2, { 4, 2 } } };
	static const struct bind_rule rules[] = {
		{ "q", "qkv", .n = 2 },
		{ "k", "qkv", .theirs_from = 2, .n = 1 },
		{ "v", "qkv", .theirs_from = 3, .n = 1 },
	};
	struct loaded l = load(write_file("split", file, 1), rules, 3, 0);

	is_values(&l, "q", SHAPE(2, 2), (float[]){ 1, 2, 3, 4 });
	is_values(&l, "k", SHAPE(1, 2), (float[]){ 5, 6 });
	is_values(&l, "v", SHAPE(1, 2), (float[]){ 7, 8 });
	tap_is_u64(l.report.copied, 0, "parts are borrowed");
	check_back(&l, rules, 3);
	end(&l);
}

static void test_merged(void)
{
	static const struct given file[] = { { "up", DTYPE_F32, 2, { 2, 2 } },
					     { "gate", DTYPE_F32, 2, { 1, 2 } } };
	static const struct bind_rule rules[] = { { "both", "gate", .n = 1 },
						  { "both", "up", .ours_from = 1, .n = 2 } };
	struct loaded l = load(write_file("merged", file, 2), rules, 2, 0);

	is_values(&l, "both", SHAPE(3, 2), (float[]){ 5, 6, 1, 2, 3, 4 });
	check_back(&l, rules, 2);
	end(&l);
}

static void test_stack(void)
{
	static const struct given file[] = { { "l.0.experts.1.w", DTYPE_F32, 2, { 1, 2 } },
					     { "l.0.experts.0.w", DTYPE_F32, 2, { 1, 2 } } };
	static const struct bind_rule rules[] = { { .ours = "l.{}.experts",
						    .theirs = "l.{}.experts.{}.w" } };
	struct loaded l = load(write_file("stack", file, 2), rules, 1, 0);

	is_values(&l, "l.0.experts", SHAPE(2, 1, 2), (float[]){ 3, 4, 1, 2 });
	check_back(&l, rules, 1);
	end(&l);
}

static void check_refused(const char *name, const struct given *file, size_t n_file,
			  const struct bind_rule *rules, size_t n, const char *what)
{
	struct loaded l = load(write_file(name, file, n_file), rules, n, 0);

	tap_fails(l.result, ERR_MISMATCH, what, "%s", name);
	end(&l);
}

static void test_refused(void)
{
	static const struct given one[] = { { "w", DTYPE_F32, 2, { 3, 2 } } };
	static const struct given two[] = { { "e.0", DTYPE_F32, 2, { 3, 2 } },
					    { "e.2", DTYPE_F32, 2, { 3, 2 } } };
	static const struct given odd[] = { { "a", DTYPE_F32, 2, { 3, 2 } },
					    { "b", DTYPE_F32, 2, { 3, 1 } } };

	check_refused("short", one, 1,
		      (struct bind_rule[]){ { "x", "w", .theirs_from = 2, .n = 2 } }, 1,
		      "tensor w: fewer rows than the rule expects");
	check_refused("odd-head", one, 1, (struct bind_rule[]){ { "x", "w", .paired = 2 } }, 1,
		      "tensor w: rows that the rule does not expect");
	check_refused("hole", two, 2, (struct bind_rule[]){ { .ours = "x", .theirs = "e.{}" } }, 1,
		      "");
	check_refused("half", one, 1, (struct bind_rule[]){ { "x", "w", .ours_from = 3, .n = 3 } },
		      1, "tensor w");
	check_refused(
		"shapes", odd, 2,
		(struct bind_rule[]){ { "x", "a", .n = 3 }, { "x", "b", .ours_from = 3, .n = 3 } },
		2, "another shape than the other pieces");
}

static void test_unsaved(void)
{
	struct store *s;
	struct bind_saver *b;
	static const struct bind_rule rules[] = { { .ours = "a", .theirs = "a" } };

	tap_works(store_new(&s), "a store");
	store_add(s, "b", STORE_PARAMETER, DTYPE_F32, &SHAPE(1));
	tap_fails(bind_saver_new(&b, s, &(struct bind_rules){ rules, 1 }), ERR_MISMATCH,
		  "parameter b: no rule says", "a parameter without a rule");
	store_free(s);
}

int main(void)
{
	tap_run(test_names);
	tap_run(test_rename);
	tap_run(test_transposed);
	tap_run(test_paired);
	tap_run(test_added);
	tap_run(test_split);
	tap_run(test_merged);
	tap_run(test_stack);
	tap_run(test_refused);
	tap_run(test_unsaved);
	return tap_done();
}

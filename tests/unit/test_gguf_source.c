/*
 * tests/unit/test_gguf_source.c - folders seen as GGUFs: rows in any pieces, the same logits to the bit, what comes back; damaged files
 *
 * The folders are fixtures/good/lm, which have every switch of their families. J03's order of rows is worked out by hand.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_file.h"
#include "formats/tokenizer_json.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/graph/plan.h"
#include "lib/model/gguf_export.h"
#include "lib/model/gguf_import.h"
#include "lib/model/gguf_source.h"
#include "lib/model/lm.h"
#include "lib/model/narrow.h"
#include "lib/model/rebind.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define FIXTURES "fixtures/good/lm/"
#define TOKENS	 9

static const char *const families[] = { "llama",   "mistral", "qwen2", "qwen3",	    "gemma3",
					"smollm3", "gpt2",    "bert",  "bert-bare", "gpt2-bare" };
static const char *const all[] = { "no-tokenizer", "window",	     "rope", "attention_scale",
				   "bias",	   "no_rope_layers", "head" };
static const struct gguf_source_options any = { .allow = all,
						.n_allow = sizeof(all) / sizeof(*all) };

static const struct gguf_source_options none;

static struct gguf_source *opened(const char *family)
{
	char *path = mem_format(FIXTURES "%s", family);
	struct gguf_source *s;

	tap_works(gguf_source_open(&s, path, &any), "%s", path);
	free(path);
	return s;
}

static const char *exported(const char *family, const struct gguf_source_options *o)
{
	char *path = mem_format(FIXTURES "%s", family),
	     *name = mem_format("%s.gguf", strrchr(path, '/') + 1);
	struct gguf_export_options options = { 0 };
	struct gguf_export_report report;
	const char *target = tap_path(name);
	struct gguf_source *s;

	tap_works(gguf_source_open(&s, path, o), "%s", path);
	tap_works(gguf_export(s, target, &options, &report, NULL), "%s", target);
	gguf_source_close(s);
	free(path);
	free(name);
	return target;
}

/* --- rows --- */

/* All rows of tensor I at once, and in pieces of PIECE. */
static void check_pieces(const struct gguf_source *s, size_t i, uint64_t piece)
{
	const struct tensor_info *t = gguf_source_tensor(s, i);
	uint64_t rows = rebind_n_rows(t), columns = rebind_row_values(t);
	float *whole = mem_new(t->n_elements, sizeof(float)),
	      *parts = mem_new(t->n_elements, sizeof(float)),
	      *decoded = mem_new(t->n_elements, sizeof(float));
	char *bytes = mem_new(t->n_bytes, 1);
	bool same = true;

	tap_works(gguf_source_rows_f32(s, i, 0, rows, whole), BYTES_FMT, BYTES_ARG(t->name));
	for (uint64_t at = 0; at < rows; at += piece) {
		uint64_t n = rows - at < piece ? rows - at : piece;
		size_t size = t->n_bytes / rows;

		same &= gguf_source_rows_f32(s, i, at, n, parts + at * columns) == 0;
		same &= gguf_source_rows(s, i, at, n, bytes + at * size) == 0;
	}
	dtype_to_f32(t->dtype, bytes, decoded, t->n_elements);
	tap_ok(same && memcmp(whole, parts, t->n_elements * sizeof(float)) == 0 &&
		       memcmp(whole, decoded, t->n_elements * sizeof(float)) == 0,
	       BYTES_FMT ": pieces of %d rows", BYTES_ARG(t->name), (int)piece);
	tap_ok(!t->data || memcmp(t->data, bytes, t->n_bytes) == 0, BYTES_FMT ": data are the rows",
	       BYTES_ARG(t->name));
	free(whole);
	free(parts);
	free(decoded);
	free(bytes);
}

static void test_rows(void)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		struct gguf_source *s = opened(families[f]);

		for (size_t i = 0; i < gguf_source_n(s); i++)
			check_pieces(s, i, 1 + (i + f) % 5);
		gguf_source_close(s);
	}
}

/* Two heads of four rows: the halves' rows 0 1 | 2 3 become 0 2 1 3 (J03). */
static void test_order(void)
{
	float rows[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, got[8];
	const float want[8] = { 0, 2, 1, 3, 4, 6, 5, 7 };
	struct tensor_info t = { .name = { "k", 1 },
				 .dtype = DTYPE_F32,
				 .n_dims = 2,
				 .shape = { 8, 1 },
				 .n_elements = 8,
				 .n_bytes = 32,
				 .data = (const unsigned char *)rows };
	struct rebound r = { .to = t, .from = &t, .paired = 4, .to_pairs = true };
	struct tensor_info turned = t;

	tap_works(rebind_rows(&r, 0, 8, got), "rows");
	tap_ok(memcmp(got, want, sizeof(want)) == 0, "0 2 1 3 4 6 5 7");
	turned.data = (const unsigned char *)want;
	r.from = &turned;
	r.to_pairs = false;
	tap_works(rebind_rows_f32(&r, 0, 8, got), "rows back");
	tap_ok(memcmp(got, rows, sizeof(rows)) == 0, "0 1 2 3 4 5 6 7");
}

/* More rows than are decoded at once: each is a column there. */
static void test_turned(void)
{
	enum { ROWS = 700, COLUMNS = 3 };
	float *there = mem_new(ROWS * COLUMNS, sizeof(float)),
	      *here = mem_new(ROWS * COLUMNS, sizeof(float));
	struct tensor_info t = { .name = { "w", 1 },
				 .dtype = DTYPE_F32,
				 .n_dims = 2,
				 .shape = { COLUMNS, ROWS },
				 .n_elements = ROWS * COLUMNS,
				 .n_bytes = ROWS * COLUMNS * sizeof(float),
				 .data = (const unsigned char *)there };
	struct rebound r = { .to = t, .from = &t, .transposed = true };
	bool same = true;

	r.to.shape[0] = ROWS;
	r.to.shape[1] = COLUMNS;
	for (int i = 0; i < ROWS * COLUMNS; i++)
		there[i] = (float)i;
	tap_works(rebind_rows_f32(&r, 50, ROWS - 50, here), "rows from 50 on");
	for (int i = 50; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++)
			same &= here[(i - 50) * COLUMNS + j] == (float)(j * ROWS + i);
	tap_ok(same, "columns became rows");
	free(there);
	free(here);
}

/* --- logits --- */

static float *logits(const char *path, size_t *n)
{
	static const int32_t ids[TOKENS] = { 5, 60, 1, 17, 17, 0, 42, 9, 33 };
	struct lm_open_options o = { .permute = true };
	struct plan_options options = { 0 };
	struct graph *g = NULL;
	struct plan *p = NULL;
	struct tensor *y;
	struct lm m;
	float *out = NULL;

	if (!tap_works(lm_open(&m, path, &o), "%s", path))
		return NULL;
	tap_works(team_new(&options.team, 1), "a team");
	tap_works(graph_new(&g, m.store, NULL), "a graph");
	struct lm_inputs in = { .rope_paired = m.rope_paired, .context = TOKENS };

	in.ids = graph_constant(g, DTYPE_I32, SHAPE(TOKENS), ids);
	in.positions = op_reshape(g, op_arange(g, DTYPE_I32, TOKENS, 0, 1), SHAPE(TOKENS, 1));
	y = lm_hidden(g, m.config, &in);
	if (m.config->architecture != HF_BERT && lm_has_head(m.config))
		y = lm_logits(g, m.config, y);
	graph_output(g, y, "y");
	if (tap_works(graph_check(g), "%s: graph", path) &&
	    tap_works(plan_new(&p, g, &options), "%s: plan", path) &&
	    tap_works(plan_run(p, 0, 0), "%s: run", path)) {
		*n = shape_elements(&y->shape);
		out = mem_new(*n, sizeof(*out));
		memcpy(out, plan_data(p, y), *n * sizeof(*out));
	}
	plan_free(p);
	graph_free(g);
	team_free(options.team);
	lm_close(&m);
	return out;
}

static bool all_finite_and_some(const float *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)v[i] * (double)v[i];
	return n > 0 && sum > 0 && sum < 1e30;
}

static void test_logits(void)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		const char *file = exported(families[f], &any);
		char *folder = mem_format(FIXTURES "%s", families[f]);
		size_t n = 0, m = 0;
		float *ours = logits(folder, &n), *theirs = logits(file, &m);
		bool gemma = strcmp(families[f], "gemma3") == 0;
		double most = 0;

		tap_ok(ours && theirs && n == m && all_finite_and_some(ours, n), "%s: logits",
		       families[f]);
		for (size_t i = 0; ours && theirs && i < n; i++) {
			double d = (double)ours[i] - (double)theirs[i];

			most = d > most ? d : -d > most ? -d : most;
		}
		/* Norms of f32 plus 1 and less 1 are rounded. */
		tap_ok(gemma ? most < 1e-5 : most == 0, "%s: %g apart", families[f], most);
		free(ours);
		free(theirs);
		free(folder);
	}
}

/* --- what comes back --- */

static void put_config(struct buffer *b, const char *path)
{
	const struct hf_config *c;
	struct model *m;

	tap_works(model_open(&m, path), "%s", path);
	tap_ok(model_config(m, &c) == 1, "%s: configuration", path);
	tap_works(hf_config_put(b, c), "%s: config.json", path);
	model_close(m);
}

/* The file says all of the configuration, with or without its import. */
static void test_configuration(void)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		const char *file = exported(families[f], &any);
		char *folder = mem_format(FIXTURES "%s", families[f]);
		struct buffer a = { 0 }, b = { 0 };

		put_config(&a, folder);
		put_config(&b, file);
		if (strcmp(families[f], "bert") != 0)
			tap_is_bytes(buffer_bytes(&b), buffer_bytes(&a), "%s: all keys",
				     families[f]);
		else /* its head has no place there */
			tap_ok(strstr(b.data, "BertModel"), "bert without its head");
		buffer_free(&a);
		buffer_free(&b);
		free(folder);
	}
}

/* Of a plain file the window of qwen2 is gone, and its rope. */
static void test_plain(void)
{
	struct gguf_source_options o = any;
	struct buffer b = { 0 };

	o.plain = true;
	put_config(&b, exported("qwen2", &o));
	buffer_put_u8(&b, 0);
	tap_ok(strstr(b.data, "\"sliding_window\": null"), "no window");
	tap_ok(!strstr(b.data, "dynamic"), "no rope of another kind");
	buffer_free(&b);
}

static void test_refusals(void)
{
	static const struct {
		const char *family, *name, *says;
	} cases[] = {
		{ "mistral", "window", "sliding_window 5 in layer 0" },
		{ "qwen2", "window", "sliding_window 6 in layer 1" },
		{ "smollm3", "no_rope_layers", "layer 1" },
		{ "gpt2", "attention_scale", "the layer's number" },
		{ "gemma3", "attention_scale", "0.242536" },
		{ "gpt2-bare", "head", "no head" },
		{ "llama", "no-tokenizer", "holds no tokenizer.json" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *others[8];
		char *path = mem_format(FIXTURES "%s", cases[i].family);
		struct gguf_source_options o = { .allow = others };
		struct gguf_source *s;

		for (size_t k = 0; k < any.n_allow; k++)
			if (strcmp(all[k], cases[i].name) != 0)
				others[o.n_allow++] = all[k];
		tap_fails(gguf_source_open(&s, path, &o),
			  strcmp(cases[i].name, "no-tokenizer") ? ERR_UNSUPPORTED : ERR_MISSING,
			  cases[i].says, "%s: %s", cases[i].family, cases[i].name);
		tap_ok(strstr(err_text(), cases[i].name), "--allow %s is offered", cases[i].name);
		s = opened(cases[i].family);
		tap_ok(strstr(gguf_source_notes(s)->data, "ed: ") ||
			       strstr(gguf_source_notes(s)->data, "no tokenizer"),
		       "and noted");
		gguf_source_close(s);
		free(path);
	}
}

/* FAMILY's file with every FROM become TO, of the same length. */
static void refused_with(const char *family, const char *from, const char *to, const char *says)
{
	const char *file = exported(family, &any);
	size_t n, length = strlen(from);
	const struct hf_config *c;
	struct mapfile *map;
	struct model *m;
	char *data, *at;

	tap_works(mapfile_open(&map, file), "%s", file);
	n = mapfile_bytes(map).size;
	data = mem_copy(mapfile_bytes(map).data, n);
	mapfile_close(map);
	tap_ok(memmem(data, n, from, length) != NULL, "%s is there", from);
	for (at = data; (at = memmem(at, n - (size_t)(at - data), from, length)); at += length)
		memcpy(at, to, length);
	tap_works(model_open_memory(&m, data, n, "changed"), "opens");
	tap_fails(model_config(m, &c), ERR_MISMATCH, says, "%s: %s", family, to);
	tap_ok(strstr(err_text(), "nnutils.config") != NULL || strstr(err_text(), "rope_freqs"),
	       "the key or the tensor is named");
	model_close(m);
	free(data);
}

/* What the key says is held against the other keys and the tensors. */
static void test_foreign_rest(void)
{
	refused_with("smollm3", "\"use_cache\":true", "\"head_dim\":    6",
		     "is of another model than the other keys");
	refused_with("llama", "\"factor\": 4.0", "\"factor\": 9.0", "rope_freqs.weight");
}

/* --- a GGUF passes on what it has --- */

/* A file of an architecture that no one knows: an array of strings of another program's, a convolution (G09), a vector. */
static const char *written(const float *values)
{
	static const struct bytes strings[] = { { "a", 1 }, { "", 0 }, { "ccc", 3 } };
	static uint16_t halves[14 * 14 * 3 * 2];
	const struct tensor_info conv = { .name = bytes_of("v.patch_embd.weight"),
					  .dtype = DTYPE_F16,
					  .n_dims = 4,
					  .shape = { 2, 3, 14, 14 },
					  .n_bytes = sizeof(halves) };
	const struct tensor_info vector = { .name = bytes_of("v.bias"),
					    .dtype = DTYPE_F32,
					    .n_dims = 1,
					    .shape = { 3 },
					    .n_bytes = 12 };
	const char *path = tap_path("clip.gguf");
	struct gguf_writer *w;
	struct outfile *f;

	for (size_t i = 0; i < sizeof(halves) / sizeof(*halves); i++)
		halves[i] = f16_from_f32((float)i);
	tap_works(gguf_writer_new(&w, 64), "a writer");
	gguf_put_string(w, "general.architecture", bytes_of("clip"));
	gguf_put_strings(w, "foo.bar", 3, strings);
	gguf_put_string(w, "nnutils.note", bytes_of("ours"));
	gguf_put_u32(w, "general.file_type", 1);
	gguf_put_tensor(w, &conv);
	gguf_put_tensor(w, &vector);
	tap_works(outfile_new(&f, path), "%s", path);
	tap_works(gguf_writer_begin(w, f), "header");
	tap_works(gguf_writer_data(w, halves, sizeof(halves)), "the convolution");
	tap_works(gguf_writer_data(w, values, 12), "the vector");
	tap_works(gguf_writer_end(w), "end");
	tap_works(outfile_commit(f), "written");
	gguf_writer_free(w);
	return path;
}

/* The names of the keys that S has, but for LEFT_OUT, each with a space. */
static void keys_are(const struct gguf_source *s, const char *const *left_out, size_t n,
		     const char *want)
{
	struct buffer header = { 0 }, names = { 0 };
	struct gguf_writer *w;
	struct gguf *g;

	tap_works(gguf_writer_new(&w, 32), "a writer");
	tap_works(gguf_source_put_keys(s, w, left_out, n), "keys");
	tap_works(gguf_writer_preview(w, &header), "a header");
	tap_works(gguf_open_memory(&g, header.data, header.size, "keys"), "is read");
	for (size_t i = 0; i < gguf_n_keys(g); i++)
		buffer_format(&names, BYTES_FMT " ", BYTES_ARG(gguf_key(g, i)->key));
	buffer_put_u8(&names, 0);
	tap_is_text(names.data, want, "keys in their order");
	gguf_close(g);
	buffer_free(&header);
	buffer_free(&names);
	gguf_writer_free(w);
}

static void test_passes_on(void)
{
	static const char *const left_out[] = { "general.file_type" };
	const float values[3] = { 1, -2, 3e38f };
	const char *path = written(values);
	struct gguf_source_options plain = { .plain = true };
	const struct tensor_info *conv;
	float row[14 * 5], vector[3];
	struct gguf_source *s;

	tap_works(gguf_source_open(&s, path, NULL), "an architecture that is not known");
	tap_ok(!gguf_source_config(s), "has no configuration");
	tap_is_u64(gguf_source_n(s), 2, "its tensors");
	conv = gguf_source_tensor(s, 0);
	tap_ok(conv->n_dims == 4 && conv->dtype == DTYPE_F16 && conv->data,
	       "G09: four axes, as they are");
	tap_is_u64(rebind_n_rows(conv), 2 * 3 * 14, "rows along the last");
	tap_works(gguf_source_rows_f32(s, 0, 79, 5, row), "the last of them");
	tap_ok(row[0] == 79 * 14 && row[14 * 5 - 1] == (float)(84 * 14 - 1), "are the last");
	tap_works(gguf_source_rows(s, 1, 0, 1, vector), "a vector is a row");
	tap_ok(memcmp(vector, values, sizeof(values)) == 0, "as it is");
	keys_are(s, left_out, 1, "general.architecture foo.bar nnutils.note ");
	gguf_source_close(s);
	tap_works(gguf_source_open(&s, path, &plain), "plain");
	keys_are(s, NULL, 0, "general.architecture foo.bar general.file_type ");
	gguf_source_close(s);
}

/* Another tokenizer in the place of a GGUF's own. */
static void test_other_tokenizer(void)
{
	struct gguf_source_options o = { .tokenizer = "fixtures/good/score", .pre = "smollm" };
	const struct gguf_value *v;
	struct gguf_source *s;
	const char *file;
	struct buffer header = { 0 };
	struct gguf_writer *w;
	struct gguf *g;

	file = exported("../score", &none);
	tap_works(gguf_source_open(&s, file, &o), "with %s", o.tokenizer);
	tap_works(gguf_writer_new(&w, 32), "a writer");
	tap_works(gguf_source_put_keys(s, w, NULL, 0), "keys");
	tap_works(gguf_writer_preview(w, &header), "a header");
	tap_works(gguf_open_memory(&g, header.data, header.size, "keys"), "is read");
	v = gguf_get(g, "tokenizer.ggml.pre");
	tap_ok(v && bytes_are(gguf_value_string(v), "smollm"), "the `pre` that was asked for");
	tap_ok(gguf_get(g, "tokenizer.ggml.tokens") && gguf_get(g, "llama.block_count"),
	       "tokens and the rest");
	gguf_close(g);
	buffer_free(&header);
	gguf_writer_free(w);
	gguf_source_close(s);
}

/* --- narrowing --- */

static void test_narrow(void)
{
	float v[4] = { 70144, -1, 1.0f + 1.0f / 4096, 1e-30f };
	uint16_t out[4];
	struct narrow n = { 0 };

	tap_fails(narrow_values(&n, DTYPE_F16, v, 4, out, (struct bytes){ "w", 1 }), ERR_ARGUMENT,
		  "tensor w: 70144 is past the range of f16, which ends at 65504", "G06");
	n = (struct narrow){ .clamp = true };
	tap_works(narrow_values(&n, DTYPE_F16, v, 4, out, (struct bytes){ "w", 1 }), "clamped");
	tap_is_u64(out[0], 0x7BFF, "65504");
	tap_is_u64(n.clamped, 1, "one clamped");
	tap_is_u64(n.rounded, 3, "three that f16 does not have");
	v[0] = 70144;
	n = (struct narrow){ 0 };
	tap_works(narrow_values(&n, DTYPE_BF16, v, 2, out, (struct bytes){ "w", 1 }), "bf16");
	tap_is_u64(n.rounded, 0, "70144 is one of bf16's");
}

/* --- damaged files --- */

/* All that import-gguf reads, without writing. */
static int read_all(void *arg, const void *data, size_t size)
{
	struct tokenizer_spec spec;
	struct arena *arena = NULL;
	struct gguf_import_options o = { .dtype = DTYPE_F32 };
	struct gguf_import *in = NULL;
	const struct hf_config *c;
	struct rebind *r = NULL;
	struct buffer b = { 0 };
	struct model *m;
	int result = -1;

	if (model_open_memory(&m, data, size, "damaged") < 0)
		return -1;
	if (gguf_import_new(&in, m, &o) == 0 && model_config(m, &c) == 1 &&
	    hf_config_put(&b, c) == 0 && rebind_new(&r, m, c, MODEL_FOLDER) == 0)
		result = 0;
	for (size_t i = 0; r && i < r->n && result == 0; i++) {
		float *values = mem_new(r->items[i].to.n_elements, sizeof(*values));

		result = values ? rebind_rows_f32(&r->items[i], 0, rebind_n_rows(&r->items[i].to),
						  values)
				: -1;
		free(values);
	}
	if (result == 0 && gguf_get(model_gguf(m), "tokenizer.ggml.tokens")) {
		buffer_clear(&b);
		result = arena_new(&arena) < 0 ||
					 tokenizer_gguf_read(&spec, arena, model_gguf(m)) < 0 ||
					 tokenizer_json_put(&b, &spec) < 0
				 ? -1
				 : 0;
	}
	arena_free(arena);
	rebind_free(r);
	buffer_free(&b);
	gguf_import_free(in);
	model_close(m);
	return result;
}

static void test_damaged(void)
{
	struct mapfile *a, *b;

	tap_works(mapfile_open(&a, exported("gpt2-bare", &any)), "gpt2");
	tap_works(mapfile_open(&b, exported("smollm3", &any)), "smollm3");
	/* Headers, and a little of the data: most bytes there may be anything. */
	corrupt_run("import of a damaged GGUF", mapfile_bytes(a), mapfile_bytes(b), read_all, NULL,
		    (size_t)64 << 20);
	mapfile_close(a);
	mapfile_close(b);
	tap_works(mapfile_open(&a, exported("../score", &none)), "a small one with a tokenizer");
	corrupt_run("import of one with a tokenizer", mapfile_bytes(a), (struct bytes){ 0 },
		    read_all, NULL, (size_t)64 << 20);
	mapfile_close(a);
}

int main(void)
{
	tap_run(test_rows);
	tap_run(test_order);
	tap_run(test_turned);
	tap_run(test_logits);
	tap_run(test_configuration);
	tap_run(test_plain);
	tap_run(test_refusals);
	tap_run(test_foreign_rest);
	tap_run(test_passes_on);
	tap_run(test_other_tokenizer);
	tap_run(test_narrow);
	tap_run(test_damaged);
	return tap_done();
}

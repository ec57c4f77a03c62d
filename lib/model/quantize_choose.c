/* lib/model/quantize_choose.c - the type of every tensor: patterns, the mix, and what rows allow */

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/quantize_parts.h"
#include "lib/model/rebind.h"

bool quantize_writes(enum dtype t)
{
	return t == DTYPE_F32 || quantize_knows(t);
}

static bool is_block(enum dtype t)
{
	return dtype_info(t)->block > 1;
}

/* Axes, those of length 1 at the slow end not counted, as ggml counts them. */
static uint32_t n_axes(const struct tensor_info *t)
{
	uint32_t n = t->n_dims;

	while (n > 1 && t->shape[t->n_dims - n] == 1)
		n--;
	return n;
}

static bool matches(struct bytes name, const char *pattern)
{
	static const char suffix[] = ".weight";
	struct bytes stem = name;

	if (bytes_end_with(name, suffix))
		stem.size -= sizeof(suffix) - 1;
	return bytes_match(name, pattern) || bytes_match(stem, pattern);
}

/* --- what llama.cpp's rules look at --- */

/* N of `blk.N.`; 0 where there is none. */
static uint64_t layer_of(struct bytes name)
{
	uint64_t layer = 0;

	if (!bytes_start_with(name, "blk."))
		return 0;
	for (size_t i = 4;
	     i < name.size && name.data[i] >= '0' && name.data[i] <= '9' && layer < UINT32_MAX; i++)
		layer = layer * 10 + (uint64_t)(name.data[i] - '0');
	return layer;
}

/* A number, or the first of an array of them. */
static int read_number(const struct gguf *g, struct bytes architecture, const char *key,
		       uint64_t *out)
{
	char *name = mem_format("%.*s.%s", (int)architecture.size, architecture.data, key);
	const struct gguf_value *v = name ? gguf_get(g, name) : NULL;
	struct gguf_value first;
	struct gguf_items it;
	int result = name ? 0 : -1;

	if (v && v->type == GGUF_ARRAY) {
		gguf_items(&it, v);
		if (gguf_items_next(&it, &first) && first.type != GGUF_STRING &&
		    first.type != GGUF_ARRAY)
			*out = (uint64_t)gguf_value_i64(&first);
	} else if (v) {
		result = gguf_get_u64(g, name, out) < 0 ? -1 : 0;
	}
	free(name);
	return result;
}

static int read_keys(const struct gguf *g, struct mix_model *m)
{
	struct bytes name = { 0 };

	if (gguf_get_string(g, "general.architecture", &name) < 0)
		return -1;
	/* Known ones are compared with words that last. */
	m->architecture = bytes_are(name, "falcon")  ? bytes_of("falcon")
			  : bytes_are(name, "qwen2") ? bytes_of("qwen2")
			  : bytes_are(name, "llama") ? bytes_of("llama")
						     : bytes_of("");
	if (read_number(g, name, "block_count", &m->layers) < 0 ||
	    read_number(g, name, "attention.head_count", &m->heads) < 0)
		return -1;
	m->kv_heads = m->heads;
	if (read_number(g, name, "attention.head_count_kv", &m->kv_heads) < 0)
		return -1;
	return read_number(g, name, "expert_count", &m->experts);
}

static int read_model(const struct gguf_source *s, struct mix_model *m)
{
	struct buffer header = { 0 };
	struct gguf_writer *w = NULL;
	struct gguf *g = NULL;
	int result = -1;

	for (size_t i = 0; i < gguf_source_n(s); i++) {
		struct bytes name = gguf_source_tensor(s, i)->name;

		m->has_output |= bytes_are(name, "output.weight");
		m->n_attention_v += quantize_is_attention_v(name);
	}
	if (gguf_writer_new(&w, 32) == 0 && gguf_source_put_keys(s, w, NULL, 0) == 0 &&
	    gguf_writer_preview(w, &header) == 0 &&
	    gguf_open_memory(&g, header.data, header.size, model_path(gguf_source_model(s))) == 0)
		result = read_keys(g, m);
	gguf_close(g);
	gguf_writer_free(w);
	buffer_free(&header);
	return result;
}

/* How many matrices of values come in layers before LAYER. */
static size_t attention_v_before(const struct gguf_source *s, uint64_t layer)
{
	size_t n = 0;

	for (size_t i = 0; i < gguf_source_n(s); i++) {
		struct bytes name = gguf_source_tensor(s, i)->name;

		n += quantize_is_attention_v(name) && layer_of(name) < layer;
	}
	return n;
}

/* --- what is asked for --- */

static bool is_left(const struct quantize_options *o, struct bytes name)
{
	for (size_t i = 0; i < o->n_leave; i++)
		if (matches(name, o->leave[i]))
			return true;
	return false;
}

/* The first rule that matches T and may hold of it: blocks are for matrices. */
static const struct quantize_rule *rule_of(const struct quantize_options *o,
					   const struct tensor_info *t)
{
	for (size_t i = 0; i < o->n_rules; i++)
		if (matches(t->name, o->rules[i].pattern) &&
		    (n_axes(t) >= 2 || !is_block(o->rules[i].type)))
			return &o->rules[i];
	return NULL;
}

static enum dtype mix_type(const struct quantize *q, const struct mix_model *m,
			   const struct tensor_info *t)
{
	const struct quantize_options *o = &q->options;
	struct mix_tensor mt = { .name = t->name,
				 .row = rebind_row_values(t),
				 .layer = layer_of(t->name) };

	if (!o->mix || !quantize_mix_takes(t->name, n_axes(t)))
		return t->dtype;
	if (o->pure)
		return quantize_mix_type(o->mix);
	if (quantize_is_attention_v(t->name))
		mt.attention_v = attention_v_before(q->source, mt.layer);
	return quantize_mix_choose(o->mix, o->importance != NULL, m, &mt);
}

static enum dtype wanted_type(const struct quantize *q, const struct mix_model *m,
			      const struct tensor_info *t)
{
	const struct quantize_options *o = &q->options;
	const struct quantize_rule *rule = rule_of(o, t);

	if (is_left(o, t->name) || t->n_dims == 0)
		return t->dtype;
	if (rule)
		return rule->type;
	if (o->output && quantize_is_output(t->name, m))
		return o->output;
	if (o->embedding && bytes_are(t->name, "token_embd.weight"))
		return o->embedding;
	return mix_type(q, m, t);
}

/* --- what rows allow --- */

static bool fits(enum dtype t, uint64_t row)
{
	return row % dtype_info(t)->block == 0;
}

static enum dtype next_best(enum dtype t)
{
	switch (t) {
	case DTYPE_Q2_K:
	case DTYPE_Q3_K: return DTYPE_Q4_0;
	case DTYPE_Q4_K: return DTYPE_Q5_0;
	case DTYPE_Q5_K: return DTYPE_Q5_1;
	case DTYPE_Q6_K: return DTYPE_Q8_0;
	default: return DTYPE_F16;
	}
}

static enum dtype allowed_type(enum dtype wanted, uint64_t row)
{
	enum dtype t = wanted;

	if (!fits(t, row))
		t = next_best(t);
	return fits(t, row) ? t : DTYPE_F16;
}

static int check_fallback(const struct quantize *q, const struct quantize_tensor *t)
{
	if (t->to == t->wanted || !q->options.no_fallback)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "%s: tensor " BYTES_FMT ": rows of %" PRIu64
		       " values are no multiple of %u, which %s needs; without --no-fallback it "
		       "becomes %s",
		       model_path(gguf_source_model(q->source)), BYTES_ARG(t->from->name),
		       rebind_row_values(t->from), dtype_info(t->wanted)->block,
		       dtype_name(t->wanted), dtype_name(t->to));
}

static int check_requantize(const struct quantize *q, const struct quantize_tensor *t)
{
	if (q->options.allow_requantize || t->to == t->from->dtype || !is_block(t->from->dtype) ||
	    !is_block(t->to))
		return 0;
	return err_set(ERR_ARGUMENT,
		       "%s: tensor " BYTES_FMT
		       ": is %s already, and %s made of that is worse than of the original; "
		       "--allow-requantize does it all the same, --leave keeps it",
		       model_path(gguf_source_model(q->source)), BYTES_ARG(t->from->name),
		       dtype_name(t->from->dtype), dtype_name(t->to));
}

/* Importance is looked for once more, row by row, when it is used; here its shape is checked before anything is written. */
static int check_importance(const struct quantize *q, struct quantize_tensor *t)
{
	const struct importance *im = q->options.importance;
	uint64_t matrices = t->from->n_dims > 2 ? t->from->shape[t->from->n_dims - 3] : 1;
	uint64_t columns = rebind_row_values(t->from);
	float *weights;
	int got;

	if (!im || !quantize_weighs(t->to) || t->to == t->from->dtype)
		return 0;
	weights = mem_new(columns, sizeof(*weights));
	if (!weights)
		return -1;
	got = importance_weights(im, t->from->name, matrices, 0, columns, weights);
	free(weights);
	t->weighted = got > 0;
	return got < 0 ? -1 : 0;
}

static int check_values(const struct quantize *q, const struct quantize_tensor *t)
{
	if (t->to == t->from->dtype || dtype_decodes(t->from->dtype))
		return 0;
	return err_set(ERR_UNSUPPORTED,
		       "%s: tensor " BYTES_FMT ": values of %s are not decoded; --leave keeps them",
		       model_path(gguf_source_model(q->source)), BYTES_ARG(t->from->name),
		       dtype_name(t->from->dtype));
}

static int choose(struct quantize *q, const struct mix_model *m, size_t i)
{
	struct quantize_tensor *t = &q->tensors[i];
	size_t bytes;

	t->from = gguf_source_tensor(q->source, i);
	t->wanted = t->to = wanted_type(q, m, t->from);
	if (t->to != t->from->dtype)
		t->to = allowed_type(t->wanted, rebind_row_values(t->from));
	if (check_values(q, t) < 0 || check_fallback(q, t) < 0 || check_requantize(q, t) < 0 ||
	    check_importance(q, t) < 0)
		return -1;
	if (!dtype_size(t->to, t->from->n_elements, &bytes))
		return err_set(ERR_LIMIT, "%s: tensor " BYTES_FMT ": is too large for %s",
			       model_path(gguf_source_model(q->source)), BYTES_ARG(t->from->name),
			       dtype_name(t->to));
	t->bytes = bytes;
	return 0;
}

/* A pattern that nothing matches is a mistake of who wrote it. */
static int check_patterns(const struct quantize *q)
{
	const struct quantize_options *o = &q->options;

	for (size_t k = 0; k < o->n_rules + o->n_leave; k++) {
		const char *pattern =
			k < o->n_rules ? o->rules[k].pattern : o->leave[k - o->n_rules];
		bool matrix = k < o->n_rules && is_block(o->rules[k].type), found = false;

		for (size_t i = 0; i < q->n && !found; i++) {
			const struct tensor_info *t = gguf_source_tensor(q->source, i);

			found = matches(t->name, pattern) && (!matrix || n_axes(t) >= 2);
		}
		if (!found)
			return err_set(ERR_ARGUMENT, "%s: no %s matches '%s'",
				       model_path(gguf_source_model(q->source)),
				       matrix ? "matrix" : "tensor", pattern);
	}
	return 0;
}

static int choose_all(struct quantize *q)
{
	struct mix_model m = { 0 };

	q->n = gguf_source_n(q->source);
	q->tensors = mem_new(q->n, sizeof(*q->tensors));
	if (!q->tensors || read_model(q->source, &m) < 0 || check_patterns(q) < 0)
		return -1;
	for (size_t i = 0; i < q->n; i++)
		if (choose(q, &m, i) < 0)
			return -1;
	return 0;
}

int quantize_new(struct quantize **out, const struct gguf_source *s,
		 const struct quantize_options *o)
{
	struct quantize *q = mem_new(1, sizeof(*q));

	*out = NULL;
	if (!q)
		return -1;
	q->source = s;
	q->options = *o;
	if (choose_all(q) < 0) {
		quantize_free(q);
		return -1;
	}
	*out = q;
	return 0;
}

void quantize_free(struct quantize *q)
{
	if (!q)
		return;
	free(q->tensors);
	free(q);
}

size_t quantize_n(const struct quantize *q)
{
	return q->n;
}

const struct quantize_tensor *quantize_tensor(const struct quantize *q, size_t i)
{
	return &q->tensors[i];
}

static void add_totals(const struct quantize *q, const struct quantize_tensor *t,
		       struct quantize_totals *sum)
{
	const struct dtype_info *nominal = dtype_info(t->wanted);

	sum->elements += t->from->n_elements;
	sum->bytes += t->bytes;
	sum->bytes_before += t->from->n_bytes;
	sum->nominal_bytes +=
		t->to == t->wanted ? (double)t->bytes
				   : (double)t->from->n_elements * nominal->bytes / nominal->block;
	if (t->to != t->wanted) {
		sum->fallbacks++;
		sum->fallback_elements += t->from->n_elements;
	}
	if (is_block(t->wanted) && t->wanted != t->from->dtype) {
		sum->quantized++;
		sum->quantized_elements += t->from->n_elements;
	}
	if (q->options.importance && quantize_weighs(t->to) && t->to != t->from->dtype)
		sum->unweighted += !t->weighted;
}

struct quantize_totals quantize_totals(const struct quantize *q)
{
	struct quantize_totals sum = { .clamped = q->clamped };

	for (size_t i = 0; i < q->n; i++)
		add_totals(q, &q->tensors[i], &sum);
	return sum;
}

/*
 * formats/hf_rope.c - rope as config.json says it
 *
 * Transformers 4: rope_theta, rope_scaling (and rope_local_base_freq of gemma3's sliding layers)
 * beside the other keys. Transformers 5: all in rope_parameters, which may hold an object for each
 * kind of attention. A number may stand in several of these places, if it is the same in all.
 */
#include <stddef.h>
#include <stdio.h>

#include "formats/hf_parts.h"

#define NUMBER(member) offsetof(struct hf_rope, member)

const struct hf_rope_number hf_rope_numbers[] = {
	{ "factor", NUMBER(factor), false },
	{ "original_max_position_embeddings", NUMBER(original_context), true },
	{ "attention_factor", NUMBER(attention_factor), false },
	{ "beta_fast", NUMBER(beta_fast), false },
	{ "beta_slow", NUMBER(beta_slow), false },
	{ "mscale", NUMBER(mscale), false },
	{ "mscale_all_dim", NUMBER(mscale_all_dim), false },
	{ "low_freq_factor", NUMBER(low_freq_factor), false },
	{ "high_freq_factor", NUMBER(high_freq_factor), false },
};
const size_t hf_n_rope_numbers = sizeof hf_rope_numbers / sizeof *hf_rope_numbers;

/* Where one kind of attention may have its numbers. */
struct places {
	const struct hf_reader *r;
	const cJSON *now;    /* rope_parameters, or its object for the kind; or NULL */
	const cJSON *before; /* rope_scaling, where it holds for the kind; or NULL */
};

static const cJSON *member(const struct places *p, const cJSON *object, const char *key)
{
	const cJSON *v = object ? json_tree_find(p->r->tree, object, key) : NULL;

	return v && cJSON_IsNull(v) ? NULL : v;
}

/*
 * KEY from either object, or TOP from beside the other keys (NULL: it is not looked for there). NULL
 * where it is in none. False with the error set when two of them are unlike.
 */
static bool find_value(const struct places *p, const char *key, const char *top, const cJSON **out)
{
	const cJSON *now = member(p, p->now, key), *before = member(p, p->before, key);
	const cJSON *beside = top ? hf_find_given(p->r, top) : NULL;
	const cJSON *v = now ? now : before ? before : beside;
	char path[80];

	snprintf(path, sizeof path, "rope_scaling.%s", key);
	if (now && before && hf_agree(p->r, now, before, path) < 0)
		return false;
	if (beside && v != beside && hf_agree(p->r, v, beside, top) < 0)
		return false;
	*out = v;
	return true;
}

/* Positive and finite; *OUT stays as it is when the key is absent. */
static int read_number(const struct places *p, const char *key, const char *top, double *out)
{
	const cJSON *v;

	if (!find_value(p, key, top, &v))
		return -1;
	if (!v)
		return 0;
	if (json_tree_as_f64(p->r->tree, v, out) < 0)
		return -1;
	if (!(*out > 0))
		return json_tree_fail(p->r->tree, v, ERR_FORMAT, "is %g, must be above 0", *out);
	return 0;
}

static int read_list(const struct places *p, const char *key, const double **out, uint32_t *n)
{
	const cJSON *v;
	double *list;

	if (!find_value(p, key, NULL, &v))
		return -1;
	if (!v)
		return 0;
	if (json_tree_as_array(p->r->tree, v, &v) < 0)
		return -1;
	*n = (uint32_t)cJSON_GetArraySize(v);
	list = arena_alloc(p->r->arena, *n, sizeof *list);
	if (!list)
		return -1;
	*out = list;
	for (v = v->child; v; v = v->next, list++) {
		if (json_tree_as_f64(p->r->tree, v, list) < 0)
			return -1;
		if (!(*list > 0))
			return json_tree_fail(p->r->tree, v, ERR_FORMAT, "is %g, must be above 0",
					      *list);
	}
	return 0;
}

/* The older word is `type`; where both stand, they must agree. */
static bool find_type(const struct places *p, const cJSON *object, const cJSON **out)
{
	const cJSON *type = member(p, object, "rope_type"), *old = member(p, object, "type");

	if (type && old && hf_agree(p->r, old, type, "rope_type") < 0)
		return false;
	*out = type ? type : old;
	return true;
}

static int read_type(const struct places *p, enum hf_rope_type *out)
{
	const cJSON *now, *before, *v;
	const char *word;
	int type;

	if (!find_type(p, p->now, &now) || !find_type(p, p->before, &before))
		return -1;
	if (now && before && hf_agree(p->r, now, before, "rope_scaling.rope_type") < 0)
		return -1;
	v = now ? now : before;
	*out = HF_ROPE_DEFAULT;
	if (!v)
		return 0;
	if (json_tree_as_string(p->r->tree, v, &word) < 0)
		return -1;
	type = hf_rope_type_of(word);
	if (type < 0)
		return json_tree_fail(p->r->tree, v, ERR_UNSUPPORTED,
				      "rope of type %s is not known", word);
	*out = (enum hf_rope_type)type;
	return 0;
}

static int read_rope(const struct places *p, const char *theta_key, struct hf_rope *rope)
{
	const char *original = hf_rope_numbers[1].key;
	const cJSON *v;

	if (read_type(p, &rope->type) < 0 ||
	    read_number(p, "rope_theta", theta_key, &rope->theta) < 0 ||
	    read_number(p, "partial_rotary_factor", "partial_rotary_factor", &rope->partial) < 0)
		return -1;
	for (size_t i = 0; i < hf_n_rope_numbers; i++) {
		const char *key = hf_rope_numbers[i].key;
		double *at = (double *)((char *)rope + hf_rope_numbers[i].offset);

		if (read_number(p, key, key == original ? key : NULL, at) < 0)
			return -1;
	}
	if (!find_value(p, "truncate", NULL, &v) ||
	    (v && json_tree_as_bool(p->r->tree, v, &rope->truncate) < 0))
		return -1;
	if (read_list(p, "short_factor", &rope->short_factor, &rope->n_short_factors) < 0)
		return -1;
	return read_list(p, "long_factor", &rope->long_factor, &rope->n_long_factors);
}

static int find_object(const struct hf_reader *r, const char *key, const cJSON **out)
{
	const cJSON *v = hf_find_given(r, key);

	*out = NULL;
	return v ? json_tree_as_object(r->tree, v, out) : 0;
}

/* rope_parameters holds either numbers, or one object for each kind of attention. */
static bool is_nested(const struct hf_reader *r, const cJSON *parameters)
{
	return parameters && (json_tree_find(r->tree, parameters, hf_attention_name(HF_FULL)) ||
			      json_tree_find(r->tree, parameters, hf_attention_name(HF_SLIDING)));
}

static bool kind_used(const struct hf_config *c, enum hf_attention kind)
{
	for (uint32_t i = 0; i < c->n_layers; i++)
		if (c->layer_attention[i] == kind)
			return true;
	return false;
}

static int enter_kind(struct places *p, const cJSON *parameters, enum hf_attention kind)
{
	const char *name = hf_attention_name(kind);

	p->now = NULL;
	if (json_tree_object(p->r->tree, parameters, name, &p->now) < 0)
		return -1;
	/* gemma3 has defaults for each kind; the others need what their layers use. */
	if (!p->now && p->r->c->architecture != HF_GEMMA3 && kind_used(p->r->c, kind))
		return json_tree_missing(p->r->tree, parameters, name);
	return 0;
}

static int read_kind(const struct hf_reader *r, enum hf_attention kind)
{
	struct places p = { .r = r };
	bool gemma3 = r->c->architecture == HF_GEMMA3;
	bool local = gemma3 && kind == HF_SLIDING;
	const cJSON *parameters;

	if (find_object(r, "rope_parameters", &parameters) < 0 ||
	    find_object(r, "rope_scaling", &p.before) < 0)
		return -1;
	p.now = parameters;
	if (is_nested(r, parameters)) {
		if (enter_kind(&p, parameters, kind) < 0)
			return -1;
	} else if (gemma3 && parameters && parameters->child) {
		return json_tree_fail(r->tree, parameters, ERR_FORMAT,
				      "gemma3 needs full_attention and sliding_attention in it");
	}
	if (local)
		p.before = NULL; /* rope_scaling is of the full layers alone */
	return read_rope(&p, local ? "rope_local_base_freq" : "rope_theta", &r->c->rope[kind]);
}

int hf_read_ropes(const struct hf_reader *r)
{
	struct hf_config *c = r->c;

	for (int kind = 0; kind < HF_ATTENTION_COUNT; kind++) {
		c->rope[kind] = (struct hf_rope){ .partial = 1, .truncate = true };
		if (c->position != HF_POSITION_ROPE)
			continue;
		c->rope[kind].type = HF_ROPE_DEFAULT;
		c->rope[kind].theta = hf_default_theta(c->architecture, (enum hf_attention)kind);
		if (r->object && read_kind(r, (enum hf_attention)kind) < 0)
			return -1;
	}
	return 0;
}

static bool lists_equal(const double *a, uint32_t n, const double *b, uint32_t m)
{
	return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

bool hf_rope_equal(const struct hf_rope *a, const struct hf_rope *b)
{
	for (size_t i = 0; i < hf_n_rope_numbers; i++) {
		size_t at = hf_rope_numbers[i].offset;

		if (*(const double *)((const char *)a + at) !=
		    *(const double *)((const char *)b + at))
			return false;
	}
	return a->type == b->type && a->theta == b->theta && a->partial == b->partial &&
	       a->truncate == b->truncate &&
	       lists_equal(a->short_factor, a->n_short_factors, b->short_factor,
			   b->n_short_factors) &&
	       lists_equal(a->long_factor, a->n_long_factors, b->long_factor, b->n_long_factors);
}

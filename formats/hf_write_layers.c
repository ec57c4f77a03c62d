/*
 * formats/hf_write_layers.c - layers and rope of config.json, in both spellings
 *
 * Where the older spelling cannot say it, layer_types say it alone, which transformers has read since
 * 4.53; a rope that cannot be said in the older words is refused before anything is written.
 */
#include <stddef.h>

#include "formats/hf_parts.h"
#include "formats/hf_print.h"
#include "formats/json.h"

#define GEMMA3_PATTERN 6 /* preferred where several would do */

static void put_layer_types(struct printer *p, const struct hf_config *c)
{
	print_key(p, "layer_types");
	print_open(p, "[");
	for (uint32_t i = 0; i < c->n_layers; i++) {
		print_line(p);
		json_put_string(p->b, bytes_of(hf_attention_name(
					      (enum hf_attention)c->layer_attention[i])));
	}
	print_close(p, "]");
}

static void put_no_rope_layers(struct printer *p, const struct hf_config *c)
{
	print_key(p, "no_rope_layers");
	print_open(p, "[");
	for (uint32_t i = 0; i < c->n_layers; i++) {
		print_line(p);
		buffer_put_u8(p->b, c->layer_rope[i] ? '1' : '0');
	}
	print_close(p, "]");
}

static bool slides(const struct hf_config *c, uint32_t i)
{
	return c->layer_attention[i] == HF_SLIDING;
}

static bool has_pattern(const struct hf_config *c, uint32_t pattern)
{
	for (uint32_t i = 0; i < c->n_layers; i++)
		if (slides(c, i) != ((i + 1) % pattern != 0))
			return false;
	return true;
}

/* The period of the full layers; 0 where there is none, and layer_types alone can say it. */
static uint32_t find_pattern(const struct hf_config *c)
{
	uint32_t first = 0;

	if (has_pattern(c, GEMMA3_PATTERN))
		return GEMMA3_PATTERN;
	while (first < c->n_layers && slides(c, first))
		first++;
	return has_pattern(c, first + 1) ? first + 1 : 0;
}

/* Full layers before the sliding ones; false where they are mixed. */
static bool find_window_layers(const struct hf_config *c, uint32_t *full)
{
	uint32_t i = 0;

	while (i < c->n_layers && !slides(c, i))
		i++;
	*full = i;
	while (i < c->n_layers && slides(c, i))
		i++;
	return i == c->n_layers;
}

/* A window that use_sliding_window turns off is null to transformers 5. */
static void put_window(struct printer *p, const struct hf_config *c, bool used)
{
	if (!used || c->window_given == 0)
		print_null(p, "sliding_window");
	else
		print_whole(p, "sliding_window", c->window_given);
}

static void put_qwen_layers(struct printer *p, const struct hf_config *c)
{
	uint32_t full;

	print_flag(p, "use_sliding_window", c->window > 0);
	put_window(p, c, c->window > 0);
	if (find_window_layers(c, &full))
		print_whole(p, "max_window_layers", full);
	put_layer_types(p, c);
}

void hf_put_layers(struct printer *p, const struct hf_config *c)
{
	uint32_t pattern;

	switch (c->architecture) {
	case HF_MISTRAL: put_window(p, c, true); break;
	case HF_QWEN2:
	case HF_QWEN3: put_qwen_layers(p, c); break;
	case HF_GEMMA3:
		put_window(p, c, true);
		pattern = find_pattern(c);
		if (pattern)
			print_whole(p, "sliding_window_pattern", pattern);
		put_layer_types(p, c);
		break;
	case HF_SMOLLM3:
		put_no_rope_layers(p, c);
		print_flag(p, "use_sliding_window", c->window > 0);
		put_window(p, c, c->window > 0);
		put_layer_types(p, c);
		break;
	default: break;
	}
}

/* --- rope --- */

static void put_factors(struct printer *p, const char *key, const double *list, uint32_t n)
{
	if (n == 0)
		return;
	print_key(p, key);
	print_open(p, "[");
	for (uint32_t i = 0; i < n; i++) {
		print_line(p);
		print_float(p, list[i]);
	}
	print_close(p, "]");
}

/* What both spellings have inside: the type, and the numbers that are given. */
static void put_scaling(struct printer *p, const struct hf_rope *r)
{
	print_text(p, "rope_type", bytes_of(hf_rope_type_name(r->type)));
	for (size_t i = 0; i < hf_n_rope_numbers; i++) {
		const struct hf_rope_number *n = &hf_rope_numbers[i];
		double v = *(const double *)((const char *)r + n->offset);

		if (v > 0 && n->whole)
			print_number(p, n->key, v);
		else if (v > 0)
			print_real(p, n->key, v);
	}
	put_factors(p, "short_factor", r->short_factor, r->n_short_factors);
	put_factors(p, "long_factor", r->long_factor, r->n_long_factors);
	if (!r->truncate)
		print_flag(p, "truncate", false);
}

static void put_parameters(struct printer *p, const char *key, const struct hf_rope *r)
{
	print_key(p, key);
	print_open(p, "{");
	print_real(p, "rope_theta", r->theta);
	if (r->partial != 1)
		print_real(p, "partial_rotary_factor", r->partial);
	put_scaling(p, r);
	print_close(p, "}");
}

static void put_older_rope(struct printer *p, const struct hf_config *c)
{
	const struct hf_rope *r = &c->rope[HF_FULL];

	print_real(p, "rope_theta", r->theta);
	if (c->architecture == HF_GEMMA3)
		print_real(p, "rope_local_base_freq", c->rope[HF_SLIDING].theta);
	if (r->partial != 1)
		print_real(p, "partial_rotary_factor", r->partial);
	if (r->type == HF_ROPE_DEFAULT) {
		print_null(p, "rope_scaling");
		return;
	}
	print_key(p, "rope_scaling");
	print_open(p, "{");
	put_scaling(p, r);
	print_close(p, "}");
}

void hf_put_rope(struct printer *p, const struct hf_config *c)
{
	if (c->position != HF_POSITION_ROPE)
		return;
	put_older_rope(p, c);
	if (c->architecture != HF_GEMMA3) {
		put_parameters(p, "rope_parameters", &c->rope[HF_FULL]);
		return;
	}
	print_key(p, "rope_parameters");
	print_open(p, "{");
	for (int kind = 0; kind < HF_ATTENTION_COUNT; kind++)
		put_parameters(p, hf_attention_name((enum hf_attention)kind), &c->rope[kind]);
	print_close(p, "}");
}

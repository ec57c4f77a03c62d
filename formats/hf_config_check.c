/*
 * formats/hf_config_check.c - whether the numbers of a configuration fit each other
 *
 * A model is built, and memory asked for, from these numbers, so nothing that comes out of here may
 * surprise: no zero to divide by, no product past 64 bits.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "formats/hf_parts.h"

#define HEADS_MAX 65536

static int fail(const char *name, const char *key, enum err_code code, uint64_t value,
		const char *what, uint64_t limit)
{
	return err_set(code, "%s: key %s: is %" PRIu64 ", %s %" PRIu64, name, key, value, what,
		       limit);
}

static int in_range(const struct hf_config *c, const char *name, size_t offset, uint64_t value,
		    uint64_t max)
{
	const char *key = hf_key_of(c->architecture, offset);

	if (value < 1)
		return fail(name, key, ERR_FORMAT, value, "must be at least", 1);
	if (value > max)
		return fail(name, key, ERR_LIMIT, value, "the limit is", max);
	return 0;
}

#define IN_RANGE(member, max) \
 (in_range(c, name, offsetof(struct hf_config, member), c->member, max) < 0)

static int check_sizes(const struct hf_config *c, const char *name)
{
	if (IN_RANGE(hidden_size, HF_SIZE_MAX - 1) || IN_RANGE(ffn_size, HF_SIZE_MAX - 1) ||
	    IN_RANGE(vocab_size, HF_SIZE_MAX - 1) || IN_RANGE(context, HF_SIZE_MAX - 1) ||
	    IN_RANGE(n_layers, HF_LAYERS_MAX) || IN_RANGE(n_heads, HEADS_MAX) ||
	    IN_RANGE(n_kv_heads, HEADS_MAX) || IN_RANGE(head_dim, HF_HEAD_DIM_MAX))
		return -1;
	if (c->architecture == HF_BERT && IN_RANGE(type_vocab_size, HF_SIZE_MAX - 1))
		return -1;
	return 0;
}

static int check_heads(const struct hf_config *c, const char *name)
{
	const char *heads = HF_KEY(c, n_heads);
	uint64_t width = (uint64_t)c->n_heads * c->head_dim;

	if (c->n_heads % c->n_kv_heads != 0)
		return fail(name, heads, ERR_FORMAT, c->n_heads,
			    "no multiple of num_key_value_heads,", c->n_kv_heads);
	if (c->position != HF_POSITION_ROPE && width != c->hidden_size)
		return fail(name, heads, ERR_FORMAT, c->n_heads, "does not divide the width,",
			    c->hidden_size);
	return 0;
}

static int check_reals(const struct hf_config *c, const char *name)
{
	if (!(c->norm_eps >= 0 && c->norm_eps < 1))
		return err_set(ERR_FORMAT, "%s: key %s: is %g, must be from 0 to 1", name,
			       HF_KEY(c, norm_eps), c->norm_eps);
	if (!(c->initializer_range >= 0 && isfinite(c->initializer_range)))
		return err_set(ERR_FORMAT, "%s: key initializer_range: is %g", name,
			       c->initializer_range);
	return 0;
}

/* --- rope --- */

static int need(const char *name, const char *key, bool there)
{
	if (there)
		return 0;
	return err_set(ERR_MISSING, "%s: key %s: is missing, this type of rope needs it", name,
		       key);
}

static int check_longrope(const struct hf_rope *r, uint32_t pairs, const char *name)
{
	if (need(name, "short_factor", r->n_short_factors > 0) < 0 ||
	    need(name, "long_factor", r->n_long_factors > 0) < 0 ||
	    need(name, "original_max_position_embeddings", r->original_context > 0) < 0)
		return -1;
	if (r->n_short_factors != pairs)
		return fail(name, "short_factor", ERR_MISMATCH, r->n_short_factors,
			    "items, must be", pairs);
	if (r->n_long_factors != pairs)
		return fail(name, "long_factor", ERR_MISMATCH, r->n_long_factors, "items, must be",
			    pairs);
	return 0;
}

static int check_llama3(const struct hf_rope *r, const char *name)
{
	if (need(name, "factor", r->factor > 0) < 0 ||
	    need(name, "low_freq_factor", r->low_freq_factor > 0) < 0 ||
	    need(name, "high_freq_factor", r->high_freq_factor > 0) < 0 ||
	    need(name, "original_max_position_embeddings", r->original_context > 0) < 0)
		return -1;
	if (r->high_freq_factor <= r->low_freq_factor)
		return err_set(ERR_FORMAT,
			       "%s: key high_freq_factor: is %g, must be above low_freq_factor, %g",
			       name, r->high_freq_factor, r->low_freq_factor);
	return 0;
}

static int check_type(const struct hf_rope *r, uint32_t pairs, const char *name)
{
	switch (r->type) {
	case HF_ROPE_DEFAULT: return 0;
	case HF_ROPE_LINEAR:
	case HF_ROPE_DYNAMIC: return need(name, "factor", r->factor > 0);
	/* Either gives the other: the factor is context / original. */
	case HF_ROPE_YARN: return need(name, "factor", r->factor > 0 || r->original_context > 0);
	case HF_ROPE_LONGROPE: return check_longrope(r, pairs, name);
	case HF_ROPE_LLAMA3: return check_llama3(r, name);
	default: return err_set(ERR_UNSUPPORTED, "%s: key rope_type: is not known", name);
	}
}

static int check_rope(const struct hf_config *c, const struct hf_rope *r, const char *name)
{
	uint32_t rotated;

	if (!(r->partial > 0 && r->partial <= 1))
		return err_set(ERR_FORMAT,
			       "%s: key partial_rotary_factor: is %g, must be above 0, at most 1",
			       name, r->partial);
	if (!(r->theta > 0 && isfinite(r->theta)))
		return err_set(ERR_FORMAT, "%s: key rope_theta: is %g, must be above 0", name,
			       r->theta);
	rotated = (uint32_t)(c->head_dim * r->partial);
	if (rotated % 2 != 0 || rotated == 0)
		return err_set(ERR_FORMAT,
			       "%s: key head_dim: %u of %u dimensions are rotated, must be even",
			       name, rotated, c->head_dim);
	return check_type(r, rotated / 2, name);
}

int hf_config_check(const struct hf_config *c, const char *name)
{
	if (!hf_architecture_name(c->architecture))
		return err_set(ERR_UNSUPPORTED, "%s: architecture " BYTES_FMT " is not supported",
			       name, BYTES_ARG(c->model_type));
	if (check_sizes(c, name) < 0 || check_heads(c, name) < 0 || check_reals(c, name) < 0)
		return -1;
	if (c->position != HF_POSITION_ROPE)
		return 0;
	for (int kind = 0; kind < HF_ATTENTION_COUNT; kind++)
		if (check_rope(c, &c->rope[kind], name) < 0)
			return -1;
	return 0;
}

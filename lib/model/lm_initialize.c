/*
 * lib/model/lm_initialize.c - values for a model that is to be trained from nothing
 *
 * What a parameter is, its name tells: vectors are biases or norms; matrices are embeddings, a head, hidden ones, and hidden ones that
 * write into the residual stream.
 */
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/model/lm.h"

enum role { BIAS, NORM, EMBEDDING, HEAD, HIDDEN, RESIDUAL };

static bool ends_with_any(struct bytes name, const char *const *endings)
{
	for (; *endings; endings++)
		if (bytes_end_with(name, *endings))
			return true;
	return false;
}

static enum role role_of(const struct store_entry *e)
{
	static const char *const embeddings[] = { "embed_tokens.weight", "wte.weight", "wpe.weight",
						  "embeddings.weight", NULL };
	static const char *const heads[] = { "lm_head.weight", "cls.predictions.decoder.weight",
					     NULL };
	/* The last serves bert's attention and its feed-forward. */
	static const char *const residual[] = { "o_proj.weight", "down_proj.weight",
						"c_proj.weight", "output.dense.weight", NULL };
	struct bytes name = bytes_of(e->name);

	if (e->shape.n < 2)
		return bytes_end_with(name, ".bias") ? BIAS : NORM;
	if (ends_with_any(name, embeddings))
		return EMBEDDING;
	if (ends_with_any(name, heads))
		return HEAD;
	return ends_with_any(name, residual) ? RESIDUAL : HIDDEN;
}

static double deviation_of(const struct hf_config *c, enum lm_init how, enum role role,
			   const struct store_entry *e)
{
	double fan_in = (double)e->shape.at[e->shape.n - 1];

	if (how == LM_INIT_MUP && (role == HIDDEN || role == RESIDUAL))
		return sqrt(1 / fan_in);
	if (how == LM_INIT_MUP && role == HEAD)
		return 1 / fan_in;
	if (role == RESIDUAL && c->n_layers)
		return c->initializer_range / sqrt(2.0 * c->n_layers);
	return c->initializer_range;
}

#define CHUNK ((size_t)1 << 16) /* values that a thread takes at a time */
#define PART  256		/* and how many before they are rounded */

/* An entry while it is filled. */
struct filling {
	struct store_entry *e;
	struct random_stream r;
	double deviation; /* 0: all are CONSTANT */
	float constant;
	size_t n;
};

static void fill_part(const struct filling *f, size_t first, size_t n)
{
	float part[PART];

	for (size_t i = 0; i < n; i++)
		part[i] = f->constant;
	if (f->deviation > 0) {
		random_normals(&f->r, 0, first, part, n);
		for (size_t i = 0; i < n; i++)
			part[i] = (float)(f->deviation * (double)part[i]);
	}
	dtype_from_f32(f->e->dtype, part,
		       (char *)f->e->data + first * dtype_info(f->e->dtype)->bytes, n);
}

static void fill_chunk(void *arg, size_t chunk)
{
	const struct filling *f = arg;
	size_t end = (chunk + 1) * CHUNK < f->n ? (chunk + 1) * CHUNK : f->n;

	for (size_t i = chunk * CHUNK; i < end; i += PART)
		fill_part(f, i, end - i < PART ? end - i : PART);
}

static int fill(struct store *s, struct store_entry *e, const struct hf_config *c, enum lm_init how,
		uint64_t seed, struct team *team)
{
	enum role role = role_of(e);
	struct filling f = {
		.e = e,
		.r = random_at(seed, 0, hash_short(e->name, strlen(e->name), 0)),
		.deviation = role > NORM ? deviation_of(c, how, role, e) : 0,
		.constant = role == NORM && c->architecture != HF_GEMMA3 ? 1 : 0,
		.n = shape_elements(&e->shape),
	};
	size_t chunks = (f.n + CHUNK - 1) / CHUNK;

	if (!dtype_encodes(e->dtype) || dtype_info(e->dtype)->block > 1)
		return err_set(ERR_UNSUPPORTED, "parameter %s: no first values in %s", e->name,
			       dtype_name(e->dtype));
	if (store_allocate(s, e) < 0)
		return -1;
	if (team)
		team_chunks(team, chunks, fill_chunk, &f);
	for (size_t i = 0; !team && i < chunks; i++)
		fill_chunk(&f, i);
	store_touch(e);
	return 0;
}

const char *lm_init_name(enum lm_init i)
{
	static const char *const names[LM_INIT_COUNT] = { "gpt2", "mup" };

	return (unsigned)i < LM_INIT_COUNT ? names[i] : NULL;
}

int lm_initialize(struct store *s, const struct hf_config *c, enum lm_init how, uint64_t seed,
		  struct team *team)
{
	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER &&
		    fill(s, store_at(s, i), c, how, seed, team) < 0)
			return -1;
	return 0;
}

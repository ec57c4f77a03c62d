/* lib/model/rebind.c - which tensor of one format becomes which of another */

#include "lib/model/rebind.h"

#include <stdlib.h>

#include "formats/shape_text.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"
#include "lib/model/bind_parts.h"
#include "lib/model/lm_rules.h"

struct maker {
	struct rebind *out;
	const struct model *model;
	const struct hf_config *config;
	struct bind_rules from, to;
	enum model_kind kind; /* of what is written */
	struct names *used;   /* tensors of the model */
	struct store *want;
};

/* The rule of RULES that names the parameter OURS, or NULL. */
static const struct bind_rule *find_rule(const struct bind_rules *rules, const char *ours,
					 uint32_t numbers[BIND_NUMBERS])
{
	for (size_t i = 0; i < rules->n; i++)
		if (bind_match(rules->items[i].ours, bytes_of(ours), numbers))
			return &rules->items[i];
	return NULL;
}

static void turn(struct tensor_info *t)
{
	uint64_t rows = t->shape[0];

	t->shape[0] = t->shape[1];
	t->shape[1] = rows;
}

/* The parameter's shape, as the source has it. */
static struct shape shape_there(const struct store_entry *e, const struct bind_rule *rule)
{
	struct shape s = e->shape;

	if (rule->transposed && s.n == 2) {
		s.at[0] = e->shape.at[1];
		s.at[1] = e->shape.at[0];
	}
	return s;
}

static int check_shape(const struct maker *m, const struct tensor_info *t, struct shape want)
{
	struct shape have = { .n = (int)t->n_dims };

	for (int i = 0; i < have.n; i++)
		have.at[i] = (size_t)t->shape[i];
	if (shape_equal(&have, &want))
		return 0;
	return err_set(
		ERR_MISMATCH, "%s: tensor " BYTES_FMT ": is %s, the configuration asks for %s",
		model_path(m->model), BYTES_ARG(t->name), shape_string(&have), shape_string(&want));
}

/* The tensor that RULE names, whose shape is right. */
static const struct tensor_info *find_tensor(struct maker *m, const struct store_entry *e,
					     const struct bind_rule *rule,
					     const uint32_t numbers[BIND_NUMBERS])
{
	struct shape want = shape_there(e, rule);
	const struct tensor_info *t;
	char name[BIND_NAME];

	if (!bind_name(rule->theirs, numbers, name, sizeof(name)))
		return err_set(ERR_LIMIT, "parameter %s: its name there is too long", e->name),
		       NULL;
	t = model_find(m->model, bytes_of(name));
	if (!t)
		return err_set(ERR_MISSING,
			       "%s: tensor %s: is missing; the configuration asks for %s",
			       model_path(m->model), name, shape_string(&want)),
		       NULL;
	return check_shape(m, t, want) < 0 ? NULL : t;
}

static int add(struct maker *m, const struct tensor_info *t, const struct bind_rule *from,
	       const struct bind_rule *to, const uint32_t numbers[BIND_NUMBERS])
{
	struct rebound *r = &m->out->items[m->out->n++];
	char name[BIND_NAME];

	*r = (struct rebound){
		.to = *t,
		.from = t,
		.paired = to->paired ? to->paired : from->paired,
		.to_pairs = to->paired != 0,
		.transposed = to->transposed != from->transposed,
		.added = to->added - from->added,
	};
	r->to.data = NULL;
	if (r->transposed)
		turn(&r->to);
	if (r->transposed && dtype_info(t->dtype)->block > 1)
		return err_set(ERR_UNSUPPORTED,
			       "%s: tensor " BYTES_FMT ": blocks cannot be transposed",
			       model_path(m->model), BYTES_ARG(t->name));
	if (!bind_name(to->theirs, numbers, name, sizeof(name)))
		return err_set(ERR_LIMIT, "%s: tensor " BYTES_FMT ": its new name is too long",
			       model_path(m->model), BYTES_ARG(t->name));
	r->to.name = (struct bytes){ arena_copy(m->out->arena, bytes_of(name)), strlen(name) };
	return r->to.name.data ? 0 : -1;
}

static int add_entry(struct maker *m, const struct store_entry *e)
{
	uint32_t numbers[BIND_NUMBERS] = { 0 };
	const struct bind_rule *from = find_rule(&m->from, e->name, numbers), *to;
	const struct tensor_info *t;

	/* A GGUF has no head of bert's; a folder has all that was declared. */
	if (!from)
		return 0;
	t = find_tensor(m, e, from, numbers);
	if (!t)
		return -1;
	if (names_add(m->used, t->name, 0, NULL) < 0)
		return -1;
	to = find_rule(&m->to, e->name, numbers);
	if (to)
		return add(m, t, from, to, numbers);
	m->out->dropped[m->out->n_dropped++] = t;
	return 0;
}

/* --- what takes no part --- */

/* What older versions saved of what is computed anyhow. */
static bool is_buffer(struct bytes name)
{
	static const char *const ends[] = { ".rotary_emb.inv_freq", ".attn.bias",
					    ".attn.masked_bias", "embeddings.position_ids" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (bytes_end_with(name, ends[i]))
			return true;
	return false;
}

/* Whether the configuration's family has such a tensor, if not this model: a tied head, say. */
static bool is_of_family(const struct bind_rules *all, struct bytes name)
{
	uint32_t numbers[BIND_NUMBERS];

	for (size_t i = 0; i < all->n; i++)
		if (bind_match(all->items[i].theirs, name, numbers))
			return true;
	return bytes_are(name, "rope_freqs.weight") ||
	       bytes_are(name, "rope_factors_long.weight") ||
	       bytes_are(name, "rope_factors_short.weight") || is_buffer(name);
}

static int sort_rest(struct maker *m, const struct lm_spelling *s)
{
	struct hf_config untied = *m->config;
	struct bind_rules all;

	untied.tie_word_embeddings = false;
	if (lm_rules_spelled(&all, m->out->arena, &untied, model_kind(m->model), true, s) < 0)
		return -1;
	for (size_t i = 0; i < model_n_tensors(m->model); i++) {
		const struct tensor_info *t = model_tensor(m->model, i);

		if (names_find(m->used, t->name, NULL))
			continue;
		if (is_of_family(&all, t->name))
			m->out->dropped[m->out->n_dropped++] = t;
		else
			m->out->unknown[m->out->n_unknown++] = t;
	}
	return 0;
}

/* --- the whole --- */

static int make(struct maker *m)
{
	const struct lm_spelling s = lm_spelling_of_model(m->config, m->model);
	struct arena *arena = m->out->arena;
	size_t n = model_n_tensors(m->model);

	if (lm_rules_spelled(&m->from, arena, m->config, model_kind(m->model), true, &s) < 0 ||
	    lm_rules(&m->to, arena, m->config, m->kind, true) < 0 ||
	    lm_declare(m->want, m->config) < 0)
		return err_prefix("%s", model_path(m->model));
	m->out->items = arena_alloc(arena, store_n(m->want) + 1, sizeof(*m->out->items));
	m->out->dropped = arena_alloc(arena, n + 1, sizeof(*m->out->dropped));
	m->out->unknown = arena_alloc(arena, n + 1, sizeof(*m->out->unknown));
	if (!m->out->items || !m->out->dropped || !m->out->unknown)
		return -1;
	for (size_t i = 0; i < store_n(m->want); i++)
		if (store_at(m->want, i)->kind == STORE_PARAMETER &&
		    add_entry(m, store_at(m->want, i)) < 0)
			return -1;
	return sort_rest(m, &s);
}

int rebind_new(struct rebind **out, const struct model *m, const struct hf_config *c,
	       enum model_kind to)
{
	struct maker maker = { .model = m, .config = c, .kind = to };
	int result = -1;

	*out = maker.out = mem_new(1, sizeof(**out));
	if (maker.out && arena_new(&maker.out->arena) == 0 && names_new(&maker.used) == 0 &&
	    store_new(&maker.want) == 0)
		result = make(&maker);
	store_free(maker.want);
	names_free(maker.used);
	if (result < 0) {
		rebind_free(*out);
		*out = NULL;
	}
	return result;
}

void rebind_free(struct rebind *r)
{
	if (!r)
		return;
	arena_free(r->arena);
	free(r);
}

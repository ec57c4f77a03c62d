/* lib/infer/engine.c - making an engine, its pool and its sequences */

#include "lib/infer/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rounding.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/infer/engine_parts.h"

#define POOLS_MAX 1000 /* of one store */
#define OTHER_PAGES \
 64 /* of other sequences, listed beside those of one that is as long as it can be, in a pass of many rows */

/* --- the pool's entries --- */

struct store_entry *engine_entry(const struct engine *e, uint32_t layer, bool values)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%" PRIu32 ".%s", e->name, layer, values ? "v" : "k");
	return store_find(e->store, name);
}

/* A name whose entries no engine has: never made, or given back and of the same shape. */
static int choose_name(struct engine *e)
{
	struct shape shape =
		SHAPE(e->slots, (size_t)e->config->n_kv_heads, (size_t)e->config->head_dim);

	for (int i = 0; i < POOLS_MAX; i++) {
		const struct store_entry *entry;

		snprintf(e->name, sizeof(e->name), "session.%d", i);
		entry = engine_entry(e, 0, false);
		if (!entry ||
		    (!entry->data && !entry->device_data && entry->dtype == e->options.cache &&
		     shape_equal(&entry->shape, &shape)))
			return 0;
	}
	return err_set(ERR_LIMIT, "more than %d caches of one model", POOLS_MAX);
}

static void release_pool(struct engine *e)
{
	for (uint32_t i = 0; i < e->config->n_layers; i++)
		for (int k = 0; k < 2; k++) {
			struct store_entry *entry = engine_entry(e, i, k);

			if (entry)
				store_release(e->store, entry);
		}
}

static char *rows_of_page(struct store_entry *entry, int32_t page, size_t *row)
{
	*row = entry->size / entry->shape.at[0];
	return (char *)entry->data + (size_t)page * ENGINE_PAGE * *row;
}

int engine_copy_page(struct engine *e, const struct cache_copy *c)
{
	for (uint32_t i = 0; i < e->config->n_layers && c->from >= 0; i++)
		for (int k = 0; k < 2; k++) {
			struct store_entry *entry = engine_entry(e, i, k);
			size_t row;
			char *to;

			if (store_to_host(e->store, entry) < 0)
				return -1;
			to = rows_of_page(entry, c->to, &row);
			memcpy(to, rows_of_page(entry, c->from, &row), c->rows * row);
			store_touch(entry);
		}
	return 0;
}

void *engine_page(struct engine *e, int sequence, uint32_t layer, bool values, size_t i,
		  size_t *row)
{
	struct store_entry *entry;

	if (plan_allocate(e->one.plan) < 0)
		return NULL;
	entry = engine_entry(e, layer, values);
	if (store_to_host(e->store, entry) < 0)
		return NULL;
	return rows_of_page(entry, e->sequences[sequence].table.pages[i], row);
}

void engine_filled(struct engine *e)
{
	for (uint32_t i = 0; i < e->config->n_layers; i++)
		for (int k = 0; k < 2; k++)
			store_touch(engine_entry(e, i, k));
}

/* --- memory --- */

uint64_t engine_bytes(const struct engine *e, enum plan_memory kind)
{
	const struct plan *plans[] = { e->one.plan, e->few.plan, e->many.plan };
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		uint64_t bytes = plans[i] ? plan_bytes(plans[i], kind) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

/* What the message calls it: a context, or several. */
static int refuse(const struct engine *e, uint64_t all, uint64_t cache)
{
	const struct engine_options *o = &e->options;
	uint64_t fits = 0, each = cache / e->slots + 1;
	char what[80];

	if (all - cache < o->memory)
		fits = (o->memory - (all - cache)) / each;
	if (o->sequences == 1)
		snprintf(what, sizeof(what), "a context of %zu tokens", o->context);
	else
		snprintf(what, sizeof(what), "a cache of %zu tokens for %zu sequences", e->slots,
			 o->sequences);
	return err_set(ERR_LIMIT,
		       "%s needs %" PRIu64 " bytes, %" PRIu64
		       " of them for keys and values; %" PRIu64 " are allowed: %s %" PRIu64,
		       what, all, cache, o->memory,
		       !fits		   ? "without any context it needs"
		       : o->sequences == 1 ? "they are enough for a context of about"
					   : "they are enough for a cache of about",
		       fits ? fits : all - cache);
}

static int check_memory(const struct engine *e)
{
	uint64_t all = 0;

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		all += engine_bytes(e, (enum plan_memory)i);
	if (!e->options.memory || all <= e->options.memory)
		return 0;
	return refuse(e, all, engine_bytes(e, PLAN_CACHE));
}

/* --- making --- */

static size_t pages_for(size_t tokens)
{
	return (tokens + ENGINE_PAGE - 1) / ENGINE_PAGE;
}

static int choose_sizes(struct engine *e)
{
	struct engine_options *o = &e->options;
	size_t most;

	o->context = o->context ? o->context : (size_t)e->config->context;
	o->sequences = o->sequences ? o->sequences : 1;
	o->rows = o->rows ? o->rows : ENGINE_ROWS;
	if (lm_check_continues(e->config, o->context) < 0)
		return -1;
	if (o->context == 0 || o->context > INT32_MAX / 2)
		return err_set(ERR_ARGUMENT, "a context of %zu tokens", o->context);
	if (o->sequences > ENGINE_SEQUENCES_MAX)
		return err_set(ERR_ARGUMENT, "%zu sequences: at most %d", o->sequences,
			       ENGINE_SEQUENCES_MAX);
	most = o->sequences * pages_for(o->context);
	e->slots = pages_for(o->tokens);
	e->slots = e->slots && e->slots < most ? e->slots : most;
	if (e->slots > INT32_MAX / ENGINE_PAGE)
		return err_set(ERR_ARGUMENT, "%zu sequences of %zu tokens: a cache holds %d",
			       o->sequences, o->context, INT32_MAX);
	e->slots *= ENGINE_PAGE;
	return 0;
}

/* Pages that a pass lists at most: those of SEQUENCES as long as can be, and no more than the pool has, but of one always all. */
static size_t pages_of(const struct engine *e, size_t sequences)
{
	size_t one = pages_for(e->options.context), pool = e->slots / ENGINE_PAGE;

	sequences = sequences < e->options.sequences ? sequences : e->options.sequences;
	if (sequences * one <= pool)
		return sequences * one;
	return pool > one ? pool : one;
}

/* Where every matrix is multiplied by rounded rows, more of them go together. */
static size_t most_few(const struct engine *e)
{
	for (size_t i = 0; i < store_n(e->store) && e->options.round; i++) {
		const struct store_entry *entry = store_at(e->store, i);

		if (entry->kind == STORE_PARAMETER && entry->shape.n == 2 &&
		    !rounding_serves(entry->dtype))
			return ENGINE_FEW;
	}
	return e->options.round ? ENGINE_FEW_ROUNDED : ENGINE_FEW;
}

static int make_passes(struct engine *e)
{
	const struct engine_options *o = &e->options;
	size_t alone = pages_of(e, 1), listed = pages_of(e, SIZE_MAX);
	size_t few = o->sequences > o->rows ? o->sequences : o->rows;

	e->most_few = most_few(e);
	if (engine_make_pass(e, &e->one, 1, alone) < 0)
		return -1;
	few = few < e->most_few ? few : e->most_few;
	if (few > 1 && engine_make_pass(e, &e->few, few, pages_of(e, few)) < 0)
		return -1;
	if (o->rows <= ENGINE_FEW || o->context <= ENGINE_FEW)
		return 0;
	listed = listed < alone + OTHER_PAGES ? listed : alone + OTHER_PAGES;
	return engine_make_pass(e, &e->many, o->rows < o->context ? o->rows : o->context, listed);
}

static int make(struct engine *e)
{
	if (choose_sizes(e) < 0 || choose_name(e) < 0 || plan_arena_new(&e->arena) < 0 ||
	    cache_pages_new(&e->pages, e->slots / ENGINE_PAGE, ENGINE_PAGE) < 0)
		return -1;
	e->sequences = mem_new(e->options.sequences, sizeof(*e->sequences));
	if (!e->sequences)
		return -1;
	return make_passes(e) < 0 ? -1 : check_memory(e);
}

int engine_new(struct engine **out, const struct hf_config *c, struct store *store,
	       const struct engine_options *o)
{
	struct engine *e = mem_new(1, sizeof(*e));

	*out = NULL;
	if (!e)
		return -1;
	e->config = c;
	e->store = store;
	e->options = *o;
	if (make(e) < 0) {
		struct err_saved saved;

		err_save(&saved);
		engine_free(e);
		return err_restore(&saved);
	}
	*out = e;
	return 0;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	engine_drop_pass(&e->one);
	engine_drop_pass(&e->few);
	engine_drop_pass(&e->many);
	plan_arena_free(e->arena);
	for (size_t i = 0; e->sequences && i < e->options.sequences; i++) {
		cache_table_free(e->pages, &e->sequences[i].table);
		free(e->sequences[i].ids);
		free(e->sequences[i].own);
	}
	free(e->sequences);
	cache_pages_free(e->pages);
	if (e->name[0])
		release_pool(e);
	free(e);
}

struct plan *engine_plan_of_one(const struct engine *e)
{
	return e->one.plan;
}

struct plan *engine_plan_of_few(const struct engine *e)
{
	return e->few.plan;
}

/* --- sequences --- */

int engine_begin(struct engine *e)
{
	for (size_t i = 0; i < e->options.sequences; i++)
		if (!e->sequences[i].open) {
			e->sequences[i].open = true;
			e->sequences[i].logits = NULL;
			return (int)i;
		}
	return err_set(ERR_LIMIT, "more than %zu sequences at once", e->options.sequences);
}

int engine_keep_ids(struct sequence *s, size_t at, const int32_t *ids, size_t n)
{
	if (mem_grow(&s->ids, &s->ids_capacity, at + n, sizeof(*s->ids)) < 0)
		return -1;
	if (n)
		memcpy(s->ids + at, ids, n * sizeof(*ids));
	return 0;
}

int engine_fork(struct engine *e, int sequence, size_t n)
{
	const struct sequence *from = &e->sequences[sequence];
	int made = engine_begin(e);
	struct sequence *to;

	if (made < 0)
		return -1;
	to = &e->sequences[made];
	if (engine_keep_ids(to, 0, from->ids, n) < 0 ||
	    cache_table_share(e->pages, &to->table, &from->table, n) < 0) {
		to->open = false;
		return -1;
	}
	if (n == from->table.length)
		to->logits = from->logits;
	return made;
}

void engine_end(struct engine *e, int sequence)
{
	cache_table_cut(e->pages, &e->sequences[sequence].table, 0);
	e->sequences[sequence].logits = NULL;
	e->sequences[sequence].open = false;
}

size_t engine_length(const struct engine *e, int sequence)
{
	return e->sequences[sequence].table.length;
}

size_t engine_context(const struct engine *e)
{
	return e->options.context;
}

const int32_t *engine_ids(const struct engine *e, int sequence)
{
	return e->sequences[sequence].ids;
}

size_t engine_common(const struct engine *e, int sequence, const int32_t *ids, size_t n)
{
	const struct sequence *s = &e->sequences[sequence];
	size_t most = s->table.length < n ? s->table.length : n - 1, same = 0;

	while (same < most && s->ids[same] == ids[same])
		same++;
	return same / ENGINE_PAGE * ENGINE_PAGE;
}

void engine_rewind(struct engine *e, int sequence, size_t n)
{
	if (n >= engine_length(e, sequence))
		return;
	cache_table_cut(e->pages, &e->sequences[sequence].table, n);
	e->sequences[sequence].logits = NULL;
}

int engine_claim(struct engine *e, int sequence, const int32_t *ids, size_t n)
{
	struct sequence *s = &e->sequences[sequence];
	struct cache_copy none;

	if (engine_keep_ids(s, 0, ids, n) < 0)
		return -1;
	return cache_table_extend(e->pages, &s->table, n, &none);
}

size_t engine_pages_left(const struct engine *e)
{
	return cache_pages_left(e->pages);
}

size_t engine_pages_need(const struct engine *e, int sequence, size_t n)
{
	return cache_table_need(e->pages, &e->sequences[sequence].table, n);
}

const float *engine_logits(const struct engine *e, int sequence)
{
	return e->sequences[sequence].logits;
}

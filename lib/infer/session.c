/* lib/infer/session.c - one sequence of an engine */

#include "lib/infer/session.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

/* An engine and the sessions that share it. */
struct shared {
	struct engine *engine;
	size_t sessions;
};

struct session {
	struct shared *shared; /* the last session frees it */
	int sequence;
};

static void drop(struct shared *s)
{
	if (!s || --s->sessions)
		return;
	engine_free(s->engine);
	free(s);
}

static int make(struct session *s, const struct hf_config *c, struct store *store,
		const struct session_options *o)
{
	s->shared = mem_new(1, sizeof(*s->shared));
	if (!s->shared)
		return -1;
	s->shared->sessions = 1;
	if (engine_new(&s->shared->engine, c, store,
		       &(struct engine_options){ .backend = o->backend,
						 .team = o->team,
						 .compute = o->compute,
						 .round = o->round,
						 .repack = o->repack,
						 .cache = o->cache,
						 .context = o->context,
						 .sequences = 1 + o->forks,
						 .rows = o->rows,
						 .rope_paired = o->rope_paired,
						 .memory = o->memory,
						 .without = o->without,
						 .strict = o->strict }) < 0)
		return -1;
	s->sequence = engine_begin(s->shared->engine);
	return s->sequence < 0 ? -1 : 0;
}

int session_new(struct session **out, const struct hf_config *c, struct store *store,
		const struct session_options *o)
{
	struct session *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	if (make(s, c, store, o) < 0) {
		struct err_saved saved;

		err_save(&saved);
		drop(s->shared);
		free(s);
		return err_restore(&saved);
	}
	*out = s;
	return 0;
}

int session_fork(struct session **out, struct session *s, size_t n)
{
	struct session *made = mem_new(1, sizeof(*made));

	*out = NULL;
	if (!made)
		return -1;
	made->sequence = engine_fork(s->shared->engine, s->sequence, n);
	if (made->sequence < 0) {
		free(made);
		return -1;
	}
	made->shared = s->shared;
	made->shared->sessions++;
	*out = made;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	engine_end(s->shared->engine, s->sequence);
	drop(s->shared);
	free(s);
}

static int append(struct session *s, const int32_t *ids, size_t n, size_t text)
{
	return engine_run(
		s->shared->engine,
		&(struct engine_item){
			.sequence = s->sequence, .ids = ids, .n = n, .text = text, .logits = true },
		1);
}

int session_append(struct session *s, const int32_t *ids, size_t n)
{
	return append(s, ids, n, n);
}

int session_read(struct session *s, const int32_t *ids, size_t n)
{
	struct engine *e = s->shared->engine;
	size_t common;

	if (n == 0 || n > engine_context(e))
		return err_set(ERR_LIMIT, "%zu tokens: the context holds %zu", n,
			       engine_context(e));
	common = engine_common(e, s->sequence, ids, n);
	session_rewind(s, common);
	return append(s, ids + common, n - common, n);
}

const float *session_logits(const struct session *s)
{
	return engine_logits(s->shared->engine, s->sequence);
}

size_t session_length(const struct session *s)
{
	return engine_length(s->shared->engine, s->sequence);
}

size_t session_context(const struct session *s)
{
	return engine_context(s->shared->engine);
}

void session_rewind(struct session *s, size_t n)
{
	engine_rewind(s->shared->engine, s->sequence, n);
}

struct engine *session_engine(const struct session *s)
{
	return s->shared->engine;
}

int session_sequence(const struct session *s)
{
	return s->sequence;
}

struct plan *session_plan(const struct session *s)
{
	return engine_plan_of_one(s->shared->engine);
}

uint64_t session_bytes(const struct session *s, enum plan_memory kind)
{
	return engine_bytes(s->shared->engine, kind);
}

/*
 * lib/graph/plan_meet.c - where threads need not meet between two steps
 *
 * Steps between two meetings are a group: none of them touches what another one writes, but for those that the same part runs alone,
 * which follow each other. So a thread that has done its share of one goes on with the next, and small steps that have nothing to do
 * with each other (keys and values on their way into the cache) go to different parts. What steps of a group touch lives through all
 * of it, which is why large steps keep to themselves.
 */
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

#define GROUP_BYTES ((uint64_t)512 << 10) /* of places that a group may hold on to, a thread */

/* How steps of the present group touched some memory, and which part: of a step that is shared, or of several that were not, ALL. */
enum { READ = 1, WRITTEN = 2 };
#define ALL    (-1)
#define NOBODY (-2)

struct touched {
	uint32_t group;
	unsigned how;
	int who;
};

struct meeter {
	struct plan *p;
	struct touched *places, *entries; /* owned: by place, and by a store's entry */
	uint32_t *group;		  /* owned: by step, where its group begins */
	double *load; /* owned: by part, bytes of what it runs alone in the present group */
	uint32_t present;
	uint64_t bytes, most; /* of the present group; of any */
};

/* What the memory of T is known by; NULL: nobody writes there, or each part to its own. */
static struct touched *memory_of(const struct meeter *m, const struct tensor *t)
{
	const struct tensor *base = t->base;
	uint32_t place = m->p->place_of[PLAN_HOST][base->id];

	if (base->node->op == OP_PARAMETER)
		return &m->entries[tensor_entry(base)->place];
	return place == NOWHERE || m->p->places[place].own ? NULL : &m->places[place];
}

static unsigned how_touched(const struct meeter *m, const struct touched *t)
{
	return t->group == m->present ? t->how : 0;
}

/* Of memory that WHO reads or writes. */
typedef bool touch(struct meeter *m, const struct tensor *t, int who, bool writes);

/* Calls FN for the memory of step I, run by WHO, until it returns true, which is told. */
static bool each_operand(struct meeter *m, size_t i, int who, touch *fn)
{
	const struct node *n = m->p->steps[i].node;

	for (int j = 0; j < n->n_in; j++) {
		const struct tensor *t = n->in[j];

		if (t && (fn(m, t, who, op_info(n->op)->in_place >> j & 1) ||
			  (t->rows && fn(m, t->rows, ALL, false))))
			return true;
	}
	for (int j = 0; j < n->n_out; j++)
		if (fn(m, n->out[j], who, true) ||
		    (n->out[j]->rows && fn(m, n->out[j]->rows, ALL, false)))
			return true;
	return n->count && fn(m, n->count, ALL, false);
}

/* What one part alone does follows what it did alone. */
static bool conflicts(struct meeter *m, const struct tensor *t, int who, bool writes)
{
	const struct touched *memory = memory_of(m, t);
	unsigned how = memory ? how_touched(m, memory) : 0;

	if (!writes)
		how &= WRITTEN;
	return how != 0 && (who == ALL || who != memory->who);
}

static bool mark(struct meeter *m, const struct tensor *t, int who, bool writes)
{
	struct touched *memory = memory_of(m, t);
	unsigned how = memory ? how_touched(m, memory) : 0;

	if (!memory)
		return false;
	memory->who = how && memory->who != who ? ALL : who;
	memory->how = how | (writes ? WRITTEN : READ);
	memory->group = m->present;
	return false;
}

static uint64_t bytes_at(const struct plan *p, uint32_t place)
{
	return place == NOWHERE ? 0 : p->places[place].size;
}

/* Of places that begin or end with step I: what its group has more for it. */
static uint64_t bytes_held(const struct meeter *m, size_t i)
{
	const struct plan *p = m->p;
	const struct plan_step *s = &p->steps[i];
	uint64_t bytes = bytes_at(p, s->scratch) + bytes_at(p, s->kept);

	for (int j = 0; j < s->node->n_out; j++)
		bytes += bytes_at(p, p->place_of[PLAN_HOST][s->node->out[j]->base->id]);
	for (int j = 0; j < s->node->n_in; j++) {
		const struct tensor *t = s->node->in[j];
		uint32_t place = t ? p->place_of[PLAN_HOST][t->base->id] : NOWHERE;

		if (place != NOWHERE && p->places[place].last == i)
			bytes += p->places[place].size;
	}
	return bytes;
}

/* Who can run step I without a meeting before it: of those that could alone, who has the least to do. */
static int who_joins(struct meeter *m, size_t i)
{
	int best = NOBODY;

	if (!m->p->steps[i].serial)
		return each_operand(m, i, ALL, conflicts) ? best : ALL;
	for (int who = 0; who < plan_n_parts(m->p); who++)
		if (!each_operand(m, i, who, conflicts) &&
		    (best < 0 || m->load[who] < m->load[best]))
			best = who;
	return best;
}

static bool may_join(const struct meeter *m, size_t i)
{
	const struct plan_step *s = &m->p->steps[i], *before = s - 1;

	return i > 0 && s->segment == NOWHERE && before->segment == NOWHERE &&
	       m->bytes + bytes_held(m, i) <= m->most;
}

static void begin_group(struct meeter *m, size_t i)
{
	m->present = (uint32_t)i + 1;
	m->bytes = 0;
	for (int who = 0; who < plan_n_parts(m->p); who++)
		m->load[who] = 0;
}

static void find_groups(struct meeter *m)
{
	for (size_t i = 0; i < m->p->n_steps; i++) {
		struct plan_step *s = &m->p->steps[i];
		int who = may_join(m, i) ? who_joins(m, i) : NOBODY;

		s->barrier = who == NOBODY;
		if (s->barrier) {
			begin_group(m, i);
			who = s->serial ? 0 : ALL;
		}
		if (s->serial) {
			s->alone = who;
			m->load[who] += s->bytes;
		}
		m->group[i] = m->present - 1;
		m->bytes += bytes_held(m, i);
		each_operand(m, i, who, mark);
	}
}

static void lengthen_lives(const struct meeter *m)
{
	struct plan *p = m->p;

	for (size_t i = 0; i < p->n_places; i++) {
		struct place *x = &p->places[i];

		if (x->first < p->n_steps)
			x->first = m->group[x->first];
		while (x->last + 1 < p->n_steps && m->group[x->last + 1] == m->group[x->last])
			x->last++;
	}
}

int plan_meetings(struct plan *p)
{
	size_t entries = p->g->store ? store_n(p->g->store) : 0;
	int result = -1, parts = plan_n_parts(p);
	struct meeter m = { .p = p, .most = (uint64_t)parts * GROUP_BYTES };

	if (p->options.backend->device || parts == 1)
		return 0;
	m.places = mem_new(p->n_places + 1, sizeof(*m.places));
	m.entries = mem_new(entries + 1, sizeof(*m.entries));
	m.group = mem_new(p->n_steps + 1, sizeof(*m.group));
	m.load = mem_new((size_t)parts, sizeof(*m.load));
	if (m.places && m.entries && m.group && m.load) {
		find_groups(&m);
		lengthen_lives(&m);
		result = 0;
	}
	free(m.places);
	free(m.entries);
	free(m.group);
	free(m.load);
	return result;
}

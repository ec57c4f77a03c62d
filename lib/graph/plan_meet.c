/*
 * lib/graph/plan_meet.c - where threads need not meet between two steps
 *
 * Steps between two meetings are a group: none of them touches what another one writes, but for those that part 0 alone runs, which
 * follow each other. So a thread that has done its share of one goes on with the next. What steps of a group touch lives
 * through all of it, which is why large steps keep to themselves.
 */
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

#define GROUP_BYTES ((uint64_t)512 << 10) /* of places that a group may hold on to, a thread */

/* Which steps of the present group touched some memory. */
enum { READ_ALONE = 1, READ_SHARED = 2, WRITTEN_ALONE = 4, WRITTEN_SHARED = 8 };
#define WRITTEN (WRITTEN_ALONE | WRITTEN_SHARED)
#define SHARED	(READ_SHARED | WRITTEN_SHARED)

struct touched {
	uint32_t group;
	unsigned how;
};

struct meeter {
	struct plan *p;
	struct touched *places, *entries; /* owned: by place, and by a store's entry */
	uint32_t *group;		  /* owned: by step, where its group begins */
	uint32_t present;
	uint64_t bytes, most; /* of the present group; of any */
};

/* What the memory of T is known by; NULL: nobody writes there. */
static struct touched *memory_of(const struct meeter *m, const struct tensor *t)
{
	const struct tensor *base = t->base;
	uint32_t place = m->p->place_of[PLAN_HOST][base->id];

	if (base->node->op == OP_PARAMETER)
		return &m->entries[tensor_entry(base)->place];
	return place == NOWHERE ? NULL : &m->places[place];
}

static unsigned how_touched(const struct meeter *m, const struct touched *t)
{
	return t->group == m->present ? t->how : 0;
}

/* Of memory that a step reads or writes, alone (part 0) or by all. */
typedef bool touch(struct meeter *m, const struct tensor *t, bool alone, bool writes);

/* Calls FN for the memory of step I until it returns true, which is told. */
static bool each_operand(struct meeter *m, size_t i, touch *fn)
{
	const struct plan_step *s = &m->p->steps[i];
	const struct node *n = s->node;

	for (int j = 0; j < n->n_in; j++) {
		const struct tensor *t = n->in[j];

		if (t && (fn(m, t, s->serial, op_info(n->op)->in_place >> j & 1) ||
			  (t->rows && fn(m, t->rows, s->serial, false))))
			return true;
	}
	for (int j = 0; j < n->n_out; j++)
		if (fn(m, n->out[j], s->serial, true) ||
		    (n->out[j]->rows && fn(m, n->out[j]->rows, s->serial, false)))
			return true;
	return n->count && fn(m, n->count, s->serial, false);
}

/* What part 0 alone does follows what it did alone. */
static bool conflicts(struct meeter *m, const struct tensor *t, bool alone, bool writes)
{
	const struct touched *memory = memory_of(m, t);
	unsigned how = memory ? how_touched(m, memory) : 0;

	if (!writes)
		how &= WRITTEN;
	return (alone ? how & SHARED : how) != 0;
}

static bool mark(struct meeter *m, const struct tensor *t, bool alone, bool writes)
{
	struct touched *memory = memory_of(m, t);

	if (!memory)
		return false;
	memory->how =
		how_touched(m, memory) | (unsigned)(writes  ? alone ? WRITTEN_ALONE : WRITTEN_SHARED
						    : alone ? READ_ALONE
							    : READ_SHARED);
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

static bool joins(struct meeter *m, size_t i)
{
	const struct plan_step *s = &m->p->steps[i], *before = s - 1;

	return s->segment == NOWHERE && before->segment == NOWHERE &&
	       m->bytes + bytes_held(m, i) <= m->most && !each_operand(m, i, conflicts);
}

static void find_groups(struct meeter *m)
{
	for (size_t i = 0; i < m->p->n_steps; i++) {
		bool joined = i > 0 && joins(m, i);

		m->p->steps[i].barrier = !joined;
		if (!joined) {
			m->present = (uint32_t)i + 1;
			m->bytes = 0;
		}
		m->group[i] = m->present - 1;
		m->bytes += bytes_held(m, i);
		each_operand(m, i, mark);
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
	int result = -1, parts = p->options.team ? team_size(p->options.team) : 1;
	struct meeter m = { .p = p, .most = (uint64_t)parts * GROUP_BYTES };

	if (p->options.backend->device || parts == 1)
		return 0;
	m.places = mem_new(p->n_places + 1, sizeof(*m.places));
	m.entries = mem_new(entries + 1, sizeof(*m.entries));
	m.group = mem_new(p->n_steps + 1, sizeof(*m.group));
	if (m.places && m.entries && m.group) {
		find_groups(&m);
		lengthen_lives(&m);
		result = 0;
	}
	free(m.places);
	free(m.entries);
	free(m.group);
	return result;
}

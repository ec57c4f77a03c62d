/* lib/model/lm_check.c - what a configuration asks for, beside what a file holds */

#include <stdlib.h>

#include "formats/shape_text.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/bind_parts.h"
#include "lib/model/lm_rules.h"

#define NAMED 8 /* of the tensors that take no part: how many a message names */

/* What the file calls the parameter OURS, and whether it has its axes the other way round; of several pieces the first. */
static const char *their_name(const struct bind_rules *rules, const char *ours, char out[BIND_NAME],
			      bool *transposed)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct bind_rule *r = &rules->items[i];
		uint32_t numbers[BIND_NUMBERS] = { 0 };

		*transposed = r->transposed;
		if (bind_match(r->ours, bytes_of(ours), numbers) &&
		    bind_name(r->theirs, numbers, out, BIND_NAME))
			return out;
	}
	*transposed = false;
	return ours;
}

static struct shape turned(struct shape s, bool transposed)
{
	size_t rows = s.at[0];

	if (transposed && s.n == 2) {
		s.at[0] = s.at[1];
		s.at[1] = rows;
	}
	return s;
}

static int check_entry(const struct lm *m, const struct bind_rules *rules,
		       const struct store_entry *want)
{
	const struct store_entry *have = store_find(m->store, want->name);
	char name[BIND_NAME];
	const char *theirs;
	struct shape there, asked;
	bool transposed;

	if (have && shape_equal(&have->shape, &want->shape))
		return 0;
	theirs = their_name(rules, want->name, name, &transposed);
	asked = turned(want->shape, transposed);
	if (!have)
		return err_set(ERR_MISSING,
			       "%s: tensor %s: is missing; the configuration asks for %s",
			       model_path(m->model), theirs, shape_string(&asked));
	there = turned(have->shape, transposed);
	return err_set(ERR_MISMATCH, "%s: tensor %s: is %s, the configuration asks for %s",
		       model_path(m->model), theirs, shape_string(&there), shape_string(&asked));
}

static int note_unused(struct lm *m, const struct store *want)
{
	m->unused = mem_new(store_n(m->store) + 1, sizeof(*m->unused));
	if (!m->unused)
		return -1;
	for (size_t i = 0; i < store_n(m->store); i++) {
		const struct store_entry *e = store_at(m->store, i);

		if (e->kind == STORE_PARAMETER && !store_find(want, e->name))
			m->unused[m->n_unused++] = e->name;
	}
	return 0;
}

int lm_check(struct lm *m, const struct bind_rules *rules)
{
	struct store *want;
	int result;

	if (store_new(&want) < 0)
		return -1;
	result = lm_declare(want, m->config);
	if (result < 0)
		err_prefix("%s", model_path(m->model));
	for (size_t i = 0; i < store_n(want) && result == 0; i++)
		if (store_at(want, i)->kind == STORE_PARAMETER)
			result = check_entry(m, rules, store_at(want, i));
	if (result == 0)
		result = note_unused(m, want);
	store_free(want);
	return result;
}

/* --- for people --- */

static void put_names(struct buffer *b, const struct lm *m, const char *what, size_t n,
		      const char *const *names)
{
	if (!n)
		return;
	buffer_format(b, "%s%s: %zu tensor%s %s: ", b->size ? "\n" : "", model_path(m->model), n,
		      n == 1 ? "" : "s", what);
	for (size_t i = 0; i < n && i < NAMED; i++)
		buffer_format(b, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMED)
		buffer_format(b, " and %zu more", n - NAMED);
}

int lm_put_unused(struct buffer *b, const struct lm *m)
{
	put_names(b, m, "not used", m->n_unused, m->unused);
	put_names(b, m, "not known", m->report.n_unknown, (const char *const *)m->report.unknown);
	return buffer_check(b);
}

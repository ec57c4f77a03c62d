/*
 * lib/model/bind_load.c - a checkpoint's tensors into a store
 *
 * Tensors are matched with rules to pieces; pieces of one name become one entry. An entry of one piece whose values lie as ours do
 * borrows them; all others are made in memory of the store.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"
#include "lib/model/bind_parts.h"

struct piece {
	const struct bind_rule *rule;
	const struct tensor_info *from;
	uint64_t item; /* of a stack; else 0 */
	bool stacked;
	size_t next; /* of the same entry, + 1; 0: none */
};

struct wanted {
	const char *name;
	size_t first; /* piece, + 1 */
	size_t n;
};

struct loader {
	struct store *store;
	const struct model *model;
	const struct bind_rules *rules;
	struct bind_options options;
	struct bind_report *report;
	struct arena *arena;
	struct names *names;
	struct wanted *wanted; /* owned */
	size_t n_wanted, wanted_capacity;
	struct piece *pieces; /* owned */
	size_t n_pieces, pieces_capacity;
};

/* --- matching --- */

static struct wanted *find_wanted(struct loader *l, const char *name)
{
	struct bytes key = { NULL, strlen(name) };
	uint32_t place;

	if (names_find(l->names, bytes_of(name), &place))
		return &l->wanted[place];
	key.data = arena_copy(l->arena, bytes_of(name));
	if (!key.data ||
	    mem_grow(&l->wanted, &l->wanted_capacity, l->n_wanted + 1, sizeof(*l->wanted)) < 0)
		return NULL;
	if (names_add(l->names, key, (uint32_t)l->n_wanted, NULL) < 0)
		return NULL;
	l->wanted[l->n_wanted] = (struct wanted){ .name = key.data };
	return &l->wanted[l->n_wanted++];
}

static int add_piece(struct loader *l, const struct bind_rule *r, const struct tensor_info *t,
		     const uint32_t *numbers)
{
	int ours = bind_count_items(r->ours), theirs = bind_count_items(r->theirs);
	struct piece p = { .rule = r, .from = t, .stacked = theirs > ours };
	char name[BIND_NAME];
	struct wanted *w;

	if (!bind_name(r->ours, numbers, name, sizeof(name)))
		return err_set(ERR_LIMIT, "%s: tensor " BYTES_FMT ": a name of more than %d bytes",
			       model_path(l->model), BYTES_ARG(t->name), BIND_NAME - 1);
	if (p.stacked)
		p.item = numbers[theirs - 1];
	w = find_wanted(l, name);
	if (!w || mem_grow(&l->pieces, &l->pieces_capacity, l->n_pieces + 1, sizeof(p)) < 0)
		return -1;
	p.next = w->first;
	l->pieces[l->n_pieces++] = p;
	w->first = l->n_pieces;
	w->n++;
	return 0;
}

static int note_unknown(struct loader *l, const struct tensor_info *t)
{
	struct bind_report *r = l->report;
	char **more;

	if (!r)
		return 0;
	more = realloc(r->unknown, (r->n_unknown + 1) * sizeof(*more));
	if (!more)
		return err_set(ERR_MEMORY, "no memory for the names of unknown tensors");
	r->unknown = more;
	r->unknown[r->n_unknown] = mem_copy(t->name.data, t->name.size);
	return r->unknown[r->n_unknown] ? (r->n_unknown++, 0) : -1;
}

static int match_tensor(struct loader *l, const struct tensor_info *t)
{
	bool known = false;

	for (size_t i = 0; i < l->rules->n; i++) {
		const struct bind_rule *r = &l->rules->items[i];
		uint32_t numbers[BIND_NUMBERS] = { 0 };

		if (!bind_match(r->theirs, t->name, numbers))
			continue;
		if (add_piece(l, r, t, numbers) < 0)
			return -1;
		known = true;
	}
	if (known && l->report)
		l->report->n_tensors++;
	return known ? 0 : note_unknown(l, t);
}

/* --- an entry --- */

struct target {
	const char *name;
	enum dtype dtype;
	uint64_t shape[TENSOR_DIMS_MAX];
	uint32_t n_dims;
	struct bind_rows rows;
};

static int refuse(const struct loader *l, const struct tensor_info *t, const char *what)
{
	return err_set(ERR_MISMATCH, "%s: tensor " BYTES_FMT ": %s", model_path(l->model),
		       BYTES_ARG(t->name), what);
}

/* The shape of the piece's tensor as it is here, without what the rule cuts. */
static void shape_here(const struct piece *p, uint64_t *shape)
{
	memcpy(shape, p->from->shape, sizeof(p->from->shape));
	if (p->rule->transposed && p->from->n_dims == 2) {
		shape[0] = p->from->shape[1];
		shape[1] = p->from->shape[0];
	}
	if (p->rule->n)
		shape[0] = p->rule->n;
}

static enum dtype wanted_dtype(const struct loader *l, const struct tensor_info *t)
{
	bool plain = dtype_info(t->dtype)->block == 1;

	return plain && l->options.dtype ? l->options.dtype : t->dtype;
}

/* All pieces have one dtype and one shape but for the rows; together they have all rows. */
static int find_shape(struct loader *l, const struct wanted *w, struct target *out)
{
	const struct piece *p = &l->pieces[w->first - 1];
	uint64_t rows = 0, last[TENSOR_DIMS_MAX];

	*out = (struct target){ .name = w->name, .dtype = wanted_dtype(l, p->from) };
	out->n_dims = p->from->n_dims + p->stacked;
	shape_here(p, last);
	if (out->n_dims > GRAPH_AXES || out->n_dims > TENSOR_DIMS_MAX)
		return refuse(l, p->from, "too many axes");
	for (size_t i = w->first; i; i = l->pieces[i - 1].next) {
		const struct piece *q = &l->pieces[i - 1];
		uint64_t shape[TENSOR_DIMS_MAX];
		const char *no = bind_refusal(q->rule, q->from->dtype, q->from->n_dims);

		shape_here(q, shape);
		if (no)
			return refuse(l, q->from, no);
		if (q->from->dtype != p->from->dtype || q->from->n_dims != p->from->n_dims ||
		    q->stacked != p->stacked)
			return refuse(l, q->from, "another type or shape than the other pieces");
		for (uint32_t k = q->stacked ? 0 : 1; k < q->from->n_dims; k++)
			if (shape[k] != last[k])
				return refuse(l, q->from, "another shape than the other pieces");
		rows += q->stacked ? 1 : shape[0];
	}
	for (uint32_t k = 0; k < p->from->n_dims; k++)
		out->shape[k + p->stacked] = last[k];
	if (out->n_dims)
		out->shape[0] = rows;
	if (!bind_rows_of(out->dtype, out->shape, out->n_dims, &out->rows))
		return refuse(l, p->from, "a shape without a size");
	return 0;
}

/* Rows of the target for one step along its first axis. */
static uint64_t rows_a_step(const struct target *t)
{
	return t->n_dims && t->shape[0] ? t->rows.n / t->shape[0] : 1;
}

/* The first row of the target that the piece fills, and how many. */
static bool piece_rows(const struct piece *p, const struct target *t, uint64_t *first, uint64_t *n)
{
	uint64_t steps = p->stacked ? 1 : p->rule->n ? p->rule->n : t->n_dims ? t->shape[0] : 1;

	*first = (p->stacked ? p->item : p->rule->ours_from) * rows_a_step(t);
	*n = steps * rows_a_step(t);
	return *first <= t->rows.n && *n <= t->rows.n - *first;
}

/* --- values --- */

/* The values of T in DTYPE, side by side; owned by the caller. */
static void *converted(const struct tensor_info *t, enum dtype dtype)
{
	size_t size = 0;
	void *out;
	float part[256];

	if (!dtype_size(dtype, t->n_elements, &size) || !(out = mem_new(size ? size : 1, 1)))
		return NULL;
	if (dtype == t->dtype) {
		memcpy(out, t->data, size);
		return out;
	}
	for (uint64_t i = 0; i < t->n_elements; i += 256) {
		size_t n = t->n_elements - i < 256 ? (size_t)(t->n_elements - i) : 256;

		dtype_to_f32(t->dtype, t->data + i * dtype_info(t->dtype)->bytes, part, n);
		dtype_from_f32(dtype, part, (char *)out + i * dtype_info(dtype)->bytes, n);
	}
	return out;
}

static int can_convert(const struct loader *l, const struct tensor_info *t, enum dtype dtype)
{
	if (dtype == t->dtype || (dtype_decodes(t->dtype) && dtype_encodes(dtype)))
		return 0;
	return err_set(ERR_UNSUPPORTED, "%s: tensor " BYTES_FMT ": %s is not turned into %s",
		       model_path(l->model), BYTES_ARG(t->name), dtype_name(t->dtype),
		       dtype_name(dtype));
}

/* Values as ours lie, but for the order of the rows. */
static void *prepared(const struct loader *l, const struct piece *p, enum dtype dtype)
{
	void *values = converted(p->from, dtype), *turned;
	size_t size = 0;

	if (!values || !p->rule->transposed)
		goto shift;
	dtype_size(dtype, p->from->n_elements, &size);
	turned = mem_new(size ? size : 1, 1);
	if (turned)
		bind_turn(dtype, values, p->from->shape[0], p->from->shape[1], turned);
	free(values);
	values = turned;
shift:
	if (values && p->rule->added != 0) {
		uint64_t inexact = bind_add(dtype, values, p->from->n_elements, -p->rule->added);

		if (l->report)
			l->report->inexact += inexact;
	}
	return values;
}

static int fill_piece(struct loader *l, const struct piece *p, const struct target *t, char *data)
{
	uint64_t first, n, from;
	char *values;

	if (!piece_rows(p, t, &first, &n) || (p->rule->paired && n % p->rule->paired))
		return refuse(l, p->from, "rows that the rule does not expect");
	from = p->rule->theirs_from * rows_a_step(t);
	values = prepared(l, p, t->dtype);
	if (!values)
		return -1;
	for (uint64_t i = 0; i < n; i++)
		memcpy(data + (first + i) * t->rows.row,
		       values + (from + bind_row_there(p->rule, i)) * t->rows.row, t->rows.row);
	free(values);
	return 0;
}

/* Whether the piece's rows are all there and its values are ours as they lie. */
static bool may_borrow(const struct piece *p, const struct target *t, size_t n)
{
	size_t align = dtype_info(t->dtype)->block > 1 ? 1 : dtype_info(t->dtype)->bytes;

	return n == 1 && !p->stacked && !p->rule->transposed && !p->rule->paired &&
	       p->rule->added == 0 && t->dtype == p->from->dtype &&
	       (uintptr_t)p->from->data % (align ? align : 1) == 0;
}

static int check_rows(const struct loader *l, const struct piece *p)
{
	uint64_t rows = p->from->n_dims ? p->from->shape[p->rule->transposed ? 1 : 0] : 1;

	if (p->rule->n > rows || p->rule->theirs_from > rows - p->rule->n)
		return refuse(l, p->from, "fewer rows than the rule expects");
	return 0;
}

static int borrow(struct loader *l, const struct piece *p, const struct target *t,
		  struct store_entry *e)
{
	if (l->report)
		l->report->borrowed += e->size;
	return store_borrow(l->store, e,
			    p->from->data + p->rule->theirs_from * rows_a_step(t) * t->rows.row,
			    e->size);
}

static int fill(struct loader *l, const struct wanted *w, const struct target *t,
		struct store_entry *e)
{
	if (store_allocate(l->store, e) < 0)
		return -1;
	for (size_t i = w->first; i; i = l->pieces[i - 1].next)
		if (fill_piece(l, &l->pieces[i - 1], t, e->data) < 0)
			return -1;
	store_touch(e);
	if (l->report)
		l->report->copied += e->size;
	return 0;
}

/* Pieces overlap or leave rows out. */
static int check_cover(struct loader *l, const struct wanted *w, const struct target *t)
{
	unsigned char *seen = mem_new(t->rows.n + 1, 1);
	uint64_t first, n, all = 0;
	int result = seen ? 0 : -1;

	for (size_t i = w->first; i && result == 0; i = l->pieces[i - 1].next) {
		if (!piece_rows(&l->pieces[i - 1], t, &first, &n))
			result = refuse(l, l->pieces[i - 1].from, "rows past the end");
		for (uint64_t k = 0; result == 0 && k < n; k++, all++)
			if (seen[first + k]++)
				result = refuse(l, l->pieces[i - 1].from,
						"rows that another piece has");
	}
	free(seen);
	if (result == 0 && all != t->rows.n)
		result = refuse(l, l->pieces[w->first - 1].from, "pieces beside it are missing");
	return result;
}

static int load_entry(struct loader *l, const struct wanted *w)
{
	const struct piece *p = &l->pieces[w->first - 1];
	struct target t;
	struct shape shape = { 0 };
	struct store_entry *e;

	if (find_shape(l, w, &t) < 0 || check_rows(l, p) < 0 ||
	    can_convert(l, p->from, t.dtype) < 0)
		return -1;
	if ((w->n > 1 || p->stacked || p->rule->ours_from) && check_cover(l, w, &t) < 0)
		return -1;
	shape.n = (int)t.n_dims;
	for (uint32_t i = 0; i < t.n_dims; i++)
		shape.at[i] = (size_t)t.shape[i];
	e = store_add(l->store, w->name, STORE_PARAMETER, t.dtype, &shape);
	if (!e)
		return -1;
	if (l->options.frozen)
		e->trainable = false;
	return may_borrow(p, &t, w->n) ? borrow(l, p, &t, e) : fill(l, w, &t, e);
}

/* --- the whole --- */

static int load_all(struct loader *l)
{
	for (size_t i = 0; i < model_n_tensors(l->model); i++)
		if (match_tensor(l, model_tensor(l->model, i)) < 0)
			return -1;
	for (size_t i = 0; i < l->n_wanted; i++)
		if (load_entry(l, &l->wanted[i]) < 0)
			return -1;
	return 0;
}

int bind_load(struct store *s, const struct model *m, const struct bind_rules *rules,
	      const struct bind_options *o, struct bind_report *r)
{
	struct loader l = { .store = s, .model = m, .rules = rules, .report = r };
	int result = -1;

	if (o)
		l.options = *o;
	if (r)
		*r = (struct bind_report){ 0 };
	if (arena_new(&l.arena) == 0 && names_new(&l.names) == 0)
		result = load_all(&l);
	names_free(l.names);
	arena_free(l.arena);
	free(l.wanted);
	free(l.pieces);
	return result;
}

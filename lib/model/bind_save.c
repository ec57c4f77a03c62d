/* lib/model/bind_save.c - a store's parameters as the tensors of a checkpoint */

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"
#include "lib/model/bind_parts.h"

/* What an entry gives to a tensor. */
struct share {
	const struct bind_rule *rule;
	const struct store_entry *entry;
	uint64_t item; /* of a stack */
	bool stacked;
	size_t next; /* of the same tensor, + 1; 0: none */
};

struct saved {
	struct tensor_info info;
	size_t first;  /* share, + 1 */
	uint64_t rows; /* along the first axis, of all shares */
};

struct bind_saver {
	struct arena *arena;
	struct names *names;
	struct saved *tensors; /* owned */
	size_t n, capacity;
	struct share *shares; /* owned */
	size_t n_shares, shares_capacity;
};

static int refuse(const struct store_entry *e, const char *what)
{
	return err_set(ERR_MISMATCH, "parameter %s: %s", e->name, what);
}

static struct saved *find_tensor(struct bind_saver *b, const char *name)
{
	struct bytes key = { NULL, strlen(name) };
	uint32_t place;

	if (names_find(b->names, bytes_of(name), &place))
		return &b->tensors[place];
	key.data = arena_copy(b->arena, bytes_of(name));
	if (!key.data || mem_grow(&b->tensors, &b->capacity, b->n + 1, sizeof(*b->tensors)) < 0 ||
	    names_add(b->names, key, (uint32_t)b->n, NULL) < 0)
		return NULL;
	b->tensors[b->n] = (struct saved){ .info = { .name = key } };
	return &b->tensors[b->n++];
}

/* The shape that the share has there, its first axis all that it gives. */
static void shape_there(const struct share *s, struct tensor_info *out)
{
	const struct shape *shape = &s->entry->shape;

	out->dtype = s->entry->dtype;
	out->dtype_name = bytes_of(dtype_name(out->dtype));
	out->n_dims = (uint32_t)(shape->n - s->stacked);
	for (uint32_t i = 0; i < out->n_dims; i++)
		out->shape[i] = shape->at[i + (uint32_t)s->stacked];
	if (s->rule->ours_from || (s->rule->n && s->rule->n < out->shape[0]))
		out->shape[0] = s->rule->n;
}

static int add_share(struct bind_saver *b, const struct bind_rule *r, const struct store_entry *e,
		     uint32_t *numbers, bool stacked, uint64_t item)
{
	struct share s = { r, e, item, stacked, 0 };
	struct tensor_info info = { 0 };
	char name[BIND_NAME];
	struct saved *t;

	if (stacked)
		numbers[bind_count_items(r->theirs) - 1] = (uint32_t)item;
	if (!bind_name(r->theirs, numbers, name, sizeof(name)))
		return refuse(e, "its name there is too long");
	shape_there(&s, &info);
	if (bind_refusal(r, e->dtype, info.n_dims))
		return refuse(e, bind_refusal(r, e->dtype, info.n_dims));
	t = find_tensor(b, name);
	if (!t || mem_grow(&b->shares, &b->shares_capacity, b->n_shares + 1, sizeof(s)) < 0)
		return -1;
	info.name = t->info.name;
	if (t->first && (t->info.dtype != info.dtype || t->info.n_dims != info.n_dims ||
			 memcmp(t->info.shape + 1, info.shape + 1,
				sizeof(info.shape) - sizeof(*info.shape)) != 0))
		return refuse(e, "does not fit what else goes into its tensor there");
	t->rows += info.n_dims ? info.shape[0] : 1;
	t->info = info;
	s.next = t->first;
	b->shares[b->n_shares++] = s;
	t->first = b->n_shares;
	return 0;
}

static int add_by_rule(struct bind_saver *b, const struct bind_rule *r, const struct store_entry *e,
		       uint32_t *numbers)
{
	bool stacked = bind_count_items(r->theirs) > bind_count_items(r->ours);

	if (!stacked)
		return add_share(b, r, e, numbers, false, 0);
	if (e->shape.n == 0)
		return refuse(e, "a stack without axes");
	for (uint64_t i = 0; i < e->shape.at[0]; i++)
		if (add_share(b, r, e, numbers, true, i) < 0)
			return -1;
	return 0;
}

static int add_entry(struct bind_saver *b, const struct bind_rules *rules,
		     const struct store_entry *e)
{
	bool known = false;

	for (size_t i = 0; i < rules->n; i++) {
		uint32_t numbers[BIND_NUMBERS] = { 0 };

		if (!bind_match(rules->items[i].ours, bytes_of(e->name), numbers))
			continue;
		if (add_by_rule(b, &rules->items[i], e, numbers) < 0)
			return -1;
		known = true;
	}
	return known ? 0 : refuse(e, "no rule says what it is called there");
}

/* The whole shape, from all shares. */
static int finish(struct bind_saver *b, struct saved *t)
{
	const struct share *s = &b->shares[t->first - 1];
	uint64_t *shape = t->info.shape;

	if (t->info.n_dims)
		shape[0] = t->rows;
	if (s->rule->transposed) {
		uint64_t rows = shape[0];

		shape[0] = shape[1];
		shape[1] = rows;
	}
	t->info.n_elements = 1;
	for (uint32_t i = 0; i < t->info.n_dims; i++)
		t->info.n_elements *= shape[i];
	if (!dtype_size(t->info.dtype, t->info.n_elements, (size_t *)&t->info.n_bytes))
		return refuse(s->entry, "no size there");
	return 0;
}

int bind_saver_new(struct bind_saver **out, const struct store *s, const struct bind_rules *rules)
{
	struct bind_saver *b = mem_new(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -1;
	if (arena_new(&b->arena) < 0 || names_new(&b->names) < 0)
		goto failed;
	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER &&
		    add_entry(b, rules, store_at(s, i)) < 0)
			goto failed;
	for (size_t i = 0; i < b->n; i++)
		if (finish(b, &b->tensors[i]) < 0)
			goto failed;
	*out = b;
	return 0;
failed:
	bind_saver_free(b);
	return -1;
}

void bind_saver_free(struct bind_saver *b)
{
	if (!b)
		return;
	names_free(b->names);
	arena_free(b->arena);
	free(b->tensors);
	free(b->shares);
	free(b);
}

size_t bind_saver_n(const struct bind_saver *b)
{
	return b->n;
}

const struct tensor_info *bind_saver_tensor(const struct bind_saver *b, size_t i)
{
	return &b->tensors[i].info;
}

/* --- values --- */

/* The rows that share S gives, to TO, the tensor's, before it is turned; false: they are not there. */
static bool put_share(const struct share *s, char *to, size_t row, uint64_t rows)
{
	const struct store_entry *e = s->entry;
	uint64_t shape[TENSOR_DIMS_MAX], per, first, n;
	struct bind_rows ours;

	for (int i = 0; i < e->shape.n; i++)
		shape[i] = e->shape.at[i];
	if (!e->data || !bind_rows_of(e->dtype, shape, (uint32_t)e->shape.n, &ours))
		return false;
	per = e->shape.n && shape[0] ? ours.n / shape[0] : 1;
	first = (s->stacked ? s->item : s->rule->ours_from) * per;
	n = s->stacked ? per : s->rule->n ? s->rule->n * per : ours.n;
	if (first > ours.n || n > ours.n - first || ours.row != row ||
	    s->rule->theirs_from * per > rows - n || (s->rule->paired && n % s->rule->paired))
		return false;
	for (uint64_t i = 0; i < n; i++)
		memcpy(to + (s->rule->theirs_from * per + bind_row_there(s->rule, i)) * row,
		       (const char *)e->data + (first + i) * row, row);
	return true;
}

static bool is_plain(const struct bind_rule *r)
{
	return !r->transposed && !r->paired && r->added == 0 && !r->theirs_from && !r->ours_from &&
	       !r->n;
}

const void *bind_saver_data(const struct bind_saver *b, size_t i)
{
	const struct saved *t = &b->tensors[i];
	const struct share *s = &b->shares[t->first - 1];
	bool whole = !s->next && !s->stacked && s->entry->size == t->info.n_bytes;

	return whole && is_plain(s->rule) ? s->entry->data : NULL;
}

int bind_saver_values(const struct bind_saver *b, size_t i, void *out, uint64_t *inexact)
{
	const struct saved *t = &b->tensors[i];
	const struct share *s = &b->shares[t->first - 1];
	bool turned = s->rule->transposed;
	uint64_t shape[TENSOR_DIMS_MAX];
	struct bind_rows rows;
	char *to = out;

	memcpy(shape, t->info.shape, sizeof(shape));
	if (turned) {
		shape[0] = t->info.shape[1];
		shape[1] = t->info.shape[0];
		to = mem_new(t->info.n_bytes ? t->info.n_bytes : 1, 1);
		if (!to)
			return -1;
	}
	if (!bind_rows_of(t->info.dtype, shape, t->info.n_dims, &rows))
		return refuse(s->entry, "no size there");
	for (size_t k = t->first; k; k = b->shares[k - 1].next)
		if (!put_share(&b->shares[k - 1], to, rows.row, rows.n)) {
			if (turned)
				free(to);
			return refuse(b->shares[k - 1].entry,
				      "has no values, or not the rows that the rule expects");
		}
	if (turned) {
		bind_turn(t->info.dtype, to, shape[0], shape[1], out);
		free(to);
	}
	if (s->rule->added != 0) {
		uint64_t n = bind_add(t->info.dtype, out, t->info.n_elements, s->rule->added);

		if (inexact)
			*inexact += n;
	}
	return 0;
}

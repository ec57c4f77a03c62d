/*
 * lib/text/train_bpe_step.c - one merge, in all words
 *
 * Each thread takes a run of the places and joins the pair there. It sums up what stood to the left and to the right, by symbol: for
 * a left neighbour p of the pair (a, b), now z, the count of (p, a) falls by the sum and that of (p, z) rises. It also
 * writes down each place, and these are sorted into lists once the sums of all threads say how long the lists are
 * (train_bpe_fresh.c). Runs are cut where a
 * symbol lies between two places, so that no thread changes what another one reads; counts are sums and lists are put
 * together in the order of the runs, so nothing depends on how many there are.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_step.h"

#define TEAM_PLACES 32768 /* fewer are merged by one thread */
#define AHEAD	    16	  /* places to fetch before they are needed */

int train_step_init(struct train_bpe *t)
{
	t->parts = t->options.team ? team_size(t->options.team) : 1;
	t->workers = mem_new((size_t)t->parts, sizeof(*t->workers));
	return t->workers ? 0 : -1;
}

static void side_clear(struct side *s)
{
	free(s->by_symbol);
	free(s->touched);
	free(s->events);
}

void train_step_clear(struct train_bpe *t)
{
	for (int i = 0; t->workers && i < t->parts; i++) {
		side_clear(&t->workers[i].left);
		side_clear(&t->workers[i].right);
	}
	free(t->workers);
	t->workers = NULL;
}

/* --- joining --- */

static inline void see(struct side *s, uint32_t symbol, uint32_t place, uint64_t count)
{
	struct neighbour *n = &s->by_symbol[symbol];

	if (n->n == 0)
		s->touched[s->n_touched++] = symbol;
	n->n++;
	n->sum += count;
	s->events[s->n_events++] = (struct event){ symbol, place };
}

static inline void join(const struct step *s, struct train_worker *w, uint32_t at)
{
	uint32_t *cells = s->t->cells.cells, middle, end, before;
	uint64_t count;

	if (cells[at] != s->a)
		return;
	middle = train_after(cells, at);
	if (cells[middle] != s->b)
		return;
	end = train_after(cells, middle);
	count = s->t->cells.counts[at >> TRAIN_BLOCK];
	train_cells_join(cells, at, middle, end, s->z);
	if (cells[at - 1] != TRAIN_MARK) {
		before = train_before(cells, at);
		see(&w->left, cells[before], before, count);
	}
	if (cells[end] != TRAIN_MARK)
		see(&w->right, cells[end], at, count);
}

static void join_part(void *arg, int part, int parts)
{
	const struct step *s = arg;
	const struct train_cells *c = &s->t->cells;
	struct train_worker *w = &s->t->workers[part];

	for (size_t i = w->from; i < w->to; i++) {
		if (i + AHEAD < w->to) {
			__builtin_prefetch(&c->cells[s->places[i + AHEAD]]);
			__builtin_prefetch(&c->counts[s->places[i + AHEAD] >> TRAIN_BLOCK]);
		}
		join(s, w, s->places[i]);
	}
}

static int side_reserve(struct train_bpe *t, struct side *s, size_t places)
{
	size_t before = s->capacity;

	if (train_memory_grow(&t->memory, &s->by_symbol, &s->capacity, t->symbols.n,
			      sizeof(*s->by_symbol)) < 0)
		return -1;
	if (s->capacity > before)
		memset(s->by_symbol + before, 0, (s->capacity - before) * sizeof(*s->by_symbol));
	if (train_memory_grow(&t->memory, &s->touched, &s->touched_capacity, t->symbols.n,
			      sizeof(*s->touched)) < 0)
		return -1;
	s->n_touched = s->n_events = 0;
	return train_memory_grow(&t->memory, &s->events, &s->events_capacity, places,
				 sizeof(*s->events));
}

/* The first place at or after I that no pair which begins before it can touch. */
static size_t cut_after(const struct step *s, size_t i)
{
	const struct train_symbol *items = s->t->symbols.items;
	uint64_t reach = (uint64_t)items[s->a].reach + items[s->b].reach;

	while (i > 0 && i < s->n && s->places[i] <= s->places[i - 1] + reach)
		i++;
	return i;
}

static int begin(struct step *s)
{
	struct train_bpe *t = s->t;
	size_t at = 0;

	s->parts = s->n >= TEAM_PLACES ? t->parts : 1;
	for (int i = 0; i < s->parts; i++) {
		struct train_worker *w = &t->workers[i];
		size_t even = (size_t)s->n / (size_t)s->parts * (size_t)(i + 1);

		w->from = at;
		at = i + 1 == s->parts ? s->n : cut_after(s, even > at ? even : at);
		w->to = at;
		if (side_reserve(t, &w->left, w->to - w->from) < 0 ||
		    side_reserve(t, &w->right, w->to - w->from) < 0)
			return -1;
	}
	return 0;
}

static void run(struct step *s, void (*fn)(void *arg, int part, int parts))
{
	if (s->parts > 1)
		team_run(s->t->options.team, fn, s);
	else
		fn(s, 0, 1);
}

/* --- counting --- */

/* Adds one part's sums to those of the first; its `n` becomes the number of places in the parts before. */
static void add_side(struct side *all, struct side *part)
{
	for (size_t i = 0; i < part->n_touched; i++) {
		uint32_t symbol = part->touched[i];
		struct neighbour *from = &part->by_symbol[symbol], *to = &all->by_symbol[symbol];
		uint32_t n = from->n;

		if (to->n == 0)
			all->touched[all->n_touched++] = symbol;
		from->n = to->n;
		to->n += n;
		to->sum += from->sum;
	}
}

/* The pairs of symbol X and what SIDE, from place I, has seen beside it. */
static inline void fetch(const struct step *s, const struct side *side, size_t i, uint32_t x,
			 bool left)
{
	const struct train_pairs *p = &s->t->pairs;
	const uint32_t *touched = side->touched;

	if (i + AHEAD < side->n_touched) {
		uint32_t far = touched[i + AHEAD], near = touched[i + AHEAD / 2];

		train_pairs_fetch_slot(p, left ? far : x, left ? x : far);
		train_pairs_fetch_item(p, left ? near : x, left ? x : near);
	}
}

/* The pairs that symbol z has come into, on one side: LEFT of it or right. */
static int raise(struct step *s, const struct side *side, bool left, struct fresh **out, size_t *n)
{
	struct train_bpe *t = s->t;

	*n = 0;
	*out = mem_new(side->n_touched, sizeof(**out));
	if (!*out)
		return -1;
	for (size_t i = 0; i < side->n_touched; i++) {
		uint32_t symbol = side->touched[i], x = left ? symbol : s->z, record;
		uint32_t y = left ? s->z : symbol;

		fetch(s, side, i, s->z, left);
		if (!train_fits(t, x, y))
			continue;
		if (train_pairs_get(&t->pairs, x, y, &record) < 0)
			return -1;
		t->pairs.items[record].count += side->by_symbol[symbol].sum;
		(*out)[(*n)++] =
			(struct fresh){ symbol, record, side->by_symbol[symbol].n, { { 0 } } };
	}
	return 0;
}

/* A pair that is too long was never counted. */
static void lower(struct step *s, const struct side *side, bool left)
{
	struct train_pairs *pairs = &s->t->pairs;

	for (size_t i = 0; i < side->n_touched; i++) {
		uint32_t symbol = side->touched[i], record;

		fetch(s, side, i, left ? s->a : s->b, left);
		record = left ? train_pairs_find(pairs, symbol, s->a)
			      : train_pairs_find(pairs, s->b, symbol);

		if (record != TRAIN_NONE)
			pairs->items[record].count -= side->by_symbol[symbol].sum;
	}
}

static int count(struct step *s)
{
	struct train_worker *w = s->t->workers;

	for (int i = 1; i < s->parts; i++) {
		add_side(&w[0].left, &w[i].left);
		add_side(&w[0].right, &w[i].right);
	}
	if (raise(s, &w[0].left, true, &s->left, &s->n_left) < 0 ||
	    raise(s, &w[0].right, false, &s->right, &s->n_right) < 0)
		return -1;
	lower(s, &w[0].left, true);
	lower(s, &w[0].right, false);
	return 0;
}

/* --- the places of the new pairs --- */

static void place_side(struct side *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct neighbour *n = &s->by_symbol[s->events[i].symbol];

		if (n->place)
			*n->place++ = s->events[i].place;
	}
}

static void place_part(void *arg, int part, int parts)
{
	struct step *s = arg;

	place_side(&s->t->workers[part].left);
	place_side(&s->t->workers[part].right);
}

static void side_forget(struct side *s)
{
	for (size_t i = 0; i < s->n_touched; i++)
		s->by_symbol[s->touched[i]] = (struct neighbour){ 0 };
}

static void forget(struct step *s)
{
	for (int i = 0; i < s->parts; i++) {
		side_forget(&s->t->workers[i].left);
		side_forget(&s->t->workers[i].right);
	}
}

/* --- the places of the merged pair --- */

static int add_place(struct train_bpe *t, uint32_t place)
{
	if (train_memory_grow(&t->memory, &t->places, &t->places_capacity, t->n_places + 1,
			      sizeof(*t->places)) < 0)
		return -1;
	t->places[t->n_places++] = place;
	return 0;
}

static int add_word(struct step *s, struct train_range word)
{
	const uint32_t *cells = s->t->cells.cells;
	uint32_t after;

	for (uint32_t at = word.from; at < word.to; at = after) {
		after = train_after(cells, at);
		if (cells[at] == s->a && cells[after] == s->b && add_place(s->t, at) < 0)
			return -1;
	}
	return 0;
}

/*
 * A pair with several entries is merged in the whole of each word of this entry, as in the peer. (In words past TRAIN_LONG,
 * which the peer would need days for, only at the entry's own places.)
 */
static int widen(struct step *s)
{
	struct train_range word = { 0, 0 };

	s->t->n_places = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->places[i] < word.to)
			continue;
		if (train_cells_word(&s->t->cells, s->places[i], &word)) {
			if (add_word(s, word) < 0)
				return -1;
		} else if (add_place(s->t, s->places[i]) < 0) {
			return -1;
		}
	}
	s->places = s->t->places;
	s->n = (uint32_t)s->t->n_places;
	return 0;
}

static int merge(struct step *s)
{
	if (begin(s) < 0)
		return -1;
	run(s, join_part);
	if (count(s) < 0 || train_fresh_lists(s, s->left, s->n_left) < 0 ||
	    train_fresh_lists(s, s->right, s->n_right) < 0)
		return -1;
	train_fresh_aim(s, true);
	train_fresh_aim(s, false);
	run(s, place_part);
	forget(s);
	return train_fresh_queue(s);
}

int train_step(struct train_bpe *t, uint32_t record, uint32_t result)
{
	struct train_pair taken = t->pairs.items[record];
	struct step s = { .t = t, .a = taken.left, .b = taken.right, .z = result, .n = taken.n };
	int failed;

	s.record = taken.extra ? (uint32_t)taken.count : record;
	s.places = train_places(&taken.places, taken.n);
	t->pairs.items[record].n = 0;
	t->pairs.items[record].listed = 0;
	if (taken.extra)
		train_pairs_release(&t->pairs, record);
	failed = t->pairs.items[s.record].several ? widen(&s) : 0;
	failed = failed < 0 ? failed : merge(&s);
	train_fresh_free(&s, s.left, s.n_left);
	train_fresh_free(&s, s.right, s.n_right);
	train_lists_free(&t->lists, &taken.places, taken.n);
	return failed;
}

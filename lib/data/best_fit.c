/*
 * lib/data/best_fit.c - whole documents into windows: best-fit decreasing
 *
 * Johnson 1973, "Near-optimal bin packing algorithms"; for token windows, Ding et al. 2024, "Fewer
 * truncations improve language modeling". Rooms are whole numbers up to a window, so the smallest that holds
 * a piece is found in a tree of bits over them, in steps of 64: time is proportional to the pieces.
 */
#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/windows_parts.h"

#define NO_WINDOW UINT64_MAX
#define LEVELS	  5 /* 64^5 > WINDOW_LENGTH_MAX + 1 */

/* --- the smallest room that is there and is at least so large ---------------------------- */

struct rooms {
	uint64_t *bits
		[LEVELS]; /* level 0 has a bit a room; bit i of the next says that word i is not 0 */
};

static int rooms_new(struct rooms *r, uint32_t largest)
{
	size_t n = (size_t)largest + 1;

	for (int l = 0; l < LEVELS; l++) {
		n = n / 64 + 1;
		r->bits[l] = mem_new(n, sizeof(uint64_t));
		if (!r->bits[l])
			return -1;
	}
	return 0;
}

static void rooms_free(struct rooms *r)
{
	for (int l = 0; l < LEVELS; l++)
		free(r->bits[l]);
}

static void rooms_add(struct rooms *r, size_t room)
{
	for (int l = 0; l < LEVELS; l++, room /= 64)
		r->bits[l][room / 64] |= (uint64_t)1 << room % 64;
}

static void rooms_remove(struct rooms *r, size_t room)
{
	for (int l = 0; l < LEVELS; l++, room /= 64) {
		r->bits[l][room / 64] &= ~((uint64_t)1 << room % 64);
		if (r->bits[l][room / 64])
			return;
	}
}

/* Down from a word that is not 0: the smallest room under bit AT of level L. */
static size_t descend(const struct rooms *r, int l, size_t at)
{
	for (; l > 0; l--)
		at = at * 64 + (size_t)__builtin_ctzll(r->bits[l - 1][at]);
	return at;
}

/* Whether there is a room of at least NEED; the smallest such goes to *OUT. */
static bool rooms_find(const struct rooms *r, size_t need, size_t *out)
{
	size_t at = need;

	for (int l = 0; l < LEVELS; l++) {
		uint64_t word = r->bits[l][at / 64] & (~(uint64_t)0 << at % 64);

		if (word) {
			at = at / 64 * 64 + (size_t)__builtin_ctzll(word);
			*out = descend(r, l, at);
			return true;
		}
		at = at / 64 + 1;
	}
	return false;
}

/* --- pieces ------------------------------------------------------------------------------- */

/* Tells every piece of every document to FN, in order; counts what is left out. */
typedef void piece_fn(void *arg, uint64_t start, uint32_t length);

static int each_piece(struct best_fit *b, const struct token_pack *p, uint32_t room, piece_fn *fn,
		      void *arg)
{
	uint64_t n = token_pack_info(p)->n_documents;

	b->lost = b->cut = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t from, to;

		if (token_pack_document(p, i, &from, &to) != 0)
			return -1;
		b->cut += to - from > room;
		for (; to - from > room; from += room - 1)
			fn(arg, from, room);
		if (to - from > 1)
			fn(arg, from, (uint32_t)(to - from));
		else
			b->lost += to - from;
	}
	return 0;
}

/* How many pieces of each length there are; then, for each, where the next one goes. */
struct sorting {
	uint64_t *count; /* room + 1 */
	struct piece *pieces;
	uint64_t n;
};

static void count_piece(void *arg, uint64_t start, uint32_t length)
{
	struct sorting *s = arg;

	s->count[length]++;
	s->n++;
}

static void place_piece(void *arg, uint64_t start, uint32_t length)
{
	struct sorting *s = arg;

	s->pieces[s->count[length]++] = (struct piece){ start, length };
}

/* Longest first; equal ones in their order. */
static int sort_pieces(struct best_fit *b, const struct token_pack *p, uint32_t room,
		       struct sorting *s)
{
	uint64_t at = 0;

	if (each_piece(b, p, room, count_piece, s) != 0)
		return -1;
	s->pieces = mem_new((size_t)s->n, sizeof(*s->pieces));
	if (!s->pieces)
		return -1;
	for (uint32_t l = room + 1; l-- > 0;) {
		uint64_t n = s->count[l];

		s->count[l] = at;
		at += n;
	}
	return each_piece(b, p, room, place_piece, s);
}

/* --- filling -------------------------------------------------------------------------------- */

struct filling {
	struct rooms rooms;
	uint64_t *last; /* by room: the window with that room that was filled last, or NO_WINDOW */
	uint64_t *before; /* by window: the one with the same room that was filled before it */
	uint64_t *window; /* by piece: where it went */
	uint64_t n;	  /* windows */
};

static void put_room(struct filling *f, uint64_t window, size_t room)
{
	f->before[window] = f->last[room];
	f->last[room] = window;
	rooms_add(&f->rooms, room);
}

static uint64_t take_room(struct filling *f, size_t room)
{
	uint64_t window = f->last[room];

	f->last[room] = f->before[window];
	if (f->last[room] == NO_WINDOW)
		rooms_remove(&f->rooms, room);
	return window;
}

static void fill(struct filling *f, const struct sorting *s, uint32_t room)
{
	for (uint64_t i = 0; i < s->n; i++) {
		size_t left = room;
		uint64_t window = rooms_find(&f->rooms, s->pieces[i].length, &left)
					  ? take_room(f, left)
					  : f->n++;

		f->window[i] = window;
		left -= s->pieces[i].length;
		/* A rest of one token can take nothing. */
		if (left > 1)
			put_room(f, window, left);
	}
}

static int filling_new(struct filling *f, uint64_t n_pieces, uint32_t room)
{
	f->last = mem_new((size_t)room + 1, sizeof(*f->last));
	f->before = mem_new((size_t)n_pieces, sizeof(*f->before));
	f->window = mem_new((size_t)n_pieces, sizeof(*f->window));
	if (!f->last || !f->before || !f->window || rooms_new(&f->rooms, room) != 0)
		return -1;
	for (size_t i = 0; i <= room; i++)
		f->last[i] = NO_WINDOW;
	return 0;
}

static void filling_free(struct filling *f)
{
	rooms_free(&f->rooms);
	free(f->last);
	free(f->before);
	free(f->window);
}

/* Pieces by window, those of one in the order in which they were put there. */
static int gather(struct best_fit *b, const struct sorting *s, const struct filling *f)
{
	b->n_pieces = s->n;
	b->n_windows = f->n;
	b->pieces = mem_new((size_t)s->n, sizeof(*b->pieces));
	b->first = mem_new((size_t)f->n + 2, sizeof(*b->first));
	if (!b->pieces || !b->first)
		return -1;
	for (uint64_t i = 0; i < s->n; i++)
		b->first[f->window[i] + 2]++;
	for (uint64_t i = 2; i < f->n + 2; i++)
		b->first[i] += b->first[i - 1];
	for (uint64_t i = 0; i < s->n; i++)
		b->pieces[b->first[f->window[i] + 1]++] = s->pieces[i];
	return 0;
}

int best_fit_new(struct best_fit *out, const struct token_pack *p, uint32_t room)
{
	struct sorting s = { 0 };
	struct filling f = { 0 };
	int result = -1;

	*out = (struct best_fit){ 0 };
	s.count = mem_new((size_t)room + 1, sizeof(*s.count));
	if (!s.count || sort_pieces(out, p, room, &s) != 0 || filling_new(&f, s.n, room) != 0)
		goto done;
	fill(&f, &s, room);
	result = gather(out, &s, &f);
done:
	filling_free(&f);
	free(s.count);
	free(s.pieces);
	return result;
}

void best_fit_free(struct best_fit *b)
{
	free(b->pieces);
	free(b->first);
}

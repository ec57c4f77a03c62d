/*
 * lib/text/bpe_ranks.c - the merges of a vocabulary that has ranks alone
 *
 * tiktoken merges two neighbours whenever their joined bytes are a piece, the lowest rank first. One merge a piece says the
 * same: until a piece arises, nothing outside it has touched it, so it always arises from the two parts that merging
 * its own text leaves last. Pieces are gone through by rank. Merging one with what is known so far nearly
 * always leaves two parts; where it does not, a piece of a higher rank lies on the way (or none does), and its
 * text is merged by looking joined bytes up.
 */
#include "lib/text/bpe_parts.h"

/* Looks and steps that a file may cost, a byte of its pieces: a made-up file could want the square. */
#define WORK_A_BYTE 256
#define WORK_LEAST  ((uint64_t)1 << 26)

struct ranks {
	const struct text_model *m;
	struct bpe_merges *table;
	struct bpe_scratch *s;
	struct merge_spec *merges;
	size_t n;
	uint32_t *joined; /* of each symbol and the next: the piece, or TOKEN_NONE */
	size_t joined_capacity;
	uint64_t work; /* left */
};

static int put(struct ranks *r, uint32_t left, uint32_t right, uint32_t result)
{
	struct merge_spec merge = { left, right, result };

	if (r->n >= UINT32_MAX || bpe_merges_put(r->table, &merge, (uint32_t)r->n) < 0)
		return -1;
	r->merges[r->n++] = merge;
	return 0;
}

/* The piece that symbols I and I + 1, which begin at DATA, are when joined. */
static uint32_t look(struct ranks *r, const char *data, size_t i)
{
	const struct bpe_symbol *s = &r->s->symbols[i];
	uint64_t size = (uint64_t)s[0].size + s[1].size;

	r->work -= size < r->work ? size : r->work;
	return vocabulary_find(&r->m->vocabulary, data, size);
}

static size_t lowest(struct ranks *r)
{
	size_t at = 0;

	for (size_t i = 1; i + 1 < r->s->n; i++)
		at = r->joined[i] < r->joined[at] ? i : at;
	r->work -= r->s->n < r->work ? r->s->n : r->work;
	return at;
}

static void join(struct ranks *r, struct bytes text, size_t i)
{
	struct bpe_symbol *s = r->s->symbols;
	size_t from = 0;

	for (size_t k = 0; k + 1 < i; k++)
		from += s[k].size;
	s[i] = (struct bpe_symbol){ r->joined[i], s[i].size + s[i + 1].size };
	memmove(&s[i + 1], &s[i + 2], (r->s->n - i - 2) * sizeof(*s));
	memmove(&r->joined[i], &r->joined[i + 1], (r->s->n - i - 2) * sizeof(*r->joined));
	r->s->n--;
	if (i > 0) {
		r->joined[i - 1] = look(r, text.data + from, i - 1);
		from += s[i - 1].size;
	}
	if (i + 1 < r->s->n)
		r->joined[i] = look(r, text.data + from, i);
}

/* Merges the symbols of TEXT until two are left or nothing merges. */
static int merge_by_look(struct ranks *r, struct bytes text)
{
	size_t from = 0;

	if (mem_grow(&r->joined, &r->joined_capacity, r->s->n, sizeof(*r->joined)) < 0)
		return -1;
	for (size_t i = 0; i + 1 < r->s->n; from += r->s->symbols[i++].size)
		r->joined[i] = look(r, text.data + from, i);
	while (r->s->n > 2) {
		size_t i = lowest(r);

		if (r->work == 0)
			return err_set(ERR_LIMIT, "too many pieces that merging cannot reach");
		if (r->joined[i] == TOKEN_NONE)
			break;
		join(r, text, i);
	}
	return 0;
}

static int add_piece(struct ranks *r, uint32_t place)
{
	const struct vocabulary_piece *p = &r->m->vocabulary.pieces[place];
	struct bytes text = { p->data, p->size };

	if (text.size < 2 || vocabulary_place(&r->m->vocabulary, p->data, p->size) != place)
		return 0;
	if (bpe_symbols(r->m, r->s, text) < 0)
		return 0; /* it has a byte that is no piece: no merging reaches it */
	if (bpe_merge(r->table, r->s) < 0)
		return -1;
	if (r->s->n > 2 && (bpe_symbols(r->m, r->s, text) < 0 || merge_by_look(r, text) < 0))
		return -1;
	if (r->s->n != 2)
		return 0;
	return put(r, r->s->symbols[0].id, r->s->symbols[1].id, p->id);
}

static uint64_t allowed_work(const struct vocabulary *v)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->pieces[i].size;
	return WORK_LEAST + bytes * WORK_A_BYTE;
}

int bpe_ranks_load(struct bpe *b, struct text_model *m, struct bpe_scratch *s)
{
	const struct vocabulary *v = &m->vocabulary;
	struct ranks r = { .m = m, .table = &b->merges, .s = s, .work = allowed_work(v) };
	int result = -1;

	if (m->spec.n_merges || m->spec.byte_fallback || m->spec.unk != TOKEN_NONE ||
	    m->spec.continuing_prefix.size || m->spec.end_of_word_suffix.size)
		return err_set(ERR_ARGUMENT, "merge_by_rank goes with pieces alone");
	r.merges = mem_new(v->n, sizeof(*r.merges));
	b->derived = r.merges;
	if (!r.merges || bpe_merges_init(&b->merges, v->n) < 0)
		goto out;
	for (uint32_t i = 0; i < v->n; i++)
		if (add_piece(&r, i) < 0)
			goto out;
	m->spec.merges = r.merges;
	m->spec.n_merges = r.n;
	result = 0;
out:
	free(r.joined);
	return result;
}

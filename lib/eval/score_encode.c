/*
 * lib/eval/score_encode.c - the texts of a record into tokens, as lm-evaluation-harness does it, and into continuations
 */
#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/eval/score_parts.h"

/* --- text into tokens --- */

/* What str.isspace of Python holds for white space. */
static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Bytes of TEXT before the white space that ends it. */
static size_t without_spaces(struct bytes text)
{
	while (text.size) {
		size_t at = text.size - 1;
		uint32_t c;

		while (at && ((unsigned char)text.data[at] & 0xc0) == 0x80)
			at--;
		if (utf8_decode(text.data + at, text.size - at, &c) == 0 || !is_space(c))
			break;
		text.size = at;
	}
	return text.size;
}

static int encode(struct score *s, struct bytes text, struct encoding *out)
{
	const struct encode_options o = { .special = s->o.special, .start = START_DOCUMENT };

	return encoder_run(s->encoder, text, &o, out);
}

/* IDS behind the token that comes before each context; *N grows where it is put. Lives in the arena. */
static uint32_t *keep_ids(struct score *s, const uint32_t *ids, size_t *n, uint32_t before)
{
	bool put = before != TOKEN_NONE && (*n == 0 || ids[0] != before);
	uint32_t *out = arena_alloc(s->arena, *n + put + 1, sizeof(*out));

	if (!out)
		return NULL;
	if (put)
		out[0] = before;
	if (*n)
		memcpy(out + put, ids, *n * sizeof(*out));
	*n += put;
	return out;
}

struct pair {
	uint32_t *ids; /* context and continuation */
	size_t n, n_context;
};

static int encode_alone(struct score *s, struct bytes continuation, struct pair *out)
{
	if (s->o.alone == TOKEN_NONE)
		return err_set(ERR_ARGUMENT,
			       "an empty context, and no token begins or ends a text");
	if (encode(s, continuation, &s->whole) < 0)
		return -1;
	out->n = s->whole.n;
	out->n_context = 1;
	out->ids = keep_ids(s, s->whole.ids, &out->n, s->o.alone);
	return out->ids ? 0 : -1;
}

static int encode_pair(struct score *s, struct bytes context, struct bytes between,
		       struct bytes continuation, struct pair *out)
{
	struct buffer b = { 0 };
	size_t kept = without_spaces(context), n_context, n_whole;
	int result;

	buffer_put(&b, context.data, context.size);
	buffer_put(&b, between.data, between.size);
	buffer_put(&b, continuation.data, continuation.size);
	result = buffer_check(&b);
	if (result == 0 && kept == 0)
		result = encode_alone(s, buffer_bytes(&b), out);
	else if (result == 0) {
		context.size = kept;
		result = encode(s, context, &s->context);
		result = result < 0 ? -1 : encode(s, buffer_bytes(&b), &s->whole);
	}
	buffer_free(&b);
	if (result < 0 || kept == 0)
		return result;
	/* The context's own tokens, then what the whole has behind as many. */
	n_context = s->context.n;
	n_whole = s->whole.n;
	if (n_whole > n_context)
		memcpy(s->whole.ids, s->context.ids, n_context * sizeof(*s->context.ids));
	out->n = n_whole;
	out->ids = keep_ids(s, s->whole.ids, &out->n, s->o.before);
	out->n_context = n_context + (out->n - n_whole);
	return out->ids ? 0 : -1;
}

/* --- records into continuations --- */

static int add_pair(struct score *s, const struct pair *p, struct continuation *item,
		    struct pair *group)
{
	size_t most = s->o.context + 1, cut = p->n > most ? p->n - most : 0;

	if (p->n <= p->n_context)
		return err_set(ERR_ARGUMENT, "it has no token of its own");
	if (cut >= p->n_context)
		return err_set(ERR_LIMIT,
			       "%zu tokens, with at least one before them: the context holds %zu",
			       p->n - p->n_context, s->o.context);
	s->sums.cut += cut > 0;
	item->ids = p->ids + p->n_context;
	item->n = p->n - p->n_context;
	group->ids = p->ids + cut;
	group->n_context = p->n_context - cut;
	return 0;
}

static bool same_context(const struct pair *a, const struct pair *b)
{
	return a->n_context == b->n_context &&
	       memcmp(a->ids, b->ids, a->n_context * sizeof(*a->ids)) == 0;
}

static int encode_item(struct score *s, const struct record *r, size_t i, struct pair *context)
{
	struct pair p = { 0 };

	if (encode_pair(s, r->context, r->choices ? bytes_of(s->o.between) : bytes_of(""),
			r->texts[i], &p) < 0 ||
	    add_pair(s, &p, &r->items[i], context) < 0)
		return err_prefix(r->choices ? "choice %zu" : "the completion", i);
	return 0;
}

/* Runs of choices with the same context go together. */
int score_encode(struct score *s, struct record *r)
{
	struct pair *contexts = arena_alloc(s->arena, r->n, sizeof(*contexts));
	size_t from = 0;

	r->items = arena_alloc(s->arena, r->n, sizeof(*r->items));
	if (!contexts || !r->items)
		return -1;
	for (size_t i = 0; i < r->n; i++)
		if (encode_item(s, r, i, &contexts[i]) < 0)
			return -1;
	for (size_t i = 1; i <= r->n; i++) {
		if (i < r->n && same_context(&contexts[i], &contexts[from]))
			continue;
		if (continuations_add(s->continuations, contexts[from].ids,
				      contexts[from].n_context, r->items + from, i - from) < 0)
			return -1;
		from = i;
	}
	return 0;
}

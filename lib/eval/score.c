/* lib/eval/score.c - what records came to: their lines, and the sums of all */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/score_parts.h"

/* --- making --- */

int score_new(struct score **out, struct continuations *c, const struct score_options *o)
{
	struct score *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->o = *o;
	s->continuations = c;
	if (encoder_new(&s->encoder, o->tokenizer) < 0 || json_new(&s->json) < 0 ||
	    arena_new(&s->arena) < 0) {
		score_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void score_free(struct score *s)
{
	if (!s)
		return;
	encoder_free(s->encoder);
	json_free(s->json);
	arena_free(s->arena);
	encoding_free(&s->context);
	encoding_free(&s->whole);
	free(s->records);
	free(s);
}

/* --- records --- */

int score_add(struct score *s, struct bytes record, const char *name, uint64_t line)
{
	if (mem_grow(&s->records, &s->capacity, s->n + 1, sizeof(*s->records)) < 0 ||
	    score_read(s, &s->records[s->n], record, name, line) < 0)
		return -1;
	if (score_encode(s, &s->records[s->n]) < 0)
		return err_prefix("%s:%" PRIu64, name, line);
	s->n++;
	return 0;
}

size_t score_n(const struct score *s)
{
	return s->n;
}

/* --- what they came to --- */

static size_t characters(struct bytes text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.size; i++)
		n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return n;
}

/* The first of the likeliest; NORM: a character. */
static size_t best(const struct record *r, bool norm)
{
	double most = -INFINITY;
	size_t at = 0;

	for (size_t i = 0; i < r->n; i++) {
		double by = norm ? (double)characters(r->texts[i]) : 1;
		double x = r->items[i].logprob / by;

		if (x > most) {
			most = x;
			at = i;
		}
	}
	return at;
}

static double bits_per_byte(double logprob, uint64_t bytes)
{
	return bytes ? -logprob / log(2) / (double)bytes : NAN;
}

static void open_list(struct buffer *b, const char *key)
{
	json_put_key(b, key);
	buffer_put_u8(b, '[');
}

static void put_lists(struct buffer *b, const struct record *r)
{
	open_list(b, "logprobs");
	for (size_t i = 0; i < r->n; i++) {
		json_put_comma(b);
		json_put_f64(b, r->items[i].logprob);
	}
	buffer_put_u8(b, ']');
	open_list(b, "is_greedy");
	for (size_t i = 0; i < r->n; i++) {
		json_put_comma(b);
		buffer_put_text(b, r->items[i].greedy ? "true" : "false");
	}
	buffer_put_u8(b, ']');
	open_list(b, "tokens");
	for (size_t i = 0; i < r->n; i++) {
		json_put_comma(b);
		json_put_u64(b, r->items[i].n);
	}
	buffer_put_u8(b, ']');
	open_list(b, "bits_per_byte");
	for (size_t i = 0; i < r->n; i++) {
		json_put_comma(b);
		json_put_f64(b, bits_per_byte(r->items[i].logprob, r->texts[i].size));
	}
	buffer_put_u8(b, ']');
}

static void judge(struct score *s, const struct record *r, struct buffer *b)
{
	struct score_sums *sums = &s->sums;
	size_t answer = r->choices ? r->gold : 0;
	bool right, right_norm;

	sums->records++;
	sums->continuations += r->n;
	if (answer != SCORE_NO_GOLD) {
		sums->logprob += r->items[answer].logprob;
		sums->bytes += r->texts[answer].size;
	}
	if (!r->choices) {
		sums->completions++;
		sums->greedy += r->items[0].greedy;
		json_put_u64_member(b, "acc", r->items[0].greedy);
	} else if (r->gold != SCORE_NO_GOLD) {
		right = best(r, false) == r->gold;
		right_norm = best(r, true) == r->gold;
		sums->judged++;
		sums->right += right;
		sums->right_norm += right_norm;
		json_put_u64_member(b, "acc", right);
		json_put_u64_member(b, "acc_norm", right_norm);
	}
}

int score_flush(struct score *s, struct buffer *out)
{
	if (continuations_flush(s->continuations) < 0)
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct record *r = &s->records[i];

		buffer_put_u8(out, '{');
		buffer_put(out, r->fields.data, r->fields.size);
		put_lists(out, r);
		judge(s, r, out);
		buffer_put_text(out, "}\n");
	}
	s->n = 0;
	arena_free(s->arena);
	s->arena = NULL;
	return arena_new(&s->arena) < 0 ? -1 : buffer_check(out);
}

/* --- sums --- */

const struct score_sums *score_sums(const struct score *s)
{
	return &s->sums;
}

double score_error(double share, uint64_t n)
{
	return n > 1 ? sqrt(share * (1 - share) / (double)(n - 1)) : NAN;
}

static void put_share(struct buffer *b, const char *key, const char *error, uint64_t n, uint64_t of)
{
	double share = (double)n / (double)of;

	json_put_f64_member(b, key, share);
	json_put_f64_member(b, error, score_error(share, of));
}

void score_put_sums(struct buffer *b, const struct score_sums *s)
{
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "records", s->records);
	json_put_u64_member(b, "continuations", s->continuations);
	json_put_u64_member(b, "cut", s->cut);
	if (s->judged) {
		json_put_u64_member(b, "judged", s->judged);
		put_share(b, "acc", "acc_stderr", s->right, s->judged);
		put_share(b, "acc_norm", "acc_norm_stderr", s->right_norm, s->judged);
	}
	if (s->completions) {
		json_put_u64_member(b, "completions", s->completions);
		put_share(b, "greedy", "greedy_stderr", s->greedy, s->completions);
	}
	if (s->bytes)
		json_put_f64_member(b, "bits_per_byte", bits_per_byte(s->logprob, s->bytes));
	buffer_put_text(b, "}\n");
}

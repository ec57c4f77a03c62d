/* lib/eval/score.c - records into continuations, and what they came to into records */

#include "lib/eval/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

#define CHOICES_MAX 10000
#define NO_GOLD	    SIZE_MAX

/* What is written; fields of these names are not passed on. */
static const char *const results[] = { "logprobs",	"is_greedy", "tokens",
				       "bits_per_byte", "acc",	     "acc_norm" };

struct record {
	struct bytes fields; /* `"key":value,...` that are passed on */
	struct bytes context, *texts;
	bool choices; /* else one completion */
	size_t n, gold;
	struct continuation *items;
};

struct score {
	struct score_options o;
	struct continuations *continuations;
	struct encoder *encoder; /* owned */
	struct json *json;	 /* owned */
	struct arena *arena;	 /* owned: of the records */
	struct encoding context, whole;
	struct record *records; /* owned */
	size_t n, capacity;
	struct score_sums sums;
};

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

/* --- reading a record --- */

struct parse {
	struct score *s;
	struct record *r;
	struct buffer fields;
	struct bytes gold; /* a text */
	bool has_context, has_prompt, has_completion, has_gold_text;
	uint64_t gold_number;
};

static int keep_text(struct parse *p, struct bytes *to)
{
	struct bytes text;
	char *copy;

	if (json_string(p->s->json, &text) < 0)
		return -1;
	copy = arena_copy(p->s->arena, text);
	*to = (struct bytes){ copy, text.size };
	return copy ? 0 : -1;
}

static int read_choices(struct parse *p)
{
	struct json *j = p->s->json;
	struct bytes *texts = NULL, *kept;
	size_t n = 0, capacity = 0;
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0) {
		if (n == CHOICES_MAX)
			got = json_fail(j, "more than %d choices", CHOICES_MAX);
		else if (mem_grow(&texts, &capacity, n + 1, sizeof(*texts)) < 0)
			got = -1;
		else
			got = keep_text(p, &texts[n++]);
		if (got < 0)
			break;
	}
	if (got == 0 && n == 0)
		got = json_fail(j, "no choices");
	kept = got < 0 ? NULL : arena_alloc(p->s->arena, n, sizeof(*kept));
	if (kept)
		memcpy(kept, texts, n * sizeof(*kept));
	free(texts);
	p->r->choices = true;
	p->r->texts = kept;
	p->r->n = n;
	return kept ? 0 : -1;
}

static int read_gold(struct parse *p)
{
	p->has_gold_text = json_peek(p->s->json) == JSON_STRING;
	if (p->has_gold_text)
		return keep_text(p, &p->gold);
	if (json_u64(p->s->json, &p->gold_number) < 0)
		return -1;
	p->r->gold = (size_t)p->gold_number;
	return 0;
}

static int read_completion(struct parse *p)
{
	p->has_completion = true;
	p->r->texts = arena_alloc(p->s->arena, 1, sizeof(*p->r->texts));
	p->r->n = 1;
	return p->r->texts ? keep_text(p, p->r->texts) : -1;
}

/* A value that means something here. 1, or 0 when the key is another one. */
static int read_known(struct parse *p, struct bytes key)
{
	int got = -1;

	if (bytes_are(key, "context") && (p->has_context = true))
		got = keep_text(p, &p->r->context);
	else if (bytes_are(key, "prompt") && (p->has_prompt = true))
		got = keep_text(p, &p->r->context);
	else if (bytes_are(key, "choices"))
		got = read_choices(p);
	else if (bytes_are(key, "completion"))
		got = read_completion(p);
	else if (bytes_are(key, "gold"))
		got = read_gold(p);
	else
		return 0;
	return got < 0 ? -1 : 1;
}

static bool is_result(struct bytes key)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (bytes_are(key, results[i]))
			return true;
	return false;
}

/* Every field but earlier results is passed on as it stood there. */
static int read_member(struct parse *p, struct bytes record, struct bytes key)
{
	struct json *j = p->s->json;
	size_t from = json_offset(j);
	struct bytes raw;
	int known = read_known(p, key);

	if (known < 0 || (known == 0 && json_skip(j, &raw) < 0))
		return -1;
	if (is_result(key))
		return 0;
	if (known) {
		raw = (struct bytes){ record.data + from, json_offset(j) - from };
		while (raw.size &&
		       (raw.data[0] == ':' || raw.data[0] == ' ' || raw.data[0] == '\t')) {
			raw.data++;
			raw.size--;
		}
	}
	if (p->fields.size)
		buffer_put_u8(&p->fields, ',');
	json_put_string(&p->fields, key);
	buffer_put_u8(&p->fields, ':');
	buffer_put(&p->fields, raw.data, raw.size);
	return 0;
}

static int find_gold(struct parse *p)
{
	struct record *r = p->r;

	for (size_t i = 0; p->has_gold_text && r->gold == NO_GOLD && i < r->n; i++)
		if (bytes_equal(r->texts[i], p->gold))
			r->gold = i;
	if (p->has_gold_text && r->gold == NO_GOLD)
		return json_fail(p->s->json, "gold is none of the choices");
	if (r->gold != NO_GOLD && r->gold >= r->n)
		return json_fail(p->s->json, "gold is %" PRIu64 ", and there are %zu choices",
				 p->gold_number, r->n);
	return 0;
}

static int check_record(struct parse *p)
{
	struct json *j = p->s->json;

	if (p->r->choices == p->has_completion)
		return json_fail(j, p->has_completion ? "choices and completion: one of them"
						      : "neither choices nor completion");
	if (p->has_context == p->has_prompt)
		return json_fail(j, p->has_context ? "context and prompt: one of them"
						   : "neither context nor prompt");
	return find_gold(p);
}

static int parse(struct parse *p, struct bytes record, const char *name, uint64_t line)
{
	struct json *j = p->s->json;
	struct bytes key;
	char *kept;
	int got;

	json_init(j, record.data, record.size, name, &(struct json_limits){ .line = line });
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0)
		if (read_member(p, record, key) < 0)
			return -1;
	if (got < 0 || json_end(j) < 0 || check_record(p) < 0 || buffer_check(&p->fields) < 0)
		return -1;
	kept = arena_copy(p->s->arena, buffer_bytes(&p->fields));
	p->r->fields = (struct bytes){ kept, p->fields.size };
	return kept ? 0 : -1;
}

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
static int add_items(struct score *s, struct record *r)
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

int score_add(struct score *s, struct bytes record, const char *name, uint64_t line)
{
	struct parse p = { .s = s };
	int result;

	if (mem_grow(&s->records, &s->capacity, s->n + 1, sizeof(*s->records)) < 0)
		return -1;
	p.r = &s->records[s->n];
	*p.r = (struct record){ .gold = NO_GOLD };
	result = parse(&p, record, name, line);
	buffer_free(&p.fields);
	if (result < 0)
		return -1;
	if (add_items(s, p.r) < 0)
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
	if (answer != NO_GOLD) {
		sums->logprob += r->items[answer].logprob;
		sums->bytes += r->texts[answer].size;
	}
	if (!r->choices) {
		sums->completions++;
		sums->greedy += r->items[0].greedy;
		json_put_u64_member(b, "acc", r->items[0].greedy);
	} else if (r->gold != NO_GOLD) {
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

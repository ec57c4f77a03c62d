/* lib/eval/score_record.c - a JSON record: its texts and its answer, and the fields that are passed on */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/eval/score_parts.h"

#define CHOICES_MAX 10000

/* What is written; fields of these names are not passed on. */
static const char *const results[] = { "logprobs",	"is_greedy", "tokens",
				       "bits_per_byte", "acc",	     "acc_norm" };

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

	for (size_t i = 0; p->has_gold_text && r->gold == SCORE_NO_GOLD && i < r->n; i++)
		if (bytes_equal(r->texts[i], p->gold))
			r->gold = i;
	if (p->has_gold_text && r->gold == SCORE_NO_GOLD)
		return json_fail(p->s->json, "gold is none of the choices");
	if (r->gold != SCORE_NO_GOLD && r->gold >= r->n)
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

static int read_members(struct parse *p, struct bytes record, const char *name, uint64_t line)
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

int score_read(struct score *s, struct record *out, struct bytes record, const char *name,
	       uint64_t line)
{
	struct parse p = { .s = s, .r = out };
	int result;

	*out = (struct record){ .gold = SCORE_NO_GOLD };
	result = read_members(&p, record, name, line);
	buffer_free(&p.fields);
	return result;
}

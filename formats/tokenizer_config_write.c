/*
 * formats/tokenizer_config_write.c - tokenizer_config.json
 *
 * transformers 4 and 5 both take the class PreTrainedTokenizerFast for any tokenizer.json, and the template from the key
 * chat_template.
 */
#include "formats/tokenizer_config_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/tokenizer_json_put.h"
#include "lib/base/err.h"

#define ENTRIES_MAX 24
#define KEY_MAX	    40

/* A key and its value, before they are put in order. */
struct entry {
	char key[KEY_MAX];
	struct bytes text; /* without data: a flag */
	bool flag;
};

struct entries {
	struct entry items[ENTRIES_MAX];
	size_t n;
};

static struct entry *add(struct entries *e, const char *name, const char *end)
{
	struct entry *one = &e->items[e->n++];

	snprintf(one->key, sizeof(one->key), "%s%s", name, end);
	return one;
}

static void add_text(struct entries *e, const char *name, const char *end, struct bytes text)
{
	add(e, name, end)->text = text;
}

static struct bytes text_of(const struct tokenizer_spec *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].id == id)
			return s->added[i].text;
	for (size_t i = 0; i < s->model.n_pieces; i++)
		if (s->model.pieces[i].id == id)
			return s->model.pieces[i].text;
	return (struct bytes){ 0 };
}

static int add_role(struct entries *e, const struct tokenizer_spec *s, const char *name,
		    uint32_t id)
{
	struct bytes text = text_of(s, id);

	if (id == TOKEN_NONE)
		return 0;
	if (!text.data)
		return err_set(ERR_MISSING, "%s_token: no token has the id %" PRIu32, name, id);
	add_text(e, name, "_token", text);
	return 0;
}

static int add_roles(struct entries *e, const struct tokenizer_spec *s)
{
	return add_role(e, s, "bos", s->bos) < 0 || add_role(e, s, "eos", s->eos) < 0 ||
			       add_role(e, s, "pad", s->pad) < 0 ||
			       add_role(e, s, "unk", s->unk) < 0
		       ? -1
		       : 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

int tokenizer_config_put(struct buffer *b, const struct tokenizer_spec *spec,
			 const struct tokenizer_config_role *others, size_t n)
{
	struct json_pretty w = { .out = b };
	struct entries e = { 0 };

	if (n > ENTRIES_MAX / 2)
		return err_set(ERR_LIMIT, "%zu more roles", n);
	if (add_roles(&e, spec) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		add_text(&e, others[i].name, "_token", others[i].text);
	add(&e, "clean_up_tokenization_spaces", "")->flag = false;
	add_text(&e, "tokenizer_class", "", bytes_of("PreTrainedTokenizerFast"));
	if (spec->chat_template.size)
		add_text(&e, "chat_template", "", spec->chat_template);
	if (spec->add_bos)
		add(&e, "add_bos_token", "")->flag = true;
	if (spec->add_eos)
		add(&e, "add_eos_token", "")->flag = true;
	qsort(e.items, e.n, sizeof(*e.items), by_key);
	pretty_open(&w, '{');
	for (size_t i = 0; i < e.n; i++) {
		if (e.items[i].text.data)
			pretty_text(&w, e.items[i].key, e.items[i].text);
		else
			pretty_bool(&w, e.items[i].key, e.items[i].flag);
	}
	pretty_close(&w, '}');
	buffer_put_text(b, "\n");
	return buffer_check(b);
}

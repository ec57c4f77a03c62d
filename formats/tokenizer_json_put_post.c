/* formats/tokenizer_json_put_post.c - post-processors into a tokenizer.json */

#include <inttypes.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/tokenizer_json_put.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

/* The text of ID, among the added tokens or the pieces (both in the order of their ids); no data when none. */
static struct bytes text_of(const struct tokenizer_spec *spec, uint32_t id)
{
	size_t low = 0, high = spec->model.n_pieces;

	for (size_t i = 0; i < spec->n_added; i++)
		if (spec->added[i].id == id)
			return spec->added[i].text;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct piece_spec *piece = &spec->model.pieces[middle];

		if (piece->id == id)
			return piece->text;
		if (piece->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct bytes){ 0 };
}

static void put_item(struct json_pretty *w, const struct template_item *item)
{
	struct bytes sequence = bytes_of(item->is_pair ? "B" : "A");

	pretty_next(w);
	pretty_open(w, '{');
	pretty_key(w, bytes_of(item->is_sequence ? "Sequence" : "SpecialToken"));
	pretty_open(w, '{');
	pretty_text(w, "id", item->is_sequence ? sequence : item->name);
	pretty_u32(w, "type_id", item->type_id);
	pretty_close(w, '}');
	pretty_close(w, '}');
}

static void put_items(struct json_pretty *w, const char *key, const struct template_item *items,
		      size_t n)
{
	pretty_key(w, bytes_of(key));
	pretty_open(w, '[');
	for (size_t i = 0; i < n; i++)
		put_item(w, &items[i]);
	pretty_close(w, ']');
}

static int compare_names(const void *a, const void *b)
{
	const struct template_item *const *x = a, *const *y = b;

	return bytes_compare((*x)->name, (*y)->name);
}

/* A special token: its ids, and their texts (its own name when it is one id). */
static int put_special(struct json_pretty *w, const struct tokenizer_spec *spec,
		       const struct template_item *item)
{
	pretty_key(w, item->name);
	pretty_open(w, '{');
	pretty_text(w, "id", item->name);
	pretty_key(w, bytes_of("ids"));
	pretty_open(w, '[');
	for (size_t i = 0; i < item->n_ids; i++) {
		pretty_next(w);
		json_put_u64(w->out, item->ids[i]);
	}
	pretty_close(w, ']');
	pretty_key(w, bytes_of("tokens"));
	pretty_open(w, '[');
	for (size_t i = 0; i < item->n_ids; i++) {
		struct bytes text = item->n_ids == 1 ? item->name : text_of(spec, item->ids[i]);

		if (!text.data)
			return err_set(ERR_UNSUPPORTED,
				       "tokenizer.json: a template names id %" PRIu32
				       ", which has no piece",
				       item->ids[i]);
		pretty_next(w);
		json_put_string(w->out, text);
	}
	pretty_close(w, ']');
	pretty_close(w, '}');
	return 0;
}

static size_t gather(const struct template_item **out, const struct template_item *items, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (!items[i].is_sequence)
			out[found++] = &items[i];
	return found;
}

/* Each special token once, by name, as a sorted map gives them. */
static int put_specials(struct json_pretty *w, const struct tokenizer_spec *spec,
			const struct post_spec *s)
{
	const struct template_item **all = mem_new(s->n_single + s->n_pair + 1, sizeof(*all));
	size_t n;
	int result = 0;

	if (!all)
		return -1;
	n = gather(all, s->single, s->n_single);
	n += gather(all + n, s->pair, s->n_pair);
	qsort(all, n, sizeof(*all), compare_names);
	pretty_key(w, bytes_of("special_tokens"));
	pretty_open(w, '{');
	for (size_t i = 0; i < n && result == 0; i++)
		if (i == 0 || !bytes_equal(all[i]->name, all[i - 1]->name))
			result = put_special(w, spec, all[i]);
	pretty_close(w, '}');
	free(all);
	return result;
}

static void put_pair(struct json_pretty *w, const char *key, struct bytes text, uint32_t id)
{
	pretty_key(w, bytes_of(key));
	pretty_open(w, '[');
	pretty_next(w);
	json_put_string(w->out, text);
	pretty_next(w);
	json_put_u64(w->out, id);
	pretty_close(w, ']');
}

static int put_post(struct json_pretty *w, const struct tokenizer_spec *spec,
		    const struct post_spec *s)
{
	static const char *const types[] = { "TemplateProcessing", "ByteLevel", "BertProcessing",
					     "RobertaProcessing" };
	int result = 0;

	pretty_type(w, types[s->kind]);
	switch (s->kind) {
	case POST_TEMPLATE:
		put_items(w, "single", s->single, s->n_single);
		put_items(w, "pair", s->pair, s->n_pair);
		result = put_specials(w, spec, s);
		break;
	case POST_BYTE_LEVEL:
		pretty_bool(w, "add_prefix_space", s->add_prefix_space);
		pretty_bool(w, "trim_offsets", s->trim_offsets);
		pretty_bool(w, "use_regex", s->use_regex);
		break;
	case POST_BERT:
	case POST_ROBERTA:
		put_pair(w, "sep", s->sep.text, s->sep.id);
		put_pair(w, "cls", s->cls.text, s->cls.id);
		if (s->kind == POST_BERT)
			break;
		pretty_bool(w, "trim_offsets", s->trim_offsets);
		pretty_bool(w, "add_prefix_space", s->add_prefix_space);
		break;
	}
	pretty_close(w, '}');
	return result;
}

int tokenizer_put_posts(struct json_pretty *w, const struct tokenizer_spec *spec)
{
	pretty_key(w, bytes_of("post_processor"));
	if (spec->n_posts == 0)
		buffer_put_text(w->out, "null");
	if (spec->n_posts == 1)
		return put_post(w, spec, &spec->posts[0]);
	if (spec->n_posts < 2)
		return 0;
	pretty_type(w, "Sequence");
	pretty_key(w, bytes_of("processors"));
	pretty_open(w, '[');
	for (size_t i = 0; i < spec->n_posts; i++) {
		pretty_next(w);
		if (put_post(w, spec, &spec->posts[i]) < 0)
			return -1;
	}
	pretty_close(w, ']');
	pretty_close(w, '}');
	return 0;
}

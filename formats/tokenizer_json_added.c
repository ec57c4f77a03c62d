/*
 * formats/tokenizer_json_added.c - the added tokens of a tokenizer.json
 *
 * `tokenizers` does not look at their ids: one whose text is a piece has that piece's, the others count on
 * from the end of the vocabulary. A file that says otherwise is refused, since its ids would not be those
 * that the reference gives.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_json_parts.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

struct added_list {
	struct added_spec *items;
	size_t n, capacity;
};

enum field {
	FIELD_ID,
	FIELD_CONTENT,
	FIELD_SINGLE_WORD,
	FIELD_LSTRIP,
	FIELD_RSTRIP,
	FIELD_NORMALIZED,
	FIELD_SPECIAL,
	FIELD_COUNT
};

static const char *const field_names[FIELD_COUNT] = { "id",	"content", "single_word",
						      "lstrip", "rstrip",  "normalized",
						      "special" };

static int read_id(struct json *j, uint32_t *out)
{
	uint64_t id;

	if (json_u64(j, &id) < 0)
		return -1;
	if (id > TOKENIZER_ID_MAX)
		return json_fail(j, "an id past 2147483647");
	*out = (uint32_t)id;
	return 0;
}

static int read_content(struct json *j, struct arena *arena, struct bytes *out)
{
	if (json_string(j, out) < 0)
		return -1;
	*out = tokenizer_copy(arena, *out);
	return out->data ? 0 : -1;
}

static int read_field(struct tokenizer_json *p, struct json *j, unsigned field,
		      struct added_spec *a)
{
	switch (field) {
	case FIELD_ID: return read_id(j, &a->id);
	case FIELD_CONTENT: return read_content(j, p->arena, &a->text);
	case FIELD_SINGLE_WORD: return json_bool(j, &a->single_word);
	case FIELD_LSTRIP: return json_bool(j, &a->lstrip);
	case FIELD_RSTRIP: return json_bool(j, &a->rstrip);
	case FIELD_NORMALIZED: return json_bool(j, &a->normalized);
	default: return json_bool(j, &a->special);
	}
}

static unsigned field_of(struct bytes key)
{
	unsigned i = 0;

	while (i < FIELD_COUNT && !bytes_are(key, field_names[i]))
		i++;
	return i;
}

static int read_token(struct tokenizer_json *p, struct json *j, size_t at, struct added_spec *a)
{
	struct bytes key;
	unsigned seen = 0;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		unsigned field = field_of(key);

		if (field == FIELD_COUNT)
			return err_set(ERR_UNSUPPORTED,
				       "%s: added_tokens[%zu]." BYTES_FMT ": unknown field",
				       p->file, at, BYTES_ARG(key));
		if (read_field(p, j, field, a) < 0)
			return -1;
		seen |= 1U << field;
	}
	for (unsigned i = 0; got == 0 && i < FIELD_COUNT; i++)
		if (!(seen & 1U << i))
			return err_set(ERR_MISSING, "%s: added_tokens[%zu].%s: is missing", p->file,
				       at, field_names[i]);
	return got;
}

static int read_list(struct tokenizer_json *p, struct json *j, struct added_list *list)
{
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0) {
		if (mem_grow(&list->items, &list->capacity, list->n + 1, sizeof(*list->items)) < 0)
			return -1;
		list->items[list->n] = (struct added_spec){ 0 };
		if (read_token(p, j, list->n, &list->items[list->n]) < 0)
			return -1;
		list->n++;
	}
	return got < 0 ? -1 : json_end(j);
}

/*
 * The id that tokenizers gives, against the one in the file. END is one past the largest id of the added tokens
 * so far, 0 at first.
 */
static int check_id(struct tokenizer_json *p, const struct names *ids, size_t at,
		    const struct added_spec *a, uint32_t *end)
{
	uint32_t size = (uint32_t)p->out->model.n_pieces;
	uint32_t id;

	if (!a->text.size)
		return err_set(ERR_FORMAT, "%s: added_tokens[%zu].content: is empty", p->file, at);
	if (!names_find(ids, a->text, &id))
		id = *end > size ? *end : size;
	if (id != a->id)
		return err_set(ERR_MISMATCH,
			       "%s: added_tokens[%zu].id: is %" PRIu32
			       ", but tokenizers gives \"" BYTES_FMT "\" the id %" PRIu32,
			       p->file, at, a->id, BYTES_ARG(a->text), id);
	if (id >= *end)
		*end = id + 1;
	return 0;
}

static int check_ids(struct tokenizer_json *p, const struct added_list *list)
{
	const struct model_spec *m = &p->out->model;
	struct names *ids = NULL, *seen = NULL;
	uint32_t end = 0;
	int result = -1;

	if (names_new(&ids) < 0 || names_new(&seen) < 0)
		goto out;
	for (size_t i = 0; i < m->n_pieces; i++)
		if (names_add(ids, m->pieces[i].text, m->pieces[i].id, NULL) < 0)
			goto out;
	for (size_t i = 0; i < list->n; i++) {
		int got = names_add(seen, list->items[i].text, 0, NULL);

		if (got == 0)
			err_set(ERR_FORMAT,
				"%s: added_tokens[%zu].content: \"" BYTES_FMT "\" is there twice",
				p->file, i, BYTES_ARG(list->items[i].text));
		if (got <= 0 || check_id(p, ids, i, &list->items[i], &end) < 0)
			goto out;
	}
	result = 0;
out:
	names_free(ids);
	names_free(seen);
	return result;
}

static int compare_ids(const void *a, const void *b)
{
	const struct added_spec *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int keep_list(struct tokenizer_json *p, struct added_list *list)
{
	struct added_spec *out = arena_alloc(p->arena, list->n ? list->n : 1, sizeof(*out));

	if (!out)
		return -1;
	if (list->n) {
		qsort(list->items, list->n, sizeof(*list->items), compare_ids);
		memcpy(out, list->items, list->n * sizeof(*out));
	}
	p->out->added = out;
	p->out->n_added = list->n;
	return 0;
}

int tokenizer_json_added(struct tokenizer_json *p)
{
	struct added_list list = { 0 };
	struct json *j = NULL;
	char *name = NULL;
	int result = -1;

	if (!p->added.size)
		return 0;
	name = mem_format("%s: added_tokens", p->file);
	if (!name || json_new(&j) < 0)
		goto out;
	json_init(j, p->added.data, p->added.size, name, NULL);
	if (read_list(p, j, &list) == 0 && check_ids(p, &list) == 0)
		result = keep_list(p, &list);
out:
	free(list.items);
	free(name);
	json_free(j);
	return result;
}

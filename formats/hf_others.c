/*
 * formats/hf_others.c - the keys of config.json that are not read
 *
 * They are kept with their values as they stood there, so that a folder that is written again
 * loses nothing. The pull reader finds them, since a tree has lost how things were written.
 */
#include "formats/hf_parts.h"
#include "formats/json.h"
#include "lib/base/memory.h"

static int add_other(struct hf_config *c, size_t *capacity, struct hf_other **list,
		     struct arena *arena, struct hf_other o)
{
	if (mem_grow(list, capacity, c->n_others + 1, sizeof o) < 0)
		return -1;
	o.key.data = arena_copy(arena, o.key);
	o.value.data = arena_copy(arena, o.value);
	if (!o.key.data || !o.value.data)
		return -1;
	(*list)[c->n_others++] = o;
	return 0;
}

/* Walks the keys of the object that J is about to enter, and keeps those that are not read. */
static int collect_others(struct hf_config *c, struct json *j, struct arena *arena)
{
	struct hf_other o, *list = NULL, *kept;
	size_t capacity = 0;
	int got = json_object(j);

	while (got >= 0 && (got = json_key(j, &o.key)) > 0) {
		got = json_skip(j, &o.value);
		if (got == 0 && !hf_key_known(c->architecture, o.key))
			got = add_other(c, &capacity, &list, arena, o);
	}
	kept = got == 0 ? arena_alloc(arena, c->n_others, sizeof *kept) : NULL;
	if (kept && c->n_others)
		memcpy(kept, list, c->n_others * sizeof *kept);
	free(list);
	c->others = kept;
	return kept ? 0 : -1;
}

/* Of a model with vision those beside text_config are left out: they are of the other parts. */
int hf_read_others(struct hf_config *c, struct arena *arena, struct bytes text, const char *name)
{
	struct json *j;
	struct bytes key;
	int got;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, name, NULL);
	got = c->nested ? json_object(j) : collect_others(c, j, arena);
	while (c->nested && got >= 0 && (got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "text_config")) {
			got = collect_others(c, j, arena);
			break;
		}
		got = json_skip(j, NULL);
	}
	json_free(j);
	return got < 0 ? -1 : 0;
}

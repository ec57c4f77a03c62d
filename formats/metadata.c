/* formats/metadata.c - a model's metadata, key by key, whatever its format */

#include "formats/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"

struct metadata {
	struct metadata_entry *entries;
	size_t n, capacity;
	struct names *names;
	struct arena *arena;
	struct mapfile *config;
	struct json *json; /* its memory holds unescaped keys of config.json */
};

static struct metadata_entry *add(struct metadata *d, struct bytes key)
{
	struct metadata_entry *e;

	if (mem_grow(&d->entries, &d->capacity, d->n + 1, sizeof(*d->entries)) < 0)
		return NULL;
	e = &d->entries[d->n];
	*e = (struct metadata_entry){ .key = key };
	if (names_add(d->names, key, (uint32_t)d->n, NULL) < 0)
		return NULL;
	d->n++;
	return e;
}

static int add_gguf(struct metadata *d, const struct gguf *g)
{
	for (size_t i = 0; i < gguf_n_keys(g); i++) {
		const struct gguf_value *v = gguf_key(g, i);
		struct metadata_entry *e = add(d, v->key);

		if (!e)
			return -1;
		e->gguf = v;
		e->raw = v->raw;
		if (v->type == GGUF_ARRAY)
			snprintf(e->type, sizeof(e->type), "%s[%" PRIu64 "]",
				 gguf_type_name(v->item_type), v->n);
		else
			snprintf(e->type, sizeof(e->type), "%s", gguf_type_name(v->type));
	}
	return 0;
}

static int add_pairs(struct metadata *d, const struct safetensors *s, const char *prefix)
{
	for (size_t i = 0; i < safetensors_n_pairs(s); i++) {
		const struct safetensors_pair *pair = safetensors_pair(s, i);
		struct buffer key = { 0 };
		struct metadata_entry *e = NULL;
		char *copy = NULL;

		buffer_put_text(&key, prefix);
		buffer_put(&key, pair->key.data, pair->key.size);
		if (buffer_check(&key) == 0)
			copy = arena_copy(d->arena, buffer_bytes(&key));
		if (copy)
			e = add(d, (struct bytes){ copy, key.size });
		buffer_free(&key);
		if (!e)
			return -1;
		e->raw = pair->value;
		snprintf(e->type, sizeof(e->type), "string");
	}
	return 0;
}

static const char *json_type_name(int type)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "object", [JSON_ARRAY] = "array", [JSON_STRING] = "string",
		[JSON_NUMBER] = "number", [JSON_TRUE] = "bool",	  [JSON_FALSE] = "bool",
		[JSON_NULL] = "null",
	};

	return names[type];
}

static int add_config(struct metadata *d, const char *path)
{
	struct bytes text, key;
	int got;

	if (mapfile_open(&d->config, path) < 0 || json_new(&d->json) < 0)
		return -1;
	text = mapfile_bytes(d->config);
	json_init(d->json, text.data, text.size, path, NULL);
	if (json_object(d->json) < 0)
		return -1;
	while ((got = json_key(d->json, &key)) > 0) {
		int type = json_peek(d->json);
		struct metadata_entry *e = add(d, key);

		if (!e || json_skip(d->json, &e->raw) < 0)
			return -1;
		e->is_json = true;
		snprintf(e->type, sizeof(e->type), "%s", json_type_name(type));
	}
	return got < 0 ? -1 : json_end(d->json);
}

static int add_folder(struct metadata *d, const struct model *m)
{
	char *path = mem_format("%s/config.json", model_path(m));
	int result = path ? 0 : -1;

	if (path && access(path, F_OK) == 0)
		result = add_config(d, path);
	free(path);
	return result < 0 ? -1 : add_pairs(d, model_safetensors(m), "__metadata__.");
}

static int fill(struct metadata *d, const struct model *m)
{
	switch (model_kind(m)) {
	case MODEL_GGUF: return add_gguf(d, model_gguf(m));
	case MODEL_SAFETENSORS: return add_pairs(d, model_safetensors(m), "");
	default: return add_folder(d, m);
	}
}

int metadata_open(struct metadata **out, const struct model *m)
{
	struct metadata *d = mem_new(1, sizeof(*d));

	*out = NULL;
	if (!d)
		return -1;
	if (names_new(&d->names) < 0 || arena_new(&d->arena) < 0 || fill(d, m) < 0) {
		metadata_close(d);
		return -1;
	}
	*out = d;
	return 0;
}

void metadata_close(struct metadata *d)
{
	if (!d)
		return;
	free(d->entries);
	names_free(d->names);
	arena_free(d->arena);
	json_free(d->json);
	mapfile_close(d->config);
	free(d);
}

size_t metadata_n(const struct metadata *d)
{
	return d->n;
}

const struct metadata_entry *metadata_entry(const struct metadata *d, size_t i)
{
	return &d->entries[i];
}

const struct metadata_entry *metadata_find(const struct metadata *d, struct bytes key)
{
	uint32_t i;

	return names_find(d->names, key, &i) ? &d->entries[i] : NULL;
}

/*
 * formats/json_keys.c - duplicate keys, found in linear time
 *
 * The first few keys of an object are compared one by one. With more, all go into a hash table that
 * belongs to the object's depth and is reused by the next one there. A table that has grown large
 * is freed with its object: clearing it for each small object that follows would cost
 * more than the input is long.
 */
#include "formats/json_internal.h"

#define TABLE_KEEP 256 /* keys; larger tables are not reused */

static int fail_duplicate(struct json *j, struct bytes key, const unsigned char *at)
{
	return json_fail_at(j, at, ERR_FORMAT, "duplicate key \"" BYTES_FMT "\"", BYTES_ARG(key));
}

/* Moves the few keys of F into the table of its depth. */
static int fill_table(struct json *j, const struct json_frame *f, struct names **table)
{
	if (*table)
		names_clear(*table);
	else if (names_new(table))
		return json_keep_error(j);
	for (size_t i = 0; i < JSON_FEW_KEYS; i++)
		if (names_add(*table, f->few[i], 0, NULL) < 0)
			return json_keep_error(j);
	return 0;
}

int json_note_key(struct json *j, struct bytes key, const unsigned char *at)
{
	struct json_frame *f = &j->frames[j->depth - 1];
	struct names **table = &j->tables[j->depth - 1];
	int added;

	if (f->n_keys < JSON_FEW_KEYS) {
		for (size_t i = 0; i < f->n_keys; i++)
			if (bytes_equal(f->few[i], key))
				return fail_duplicate(j, key, at);
		f->few[f->n_keys++] = key;
		return 0;
	}
	if (f->n_keys == JSON_FEW_KEYS && fill_table(j, f, table))
		return -1;
	added = names_add(*table, key, 0, NULL);
	if (added < 0)
		return json_keep_error(j);
	if (!added)
		return fail_duplicate(j, key, at);
	f->n_keys++;
	return 0;
}

void json_forget_keys(struct json *j, uint32_t depth)
{
	struct names **table = &j->tables[depth - 1];

	if (j->frames[depth - 1].n_keys > TABLE_KEEP) {
		names_free(*table);
		*table = NULL;
	}
}

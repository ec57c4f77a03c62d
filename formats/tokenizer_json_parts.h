/*
 * formats/tokenizer_json_parts.h - what the parts of the tokenizer.json reader share
 *
 * The vocabulary, the merges and the added tokens go through the pull reader; everything else is small and
 * goes into one tree, so that errors name the path.
 */
#ifndef FORMATS_TOKENIZER_JSON_PARTS_H
#define FORMATS_TOKENIZER_JSON_PARTS_H

#include "formats/json.h"
#include "formats/json_tree.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_pieces.h"

struct tokenizer_json {
	const char *file;
	struct arena *arena;
	struct tokenizer_spec *out;
	struct json_tree *tree;
	struct bytes vocab, merges, added; /* raw; empty: not there */
};

/* A component's type, the fields that it may have beside `type`, and what reads them into SPEC. */
struct json_part {
	const char *type;
	int kind;
	const char *const *fields;					    /* NULL-terminated */
	int (*read)(struct tokenizer_json *p, const cJSON *at, void *spec); /* or NULL: none */
};

/*
 * The row of TABLE (N rows) for the component AT: ERR_UNSUPPORTED for a type or a field that is not
 * there. NULL with the error set.
 */
const struct json_part *tokenizer_json_part(struct tokenizer_json *p, const cJSON *at,
					    const struct json_part *table, size_t n);

/* Reads the component KEY of the file, whose Sequence lists its parts under LIST, with the rows of TABLE. */
struct json_family {
	const char *key, *list;
	const struct json_part *table;
	size_t n_table, item_size;
	void (*set_kind)(void *item, int kind); /* of the row; its `read` follows */
};
/* The items, *N of them, in the arena: none where the file has no such key. NULL with the error set. */
const void *tokenizer_json_family(struct tokenizer_json *p, const struct json_family *f, size_t *n);

/* Required fields of OBJECT. Text is copied into the arena. 0, or -1 with the error set. */
int tokenizer_json_bool(struct tokenizer_json *p, const cJSON *object, const char *key, bool *out);
int tokenizer_json_text(struct tokenizer_json *p, const cJSON *object, const char *key,
			struct bytes *out);
int tokenizer_json_char(struct tokenizer_json *p, const cJSON *object, const char *key,
			uint32_t *out);
int tokenizer_json_u32(struct tokenizer_json *p, const cJSON *object, const char *key,
		       uint32_t *out);
/* One of WORDS (NULL-terminated): its place. */
int tokenizer_json_word(struct tokenizer_json *p, const cJSON *object, const char *key,
			const char *const *words, unsigned *out);
/* {"String": …} or {"Regex": …} under `pattern`. */
int tokenizer_json_pattern(struct tokenizer_json *p, const cJSON *object, struct pattern_spec *out);
/* What a Metaspace has as pre-tokenizer and as decoder. */
int tokenizer_json_metaspace(struct tokenizer_json *p, const cJSON *object, uint32_t *replacement,
			     enum prepend_scheme *scheme);
/* ERR_UNSUPPORTED when OBJECT has a field that is not in FIELDS (NULL-terminated). */
int tokenizer_json_fields(struct tokenizer_json *p, const cJSON *object, const char *const *fields);

int tokenizer_json_added(struct tokenizer_json *p);
int tokenizer_json_model(struct tokenizer_json *p);
int tokenizer_json_normalizers(struct tokenizer_json *p);
int tokenizer_json_pretokenizers(struct tokenizer_json *p);
int tokenizer_json_posts(struct tokenizer_json *p);
int tokenizer_json_decoders(struct tokenizer_json *p);

/* The words of the file, in the order of the enums. */
extern const char *const tokenizer_json_behaviors[]; /* enum split_behavior */
extern const char *const tokenizer_json_schemes[];   /* enum prepend_scheme */
/* Fields of ByteLevel and Metaspace; some say nothing in a decoder, and `tokenizers` writes them all the same. */
extern const char *const tokenizer_json_byte_level[], *const tokenizer_json_metaspace_fields[];

#endif

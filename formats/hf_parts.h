/*
 * formats/hf_parts.h - what the files of the config.json reader share
 *
 * Private to formats/hf_*.c.
 */
#ifndef FORMATS_HF_PARTS_H
#define FORMATS_HF_PARTS_H

#include "formats/hf_config.h"
#include "formats/json_tree.h"

struct hf_reader {
	const struct json_tree *tree;
	const cJSON *object; /* where the text model's keys are */
	const cJSON *outer;  /* around a text_config: asked for what that does not have; or NULL */
	struct hf_config *c;
	struct arena *arena;
};

/* The value of KEY, null included, or NULL. */
const cJSON *hf_find(const struct hf_reader *r, const char *key);
/* The same, but NULL for null too. */
const cJSON *hf_find_given(const struct hf_reader *r, const char *key);

/* -1 naming both when V is unlike OTHER, which stands at PATH. */
int hf_agree(const struct hf_reader *r, const cJSON *v, const cJSON *other, const char *path);

/* --- words --- */

enum hf_architecture hf_architecture_of_type(const char *model_type);
enum hf_architecture hf_architecture_of_class(const char *class_name);
/* `LlamaForCausalLM`: what a model of this architecture is called when nothing says more. */
const char *hf_class_name(enum hf_architecture a);
const char *hf_model_type(enum hf_architecture a);
int hf_activation_of(const char *word); /* or -1 */
int hf_rope_type_of(const char *word);	/* or -1 */
/* `bfloat16`; NULL and DTYPE_UNKNOWN where there is none. */
const char *hf_dtype_word(enum dtype t);
enum dtype hf_dtype_of(const char *word);

/* --- keys --- */

/* Whether KEY is read for this architecture. */
bool hf_key_known(enum hf_architecture a, struct bytes key);
/* The key of the member of struct hf_config at OFFSET, for messages. */
const char *hf_key_of(enum hf_architecture a, size_t offset);
#define HF_KEY(c, member) hf_key_of((c)->architecture, offsetof(struct hf_config, member))

/* --- parts --- */

/* The keys that are one value each. */
int hf_read_fields(const struct hf_reader *r);
/* The keys of TEXT, which has been read, that nothing here knows. */
int hf_read_others(struct hf_config *c, struct arena *arena, struct bytes text, const char *name);

/* Everything but what hf_derive makes; HF_UNKNOWN is refused. */
int hf_scalar_defaults(struct hf_config *c, enum hf_architecture a, struct arena *arena);
/* The sizes that follow from others where nothing, or null, was given: ffn, kv heads, head_dim. */
int hf_derive_sizes(struct hf_config *c, const char *name);

/*
 * Per layer: attention, rope, and the window. With R's object NULL it is as if no key were there.
 * Sizes must have been checked.
 */
int hf_read_layers(const struct hf_reader *r);
int hf_read_ropes(const struct hf_reader *r);
double hf_default_theta(enum hf_architecture a, enum hf_attention kind);

/* Numbers of a rope by their keys; for the reader and the writer. */
struct hf_rope_number {
	const char *key;
	size_t offset;
	bool whole; /* written as an integer when it is one */
};
extern const struct hf_rope_number hf_rope_numbers[];
extern const size_t hf_n_rope_numbers;
struct printer;
void hf_put_layers(struct printer *p, const struct hf_config *c);
void hf_put_rope(struct printer *p, const struct hf_config *c);

bool hf_rope_equal(const struct hf_rope *a, const struct hf_rope *b);

#endif

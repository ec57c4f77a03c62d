/*
 * formats/metadata.h - a model's metadata, key by key, whatever its format
 *
 * Of a GGUF its keys; of a safetensors file the pairs of `__metadata__`; of a Hugging Face folder the
 * keys of config.json (when it is there), then the pairs as `__metadata__.KEY`.
 */
#ifndef FORMATS_METADATA_H
#define FORMATS_METADATA_H

#include "formats/model.h"
#include "lib/base/buffer.h"

#define METADATA_TYPE 48

struct metadata_entry {
	struct bytes key;
	char type[METADATA_TYPE];      /* `u32`, `string[262144]`; JSON: `number`, `object`, … */
	struct bytes raw;	       /* equal types and raw bytes are equal values */
	const struct gguf_value *gguf; /* or NULL */
	bool is_json;		       /* raw is JSON text; otherwise, without gguf, a string */
};

struct metadata;

/* M must outlive it; entries live as long as the struct metadata. */
int metadata_open(struct metadata **out, const struct model *m);
void metadata_close(struct metadata *d); /* NULL is allowed */

size_t metadata_n(const struct metadata *d);
const struct metadata_entry *metadata_entry(const struct metadata *d, size_t i);
const struct metadata_entry *metadata_find(const struct metadata *d,
					   struct bytes key); /* or NULL */

/* On one line, strings quoted; of an array the first MAX_ITEMS (0: all), then how many more. */
void metadata_put_text(struct buffer *b, const struct metadata_entry *e, uint64_t max_items);
/* As JSON, in full. */
void metadata_put_json(struct buffer *b, const struct metadata_entry *e);

#endif

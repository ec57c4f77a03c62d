/*
 * formats/tokenizer_json_put.h - indented JSON, as serde_json writes it pretty
 *
 * Two spaces a level, `"key": value`, an empty object or list as {} or [].
 */
#ifndef FORMATS_TOKENIZER_JSON_PUT_H
#define FORMATS_TOKENIZER_JSON_PUT_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

struct json_pretty {
	struct buffer *out;
	unsigned depth;
	bool empty; /* nothing stands yet in the innermost container */
};

void pretty_open(struct json_pretty *w, char bracket);
void pretty_close(struct json_pretty *w, char bracket);
/* Before each value of a list, and each key of an object. */
void pretty_next(struct json_pretty *w);
void pretty_key(struct json_pretty *w, struct bytes key);

/* A key and its value. Text without data is null. */
void pretty_text(struct json_pretty *w, const char *key, struct bytes value);
void pretty_bool(struct json_pretty *w, const char *key, bool value);
void pretty_u32(struct json_pretty *w, const char *key, uint32_t value);
void pretty_char(struct json_pretty *w, const char *key, uint32_t value);
void pretty_null(struct json_pretty *w, const char *key);
void pretty_type(struct json_pretty *w, const char *type); /* opens `{ "type": …` */
/* A real as Rust's ryu spells it: 0.0, -12.5, 1e-7, 3.25e+17. */
void pretty_real(struct json_pretty *w, double v);
void pretty_real32(struct json_pretty *w, float v);

/* The parts of the file. */
void tokenizer_put_normalizers(struct json_pretty *w, const struct tokenizer_spec *spec);
void tokenizer_put_pretokenizers(struct json_pretty *w, const struct tokenizer_spec *spec);
void tokenizer_put_decoders(struct json_pretty *w, const struct tokenizer_spec *spec);
int tokenizer_put_posts(struct json_pretty *w, const struct tokenizer_spec *spec);
int tokenizer_put_model(struct json_pretty *w, const struct tokenizer_spec *spec);

void tokenizer_put_pattern(struct json_pretty *w, const struct pattern_spec *pattern);

/* Writes N parts under KEY: null, the one, or a Sequence whose list is LIST. */
void tokenizer_put_family(struct json_pretty *w, const char *key, const char *list, size_t n,
			  const void *items, size_t item_size,
			  void (*put)(struct json_pretty *w, const void *item));

#endif

/*
 * formats/gguf_config_parts.h - what the files of gguf_config share
 */
#ifndef FORMATS_GGUF_CONFIG_PARTS_H
#define FORMATS_GGUF_CONFIG_PARTS_H

#include "formats/gguf_config.h"
#include "lib/base/err.h"

struct config_reader {
	struct gguf *gguf;
	const char *file; /* for messages */
	const char *arch; /* the prefix of the keys */
	struct hf_config *c;
	struct arena *arena;
};

#define CONFIG_KEY_SIZE 128

/* `llama.block_count` of `block_count`. Returns OUT. */
char *config_key(const struct config_reader *r, const char *suffix, char out[CONFIG_KEY_SIZE]);
/* ERR_CODE with `FILE: key ARCH.SUFFIX: ` before the text; returns -1. */
int config_fail(const struct config_reader *r, enum err_code code, const char *suffix,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * The key ARCH.SUFFIX, from 1 to HIGH: 1 and *OUT, 0 when it is not there, -1. An array with one
 * value for each layer serves too, when all of them are equal.
 */
int config_u64(const struct config_reader *r, const char *suffix, uint64_t high, uint64_t *out);
/* Positive and finite. An f32 gives the shortest decimal that reads back as it, as config.json had it. */
int config_real(const struct config_reader *r, const char *suffix, double *out);
/* As the two above, but absence is an error. 0 or -1. */
int config_need_u64(const struct config_reader *r, const char *suffix, uint64_t high,
		    uint64_t *out);
int config_need_real(const struct config_reader *r, const char *suffix, double *out);

/* The tensor `blk.LAYER.NAME`, or NAME for a negative LAYER; NULL when it is not there. */
const struct tensor_info *config_tensor(const struct config_reader *r, int64_t layer,
					const char *name);

/* gguf_config_rope.c. Sizes are set; rope, windows, and rope per layer follow. */
int config_read_attention(const struct config_reader *r);
int config_read_rope(const struct config_reader *r);

#endif

/*
 * formats/gguf_config_parts.h - what the files of gguf_config share
 */
#ifndef FORMATS_GGUF_CONFIG_PARTS_H
#define FORMATS_GGUF_CONFIG_PARTS_H

#include "formats/gguf_config.h"
#include "lib/base/err.h"
#include "lib/base/names.h"

struct config_reader {
	struct gguf *gguf;
	const char *file; /* for messages */
	const char *arch; /* the prefix of the keys */
	struct hf_config *c;
	struct arena *arena;
	/* Tensors that are to be written beside the keys, by their names; NULL: those of the file. */
	const struct tensor_info *const *tensors;
	size_t n_tensors;
	struct names *names;
	bool rest_follows; /* what these keys cannot say comes after them */
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

size_t config_n_tensors(const struct config_reader *r);
const struct tensor_info *config_tensor_at(const struct config_reader *r, size_t i);

/* gguf_config_rest.c. Puts what `nnutils.config` says in the place of the rest. */
int config_read_rest(const struct config_reader *r);

/* What Llama 3's rope divides the frequency of pair I of PAIRS by. */
double gguf_llama3_factor(const struct hf_rope *rope, uint32_t i, uint32_t pairs);
/* Holds the rope against rope_freqs.weight, when it is Llama 3's. */
int config_check_llama3(const struct config_reader *r);

/* gguf_config_rope.c. Sizes are set; rope, windows, and rope per layer follow. */
int config_read_attention(const struct config_reader *r);
int config_read_rope(const struct config_reader *r);

#endif

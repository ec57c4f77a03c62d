/*
 * lib/model/quantize.h - a model written again with smaller weights: which type each tensor gets, and the writing
 *
 * A mix is what llama.cpp's quantize calls a type: most matrices get one block type, some that matter more another, by the rules of
 * llama.cpp (src/llama-quant.cpp, llama_tensor_get_type), so that the same name means the same types. man/man1/quantize.1 lists them. Norms,
 * biases and all else that has one axis stay as they are.
 *
 * A K type needs rows of a multiple of 256 values, the others of 32. A tensor whose rows are not falls back, also as in llama.cpp:
 * q2_k and q3_k to q4_0, q4_k to q5_0, q5_k to q5_1, q6_k to q8_0, and what then is no multiple of 32 to f16.
 */
#ifndef LIB_MODEL_QUANTIZE_H
#define LIB_MODEL_QUANTIZE_H

#include "kernels/quantize.h"
#include "lib/base/progress.h"
#include "lib/base/team.h"
#include "lib/model/gguf_source.h"
#include "lib/model/importance.h"

/* X(enumerator, name, the type of most, llama.cpp's number for general.file_type) */
#define QUANTIZE_MIXES(X)      \
 X(F32, "f32", F32, 0)         \
 X(F16, "f16", F16, 1)         \
 X(BF16, "bf16", BF16, 32)     \
 X(Q4_0, "q4_0", Q4_0, 2)      \
 X(Q4_1, "q4_1", Q4_1, 3)      \
 X(Q5_0, "q5_0", Q5_0, 8)      \
 X(Q5_1, "q5_1", Q5_1, 9)      \
 X(Q8_0, "q8_0", Q8_0, 7)      \
 X(Q2_K, "q2_k", Q2_K, 10)     \
 X(Q2_K_S, "q2_k_s", Q2_K, 21) \
 X(Q3_K_S, "q3_k_s", Q3_K, 11) \
 X(Q3_K_M, "q3_k_m", Q3_K, 12) \
 X(Q3_K_L, "q3_k_l", Q3_K, 13) \
 X(Q4_K_S, "q4_k_s", Q4_K, 14) \
 X(Q4_K_M, "q4_k_m", Q4_K, 15) \
 X(Q5_K_S, "q5_k_s", Q5_K, 16) \
 X(Q5_K_M, "q5_k_m", Q5_K, 17) \
 X(Q6_K, "q6_k", Q6_K, 18)     \
 X(IQ4_NL, "iq4_nl", IQ4_NL, 25)

enum quantize_mix {
	QUANTIZE_MIX_NONE, /* what no rule names stays as it is */
#define QUANTIZE_ENUM(id, name, type, number) QUANTIZE_MIX_##id,
	QUANTIZE_MIXES(QUANTIZE_ENUM)
#undef QUANTIZE_ENUM
		QUANTIZE_MIX_COUNT
};

/* In either case; q3_k, q4_k and q5_k are their _m, as in llama.cpp. QUANTIZE_MIX_NONE: no such name. */
enum quantize_mix quantize_mix_by_name(const char *name);
const char *quantize_mix_name(enum quantize_mix m);
/* The type of most, and general.file_type. */
enum dtype quantize_mix_type(enum quantize_mix m);
uint32_t quantize_mix_number(enum quantize_mix m);
/* Whether T can be written: f32, f16, bf16 and what quantize_knows. */
bool quantize_writes(enum dtype t);

/* Tensors whose name, or their name without `.weight`, matches the shell pattern. */
struct quantize_rule {
	const char *pattern;
	enum dtype type;
};

struct quantize_options {
	enum quantize_mix mix;
	bool pure; /* every matrix that the mix quantizes gets its main type */
	const struct quantize_rule *rules; /* before the mix; the first that matches is used */
	size_t n_rules;
	enum dtype
		output; /* of the output matrix, or of the embedding where it is both; DTYPE_UNKNOWN: the mix's */
	enum dtype embedding;	  /* of the token embedding */
	const char *const *leave; /* patterns of what stays as it is, before all else */
	size_t n_leave;
	bool no_fallback;      /* rows that do not fit are an error */
	bool allow_requantize; /* blocks may be decoded and become blocks again */
	bool clamp; /* what is past the range of f16 becomes its largest; else it is an error */
	const struct importance *importance; /* or NULL */
	const char *importance_path;
	bool errors;	 /* measure what was lost */
	uint64_t memory; /* bytes at most for what is worked on; 0: chosen */
};

/* What became of a tensor. */
struct quantize_error {
	double rms, max, cosine; /* of the differences; between old and new */
};

struct quantize_tensor {
	const struct tensor_info *from;
	enum dtype wanted; /* what the rules say */
	enum dtype to;	   /* what its rows allow */
	uint64_t bytes;	   /* as it is written */
	bool weighted;	   /* importance is known */
	struct quantize_error error;
};

struct quantize_totals {
	uint64_t elements, bytes, bytes_before;
	uint64_t quantized; /* tensors that become blocks */
	uint64_t quantized_elements;
	uint64_t fallbacks, fallback_elements;
	double nominal_bytes; /* if none had fallen back */
	uint64_t
		unweighted; /* tensors that become blocks, without importance though there is a file */
	uint64_t clamped; /* values, known after writing */
};

struct quantize;

/* Decides all types. -1: a pattern that nothing matches, blocks that may not be requantized, rows that do not fit. S and O's parts outlive it. */
int quantize_new(struct quantize **out, const struct gguf_source *s,
		 const struct quantize_options *o);
void quantize_free(struct quantize *q); /* NULL is allowed */

size_t quantize_n(const struct quantize *q);
const struct quantize_tensor *quantize_tensor(const struct quantize *q, size_t i);
struct quantize_totals quantize_totals(const struct quantize *q);

/*
 * Writes TARGET, whole or not at all; the bytes do not depend on TEAM. -1: TARGET is one of the sources, a value that is NaN or infinite
 * where blocks cannot hold it, a scale past f16, memory, the disk. P may be NULL; it counts bytes of what is written.
 */
int quantize_write(struct quantize *q, const char *target, struct team *team, enum level level,
		   struct progress *p);

#endif

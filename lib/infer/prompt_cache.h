/*
 * lib/infer/prompt_cache.h - what a prompt left in the cache of keys and values, in a file
 *
 * man/man5/prompt-cache.5 describes the file. It holds whole pages, and belongs to a model, to how it is computed, and to its tokens: with
 * another one it is refused. What is taken from it has the bits that computing it anew would have.
 */
#ifndef LIB_INFER_PROMPT_CACHE_H
#define LIB_INFER_PROMPT_CACHE_H

#include "lib/base/hash.h"
#include "lib/infer/session.h"

/* All that decides the values, but the tokens. */
struct prompt_cache_of {
	const struct hf_config *config;
	struct hash128 model; /* lm_hash */
	const char *level; /* of the processor's instructions, or the device: prompt_cache_level */
	const char *compute; /* what is computed in, and how: `f32` */
	enum dtype cache;
	size_t context; /* some ropes turn by it */
};

/* B may be NULL: backend_cpu. */
const char *prompt_cache_level(const struct backend *b);

/*
 * Puts what the file at PATH and the N tokens of the prompt IDS have in common into S, which is empty, for session_read; *KEPT is how many tokens those are, and
 * *WHOLE whether the file has nothing to gain from the prompt (no more whole pages). A file that is not there is one of no tokens. -1 with the error set: it belongs to something
 * else (both are named), to a prompt that begins otherwise, or is damaged.
 */
int prompt_cache_load(const char *path, struct session *s, const struct prompt_cache_of *of,
		      const int32_t *ids, size_t n, size_t *kept, bool *whole);
/* Writes whole pages of the first N tokens of S. The file appears when it is complete. */
int prompt_cache_save(const char *path, struct session *s, const struct prompt_cache_of *of,
		      size_t n);

#endif

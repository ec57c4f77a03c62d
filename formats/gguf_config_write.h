/*
 * formats/gguf_config_write.h - struct hf_config as the metadata of a GGUF, which gguf_config reads back
 *
 * The keys are those that llama.cpp's converter writes for the architectures of gguf_config.h. What they do not say (a window of an
 * architecture that has none there, a range to draw weights from, keys that nothing here reads) is kept under `nnutils.config`: an
 * object of config.json's own keys, each of which stands in the place of what the others say. So whoever reads both has all of it.
 */
#ifndef FORMATS_GGUF_CONFIG_WRITE_H
#define FORMATS_GGUF_CONFIG_WRITE_H

#include "formats/gguf.h"
#include "formats/hf_config.h"
#include "lib/base/arena.h"

#define GGUF_CONFIG_REST "nnutils.config"

/* `llama` of mistral too; NULL: none. */
const char *gguf_architecture(const struct hf_config *c);

/* Declares the keys of gguf_architecture, without general.*. ERR_UNSUPPORTED for what has none. */
int gguf_config_put(struct gguf_writer *w, const struct hf_config *c);

/* Vectors of f32 that a rope has in a GGUF: N of them, at most 2. DATA live in ARENA. */
#define GGUF_ROPE_TENSORS 2
int gguf_config_rope_tensors(const struct hf_config *c, struct arena *arena,
			     struct tensor_info out[GGUF_ROPE_TENSORS], size_t *n);

/*
 * What a reader makes of the keys in G beside TENSORS, those that are to be written; what these keys have no words for is as in
 * the architecture's defaults.
 */
int gguf_config_said(struct gguf *g, const struct tensor_info *const *tensors, size_t n,
		     struct hf_config *out, struct arena *arena);
/* Declares what C has besides SAID, if anything. */
int gguf_config_put_rest(struct gguf_writer *w, const struct hf_config *c,
			 const struct hf_config *said);

#endif

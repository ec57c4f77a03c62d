/* lib/model/gguf_source_parts.h - what the files of gguf_source share */
#ifndef LIB_MODEL_GGUF_SOURCE_PARTS_H
#define LIB_MODEL_GGUF_SOURCE_PARTS_H

#include "lib/base/arena.h"
#include "lib/model/gguf_source.h"
#include "lib/model/rebind.h"
#include "lib/text/spec.h"

/* Small files of a folder as they are, which import-gguf writes again. */
#define GGUF_SOURCE_FILE     "nnutils.file."
#define GGUF_SOURCE_FILES    "tokenizer_config.json", "special_tokens_map.json"
#define GGUF_SOURCE_FILE_MAX ((size_t)1 << 20)
/* The dtype that vectors had. */
#define GGUF_SOURCE_VECTORS "nnutils.vectors"

/* One tensor of the GGUF that is to be. */
struct source_tensor {
	struct tensor_info info;
	const struct rebound *rebound; /* NULL: INFO's data are it */
};

struct gguf_source {
	struct model *model;
	const struct hf_config *config;
	struct gguf_source_options options; /* during open */
	struct arena *arena;
	struct rebind *rebind; /* of a folder */
	struct source_tensor *tensors;
	size_t n;
	struct buffer notes;
	/* The keys: the model's own, or a header in memory that was made of them. */
	struct gguf *keys, *made;
	struct buffer header;
};

/* Whether what has NAME may be let through. */
bool gguf_source_allows(const struct gguf_source *s, const char *name);
/*
 * What GGUF cannot say: a note where NAME is allowed; else -1 with the error, which says how to allow it.
 */
int gguf_source_loss(struct gguf_source *s, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Declares the keys of the tokenizer in FILE in W, for a model of N_TOKENS rows. */
int gguf_source_put_tokenizer(struct gguf_source *s, struct gguf_writer *w, const char *file,
			      uint64_t n_tokens);
/* What a model computes otherwise in llama.cpp: each is a loss by a name of its own. SAID: what its keys say of C. */
int gguf_source_losses(struct gguf_source *s, const struct hf_config *c,
		       const struct hf_config *said);
/* Makes S's keys of what W has. */
int gguf_source_take_keys(struct gguf_source *s, struct gguf_writer *w);
/* Fills S, whose model is a folder. */
int gguf_source_folder(struct gguf_source *s);

#endif

/*
 * formats/gguf_config.h - what a GGUF's metadata says of its model, as struct hf_config
 *
 * The architectures llama (LLaMA and Mistral alike), qwen2, qwen3, gemma3, smollm3, gpt2 and bert,
 * as llama.cpp's converter writes them and its loader reads them. man/man5/gguf.5 lists the keys.
 */
#ifndef FORMATS_GGUF_CONFIG_H
#define FORMATS_GGUF_CONFIG_H

#include "formats/gguf.h"
#include "formats/hf_config.h"
#include "lib/base/arena.h"

/*
 * Fills *OUT, which points into G and A. Every size is held against the tensors that are there: the
 * layers against blk.N.*, the vocabulary and the width against token_embd.weight, heads against
 * attn_q and attn_k. 0, or -1 with `FILE: key K: what`; an architecture that is not in the list is
 * ERR_UNSUPPORTED and named, and leaves its name in OUT->model_type.
 */
int gguf_config(struct gguf *g, struct hf_config *out, struct arena *a);

#endif

/*
 * tests/vocab_gguf.h - a GGUF that holds a tokenizer and no tensor, as llama.cpp's own vocabulary files do
 */
#ifndef TESTS_VOCAB_GGUF_H
#define TESTS_VOCAB_GGUF_H

#include "formats/tokenizer_gguf_write.h"

/* Writes SPEC to PATH, under the architecture llama. 0, or -1 with the error set. */
int vocab_gguf_write(const char *path, const struct tokenizer_spec *spec,
		     const struct tokenizer_gguf_options *options);

#endif

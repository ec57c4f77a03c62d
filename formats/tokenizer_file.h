/*
 * formats/tokenizer_file.h - a tokenizer from whatever file holds one
 *
 * A folder (tokenizer.json first, then tekken.json, tokenizer.model, vocab.json beside merges.txt, vocab.txt; roles from
 * tokenizer_config.json, special_tokens_map.json, generation_config.json, config.json in this order), tokenizer.json, a GGUF
 * (tokenizer.ggml.*: gpt2 with the `pre` names, llama, bert, t5; tokenizer.huggingface.json first where it is there),
 * a SentencePiece .model, a tiktoken rank file, tekken.json, CLIP's bpe_simple_vocab (gzip or plain), vocab.json beside merges.txt, vocab.txt.
 * The kind is told by the bytes; where they cannot tell, by the name.
 */
#ifndef FORMATS_TOKENIZER_FILE_H
#define FORMATS_TOKENIZER_FILE_H

#include "lib/text/scanner.h"
#include "lib/text/spec.h"

struct tokenizer_file_options {
	/* For files that do not say it (tiktoken's): SCANNER_NONE refuses them, naming --split. */
	enum scanner split;
};

/* OPTIONS may be NULL. What *OUT points to lives in ARENA. */
int tokenizer_file_read(struct tokenizer_spec *out, struct arena *arena, const char *path,
			const struct tokenizer_file_options *options);

/* The kinds one by one, from memory; NAME for messages. */
int tokenizer_sentencepiece_parse(struct tokenizer_spec *out, struct arena *arena,
				  struct bytes data, const char *name);
int tokenizer_tiktoken_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
			     const char *name, enum scanner split);
struct gguf;
int tokenizer_gguf_read(struct tokenizer_spec *out, struct arena *arena, const struct gguf *g);

#endif

/*
 * formats/tokenizer_lines.h - what readers of line-wise vocabularies share
 */
#ifndef FORMATS_TOKENIZER_LINES_H
#define FORMATS_TOKENIZER_LINES_H

#include "lib/text/scanner.h"
#include "lib/text/spec.h"

/*
 * Gives TAKE each line of DATA without its end (a \n, or \r\n), numbered from 1; an empty last line is
 * none. Stops at the first -1.
 */
int tokenizer_lines(struct bytes data, int (*take)(void *arg, struct bytes line, size_t number),
		    void *arg);

/* Byte-level steps around a pattern: Split and ByteLevel, and ByteLevel's decoder. */
int tokenizer_byte_level_steps(struct tokenizer_spec *out, struct arena *arena,
			       enum regex_dialect dialect, enum scanner split);

/* vocab.txt: a piece a line. Roles are those of BERT. */
struct wordpiece_options;
int tokenizer_vocab_txt(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
			const char *name, const struct wordpiece_options *options);
/* vocab.json and merges.txt, byte-level; SPLIT is not SCANNER_NONE. */
int tokenizer_vocab_json(struct tokenizer_spec *out, struct arena *arena, struct bytes vocab,
			 struct bytes merges, const char *name, enum scanner split);
/* CLIP's bpe_simple_vocab, plain text. */
int tokenizer_clip(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
		   const char *name);

/* A gzip file as a whole, at most LIMIT bytes; the caller frees. */
int tokenizer_gunzip(struct bytes data, const char *name, size_t limit, char **out, size_t *size);

#endif

/*
 * tests/bpe_file.h - a BPE model and its cases in lines of text, as scripts/gen-fixtures-bpe writes them
 *
 * Each line is a word and its values: `byte_level 1` (and byte_fallback, fuse_unk, ignore_merges, merge_by_rank), `prefix HEX`,
 * `suffix HEX`, `unk ID HEX` (ID - when it is not in the vocabulary), `piece ID HEX`, `merge LEFT RIGHT RESULT`, and
 * `case HEX ID:FROM:TO…` or `refused HEX`, HEX being bytes in hexadecimal, `-` for none.
 */
#ifndef TESTS_BPE_FILE_H
#define TESTS_BPE_FILE_H

#include "lib/text/model.h"

struct bpe_file_case {
	struct bytes text;
	struct model_token *tokens;
	size_t n_tokens;
	bool refused; /* it has no tokens, and encoding must fail */
};

struct bpe_file {
	struct model_spec spec;
	bool byte_level;
	struct bpe_file_case *cases;
	size_t n_cases;
	struct arena *arena;
};

/* 0, or -1 with the error set. */
int bpe_file_parse(struct bpe_file *f, struct bytes text);
/* How many of the cases come out otherwise, through M with S; the first such is left in *WRONG. */
size_t bpe_file_check(const struct bpe_file *f, const struct text_model *m, struct model_scratch *s,
		      const struct bpe_file_case **wrong);
void bpe_file_clear(struct bpe_file *f);

#endif

/*
 * lib/text/train_model.h - counted words into a model: which trainer, and with what
 *
 * Over lib/text/train_bpe.h and lib/text/train_unigram.h: special tokens get the first ids and are never learnt as pieces
 * (lib/text/train_words.h). The result depends on the words and the options only.
 */
#ifndef LIB_TEXT_TRAIN_MODEL_H
#define LIB_TEXT_TRAIN_MODEL_H

#include "lib/base/progress.h"
#include "lib/base/team.h"
#include "lib/text/train_spec.h"
#include "lib/text/word_counts.h"

struct train_model_options {
	enum train_kind kind;
	bool byte_level;	/* words are raw bytes */
	uint32_t vocab_size;	/* pieces in all, special tokens too */
	uint64_t min_frequency; /* bpe, sentencepiece, wordpiece: of a pair */
	uint32_t max_piece;	/* characters of a piece; 0: the trainer's own limit */
	/* The most frequent characters that make up this share of all are pieces, others are left out; 0: all. Not byte-level. */
	double character_coverage;
	uint32_t seed_size, iterations; /* unigram; 0: the trainer's own */
	double shrinking_factor;
	uint64_t memory;   /* for words and pairs; 0: no limit. More is ERR_LIMIT */
	struct team *team; /* or NULL */
	struct progress *
		progress; /* one unit a merge, or a round of estimation and of pruning (unigram); or NULL */
};

struct train_model_report {
	uint64_t words;	   /* distinct ones */
	uint64_t left_out; /* occurrences of characters that are no pieces */
};

/*
 * Adds pieces and merges, in ARENA, to T->spec.model. Fewer than vocab_size where the words have no more; a vocab_size that
 * does not hold what must be in it is ERR_ARGUMENT and says the smallest one that does.
 */
int train_model(struct train_spec *t, struct arena *arena, struct word_counts *counts,
		const struct train_model_options *o, struct train_model_report *report);

/* The tokens that M makes of all words. */
int train_model_tokens(const struct model_spec *m, bool byte_level, struct word_counts *counts,
		       uint64_t *out);

#endif

/*
 * lib/text/train_unigram.h - a Unigram vocabulary from counted words
 *
 * As SentencePiece and `tokenizers` 0.23.3 do it (Kudo 2018, section 3.2, with the sparse prior of their code): the
 * characters and the frequent substrings of the words are the seed; expectation and maximisation score them; pieces whose
 * loss the likelihood feels least are dropped; and so on until the size is reached. Substrings are counted once a
 * distinct word, as there. Every character of the words stays a piece.
 *
 * The result depends on the words and the options only: not on the order of the words, nor on the threads. (The
 * peer's depends on the order of a hash map.)
 */
#ifndef LIB_TEXT_TRAIN_UNIGRAM_H
#define LIB_TEXT_TRAIN_UNIGRAM_H

#include "lib/base/progress.h"
#include "lib/base/team.h"
#include "lib/text/spec.h"
#include "lib/text/train_word.h"

struct train_unigram_options {
	uint32_t vocab_size;  /* pieces in all, with the unknown one */
	struct bytes unknown; /* the text of piece 0, such as <unk> */
	uint32_t
		beside; /* further pieces, the caller's: where pruning ends depends on them, as there */
	uint32_t max_piece;	 /* characters; 0: 16, at most 64 */
	uint32_t seed_size;	 /* pieces to begin with at most; 0: 1,000,000 */
	double shrinking_factor; /* of the pieces, at each pruning: above 0 and below 1; 0: 0.75 */
	uint32_t iterations;	 /* of EM between prunings; 0: 2 */
	struct team *team;	 /* or NULL: the calling thread alone */
	struct progress *progress; /* one unit a round of EM, and a pruning; or NULL */
};

/*
 * *PIECES, in ARENA: ids from 0, the unknown one first, then by falling score. *N is vocab_size, or less where the words
 * do not have that many. A vocab_size that does not hold the characters is ERR_ARGUMENT, and says how many
 * there are. Words past 4,096 bytes are taken as several. 0, or -1 with the error set.
 */
int train_unigram(struct piece_spec **pieces, size_t *n, struct arena *arena,
		  const struct train_word *words, size_t n_words,
		  const struct train_unigram_options *options);

#endif

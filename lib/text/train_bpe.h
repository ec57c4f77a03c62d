/*
 * lib/text/train_bpe.h - a byte-pair vocabulary from counted words
 *
 * Sennrich, Haddow, Birch 2016, as `tokenizers` 0.23.3 does it: the most frequent pair of neighbours becomes a piece, until the
 * size is reached; of pairs equally frequent the one whose left id is lower, then whose right id is. The same merges as
 * there on the same words, wherever its result does not depend on the order of a hash map. That decides there, and is settled here:
 * the ids of characters with a prefix or a suffix (WordPiece's `##x`), and so their ties: by code point; which of
 * equally frequent characters an alphabet's limit leaves out: the higher code points; which of two entries of one pair is first
 * (train_bpe_parts.h): the one queued first. In words past 65,536 characters a merge goes to the places of
 * one entry, not to the whole word. Counts have 64 bits.
 *
 * Ids: `first` in its order, then the alphabet in the order of code points (bytes: of ByteLevel's alphabet), then its characters
 * with a prefix or a suffix, then the merges.
 * The result depends on the words and the options only: not on the order of the words, nor on the threads.
 *
 *	train_bpe_new(&t, &options);
 *	while (more)
 *		train_bpe_add(t, word, count);
 *	train_bpe_run(t, arena, &model);
 *	train_bpe_free(t);
 */
#ifndef LIB_TEXT_TRAIN_BPE_H
#define LIB_TEXT_TRAIN_BPE_H

#include "lib/base/progress.h"
#include "lib/base/team.h"
#include "lib/text/spec.h"

struct train_bpe_options {
	uint32_t vocab_size;	/* pieces in all */
	uint64_t min_frequency; /* of a pair; 0 and 1: any that occurs */
	/* Characters (bytes, of byte-level) of a piece at most; 0: no limit. The peer's max_token_length N is N - 1 here, and 2 where N is less than 3. */
	uint32_t max_piece;
	bool byte_level; /* words are raw bytes, the alphabet is all 256; pieces are spelled in ByteLevel's alphabet */
	const struct bytes
		*first; /* pieces before the alphabet: special tokens, <unk>, <0x00>... */
	size_t n_first;
	/*
	 * Not byte-level: the most frequent characters that make up this share of all occurrences are the alphabet
	 * (SentencePiece's character_coverage); 0: all of them. Others are left out of their words, as there, and counted.
	 */
	double character_coverage;
	uint32_t max_alphabet; /* at most this many characters; 0: no limit */
	struct bytes continuing_prefix, end_of_word_suffix;
	/* Go on from this model (kind MODEL_BPE, not by rank): its pieces keep their ids, its merges come first. Or NULL. `first` is then added after them. */
	const struct model_spec *old;
	/* With `old`: new pieces get ids from here on, past added tokens that are no pieces, say; less than the id after the old ones: that one. */
	uint32_t next_id;
	uint64_t
		memory; /* for the words and pairs; 0: no limit. More is ERR_LIMIT, and says how much is needed */
	struct team *team;	   /* or NULL: the calling thread alone */
	struct progress *progress; /* one unit a merge; or NULL */
};

struct train_bpe;

int train_bpe_new(struct train_bpe **out, const struct train_bpe_options *o);
void train_bpe_free(struct train_bpe *t); /* NULL is allowed */

/* Words are distinct or not; not empty; well-formed UTF-8 unless byte-level. */
int train_bpe_add(struct train_bpe *t, struct bytes word, uint64_t count);

/*
 * Fills *OUT in ARENA: pieces, merges, prefix and suffix; the rest is as the caller had it. Fewer pieces than vocab_size where
 * no pair is left; `first` and the alphabet alone being more is ERR_ARGUMENT and says the smallest size possible.
 */
int train_bpe_run(struct train_bpe *t, struct arena *arena, struct model_spec *out);

/* Occurrences of characters that were left out of words. */
uint64_t train_bpe_left_out(const struct train_bpe *t);

#endif

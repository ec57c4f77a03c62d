/*
 * lib/text/train_spec.h - what stands around a vocabulary that is trained
 *
 * A few choices become the components of a tokenizer: all but the pieces and the merges, which training adds
 * (lib/text/train_model.h). Special tokens have the first ids, so that everything else is known before.
 */
#ifndef LIB_TEXT_TRAIN_SPEC_H
#define LIB_TEXT_TRAIN_SPEC_H

#include "lib/text/chat.h"
#include "lib/text/spec.h"

enum train_kind {
	TRAIN_BPE,	     /* of bytes, as GPT-2 */
	TRAIN_SENTENCEPIECE, /* of characters, spaces marked, bytes where there is no character */
	TRAIN_UNIGRAM,	     /* as SentencePiece's, spaces marked */
	TRAIN_WORDPIECE,     /* BERT's */
};

enum train_digits {
	TRAIN_DIGITS_ANY,
	TRAIN_DIGITS_SINGLE, /* each is a piece */
	TRAIN_DIGITS_THREE,  /* at most three together, from the left */
};

struct train_spec_options {
	enum train_kind kind;
	/* A name of lib/text/scanner.h, `none`, or a regular expression in tokenizer.json's dialect; NULL: the kind's own. */
	const char *split;
	enum train_digits digits;
	/* Names of train_spec.c's table, or `none` alone; none at all: the kind's own. */
	const char *const *normalizers;
	size_t n_normalizers;
	enum tristate prefix_space; /* a space before the text; null: the kind's own */
	bool byte_fallback;	    /* unigram: bytes where there is no character */
	const char *unk, *bos, *eos,
		*pad; /* NULL: the kind's own. Of wordpiece bos is [CLS] and eos [SEP] */
	const char *const *specials; /* further special tokens, in their order */
	size_t n_specials;
	enum chat chat;
};

/* A role that tokenizer_config.json knows and struct tokenizer_spec does not: `cls`, `sep`, `mask`. */
struct train_role {
	const char *name;
	struct bytes text;
};
#define TRAIN_ROLES 3

struct train_spec {
	struct tokenizer_spec spec; /* its model has no pieces and no merges yet, and all else */
	/*
	 * The same with the steps that words are cut by for training. Where spaces are marked these are more: marks, digits,
	 * the split and ends of lines cut words, as in SentencePiece's training, so that no piece goes over a cut; a text becomes
	 * the same without them.
	 */
	struct tokenizer_spec cut;
	/* Texts of the first pieces, in the order of their ids: special tokens, then the bytes of byte fallback. */
	const struct bytes *first;
	size_t n_first, n_special;
	struct train_role roles[TRAIN_ROLES];
	size_t n_roles;
	const struct model_spec *old; /* of train_spec_extend: what training goes on from */
};

/*
 * Fills *OUT in ARENA; the strings of O must outlive it. ERR_ARGUMENT for an empty or double special token, an unknown name,
 * and choices that do not go together; a regular expression is looked at by who compiles it.
 */
int train_spec_begin(struct train_spec *out, struct arena *arena,
		     const struct train_spec_options *o);

/*
 * The same from a tokenizer that there is already, which training goes on from: its steps and ids stay, O's special tokens,
 * roles and chat template are added, and all else of O is not looked at. ERR_UNSUPPORTED unless it is BPE with merges;
 * ERR_ARGUMENT for a special token that is a piece already.
 */
int train_spec_extend(struct train_spec *out, struct arena *arena, const struct tokenizer_spec *old,
		      const struct train_spec_options *o);

/* `bpe`, `sentencepiece`, `unigram`, `wordpiece`, and NULL. */
extern const char *const train_kind_names[];

#endif

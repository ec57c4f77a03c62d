/*
 * lib/text/spec.h - a tokenizer as plain data
 *
 * What readers of tokenizer files fill, what tokenizer_new compiles and what writers write: the
 * components of Hugging Face `tokenizers` 0.23, which every other kind of file maps to. Names and
 * defaults are those of tokenizer.json. A Sequence is the flat list of its parts, in order.
 * Everything that a spec points to lives in the arena of its owner.
 */
#ifndef LIB_TEXT_SPEC_H
#define LIB_TEXT_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/hash.h"

#define TOKEN_NONE UINT32_MAX /* no such token */

/* Whose regular expressions: the same text means other things to each (shared facts: man/man7/nnutils-regex.7). */
enum regex_dialect {
	REGEX_ONIGURUMA, /* tokenizer.json: Oniguruma, Ruby syntax, Unicode 16 */
	REGEX_FANCY,	 /* tiktoken: fancy-regex over Rust's regex crate */
};

struct pattern_spec {
	bool is_regex; /* else the text itself is looked for, as it is */
	enum regex_dialect dialect;
	struct bytes text;
};

/* --- normalizers --- */

enum normalizer_kind {
	NORMALIZER_NFC,
	NORMALIZER_NFD,
	NORMALIZER_NFKC,
	NORMALIZER_NFKD,
	NORMALIZER_LOWERCASE,
	NORMALIZER_STRIP_ACCENTS,
	NORMALIZER_BERT,
	NORMALIZER_NMT,
	NORMALIZER_PRECOMPILED, /* SentencePiece's character map */
	NORMALIZER_REPLACE,
	NORMALIZER_PREPEND,
	NORMALIZER_STRIP,
	NORMALIZER_BYTE_LEVEL,
	NORMALIZER_SENTENCEPIECE, /* all that SentencePiece does before its model; no file of tokenizers says it */
};

enum tristate {
	STATE_NULL,
	STATE_FALSE,
	STATE_TRUE,
};

struct normalizer_spec {
	enum normalizer_kind kind;
	union {
		struct {
			bool clean_text, handle_chinese_chars, lowercase;
			enum tristate strip_accents; /* null: as lowercase says */
		} bert;
		struct bytes charsmap; /* precompiled, decoded from base64 */
		struct {
			struct pattern_spec pattern;
			struct bytes content;
		} replace;
		struct bytes prepend;
		struct {
			bool left, right;
		} strip;
		/*
		 * Stands alone, and sees the document's bytes. From the left: a text of KEEP stays as it is, else the
		 * longest key of the map gives way to what it stands for (empty: no map), else a character stays.
		 * Spaces (U+0020) are U+2581 then, where they are escaped.
		 */
		struct {
			struct bytes charsmap;
			const struct bytes *keep; /* the user-defined pieces */
			size_t n_keep;
			bool add_dummy_prefix;	   /* a space before the text, if there is any */
			bool whitespace_as_suffix; /* that space comes after it */
			bool remove_extra_whitespaces; /* at both ends, and but one elsewhere */
			bool escape_whitespaces;
			/* A byte that is not UTF-8 becomes U+FFFD, as there; else it stays, for the model's byte pieces. */
			bool replace_invalid;
		} sentencepiece;
	};
};

/* --- pre-tokenizers --- */

enum pretokenizer_kind {
	PRETOKENIZER_BYTE_LEVEL,
	PRETOKENIZER_SPLIT,
	PRETOKENIZER_DIGITS,
	PRETOKENIZER_PUNCTUATION,
	PRETOKENIZER_METASPACE,
	PRETOKENIZER_WHITESPACE,
	PRETOKENIZER_WHITESPACE_SPLIT,
	PRETOKENIZER_BERT,
	PRETOKENIZER_CHAR_DELIMITER,
	PRETOKENIZER_FIXED_LENGTH,
	PRETOKENIZER_UNICODE_SCRIPTS,
};

/* What becomes of the delimiter that a pattern matched. */
enum split_behavior {
	SPLIT_REMOVED,
	SPLIT_ISOLATED,
	SPLIT_MERGED_WITH_PREVIOUS,
	SPLIT_MERGED_WITH_NEXT,
	SPLIT_CONTIGUOUS,
};

enum prepend_scheme {
	PREPEND_ALWAYS,
	PREPEND_FIRST, /* the first piece of the text, unless an added token stands before it */
	PREPEND_NEVER,
};

struct pretokenizer_spec {
	enum pretokenizer_kind kind;
	union {
		struct {
			bool add_prefix_space, trim_offsets, use_regex;
		} byte_level;
		struct {
			struct pattern_spec pattern;
			enum split_behavior behavior;
			bool invert;
		} split;
		struct {
			bool individual;
		} digits;
		struct {
			enum split_behavior behavior;
		} punctuation;
		struct {
			uint32_t replacement; /* code point, usually U+2581 */
			enum prepend_scheme scheme;
			bool split;
		} metaspace;
		uint32_t delimiter; /* code point */
		uint32_t length;    /* of FixedLength, in characters */
	};
};

/* --- models --- */

enum model_kind_text {
	MODEL_BPE,
	MODEL_UNIGRAM,
	MODEL_WORDPIECE,
	MODEL_WORDLEVEL,
};

/* What SentencePiece says of a piece. Control pieces are no part of a model: they are added tokens. */
enum piece_type {
	PIECE_NORMAL,
	PIECE_UNKNOWN,	    /* the piece `unk`; its text matches nothing */
	PIECE_USER_DEFINED, /* never cut */
	PIECE_UNUSED,	    /* bpe: merged like any, then cut again; unigram: not there */
	PIECE_BYTE,	    /* <0xNN>, for bytes of unknown characters; its text matches nothing */
};

struct piece_spec {
	struct bytes text; /* as tokenizer.json spells it (byte-level models: in their alphabet) */
	uint32_t id;
	double score; /* unigram; bpe by SentencePiece's rules */
};

struct merge_spec {
	uint32_t left, right, result; /* ids; the earlier merge wins */
};

struct model_spec {
	enum model_kind_text kind;
	const struct piece_spec *pieces; /* ids are unique and below 2^31, not necessarily dense */
	size_t n_pieces;
	const struct merge_spec *merges; /* bpe */
	size_t n_merges;
	uint32_t unk;	       /* id, or TOKEN_NONE */
	bool has_unk_text;     /* unk_token is given, even if it is not in the vocabulary */
	struct bytes unk_text; /* bpe, wordpiece, wordlevel */
	struct bytes continuing_prefix;	 /* continuing_subword_prefix; empty: none */
	struct bytes end_of_word_suffix; /* bpe; empty: none */
	double dropout;			 /* bpe; 0: none */
	bool fuse_unk, byte_fallback, ignore_merges;
	/*
	 * bpe: what no piece, byte or unknown token stands for vanishes, as in `tokenizers`, and is counted. No file says so;
	 * the user does. Otherwise it is an error.
	 */
	bool drop_unknown;
	/* bpe, instead of merges: two neighbours merge when joined they are a piece, the lowest id first (rank files). */
	bool merge_by_rank;
	/*
	 * bpe, unigram: the rules of SentencePiece. Texts are those of pieces, whose types are PIECE_TYPES (of enum
	 * piece_type, as many as pieces). bpe, instead of merges: two neighbours merge when joined they are a piece,
	 * the highest score first, the leftmost of equals, be they characters without a piece. unigram: sums and scores
	 * are f32, a user-defined piece of N bytes scores (N - 1) / 10, an unknown character 10 less than the lowest normal piece. Unknown
	 * neighbours are one token; with byte_fallback each byte of them is its byte piece. A control or
	 * user-defined piece is none of `added` unless it is to be matched there.
	 */
	bool sentencepiece;
	const uint8_t *piece_types;
	uint32_t max_word_chars; /* wordpiece: max_input_chars_per_word, 100 */
};

/* --- added tokens --- */

/* What kind of token llama.cpp and its kin take it for; tokenizer.json knows special or not. */
struct added_spec {
	uint32_t id;
	struct bytes text;
	bool single_word, lstrip, rstrip, normalized, special;
};

/* --- post-processors --- */

enum post_kind {
	POST_TEMPLATE,
	POST_BYTE_LEVEL,
	POST_BERT,
	POST_ROBERTA,
};

struct template_item {
	bool is_sequence; /* else a special token, perhaps of several ids */
	bool is_pair;	  /* sequence B */
	const uint32_t *ids;
	size_t n_ids;
	uint32_t type_id;
	struct bytes name; /* the special token's */
};

struct post_spec {
	enum post_kind kind;
	bool add_prefix_space, trim_offsets, use_regex; /* byte_level, roberta */
	struct {
		struct bytes text;
		uint32_t id;
	} sep, cls;			    /* bert, roberta */
	const struct template_item *single; /* template */
	size_t n_single;
	const struct template_item *pair;
	size_t n_pair;
};

/* --- decoders --- */

enum decoder_kind {
	DECODER_BYTE_LEVEL,
	DECODER_METASPACE,
	DECODER_WORDPIECE,
	DECODER_BPE,
	DECODER_BYTE_FALLBACK,
	DECODER_FUSE,
	DECODER_REPLACE,
	DECODER_STRIP,
	DECODER_CTC,
};

struct decoder_spec {
	enum decoder_kind kind;
	union {
		struct {
			uint32_t replacement;
			enum prepend_scheme scheme;
		} metaspace;
		struct {
			struct bytes prefix;
			bool cleanup;
		} wordpiece;
		struct bytes suffix; /* bpe */
		struct {
			struct pattern_spec pattern;
			struct bytes content;
		} replace;
		struct {
			uint32_t content;     /* code point */
			uint32_t start, stop; /* how many at the two ends at most */
		} strip;
		struct {
			struct bytes pad, word_delimiter;
			bool cleanup;
		} ctc;
	};
};

/* --- the whole --- */

struct tokenizer_spec {
	struct model_spec model;
	const struct normalizer_spec *normalizers;
	size_t n_normalizers;
	const struct pretokenizer_spec *pretokenizers;
	size_t n_pretokenizers;
	const struct added_spec *added; /* in the order of their ids */
	size_t n_added;
	const struct post_spec *posts;
	size_t n_posts;
	const struct decoder_spec *decoders;
	size_t n_decoders;
	/* Beside tokenizer.json: what the file or its neighbours say of roles; TOKEN_NONE: nothing. */
	uint32_t bos, eos, pad, unk;
	bool add_bos,
		add_eos; /* GGUF, SentencePiece; a template post-processor says it by itself */
	struct bytes chat_template; /* empty: none */
	/*
	 * The fingerprints that the file states and that are still of what it holds (GGUF); NULL: they are worked out. Who
	 * changes a spec that was read clears both.
	 */
	const struct hash128 *stated_plain, *stated_whole;
};

#endif

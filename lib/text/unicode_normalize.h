/*
 * lib/text/unicode_normalize.h - what the normalizers know of each code point
 *
 * Tables of two stages, made by scripts/gen-unicode from the answers of the pinned peer; the
 * Unicode version of each component is in nnutils-unicode(7). CODE_POINT is below 0x110000 everywhere.
 */
#ifndef LIB_TEXT_UNICODE_NORMALIZE_H
#define LIB_TEXT_UNICODE_NORMALIZE_H

#include <stddef.h>
#include <stdint.h>

#define UNICODE_BLOCK_SIZE 128
#define UNICODE_BLOCKS	   (0x110000 / UNICODE_BLOCK_SIZE)

/* Full decompositions lie in unicode_pool: their length, then their code points; at 0 there is none. */
struct unicode_entry {
	uint16_t canonical, compatible;
	uint8_t order; /* 0 for a starter; marks are sorted by it (not Unicode's numbers, only their order) */
};

/* FIRST and SECOND compose to RESULT. Sorted by both. Hangul is not among them. */
struct unicode_pair {
	uint32_t first, second, result;
};

/* Bits of unicode_traits. Of the four forms: it may change, or act on the characters before it. */
#define TRAIT_NFC	     (1u << 0)
#define TRAIT_NFD	     (1u << 1)
#define TRAIT_NFKC	     (1u << 2)
#define TRAIT_NFKD	     (1u << 3)
#define TRAIT_LOWERCASE	     (1u << 4) /* changes */
#define TRAIT_ACCENT	     (1u << 5) /* StripAccents removes it */
#define TRAIT_BERT_ACCENT    (1u << 6) /* BertNormalizer's strip_accents removes it */
#define TRAIT_BERT_REMOVED   (1u << 7)
#define TRAIT_BERT_SPACE     (1u << 8) /* becomes a space */
#define TRAIT_BERT_IDEOGRAPH (1u << 9) /* spaces are put around it */
#define TRAIT_NMT_REMOVED    (1u << 10)
#define TRAIT_NMT_SPACE	     (1u << 11)
#define TRAIT_WHITE_SPACE    (1u << 12) /* Strip removes it at the ends */

/* Grapheme cluster classes, as far as a cluster below six bytes can show them. */
enum unicode_cluster {
	CLUSTER_OTHER,
	CLUSTER_CONTROL,
	CLUSTER_CR,
	CLUSTER_LF,
	CLUSTER_EXTEND,
	CLUSTER_EXTEND_PLAIN, /* ends a conjunct */
	CLUSTER_LINKER,
	CLUSTER_SPACING,
	CLUSTER_JOINER,
	CLUSTER_PREPEND,
	CLUSTER_HANGUL_L,
	CLUSTER_HANGUL_V,
	CLUSTER_HANGUL_T,
	CLUSTER_HANGUL_LV,
	CLUSTER_HANGUL_LVT,
	CLUSTER_PICTOGRAPH,
	CLUSTER_CONSONANT,
};

#define LOWER_TWO 255 /* U+0130: i and U+0307 */

extern const uint8_t unicode_entry_block[UNICODE_BLOCKS];
extern const uint16_t unicode_entry_value[][UNICODE_BLOCK_SIZE];
extern const struct unicode_entry unicode_entries[];
extern const uint32_t unicode_pool[];

extern const struct unicode_pair unicode_pairs[];
extern const size_t unicode_n_pairs;

extern const uint8_t unicode_traits_block[UNICODE_BLOCKS];
extern const uint16_t unicode_traits_value[][UNICODE_BLOCK_SIZE];

extern const uint8_t unicode_lower_block[UNICODE_BLOCKS];
extern const uint8_t unicode_lower_value[][UNICODE_BLOCK_SIZE];
extern const int32_t unicode_lower_shift[];

extern const uint8_t unicode_cluster_block[UNICODE_BLOCKS];
extern const uint8_t unicode_cluster_value[][UNICODE_BLOCK_SIZE];

#define UNICODE_LOOK(table, code_point) \
 table##_value[table##_block[(code_point) / UNICODE_BLOCK_SIZE]][(code_point) % UNICODE_BLOCK_SIZE]

static inline const struct unicode_entry *unicode_entry(uint32_t code_point)
{
	return &unicode_entries[UNICODE_LOOK(unicode_entry, code_point)];
}

static inline unsigned unicode_traits(uint32_t code_point)
{
	return UNICODE_LOOK(unicode_traits, code_point);
}

static inline unsigned unicode_cluster(uint32_t code_point)
{
	return UNICODE_LOOK(unicode_cluster, code_point);
}

#endif

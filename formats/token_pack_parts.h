/* formats/token_pack_parts.h - where the parts of a packed token file lie (man/man5/token-pack.5) */
#ifndef FORMATS_TOKEN_PACK_PARTS_H
#define FORMATS_TOKEN_PACK_PARTS_H

#include "formats/token_pack.h"

#define PACK_END_MAGIC "NNTOKEND"
#define PACK_END_SIZE  88
#define PACK_HASH_AT   72 /* in the end record */
#define PACK_COUNT_MAX ((uint64_t)1 << 56)

struct token_pack_layout {
	uint64_t documents, runs, end, size;
};

/* The counts are at most PACK_COUNT_MAX, so that nothing wraps. */
static inline struct token_pack_layout token_pack_layout(uint32_t width, uint64_t n_tokens,
							 uint64_t n_documents, uint64_t n_runs)
{
	struct token_pack_layout l;

	l.documents = (TOKEN_HEADER_SIZE + n_tokens * width + 7) / 8 * 8;
	l.runs = l.documents + (n_documents + 1) * 8;
	l.end = l.runs + n_runs * TOKEN_RUN_SIZE;
	l.size = l.end + PACK_END_SIZE;
	return l;
}

struct token_pack {
	struct mapfile *map; /* or NULL */
	char *name;
	const unsigned char *data;
	struct token_pack_layout layout;
	uint32_t width;
	struct token_pack_info info;
};

#endif

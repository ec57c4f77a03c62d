/* lib/data/token_split.c - which part a document goes to, by its tokens alone */
#include "lib/data/token_split.h"

#include <string.h>

#include "formats/token_header.h"
#include "lib/base/hash.h"

/* XXH3 takes the ids as they lie in memory where that is little-endian already. */
static uint64_t hash_ids(const uint32_t *ids, size_t n, uint64_t seed)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return hash_short(ids, n * sizeof(*ids), seed);
#else
	unsigned char bytes[SPLIT_IDS_MAX * 4];

	token_ids_encode(bytes, ids, n, 4);
	return hash_short(bytes, n * 4, seed);
#endif
}

uint32_t token_split_part(const uint32_t *ids, size_t n_ids, const char *key, const double *shares,
			  uint32_t n)
{
	uint64_t h = hash_ids(ids, n_ids, hash_short(key, strlen(key), 0));
	double place = (double)(h >> 11) * 0x1p-53, end = 0;

	for (uint32_t i = 0; i + 1 < n; i++) {
		end += shares[i];
		if (place < end)
			return i;
	}
	return n - 1;
}

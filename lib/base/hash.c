/*
 * lib/base/hash.c - the 128-bit hash of wholeness and fingerprints
 *
 * XXH3 comes from the xxHash library (its specification: doc/xxhash_spec.md there). On x86-64 a
 * library built for it also has entries that choose the widest vector unit at run time; the digests
 * are the same.
 */
#include "lib/base/hash.h"

#include <string.h>
#include <xxhash.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#if defined(__x86_64__) && defined(__has_include)
# if __has_include(<xxh_x86dispatch.h>)
#  include <xxh_x86dispatch.h> /* maps the names used below to the entries that choose */
# endif
#endif

struct hasher {
	XXH3_state_t *pieces; /* over the digests of the pieces that are whole */
	XXH3_state_t *piece;  /* over what came of the present one */
	XXH3_state_t *ended;  /* hasher_value's copy of PIECES */
	size_t filled;	      /* bytes of the present piece, below HASH_PIECE */
};

static struct hash128 canonical(XXH128_hash_t h)
{
	struct hash128 out;
	XXH128_canonical_t bytes;

	XXH128_canonicalFromHash(&bytes, h);
	memcpy(out.digest, bytes.digest, sizeof(out.digest));
	return out;
}

void hasher_free(struct hasher *h)
{
	if (!h)
		return;
	XXH3_freeState(h->pieces);
	XXH3_freeState(h->piece);
	XXH3_freeState(h->ended);
	free(h);
}

int hasher_new(struct hasher **out)
{
	struct hasher *h = mem_new(1, sizeof(*h));

	if (!h)
		return -1;
	h->pieces = XXH3_createState();
	h->piece = XXH3_createState();
	h->ended = XXH3_createState();
	if (!h->pieces || !h->piece || !h->ended) {
		hasher_free(h);
		return err_set(ERR_MEMORY, "out of memory for a hash");
	}
	XXH3_128bits_reset(h->pieces);
	XXH3_128bits_reset(h->piece);
	*out = h;
	return 0;
}

static void add_digest(XXH3_state_t *pieces, XXH128_hash_t h)
{
	struct hash128 digest = canonical(h);

	XXH3_128bits_update(pieces, digest.digest, sizeof(digest.digest));
}

/* The rest of a piece that was begun, or the last one; N is at most what it still needs. */
static void add_part(struct hasher *h, const void *data, size_t n)
{
	XXH3_128bits_update(h->piece, data, n);
	h->filled += n;
	if (h->filled < HASH_PIECE)
		return;
	add_digest(h->pieces, XXH3_128bits_digest(h->piece));
	XXH3_128bits_reset(h->piece);
	h->filled = 0;
}

void hasher_add(struct hasher *h, const void *data, size_t n)
{
	const unsigned char *at = data;

	while (n) {
		size_t room = HASH_PIECE - h->filled;
		size_t take = n < room ? n : room;

		if (take == HASH_PIECE)
			add_digest(h->pieces, XXH3_128bits(at, take));
		else
			add_part(h, at, take);
		at += take;
		n -= take;
	}
}

struct hash128 hasher_value(const struct hasher *h)
{
	XXH3_copyState(h->ended, h->pieces);
	if (h->filled)
		add_digest(h->ended, XXH3_128bits_digest(h->piece));
	return canonical(XXH3_128bits_digest(h->ended));
}

struct memory_job {
	const unsigned char *data;
	size_t size;
	struct hash128 *digests; /* one a piece */
};

static void hash_piece(void *arg, size_t piece)
{
	struct memory_job *job = arg;
	size_t start = piece * HASH_PIECE;
	size_t left = job->size - start;

	job->digests[piece] =
		canonical(XXH3_128bits(job->data + start, left < HASH_PIECE ? left : HASH_PIECE));
}

int hash_memory(struct team *t, const void *data, size_t n, struct hash128 *out)
{
	size_t pieces = n / HASH_PIECE + (n % HASH_PIECE != 0);
	struct memory_job job = { data, n, NULL };

	job.digests = mem_new(pieces, sizeof(*job.digests));
	if (!job.digests)
		return -1;
	if (t && pieces > 1)
		team_chunks(t, pieces, hash_piece, &job);
	else
		for (size_t i = 0; i < pieces; i++)
			hash_piece(&job, i);
	*out = canonical(XXH3_128bits(job.digests, pieces * sizeof(*job.digests)));
	free(job.digests);
	return 0;
}

void hash_hex(const struct hash128 *h, char out[HASH_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(h->digest); i++) {
		out[2 * i] = digits[h->digest[i] >> 4];
		out[2 * i + 1] = digits[h->digest[i] & 15];
	}
	out[HASH_HEX - 1] = 0;
}

/* The value of a hexadecimal digit, or -1. */
static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hash_parse(const char *text, struct hash128 *out)
{
	struct hash128 h;
	int high = -1, low = -1;

	for (size_t i = 0; i < sizeof(h.digest); i++) {
		/* A digit that is missing ends the string: the next one is not looked at. */
		high = digit(text[2 * i]);
		low = high < 0 ? -1 : digit(text[2 * i + 1]);
		if (low < 0)
			break;
		h.digest[i] = (unsigned char)(high << 4 | low);
	}
	if (low < 0 || text[HASH_HEX - 1])
		return err_set(ERR_FORMAT, "%s: not a hash of 32 hexadecimal digits", text);
	*out = h;
	return 0;
}

uint64_t hash_short(const void *data, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, n, seed);
}

/* lib/base/copies.c - many copies at once, by a team: the bytes of all in a row, cut into pieces of one size */

#include "lib/base/copies.h"

#include <string.h>

#define PIECE ((size_t)4 << 20)

struct job {
	const struct copy *all;
	size_t n;
};

/* The bytes of piece CHUNK, which may be of several copies. */
static void copy_piece(void *arg, size_t chunk)
{
	const struct job *job = arg;
	size_t skip = chunk * PIECE, left = PIECE;

	for (size_t i = 0; i < job->n && left; i++) {
		const struct copy *c = &job->all[i];
		size_t part = c->size > skip ? c->size - skip : 0;

		part = part < left ? part : left;
		if (part)
			memcpy((char *)c->to + skip, (const char *)c->from + skip, part);
		left -= part;
		skip = skip > c->size ? skip - c->size : 0;
	}
}

void copies_run(struct team *t, const struct copy *all, size_t n)
{
	struct job job = { all, n };
	size_t bytes = 0, chunks;

	for (size_t i = 0; i < n; i++)
		bytes += all[i].size;
	chunks = bytes / PIECE + (bytes % PIECE != 0);
	if (t)
		team_chunks(t, chunks, copy_piece, &job);
	else
		for (size_t i = 0; i < chunks; i++)
			copy_piece(&job, i);
}

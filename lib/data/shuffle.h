/*
 * lib/data/shuffle.h - documents in another order, with a bounded number of them held
 *
 * A buffer of N documents is filled first. Then each that comes takes the place of one that is drawn, which
 * goes out; at the end what is held goes out in an order that is drawn. The order depends on the seed, N and
 * the documents' number alone. With N of at least all documents every order is alike often; otherwise none
 * comes out more than N places before it came in.
 */
#ifndef LIB_DATA_SHUFFLE_H
#define LIB_DATA_SHUFFLE_H

#include "lib/data/documents.h"

struct shuffle;

int shuffle_new(struct shuffle **out, size_t n, uint64_t seed); /* n > 0 */
void shuffle_free(struct shuffle *s);				/* NULL is allowed */

/* Takes a copy of IN. 1 and a document, valid until the next call; 0 when none has to go yet; -1. */
int shuffle_put(struct shuffle *s, const struct document *in, struct document *out);
/* After the last put: 1 and a document, 0 when all are out. */
int shuffle_drain(struct shuffle *s, struct document *out);

#endif

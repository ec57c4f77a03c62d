/*
 * lib/text/cluster.h - extended grapheme clusters
 *
 * Unicode Standard Annex 29, with the classes of the peer's own version. Regional indicators are left out: a
 * cluster with one is 6 bytes or longer with anything else in it, and no caller can tell those apart.
 */
#ifndef LIB_TEXT_CLUSTER_H
#define LIB_TEXT_CLUSTER_H

#include <stddef.h>

/* The end of the cluster that begins at AT (< SIZE). DATA is well-formed UTF-8. */
size_t cluster_end(const char *data, size_t size, size_t at);

#endif

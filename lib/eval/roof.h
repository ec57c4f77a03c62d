/*
 * lib/eval/roof.h - what a team of threads can do at most on one level: multiply-adds, and bytes
 *
 * Nothing is taken from tables: each figure is measured here (kernels/peak.h), bytes with as many streams of reads, updates and
 * writes as the op that they are compared with, over as much memory, and in the same rounds.
 */
#ifndef LIB_EVAL_ROOF_H
#define LIB_EVAL_ROOF_H

#include "kernels/peak.h"
#include "lib/base/machine.h"
#include "lib/base/team.h"
#include "lib/eval/timing.h"

struct roof;

/* TEAM is borrowed. */
int roof_new(struct roof **out, enum level level, struct team *team);
void roof_free(struct roof *r); /* NULL is allowed */

/* Operations a second of UNIT in all threads: measured at the first call; n is 0 when the level has no such unit. */
struct spread roof_operations(struct roof *r, enum peak_unit unit);

/* Bytes that an op reads, updates in place, and writes. */
struct roof_bytes {
	double read, updated, written;
};
double roof_moved(const struct roof_bytes *b); /* an update is read and written */

struct roof_floor {
	struct roof *roof;
	struct peak_move move;
	double moved; /* bytes, by one pass */
	size_t times; /* passes in one run */
	bool warm;    /* a pass that is not timed comes first */
	bool cold;    /* and what is in the caches is something else */
};

/*
 * Streams in the proportion of B, as near as a few whole ones come, that take as much memory; past the caches if STREAM and
 * anything is written. -1: no memory.
 */
int roof_floor(struct roof *r, const struct roof_bytes *b, bool stream, bool cold,
	       struct roof_floor *out);
/* Of READS, UPDATES and WRITES streams that take BYTES together. */
int roof_streams(struct roof *r, const int counts[3], size_t bytes, bool stream,
		 struct roof_floor *out);
/* Seconds of one pass of the floor at ARG. */
double roof_floor_run(void *arg);

/* Fills the caches with something else. -1: no memory. */
int roof_evict(struct roof *r);
/* Memory in use up to this much is looked at twice when it is to be warm. */
size_t roof_cached(const struct roof *r);

#endif

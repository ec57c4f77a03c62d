/*
 * lib/graph/plan.h - a graph placed in memory, and run
 *
 * plan_new drops nodes that no output, update in place or gradient needs, folds constants, merges equal nodes, fuses the named
 * patterns, chooses a kernel for every node, and gives every intermediate a place in one arena by its lifetime. All errors
 * come here; a run on the host cannot fail once memory is there. Nothing is allocated before plan_allocate (or the first run), so that
 * what does not fit is refused with the options that would make it fit.
 *
 * A graph belongs to at most one plan, which may change it; it must outlive the plan.
 */
#ifndef LIB_GRAPH_PLAN_H
#define LIB_GRAPH_PLAN_H

#include "lib/base/team.h"
#include "lib/graph/backend.h"
#include "lib/graph/graph.h"

/* What may be turned off; results are the same to the bit either way. */
enum plan_pass {
	PLAN_FOLD = 1,	    /* constants are computed once */
	PLAN_MERGE = 2,	    /* equal nodes become one */
	PLAN_IN_PLACE = 4,  /* elementwise results over an operand that ends there */
	PLAN_EPILOGUE = 8,  /* activation, residual, accumulation into the product before */
	PLAN_REUSE = 16,    /* memory of what has ended is used again */
	PLAN_SEGMENTS = 32, /* chains of row-wise nodes run tile of rows by tile of rows */
	PLAN_MEETINGS = 64, /* threads meet only before what needs another's work */
	PLAN_OWN = 128,	    /* each thread makes for itself what is too small to share */
};
#define PLAN_ALL 255u
/* What the pass of this bit is called (`fold`); NULL past the last. */
const char *plan_pass_name(int bit);

/* An arena that several plans share; they must not run at the same time. */
struct plan_arena;
int plan_arena_new(struct plan_arena **out);
void plan_arena_free(struct plan_arena *a); /* NULL is allowed */

struct plan_options {
	const struct backend *backend; /* NULL: backend_cpu */
	struct team *team;	       /* NULL: the calling thread alone */
	struct plan_arena *arena;      /* NULL: one of its own */
	unsigned without;	       /* passes that are turned off */
	bool strict;		       /* a node that the backend does not claim is an error */
	bool guard;		       /* tests: every tensor in pages of its own, nothing reused */
	bool keep; /* what kernels make of weights alone (packed ones) is kept in the store, for all runs */
	bool recompute; /* scopes named by graph_block are computed again in the backward half */
	size_t recompute_blocks; /* with it: only so many of them, the first ones; 0: all */
	size_t tile;		 /* rows of the tiles of chains, even where few; 0: chosen */
	uint64_t memory;	 /* bytes at most; 0: no limit */
	const struct kernel_caches
		*caches; /* tests: by which kernels cut their work, copied; NULL: this machine's */
};

struct plan;

int plan_new(struct plan **out, struct graph *g, const struct plan_options *o);
void plan_free(struct plan *p); /* NULL is allowed */

/* --- memory --- */

enum plan_memory {
	PLAN_WEIGHTS,
	PLAN_DERIVED,
	PLAN_GRADIENTS,
	PLAN_STATE,
	PLAN_CACHE,
	PLAN_ACTIVATIONS,
	PLAN_WORKSPACE,
	PLAN_MEMORY_COUNT
};

uint64_t plan_bytes(const struct plan *p, enum plan_memory kind);
const char *plan_memory_name(enum plan_memory kind);
uint64_t plan_bytes_total(const struct plan *p);
int plan_allocate(struct plan *p);

/* When a tensor of the arena lives, for pictures: nodes FIRST to LAST, bytes FROM to TO. */
struct plan_life {
	const struct tensor *tensor;
	size_t first, last;
	uint64_t from, to;
};
size_t plan_n_lives(const struct plan *p);
struct plan_life plan_life(const struct plan *p, size_t i);

/* --- running --- */

/*
 * Where an input is to be written before a run, and where an output or a parameter is read after it: valid as long as the
 * plan is. NULL with the error set when T has no place of its own (an intermediate that was not named as an output).
 */
void *plan_data(struct plan *p, const struct tensor *t);

/* Copies SIZE bytes to where the input T is to be written. */
int plan_give(struct plan *p, const struct tensor *t, const void *from, size_t size);

/* Draws are keyed by SEED and STEP. 0; -1 when there is no memory (plan_allocate, after which a run has it), or a device failed. */
int plan_run(struct plan *p, uint64_t seed, uint64_t step);

/* --- what ran --- */

struct plan_node_stats {
	const struct node *node;
	const struct kernel *kernel;
	const char *backend; /* `ref` for what the backend did not claim */
	int chain;	     /* of row-wise steps that are run tile by tile: which, or -1 */
	double operations, bytes;
	uint64_t runs;
	double seconds; /* of all runs; measured only after plan_measure(p, true) */
};
void plan_measure(struct plan *p, bool on);
size_t plan_n_steps(const struct plan *p);
struct plan_node_stats plan_step(const struct plan *p, size_t i);
size_t plan_n_unclaimed(
	const struct plan *p); /* nodes that run on ref though the backend is another */

#endif

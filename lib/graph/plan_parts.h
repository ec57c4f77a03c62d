/* lib/graph/plan_parts.h - what a plan holds; users include plan.h */
#ifndef LIB_GRAPH_PLAN_PARTS_H
#define LIB_GRAPH_PLAN_PARTS_H

#include "lib/base/spin_barrier.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/plan.h"

#define PLAN_ALIGN 64
#define NOWHERE	   UINT32_MAX

enum plan_where { PLAN_HOST, PLAN_DEVICE, PLAN_WHERES };

/* The memory of one base tensor, or of a node's scratch. */
struct place {
	const struct tensor *tensor; /* NULL: scratch */
	enum plan_where where;
	uint64_t size, offset; /* in the arena */
	uint32_t first, last;  /* steps */
	bool tile; /* of a tensor that a chain of rows keeps to itself: one tile a thread */
	uint64_t
		own; /* bytes from one part's to the next, where each has its own; 0: one for all */
};

/* A kernel that runs, or the move of a base tensor to where it is needed. */
struct plan_step {
	struct node *node;	    /* of a move: that makes the tensor */
	const struct tensor *moved; /* to WHERE; NULL: a kernel runs */
	enum plan_where where;
	const struct kernel *kernel;
	const char *backend;
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call call; /* all but part, phase and key */
	uint32_t scratch;	 /* its place, or NOWHERE */
	uint32_t kept;		 /* the place of what phase 0 makes of one operand, or NOWHERE */
	size_t kept_bytes;
	struct store_entry *form; /* NULL, or where the store keeps that: phase 0 is not run */
	uint32_t segment;	  /* its chain of rows, or NOWHERE */
	uint32_t by_row; /* in a chain: a set of bits, the operands that are read row by row */
	uint32_t draw;	 /* of a random node on a device: the place of its key in the table */
	bool serial;	 /* too small to share: part ALONE does it */
	int alone;
	bool own;	/* too small to share: each part for itself (plan_own.c) */
	bool reads_own; /* an operand is of such a step */
	bool barrier;	/* all meet before it */
	bool dynamic;	/* an operand has rows known at run time, or the node a count */
	double operations, bytes;
	double seconds;
	uint64_t runs;
};

/* A chain of row-wise steps that is run by tiles. */
struct plan_segment {
	size_t from, to; /* steps */
	size_t rows, tile;
	uint64_t scratch; /* bytes a thread */
};

/* A form of a parameter, made again before a run when its source has changed. */
struct plan_derived {
	struct store_entry *entry;
	struct plan_step step;
};

struct plan_arena {
	void *data[PLAN_WHERES];
	uint64_t size[PLAN_WHERES];
	struct device *device; /* whose memory the second is, or NULL */
};

/* What one launch of a whole plan on a device was captured with. */
struct plan_capture {
	void *captured;
	uint64_t key;  /* of the run-time lengths and counts */
	uint64_t used; /* the run that used it last */
};
#define PLAN_CAPTURES 8

struct plan {
	struct graph *g;
	struct plan_options options;
	struct kernel_caches caches;
	struct plan_arena own, *arena;
	struct node **order; /* owned: the nodes that run, views too */
	size_t n_order;
	struct plan_step *steps; /* owned: an order's nodes that have kernels */
	size_t n_steps;
	struct place *places; /* owned */
	size_t n_places, places_capacity;
	uint32_t *place_of[PLAN_WHERES]; /* owned: by a base tensor's id, or NOWHERE */
	uint64_t arena_size[PLAN_WHERES], scratch_size;
	struct plan_derived *derived; /* owned */
	size_t n_derived;
	struct plan_step **forms; /* owned: one step for every form that the store keeps */
	size_t n_forms;
	struct plan_segment *segments; /* owned */
	size_t n_segments;
	void **pages; /* owned: with guard, the mapping of each place */
	size_t n_unclaimed;
	/* What pointers were resolved against: */
	bool ready;
	uint64_t generation;
	const void *arena_data[PLAN_WHERES];
	bool measuring;
	struct spin_barrier barrier;
	/* Of the present run: */
	uint64_t seed, step;
	/* With a device: */
	const struct backend *host; /* what it does not do runs here */
	bool *updated
		[PLAN_WHERES]; /* owned: by a base tensor's id, parameters whose values a run leaves there */
	char *constants;       /* in its memory; by */
	uint64_t *constant_at; /* owned: a base tensor's id */
	uint64_t constants_size;
	uint32_t *keys;	   /* owned: of this run's draws, two a node */
	uint32_t *keys_at; /* in its memory */
	uint32_t n_draws;
	size_t device_from,
		device_to; /* the steps between are launches alone, and may be captured */
	struct plan_capture captures[PLAN_CAPTURES];
	uint64_t n_runs;
	bool downloads; /* are waited for before the host reads */
};

/* Threads that run it. */
static inline int plan_n_parts(const struct plan *p)
{
	return p->options.team ? team_size(p->options.team) : 1;
}

/* --- plan_order.c: what runs, and in which order --- */
int plan_order(struct plan *p);

/* --- plan_simplify.c, plan_fuse.c, plan_recompute.c: changes to the order --- */
int plan_recompute(struct plan *p);
int plan_fold(struct plan *p);
int plan_merge(struct plan *p);
int plan_epilogues(struct plan *p);
/* The memory that N's outputs lie in, when it is that of its operands: anew, after those changed. */
void plan_settle(struct node *n);
/* How often each tensor is read, by id; outputs and updates count. The caller frees. */
uint32_t *plan_uses(const struct plan *p);

/* --- plan_call.c: nodes to calls of kernels --- */
int plan_steps(struct plan *p);
int plan_make_step(struct plan *p, struct node *n, struct plan_step *s);
/* The operands of N as a kernel sees them, with ROWS axis 0 as it is; data stay NULL. -1: too many axes. */
int plan_operands(const struct node *n, struct kernel_tensor *in, struct kernel_tensor *out,
		  bool rows);

/* --- plan_derived.c --- */
int plan_find_casts(struct plan *p);
int plan_find_kept(struct plan *p);
int plan_refresh(struct plan *p); /* what is stale of them, before a run */

enum plan_phases {
	PLAN_PHASES_ALL,
	PLAN_PHASES_KEPT
}; /* those of a run, or that which makes the form */

/* --- plan_segment.c --- */
int plan_segments(struct plan *p);
/* Rows that a tensor of step S needs room for when its chain keeps it to itself; 0: all. LAST: by a base tensor's id. */
uint64_t plan_segment_rows(const struct plan *p, const struct plan_step *s, const struct tensor *t,
			   const uint32_t *last);
void plan_segment_uses(const struct plan *p, uint32_t *last);
void plan_segment_lives(struct plan *p);
uint64_t plan_segment_scratch(struct plan *p, struct plan_segment *g);
void plan_run_segment(struct plan *p, const struct plan_segment *g, int part, int parts);

/* --- plan_own.c --- */
int plan_own(struct plan *p);
/* Operands and scratch of the call C of S become those of PART: IN and OUT are the caller's room, where they may lie already. */
void plan_own_operands(const struct plan *p, const struct plan_step *s, int part,
		       struct kernel_call *c, struct kernel_tensor *in, struct kernel_tensor *out);

/* --- plan_meet.c: where threads need not meet, once places are known; they live longer for it --- */
int plan_meetings(struct plan *p);

/* --- plan_move.c: where tensors are current, and moves between --- */
int plan_moves(struct plan *p);

/* --- plan_allocate.c --- */
void plan_release(struct plan *p); /* what plan_allocate made */

/* --- plan_device.c --- */
int plan_device_allocate(struct plan *p);
void plan_device_free(struct plan *p);
int plan_run_device(struct plan *p);
void plan_launch(struct plan *p, const struct plan_step *s, enum plan_phases which);

/* --- plan_run.c --- */
void plan_run_step(struct plan *p, const struct plan_step *s, int part, int parts,
		   enum plan_phases which);
/* Steps FROM to TO - 1, which run on the host, by the team. */
void plan_run_host(struct plan *p, size_t from, size_t to);
void plan_on_team(struct plan *p, void (*fn)(void *arg, int part, int parts));
/* S's operands as they are in this run: IN and OUT are the caller's room. */
void plan_cut_operands(const struct plan *p, const struct plan_step *s, struct kernel_call *c,
		       struct kernel_tensor *in, struct kernel_tensor *out);
void plan_set_key(const struct plan *p, const struct node *n, uint32_t *key);
int32_t plan_scalar(const struct plan *p, const struct tensor *t);

/* --- plan_memory.c: places --- */
int plan_places(struct plan *p);
void plan_resolve(struct plan *p); /* after allocation: pointers into steps */
void *plan_pointer(const struct plan *p, const struct tensor *t, enum plan_where where);
bool plan_in_arena(const struct tensor *base);

/* A tensor's version: what updates in place have made of its memory; views are of their input's. */
const struct tensor *tensor_version(const struct tensor *t);
bool node_is_view(const struct node *n);
bool node_updates(const struct node *n);

#endif

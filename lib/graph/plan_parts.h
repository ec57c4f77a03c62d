/* lib/graph/plan_parts.h - what a plan holds; users include plan.h */
#ifndef LIB_GRAPH_PLAN_PARTS_H
#define LIB_GRAPH_PLAN_PARTS_H

#include "lib/base/spin_barrier.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/plan.h"

#define PLAN_ALIGN 64
#define NOWHERE	   UINT32_MAX

/* The memory of one base tensor, or of a node's scratch. */
struct place {
	const struct tensor *tensor; /* NULL: scratch */
	uint64_t size, offset;	     /* in the arena */
	uint32_t first, last;	     /* steps */
};

struct plan_step {
	struct node *node;
	const struct kernel *kernel;
	const char *backend;
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call call; /* all but part, phase and key */
	uint32_t scratch;	 /* its place, or NOWHERE */
	uint32_t kept;		 /* the place of what phase 0 makes of one operand, or NOWHERE */
	size_t kept_bytes;
	struct store_entry *form; /* NULL, or where the store keeps that: phase 0 is not run */
	bool serial;		  /* too small to share: part 0 alone */
	bool barrier;		  /* all meet before it */
	bool dynamic;		  /* an operand has rows known at run time, or the node a count */
	double operations, bytes;
	double seconds;
	uint64_t runs;
};

/* A form of a parameter, made again before a run when its source has changed. */
struct plan_derived {
	struct store_entry *entry;
	struct plan_step step;
};

struct plan_arena {
	void *data;
	uint64_t size;
};

struct plan {
	struct graph *g;
	struct plan_options options;
	struct plan_arena own, *arena;
	struct node **order; /* owned: the nodes that run, views too */
	size_t n_order;
	struct plan_step *steps; /* owned: an order's nodes that have kernels */
	size_t n_steps;
	struct place *places; /* owned */
	size_t n_places, places_capacity;
	uint32_t *place_of; /* owned: by a base tensor's id, or NOWHERE */
	uint64_t arena_size, scratch_size;
	struct plan_derived *derived; /* owned */
	size_t n_derived;
	struct plan_step **forms; /* owned: one step for every form that the store keeps */
	size_t n_forms;
	void **pages; /* owned: with guard, the mapping of each place */
	size_t n_unclaimed;
	/* What pointers were resolved against: */
	bool ready;
	uint64_t generation;
	const void *arena_data;
	bool measuring;
	struct spin_barrier barrier;
	/* Of the present run: */
	uint64_t seed, step;
};

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
/* The operands of N as a kernel sees them; data stay NULL. -1: too many axes. */
int plan_operands(const struct node *n, struct kernel_tensor *in, struct kernel_tensor *out);

/* --- plan_derived.c --- */
int plan_find_casts(struct plan *p);
int plan_find_kept(struct plan *p);
void plan_refresh(struct plan *p); /* what is stale of them, before a run */

/* --- plan_run.c --- */
enum plan_phases {
	PLAN_PHASES_ALL,
	PLAN_PHASES_KEPT
}; /* those of a run, or that which makes the form */
void plan_run_step(struct plan *p, const struct plan_step *s, int part, int parts,
		   enum plan_phases which);
void plan_on_team(struct plan *p, void (*fn)(void *arg, int part, int parts));

/* --- plan_memory.c: places --- */
int plan_places(struct plan *p);
void plan_resolve(struct plan *p); /* after allocation: pointers into steps */
void *plan_pointer(const struct plan *p, const struct tensor *t);
bool plan_in_arena(const struct tensor *base);

/* A tensor's version: what updates in place have made of its memory; views are of their input's. */
const struct tensor *tensor_version(const struct tensor *t);
bool node_is_view(const struct node *n);
bool node_updates(const struct node *n);

#endif

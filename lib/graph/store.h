/*
 * lib/graph/store.h - what outlives a graph: parameters, their sums of gradients, optimizer state, caches
 *
 * Entries are named as in the checkpoint that they come from, in the order in which they were made. One store may serve many
 * graphs and plans (training beside sampling); several stores may live in a process (a reference model, a draft).
 * Values are borrowed (a mapped file, which must outlive the store) or owned.
 */
#ifndef LIB_GRAPH_STORE_H
#define LIB_GRAPH_STORE_H

#include "lib/base/team.h"
#include "lib/graph/graph.h"

enum store_kind {
	STORE_PARAMETER, /* trained unless frozen */
	STORE_STATE, /* written by a run and kept: running statistics, optimizer state, a sum of gradients */
	STORE_GRADIENT, /* a sum of gradients */
	STORE_CACHE,	/* of keys and values: its contents need not be saved */
	STORE_DERIVED,	/* another form of a source: never saved */
};

struct store_entry {
	const char *name;
	size_t place; /* among the entries */
	enum store_kind kind;
	enum dtype dtype;
	struct shape shape;
	bool trainable;
	void *data; /* NULL while it is only declared */
	size_t size;
	bool owned;	  /* allocated by the store, and may be written */
	uint64_t version; /* grows with every update of its values */
	/* Its copy in the memory of a device, or NULL; which of the two are current: their version is VERSION. */
	void *device_data;
	uint64_t host_version, device_version;
	/* Of a derived form: */
	struct store_entry *source;
	uint64_t source_version; /* that it was made from */
	/* Of a source, or NULL: */
	struct store_entry *cast; /* the form in the graph's compute dtype */
	struct store_entry *sum;  /* f32: of its gradients */
};

struct store;

int store_new(struct store **out);
void store_free(struct store *s); /* NULL is allowed */

/*
 * While declaring, graph_param makes the entries that are not there (parameters, f32, trainable, without values); otherwise
 * a name that is not there is an error of the graph.
 */
void store_declaring(struct store *s, bool on);
bool store_is_declaring(const struct store *s);

/* Adds an entry without values. NULL with the error set: a name that is there already, a size that cannot be. */
struct store_entry *store_add(struct store *s, const char *name, enum store_kind kind,
			      enum dtype dtype, const struct shape *shape);
/* Gives it the SIZE bytes at DATA, borrowed. -1: not the size of its shape. */
int store_borrow(struct store *s, struct store_entry *e, const void *data, size_t size);
/* Memory of its own, zeroed, in huge pages where the system gives them; what was borrowed is copied in. */
int store_allocate(struct store *s, struct store_entry *e);
/* The same for N entries, each as often as it comes; what was borrowed is copied by TEAM, which may be NULL. */
int store_allocate_all(struct store *s, struct store_entry **all, size_t n, struct team *team);

/* Gives back what it owns, or forgets what it borrowed: the entry is declared again. No plan that uses it may run before it is allocated anew. */
void store_release(struct store *s, struct store_entry *e);

/* Grows whenever an entry's memory becomes another one. */
uint64_t store_generation(const struct store *s);

struct store_entry *store_find(const struct store *s, const char *name); /* or NULL */
size_t store_n(const struct store *s);
struct store_entry *store_at(const struct store *s, size_t i);

/* The form of E in DTYPE, and the f32 sum of its gradients: made (without memory) when first asked for. */
struct store_entry *store_cast(struct store *s, struct store_entry *e, enum dtype dtype);
struct store_entry *store_sum(struct store *s, struct store_entry *e);
/* What kernels make of E alone, BYTES under KEY, which says by which kernel and how: made (without memory) when first asked for. */
struct store_entry *store_form(struct store *s, struct store_entry *e, uint64_t key, size_t bytes);
/* An entry named `NAME.SUFFIX` of the shape of E, for an optimizer. */
struct store_entry *store_beside(struct store *s, struct store_entry *e, const char *suffix,
				 enum dtype dtype);

/*
 * The current values on the host (DATA), or on the device D (DEVICE_DATA): brought from the other when they are there. A store
 * has copies on one device. -1 with the error set.
 */
struct device;
int store_to_host(struct store *s, struct store_entry *e);
int store_to_device(struct store *s, struct store_entry *e, struct device *d);
bool store_has_device(const struct store *s); /* copies are, or were, on one */
/* The values at DEVICE_DATA changed. */
void store_touch_device(struct store_entry *e);

/* The values changed outside a plan: derived forms are stale. A plan does this for what it updates. */
void store_touch(struct store_entry *e);

/* Trainable by a pattern of names (* and ?); returns how many match. */
size_t store_set_trainable(struct store *s, const char *pattern, bool trainable);

/*
 * Adapters (Hu et al. 2021): linear, conv2d and embedding add SCALE B A x for the weight NAME (without `.weight`); SCALE, f32 [1],
 * is an entry too: 0 is the model without the adapter.
 */
struct store_adapter {
	/* a [rank, in], b [out, rank]; IN of a convolution: C h w, of an embedding: the rows of the table */
	struct store_entry *a, *b, *scale;
};
int store_add_adapter(struct store *s, const char *name, size_t rank, size_t in, size_t out,
		      struct store_adapter *made);
const struct store_adapter *store_adapter(const struct store *s, const char *name); /* or NULL */

#endif

/*
 * lib/model/bind.h - a store's parameters and a checkpoint's tensors, bound by rules that run both ways
 *
 * A family of models has one table of rules for each format (lm_rules, lib/model/lm.h). A rule pairs a name here with a name there
 * and says how the values lie: loading goes from there to here, saving back, by the same rule. Where values lie the same way and
 * no other dtype is asked for, loading copies nothing: the store borrows the mapped file, which must outlive it.
 */
#ifndef LIB_MODEL_BIND_H
#define LIB_MODEL_BIND_H

#include "formats/model.h"
#include "lib/graph/store.h"

/*
 * `{}` in a name is a number, the same in both. A row is a run along the last axis; a vector's rows are its elements. Fields that are
 * 0 change nothing. Several rules may share a name: of ours, which is then put together of pieces, or of theirs, which is cut.
 */
struct bind_rule {
	const char *ours; /* `model.layers.{}.self_attn.q_proj.weight` */
	const char *
		theirs; /* `blk.{}.attn_q.weight`; one `{}` more counts the items that ours stacks along a new first axis */
	bool transposed; /* there the two axes are the other way round */
	uint64_t paired; /* rows a head: its rows i and i + n / 2 here are 2 i and 2 i + 1 there */
	double added;	 /* there values are larger by this */
	/* Ours is N rows of theirs from THEIRS_FROM on; theirs is N rows of ours from OURS_FROM on. N = 0: all. */
	uint64_t theirs_from, ours_from, n;
};

struct bind_rules {
	const struct bind_rule *items;
	size_t n;
};

struct bind_options {
	enum dtype dtype; /* of the entries that are not quantized; 0: as in the file */
	bool frozen;	  /* nothing is trainable */
};

/* What loading or saving did. Names are owned. */
struct bind_report {
	size_t n_tensors;	   /* of the checkpoint that were used */
	size_t n_unknown;	   /* and those that no rule names */
	char **unknown;		   /* their names */
	uint64_t borrowed, copied; /* bytes */
	uint64_t
		inexact; /* values that `added` or a narrower dtype could not keep: nearest ones were taken */
};
void bind_report_free(struct bind_report *r);

/*
 * Makes an entry of S for everything of M that a rule names. A piece that is missing, shapes or dtypes that do not fit
 * together, blocks that would have to be turned: -1 with the error set, naming the tensor. R may be NULL.
 */
int bind_load(struct store *s, const struct model *m, const struct bind_rules *rules,
	      const struct bind_options *o, struct bind_report *r);

/* --- saving --- */

struct bind_saver;

/* Every parameter of S as the tensors of a checkpoint. -1: a parameter that no rule names, a piece that is missing. */
int bind_saver_new(struct bind_saver **out, const struct store *s, const struct bind_rules *rules);
void bind_saver_free(struct bind_saver *b); /* NULL is allowed */
size_t bind_saver_n(const struct bind_saver *b);
/* Name, dtype, shape, n_bytes; no data. Valid until free. */
const struct tensor_info *bind_saver_tensor(const struct bind_saver *b, size_t i);
/* Its values where they are, if they stand in one entry as they are to be; else NULL: bind_saver_values makes them. */
const void *bind_saver_data(const struct bind_saver *b, size_t i);
/* Its values to OUT, n_bytes of it; adds to *INEXACT (which may be NULL). 0, or -1 with the error set. */
int bind_saver_values(const struct bind_saver *b, size_t i, void *out, uint64_t *inexact);

/* --- names --- */

#define BIND_NUMBERS 2
/* Whether NAME is PATTERN with numbers for each `{}`, given in NUMBERS. Leading zeros and numbers past 2^31 do not match. */
bool bind_match(const char *pattern, struct bytes name, uint32_t numbers[BIND_NUMBERS]);
/* PATTERN with NUMBERS for its `{}`, into OUT of SIZE bytes; false when it does not fit. */
bool bind_name(const char *pattern, const uint32_t numbers[BIND_NUMBERS], char *out, size_t size);

#endif

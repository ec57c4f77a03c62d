/* formats/copy_plan.h - which tensors a copy writes, under what name and type, into which file */
#ifndef FORMATS_COPY_PLAN_H
#define FORMATS_COPY_PLAN_H

#include "formats/copy_model.h"
#include "lib/base/outfile.h"

struct copy_item {
	const struct tensor_info *from;
	struct tensor_info to; /* name, dtype, shape and n_bytes */
	uint32_t shard;
};

enum copy_sharding {
	COPY_JOIN,    /* shard 0 for all */
	COPY_KEEP,    /* the source's file */
	COPY_BY_SIZE, /* as they come, up to shard_bytes */
};

struct copy_plan {
	const struct copy_options *options;
	struct copy_item *items; /* in the source's order */
	size_t n;
	uint32_t n_shards;
	struct arena *arena; /* names */
	struct copy_report *report;
	struct progress *progress;
};

int copy_plan_new(struct copy_plan **out, const struct model *m, const struct copy_options *o,
		  enum copy_sharding sharding, struct copy_report *report, struct progress *p);
void copy_plan_free(struct copy_plan *p); /* NULL is allowed */

/* Where the bytes of a tensor go: a format's writer. */
struct copy_sink {
	void *writer;
	int (*data)(void *writer, const void *data, size_t n);
	int (*copy)(void *writer, int fd, uint64_t offset, uint64_t n);
};

/* Writes one tensor, converted where the plan says so. */
int copy_item_write(const struct copy_plan *p, const struct copy_item *item, const struct model *m,
		    const struct copy_sink *sink);

/* The formats' halves of copy_model. */
int copy_gguf(const struct model *m, const char *target, const struct copy_options *o,
	      struct copy_report *report, struct progress *p);
int copy_safetensors_file(const struct model *m, const char *target, const struct copy_options *o,
			  struct copy_report *report, struct progress *p);
int copy_folder(const struct model *m, const char *target, const struct copy_options *o,
		struct copy_report *report, struct progress *p);

/* The shard's tensors into F, in the reference's order. */
int copy_write_shard(const struct copy_plan *plan, const struct model *m, uint32_t shard,
		     struct outfile *f);

/* Nothing but the bytes is asked for. */
bool copy_is_plain(const struct copy_options *o);
/* The whole file behind FD, to F. */
int copy_file(struct outfile *f, int fd, uint64_t size, struct progress *p);

#endif

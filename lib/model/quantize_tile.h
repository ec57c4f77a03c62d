/* lib/model/quantize_tile.h - some rows of a tensor: decoded, made into another type, and compared with what they were */
#ifndef LIB_MODEL_QUANTIZE_TILE_H
#define LIB_MODEL_QUANTIZE_TILE_H

#include "kernels/tensor_compare.h"
#include "lib/model/quantize_parts.h"

struct quantize_job {
	const struct quantize *q;
	size_t tensor;
	enum level level;
	enum dtype to;
	const float *weights; /* COLUMNS, or NULL */
	uint64_t columns, matrices, matrix_rows;
	uint64_t tile_rows;
	size_t row_bytes; /* of the output */
};

/* J for tensor I, without weights. */
void quantize_job_init(struct quantize_job *j, const struct quantize *q, size_t i,
		       enum level level);

/* What a thread works in. */
struct quantize_scratch {
	float *values, *back; /* back: where errors are measured */
};

/* What the largest tile of Q needs, in bytes: of its output, and of the scratch of all of THREADS. */
struct quantize_room {
	uint64_t tile_bytes, tile_values, scratch;
	bool back;
};
struct quantize_room quantize_room(const struct quantize *q, size_t threads);
int quantize_scratch_new(struct quantize_scratch *s, const struct quantize_room *room);
void quantize_scratch_free(struct quantize_scratch *s);

struct quantize_tile_result {
	struct tensor_compare compare;
	double squares; /* of the differences */
	uint64_t clamped;
};

/* Rows FIRST to FIRST + ROWS - 1, at most a tile, to OUT. -1: a value or a scale that the type does not hold, named with its row and column. */
int quantize_tile(const struct quantize_job *j, struct quantize_scratch *s, uint64_t first,
		  uint64_t rows, unsigned char *out, struct quantize_tile_result *result);

/* Results added in the order of their tiles. */
struct quantize_sum {
	struct tensor_compare compare;
	double squares;
	uint64_t clamped;
};
void quantize_sum_start(struct quantize_sum *s);
void quantize_sum_add(struct quantize_sum *s, const struct quantize_tile_result *r);
void quantize_sum_end(const struct quantize_sum *s, struct quantize_tensor *t);

#endif

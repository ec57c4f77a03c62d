/*
 * formats/model_summary.h - how much of what a model holds, from its headers alone
 */
#ifndef FORMATS_MODEL_SUMMARY_H
#define FORMATS_MODEL_SUMMARY_H

#include "formats/model.h"

struct model_summary {
	uint64_t n_tensors, n_elements;
	uint64_t tensor_bytes; /* of the tensors' data */
	uint64_t file_bytes;   /* of the files with weights */
	struct {
		uint64_t n_tensors, n_elements, bytes;
	} types[DTYPE_COUNT]; /* [DTYPE_UNKNOWN] takes all that the table does not have */
};

void model_summarise(const struct model *m, struct model_summary *out);

/* 8 x tensor_bytes / n_elements; 0 for no elements. */
double model_bits_per_weight(const struct model_summary *s);

#endif

/* formats/model_summary.c - how much of what a model holds */

#include "formats/model_summary.h"

void model_summarise(const struct model *m, struct model_summary *out)
{
	*out = (struct model_summary){ .n_tensors = model_n_tensors(m) };
	for (size_t i = 0; i < out->n_tensors; i++) {
		const struct tensor_info *t = model_tensor(m, i);

		out->n_elements += t->n_elements;
		out->tensor_bytes += t->n_bytes;
		out->types[t->dtype].n_tensors++;
		out->types[t->dtype].n_elements += t->n_elements;
		out->types[t->dtype].bytes += t->n_bytes;
	}
	for (size_t i = 0; i < model_n_files(m); i++)
		out->file_bytes += model_file_size(m, i);
}

double model_bits_per_weight(const struct model_summary *s)
{
	return s->n_elements ? 8.0 * (double)s->tensor_bytes / (double)s->n_elements : 0;
}

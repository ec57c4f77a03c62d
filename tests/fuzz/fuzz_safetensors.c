/* A safetensors file in memory: opened, and every tensor that its header gives is read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern volatile uint64_t read_sum;
volatile uint64_t read_sum; /* so that no read is left out */

static uint64_t read_tensor(const struct safetensors *s, const struct tensor_info *t)
{
	if (safetensors_find(s, t->name) != t)
		abort();
	return t->n_bytes ? t->data[0] + t->data[t->n_bytes - 1] : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct safetensors *s = NULL;
	uint64_t sum = 0;

	if (safetensors_open_memory(&s, data, size, "fuzz.safetensors")) {
		if (!*err_text())
			abort();
		return 0;
	}
	for (size_t i = 0; i < safetensors_n_pairs(s); i++)
		sum += safetensors_pair(s, i)->key.size + safetensors_pair(s, i)->value.size;
	for (size_t i = 0; i < safetensors_n_tensors(s); i++)
		sum += read_tensor(s, safetensors_tensor(s, i));
	safetensors_close(s);
	read_sum = sum;
	return 0;
}

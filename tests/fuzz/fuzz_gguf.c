/* A GGUF file in memory: opened, everything that its header says is read, and its configuration. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/gguf_config.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern volatile uint64_t read_sum;
volatile uint64_t read_sum; /* so that no read is left out */

static uint64_t read_value(const struct gguf_value *v)
{
	struct gguf_value item;
	struct gguf_items it;
	uint64_t sum = 0;

	if (v->type == GGUF_STRING) {
		struct bytes s = gguf_value_string(v);

		return s.size ? (unsigned char)s.data[s.size - 1] : 0;
	}
	if (v->type == GGUF_F32 || v->type == GGUF_F64)
		return gguf_value_f64(v) > 0;
	if (v->type != GGUF_ARRAY)
		return gguf_value_u64(v) ^ (uint64_t)gguf_value_i64(v);
	gguf_items(&it, v);
	while (gguf_items_next(&it, &item))
		sum += read_value(&item);
	return sum;
}

static uint64_t read_tensor(const struct gguf *g, const struct tensor_info *t)
{
	if (gguf_find(g, t->name) != t)
		abort();
	return t->n_bytes ? t->data[0] + t->data[t->n_bytes - 1] : 0;
}

static uint64_t read_config(struct gguf *g)
{
	struct arena *arena = NULL;
	struct hf_config c;
	uint64_t sum = 0;

	if (arena_new(&arena))
		return 0;
	if (gguf_config(g, &c, arena) == 0)
		for (uint32_t i = 0; i < c.n_layers; i++)
			sum += c.layer_attention[i] + c.layer_rope[i];
	else if (!*err_text())
		abort();
	arena_free(arena);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gguf *g = NULL;
	uint64_t sum = 0;

	if (gguf_open_memory(&g, data, size, "fuzz.gguf")) {
		if (!*err_text())
			abort();
		return 0;
	}
	for (size_t i = 0; i < gguf_n_keys(g); i++)
		sum += read_value(gguf_key(g, i));
	for (size_t i = 0; i < gguf_n_tensors(g); i++)
		sum += read_tensor(g, gguf_tensor(g, i));
	sum += read_config(g);
	gguf_close(g);
	read_sum = sum;
	return 0;
}

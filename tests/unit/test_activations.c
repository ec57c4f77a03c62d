/* tests/unit/test_activations.c - sums of squares beside those of transformers in float64 (fixtures/golden/importance) */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/eval/activations.h"
#include "tests/tap.h"

#define WINDOW 24

static struct safetensors *open_golden(const char *family)
{
	struct safetensors *golden = NULL;
	char path[128];

	snprintf(path, sizeof(path), "fixtures/golden/importance/%s.safetensors", family);
	tap_works(safetensors_open(&golden, path), "%s", path);
	return golden;
}

/* The largest relative difference of a column. */
static double distance(const struct activations_sum *s, const struct tensor_info *want)
{
	double most = 0;

	for (size_t i = 0; i < s->n; i++) {
		double w;

		memcpy(&w, want->data + i * sizeof(w), sizeof(w));
		most = fmax(most, fabs(s->squares[i] - w) / w);
	}
	return most;
}

static void check_sums(struct activations *a, const struct safetensors *golden)
{
	size_t found = 0;

	for (size_t i = 0; i < activations_n(a); i++) {
		struct activations_sum s = activations_at(a, i);
		const struct tensor_info *want = safetensors_find(golden, bytes_of(s.name));

		if (!tap_ok(want && want->dtype == DTYPE_F64 && want->n_elements == s.n,
			    "%s: %zu columns", s.name, s.n))
			continue;
		tap_ok(distance(&s, want) < 2e-5, "%s: off by %.2g", s.name, distance(&s, want));
		found++;
	}
	tap_is_u64(found, safetensors_n_tensors(golden) - 1, "every matrix");
}

static void test_family(const char *family)
{
	struct safetensors *golden = open_golden(family);
	const struct tensor_info *ids;
	struct activations *a = NULL;
	uint32_t room[256];
	char path[128];
	struct lm m;

	if (!golden)
		return;
	ids = safetensors_find(golden, bytes_of("ids"));
	memcpy(room, ids->data, ids->n_bytes);
	snprintf(path, sizeof(path), "fixtures/good/lm/%s", family);
	tap_works(lm_open(&m, path, NULL), "%s", path);
	tap_works(activations_new(&a, m.config, m.store,
				  &(struct activations_options){ .context = WINDOW }),
		  "made");
	tap_works(activations_add(a, room, ids->n_elements), "read");
	tap_is_u64(activations_tokens(a), ids->n_elements, "tokens");
	tap_is_u64(activations_windows(a), (ids->n_elements + WINDOW - 1) / WINDOW, "windows");
	check_sums(a, golden);
	room[1] = (uint32_t)m.config->vocab_size;
	tap_fails(activations_add(a, room, 2), ERR_ARGUMENT, "token 1: the id", "a wrong id");
	activations_free(a);
	lm_close(&m);
	safetensors_close(golden);
}

static void test_llama(void)
{
	test_family("llama");
}

static void test_gpt2(void)
{
	test_family("gpt2");
}

static void test_gemma3(void)
{
	test_family("gemma3");
}

int main(void)
{
	tap_run(test_llama);
	tap_run(test_gpt2);
	tap_run(test_gemma3);
	return tap_done();
}

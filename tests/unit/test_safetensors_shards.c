/* A sharded set by its index: what is missing, misplaced, listed twice or not at all; row I09. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD  "fixtures/good/safetensors/sharded/"
#define BAD   "fixtures/bad/safetensors/"
#define INDEX "model.safetensors.index.json"
#define ONE   "model-00001-of-00002.safetensors"
#define TWO   "model-00002-of-00002.safetensors"

static void test_good(void)
{
	struct safetensors *s = NULL;
	const struct tensor_info *t;

	if (!tap_works(safetensors_open(&s, GOOD INDEX), "the set opens"))
		exit(1);
	tap_is_u64(safetensors_n_files(s), 2, "two files");
	tap_is_text(safetensors_file_path(s, 0), GOOD ONE, "by name");
	tap_is_text(safetensors_file_path(s, 1), GOOD TWO, "the second");
	tap_ok(safetensors_file_fd(s, 1) >= 0, "with a descriptor");
	tap_is_u64(safetensors_n_tensors(s), 3, "three tensors");
	t = safetensors_find(s, bytes_of("b\u00e9"));
	tap_ok(t && t->file == 1, "one in the second file, its name escaped in the index");
	tap_ok(t && t == safetensors_tensor(s, 2), "after those of the first");
	tap_is_u64(safetensors_n_pairs(s), 1, "metadata of the first file alone");
	safetensors_close(s);
}

static int open_set(const char *name)
{
	struct safetensors *s = NULL;
	char path[256];

	snprintf(path, sizeof path, BAD "%s/" INDEX, name);
	return safetensors_open(&s, path);
}

static void test_refused(void)
{
	tap_fails(open_set("shard-missing"), ERR_MISSING, TWO, "a shard that is not there");
	tap_ok(strstr(err_text(), INDEX) != NULL, "and the index that names it");
	tap_fails(open_set("shard-escapes"), ERR_FORMAT,
		  "tensor a: \"../" ONE "\" is not a file name", "a path out of the folder");
	tap_fails(open_set("shard-absolute"), ERR_FORMAT, "\"/etc/passwd\" is not a file name",
		  "an absolute path");
	tap_fails(open_set("shard-nul"), ERR_FORMAT, "is not a file name", "a NUL in a name");
	tap_fails(open_set("shard-misplaced"), ERR_MISMATCH, "tensor a: it should be in",
		  "a tensor in another file");
	tap_ok(strstr(err_text(), ONE) && strstr(err_text(), TWO), "both are named");
	tap_fails(open_set("shard-unlisted"), ERR_MISMATCH, "tensor x: it is not listed in",
		  "a tensor that the index does not have");
	tap_fails(open_set("shard-twice"), ERR_MISMATCH, "tensor a: the same tensor is in",
		  "a tensor in two files");
	tap_ok(strstr(err_text(), ONE) && strstr(err_text(), TWO), "both are named");
	tap_fails(open_set("I09-tied-head-missing"), ERR_MISMATCH,
		  "tensor lm_head.weight: it should be in",
		  "I09 a head that the index has and the shards have not");
	tap_fails(open_set("shard-no-map"), ERR_FORMAT, "no weight_map", "no weight_map");
}

/* I09: both ways of a model with tied ends are plain to see; which it is, config.json says. */
static void test_I09_tied(void)
{
	struct safetensors *s = NULL;

	tap_works(safetensors_open(&s, "fixtures/good/hf/llama/model.safetensors"), "I09 tied");
	tap_ok(safetensors_find(s, bytes_of("model.embed_tokens.weight")) &&
		       !safetensors_find(s, bytes_of("lm_head.weight")),
	       "I09 one tensor for both ends");
	safetensors_close(s);
	s = NULL;
	tap_works(safetensors_open(&s, "fixtures/good/hf/llama-untied/model.safetensors"),
		  "I09 not tied");
	tap_ok(safetensors_find(s, bytes_of("model.embed_tokens.weight")) &&
		       safetensors_find(s, bytes_of("lm_head.weight")),
	       "I09 one tensor for each end");
	safetensors_close(s);
}

static int open_index(const char *text)
{
	struct safetensors *s = NULL;
	int rc = safetensors_open(&s, tap_file("i.index.json", text, strlen(text)));

	safetensors_close(s);
	return rc;
}

static void test_index_json(void)
{
	tap_works(open_index("{\"weight_map\":{}}"), "no tensors at all");
	tap_works(open_index("{\"weight_map\":{},\"metadata\":{\"total_size\":1e99},\"x\":[1]}"),
		  "what else stands there is left alone");
	tap_fails(open_index("{\"weight_map\":{\"a\":1}}"), ERR_FORMAT, "expected a string",
		  "a number for a file");
	tap_fails(open_index("{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}"), ERR_FORMAT,
		  "duplicate key \"a\"", "a tensor twice");
	tap_fails(open_index("{\"weight_map\":{\"a\":\"\"}}"), ERR_FORMAT, "is not a file name",
		  "no name");
	tap_fails(open_index("{\"weight_map\":{\"a\":\"..\"}}"), ERR_FORMAT, "is not a file name",
		  "the folder above");
	tap_fails(open_index("[]"), ERR_FORMAT, "expected an object", "a list");
	tap_ok(safetensors_open(&(struct safetensors *){ NULL }, tap_path("none.index.json")) < 0 &&
		       strstr(err_text(), "none.index.json"),
	       "an index that is not there");
}

/* --- damage --- */

static int open_damaged(void *arg, const void *data, size_t size)
{
	struct safetensors *s = NULL;
	const char *path = arg;
	FILE *f;
	int rc;

	/* A new file each time: some file systems flush one that is cut to nothing and written again. */
	remove(path);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
	rc = safetensors_open(&s, path);
	safetensors_close(s);
	return rc;
}

static void copy_shard(const char *name)
{
	char path[256];
	size_t n;
	char *data;

	snprintf(path, sizeof path, GOOD "%s", name);
	data = tap_fixture(path, &n);
	tap_file(name, data, n);
	free(data);
}

static void test_damaged(void)
{
	struct bytes good, second = bytes_of("{\"weight_map\":{\"a\":\"" ONE "\"}}");
	char path[512];
	char *text = tap_fixture(GOOD INDEX, &good.size);

	good.data = text;
	copy_shard(ONE);
	copy_shard(TWO);
	snprintf(path, sizeof path, "%s", tap_path(INDEX));
	corrupt_run("damaged index", good, second, open_damaged, path, (size_t)64 << 20);
	free(text);
}

int main(void)
{
	tap_run(test_good);
	tap_run(test_refused);
	tap_run(test_I09_tied);
	tap_run(test_index_json);
	tap_run(test_damaged);
	return tap_done();
}

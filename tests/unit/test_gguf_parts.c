/*
 * Split models: row H15 of the cases. The good parts are gguf-py's, cut as llama-gguf-split
 * cuts them; the bad ones are made byte by byte by scripts/gen-fixtures-gguf.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf.h"
#include "lib/base/err.h"
#include "tests/tap.h"

#define GOOD	"fixtures/good/gguf/"
#define BAD	"fixtures/bad/gguf/"
#define PART(n) GOOD "split-0000" #n "-of-00003.gguf"

/* Five tensors t0 … t4 of 1 … 5 rows; tensor i holds the value i. */
static void check_split(struct gguf *g, const char *how)
{
	uint64_t count = 0;

	tap_is_u64(gguf_n_files(g), 3, "%s: files", how);
	tap_is_text(gguf_file_path(g, 0), PART(1), "%s: the first", how);
	tap_is_text(gguf_file_path(g, 2), PART(3), "%s: the last", how);
	tap_is_u64(gguf_n_tensors(g), 5, "%s: tensors", how);
	for (uint32_t i = 0; i < 5; i++) {
		const struct tensor_info *t = gguf_tensor(g, i);
		char name[] = { 't', (char)('0' + i), '\0' };
		float v;

		memcpy(&v, t->data + t->n_bytes - 4, 4);
		tap_ok(gguf_find(g, bytes_of(name)) == t && t->shape[0] == i + 1 &&
			       t->shape[1] == 3 && t->file == i / 2 && v == (float)i,
		       "%s: %s", how, name);
		tap_ok(t->offset + t->n_bytes <= gguf_file_size(g, t->file), "%s: in its file",
		       how);
	}
	tap_ok(gguf_get_u64(g, "split.count", &count) == 1 && count == 3, "%s: metadata", how);
	tap_ok(gguf_get(g, "foo.bar") != NULL, "%s: the first part's keys", how);
}

static void test_h15_open(void)
{
	struct gguf *g = NULL;

	if (tap_works(gguf_open(&g, PART(1)), "H15 opened by its first part"))
		check_split(g, "by the first");
	gguf_close(g);
	g = NULL;
	if (tap_works(gguf_open(&g, PART(3)), "H15 opened by its last part"))
		check_split(g, "by the last");
	gguf_close(g);
}

static void test_h15_given(void)
{
	const char *const any_order[] = { PART(3), PART(1), PART(2) };
	const char *const twice[] = { PART(1), PART(2), PART(2) };
	const char *const four[] = { PART(1), PART(2), PART(3), PART(1) };
	const char *const foreign[] = { PART(1), GOOD "small-first-00002-of-00002.gguf", PART(3) };
	const char *const whole[] = { GOOD "types.gguf", PART(1) };
	const char *const alone[] = { GOOD "types.gguf" };
	struct gguf *g = NULL;

	if (tap_works(gguf_open_parts(&g, any_order, 3), "H15 parts out of order"))
		check_split(g, "out of order");
	gguf_close(g);
	tap_fails(gguf_open_parts(&g, any_order, 2), ERR_MISSING,
		  "part 2 of 3 is missing: " PART(2), "H15 a part is not given");
	tap_fails(gguf_open_parts(&g, any_order, 1), ERR_MISSING,
		  "part 1 of 3 is missing: " PART(1), "H15 one part alone");
	tap_fails(gguf_open_parts(&g, twice, 3), ERR_MISMATCH,
		  PART(2) ": is part 2 of 3, as is " PART(2), "H15 a part given twice");
	tap_fails(gguf_open_parts(&g, four, 4), ERR_MISMATCH, "is part 1 of 3, as is " PART(1),
		  "H15 all given, and one again");
	tap_fails(gguf_open_parts(&g, foreign, 3), ERR_MISMATCH,
		  "key split.count: is 2, and 3 in another part", "H15 a part of another model");
	tap_fails(gguf_open_parts(&g, whole, 2), ERR_MISMATCH,
		  GOOD "types.gguf: is a whole model, not a part", "H15 a whole model first");
	tap_fails(gguf_open_parts(&g, (const char *const[]){ PART(1), GOOD "types.gguf" }, 2),
		  ERR_MISMATCH, GOOD "types.gguf: is a whole model, not a part",
		  "H15 a whole model behind");
	tap_fails(gguf_open_parts(&g, NULL, 0), ERR_ARGUMENT, "no part", "H15 none given");
	tap_works(gguf_open_parts(&g, alone, 1), "H15 a whole model given alone");
	gguf_close(g);
}

static void test_h15_first_without_tensors(void)
{
	struct gguf *g = NULL;

	if (tap_works(gguf_open(&g, GOOD "small-first-00001-of-00002.gguf"),
		      "H15 a first part of keys")) {
		tap_is_u64(gguf_n_tensors(g), 2, "H15 tensors of the second");
		tap_is_u64(gguf_tensor(g, 0)->file, 1, "H15 the file of the first tensor");
	}
	gguf_close(g);
	g = NULL;
	if (tap_works(gguf_open(&g, GOOD "merged.gguf"), "H15 a merged model says split.count 0"))
		tap_is_u64(gguf_n_files(g), 1, "H15 and is one file");
	gguf_close(g);
}

/* The names need not say anything when all parts are given. */
static void test_h15_other_names(void)
{
	char first[4096];
	struct gguf *g = NULL;
	const char *paths[3];
	char source[64];

	for (int i = 0; i < 3; i++) {
		char name[] = { (char)('a' + i), '\0' };
		size_t n;
		char *data;

		snprintf(source, sizeof(source), GOOD "split-0000%d-of-00003.gguf", i + 1);
		data = tap_fixture(source, &n);
		paths[i] = tap_file(name, data, n);
		free(data);
	}
	tap_works(gguf_open_parts(&g, paths, 3), "H15 parts of any name");
	gguf_close(g);
	snprintf(first, sizeof(first), "%s: part 3 of 3 is missing", paths[0]);
	tap_fails(gguf_open_parts(&g, paths, 2), ERR_MISSING, first, "H15 a part is not given");
	tap_fails(gguf_open(&g, paths[1]), ERR_ARGUMENT,
		  "is part 2 of 3, but its name does not end in -00002-of-00003.gguf: name all the "
		  "parts",
		  "H15 a part whose name tells nothing");
}

static void test_h15_memory(void)
{
	struct gguf *g = NULL;
	size_t n;
	char *data = tap_fixture(PART(2), &n);

	tap_fails(gguf_open_memory(&g, data, n, "memory"), ERR_UNSUPPORTED,
		  "memory: is part 2 of 3, and the other parts are not given", "H15 in memory");
	free(data);
}

static const struct {
	const char *name; /* of the first part, or of the file */
	enum err_code code;
	const char *part;
} bad[] = {
	{ "H15-missing-00001-of-00003", ERR_MISSING,
	  "part 2 of 3 is missing: " BAD "H15-missing-00002-of-00003.gguf" },
	{ "H15-missing-00003-of-00003", ERR_MISSING,
	  "part 2 of 3 is missing: " BAD "H15-missing-00002-of-00003.gguf" },
	{ "H15-repeated-00001-of-00003", ERR_MISMATCH,
	  BAD "H15-repeated-00003-of-00003.gguf: has split.no 1 and split.count 3, which is not" },
	{ "H15-repeated-00003-of-00003", ERR_MISMATCH,
	  BAD "H15-repeated-00003-of-00003.gguf: has split.no 1 and split.count 3, which is not" },
	{ "H15-total-00001-of-00003", ERR_MISMATCH,
	  "00001-of-00003.gguf: key split.tensors.count: is 4, but the 3 parts hold 3" },
	{ "H15-total-differs-00001-of-00003", ERR_MISMATCH,
	  "00003-of-00003.gguf: key split.tensors.count: is 5, but the 3 parts hold 3" },
	{ "H15-no-total-00001-of-00003", ERR_MISSING,
	  "00001-of-00003.gguf: key split.tensors.count: is missing" },
	{ "H15-negative-total-00001-of-00003", ERR_FORMAT,
	  "key split.tensors.count: is -1, must not be negative" },
	{ "H15-count-00001-of-00003", ERR_MISMATCH,
	  "00002-of-00003.gguf: has split.no 1 and split.count 4, which is not" },
	{ "H15-name-twice-00001-of-00003", ERR_MISMATCH,
	  "00002-of-00003.gguf: tensor t0: is in " BAD "H15-name-twice-00001-of-00003.gguf too" },
	{ "H15-contradicts-00001-of-00003", ERR_MISMATCH,
	  "00002-of-00003.gguf: key general.architecture: is not as in " BAD
	  "H15-contradicts-00001-of-00003.gguf" },
	{ "H15-whole-among-00001-of-00003", ERR_MISMATCH, "00002-of-00003.gguf: has split.no 0" },
	{ "H15-no-name", ERR_ARGUMENT, "does not end in -00002-of-00003.gguf" },
	{ "H15-no-3-of-3-00001-of-00003", ERR_FORMAT, "key split.no: is 3, must be less than" },
	{ "H15-no-number-00001-of-00003", ERR_MISSING, "key split.no: is missing" },
	{ "H15-count-2-32-00001-of-00003", ERR_FORMAT,
	  "key split.count: is 4294967296, more than" },
};

#define N_BAD (sizeof(bad) / sizeof(*bad))

static void test_h15_refused(void)
{
	struct gguf *g;

	for (size_t i = 0; i < N_BAD; i++) {
		char path[256];

		snprintf(path, sizeof(path), BAD "%s.gguf", bad[i].name);
		tap_fails(gguf_open(&g, path), bad[i].code, bad[i].part, "%s", bad[i].name);
	}
}

/* Each first part, and each file that stands alone, is in the table. */
static void test_all_listed(void)
{
	DIR *d = opendir(BAD);
	struct dirent *e;

	if (!tap_ok(d != NULL, "the folder of bad files"))
		return;
	while ((e = readdir(d)) != NULL) {
		bool listed = strncmp(e->d_name, "H15", 3) != 0 ||
			      strstr(e->d_name, "-00002-of-") || strstr(e->d_name, "-00003-of-");

		for (size_t i = 0; i < N_BAD && !listed; i++)
			listed = strncmp(e->d_name, bad[i].name, strlen(bad[i].name)) == 0;
		if (!listed)
			tap_ok(false, "%s is tested", e->d_name);
	}
	closedir(d);
}

int main(void)
{
	tap_run(test_h15_open);
	tap_run(test_h15_given);
	tap_run(test_h15_first_without_tensors);
	tap_run(test_h15_other_names);
	tap_run(test_h15_memory);
	tap_run(test_h15_refused);
	tap_run(test_all_listed);
	return tap_done();
}

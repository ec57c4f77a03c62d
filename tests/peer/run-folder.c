/*
 * tests/peer/run-folder.c - a run folder with one checkpoint, for others to open: run-folder FOLDER STEP
 *
 * The model and its values are those of tests/run_model.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/run_model.h"

int main(int argc, char **argv)
{
	struct run_model model;
	struct run_folder *r = NULL;
	enum run_found found;
	uint64_t step = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int result;

	if (argc != 3)
		return 2;
	run_model_new(&model);
	run_model_fill(&model, step, 0);
	result = run_folder_open(&r, argv[1], false, &found);
	if (result == 0)
		result = run_model_checkpoint(&model, r, step, 0, NULL);
	if (result < 0)
		fprintf(stderr, "run-folder: %s\n", err_text());
	run_folder_close(r);
	run_model_free(&model);
	return result < 0 ? 2 : 0;
}

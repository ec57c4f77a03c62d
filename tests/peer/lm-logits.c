/*
 * tests/peer/lm-logits.c - the largest logits after a prompt, for comparisons with peers
 *
 *	lm-logits [-ap] MODEL ID...
 *
 * Five lines `id<TAB>logit`, the largest first; with -a all logits after every token, as f32. -p turns q and k of a GGUF into Hugging Face's order. What of the file is not
 * used goes to stderr, a line each. Exit 0, or 2.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/team.h"
#include "lib/graph/plan.h"
#include "lib/model/lm.h"

#define IDS_MAX 4096
#define SHOWN	5

static void print_largest(float *logits, size_t n)
{
	for (int i = 0; i < SHOWN; i++) {
		size_t best = 0;

		for (size_t j = 1; j < n; j++)
			if (logits[j] > logits[best])
				best = j;
		printf("%zu\t%.4f\n", best, (double)logits[best]);
		logits[best] = -INFINITY;
	}
}

static void print_unused(const struct lm *m)
{
	for (size_t i = 0; i < m->n_unused; i++)
		fprintf(stderr, "not used: %s\n", m->unused[i]);
	for (size_t i = 0; i < m->report.n_unknown; i++)
		fprintf(stderr, "not known: %s\n", m->report.unknown[i]);
}

/* Of the last token the largest, or ALL there are. */
static int run(const struct lm *m, const int32_t *ids, size_t n, bool all)
{
	struct plan_options o = { 0 };
	struct lm_inputs in = { .rope_paired = m->rope_paired, .context = n };
	struct graph *g = NULL;
	struct plan *p = NULL;
	struct tensor *y;
	int result = -1;

	if (team_new(&o.team, 2) < 0 || graph_new(&g, m->store, NULL) < 0)
		goto done;
	in.ids = graph_constant(g, DTYPE_I32, SHAPE(n), ids);
	in.positions = op_reshape(g, op_arange(g, DTYPE_I32, n, 0, 1), SHAPE(n, 1));
	y = lm_hidden(g, m->config, &in);
	if (!all)
		y = op_slice(g, y, 0, n - 1, 1);
	y = lm_logits(g, m->config, y);
	graph_output(g, y, "logits");
	if (graph_check(g) < 0)
		goto done;
	print_unused(m);
	if (plan_new(&p, g, &o) < 0 || plan_run(p, 0, 0) < 0)
		goto done;
	if (all)
		fwrite(plan_data(p, y), sizeof(float), shape_elements(&y->shape), stdout);
	else
		print_largest(plan_data(p, y), shape_elements(&y->shape));
	result = 0;
done:
	plan_free(p);
	graph_free(g);
	team_free(o.team);
	return result;
}

int main(int argc, char **argv)
{
	struct lm_open_options o = { 0 };
	static int32_t ids[IDS_MAX];
	struct lm m;
	size_t n = 0;
	int option, result = 2;
	bool all = false;

	while ((option = getopt(argc, argv, "ap")) == 'p' || option == 'a')
		*(option == 'p' ? &o.permute : &all) = true;
	if (option != -1 || argc - optind < 2 || argc - optind - 1 > IDS_MAX) {
		fputs("usage: lm-logits [-ap] MODEL ID...\n", stderr);
		return 2;
	}
	for (int i = optind + 1; i < argc; i++)
		ids[n++] = (int32_t)strtol(argv[i], NULL, 10);
	if (lm_open(&m, argv[optind], &o) == 0 && run(&m, ids, n, all) == 0)
		result = 0;
	else
		fprintf(stderr, "lm-logits: %s\n", err_text());
	lm_close(&m);
	return result;
}

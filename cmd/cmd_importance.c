/* cmd/cmd_importance.c - sums of squares under the names that a GGUF has for the weights */

#include "cmd/cmd_importance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "lib/base/memory.h"
#include "lib/eval/activations.h"
#include "lib/model/importance.h"

#define NAME_MAX 256

struct named {
	char name[NAME_MAX];
	float *squares; /* owned */
	float count;
};

/* What a GGUF calls the parameter NAME. */
static void name_in_gguf(const struct bind_rules *rules, const char *name, char out[NAME_MAX])
{
	uint32_t numbers[BIND_NUMBERS];

	for (size_t i = 0; i < rules->n; i++)
		if (bind_match(rules->items[i].ours, bytes_of(name), numbers) &&
		    bind_name(rules->items[i].theirs, numbers, out, NAME_MAX))
			return;
	cmd_die("%s: has no name in a GGUF", name);
}

static void read_all(struct activations *a, struct token_documents *in, uint64_t max_docs)
{
	struct progress *p = cmd_progress("read", "tokens", 0);
	struct token_document d;

	for (uint64_t i = 0; i < max_docs && cmd_check(token_documents_next(in, SIZE_MAX, &d)) > 0;
	     i++) {
		cmd_check(activations_add(a, d.ids, d.n));
		progress_add(p, d.n);
	}
	progress_end(p);
	if (activations_tokens(a) == 0)
		cmd_die("no token to read");
}

static void take(struct named *to, struct importance_tensor *t, const struct activations_sum *s,
		 double tokens)
{
	to->squares = mem_new(s->n, sizeof(*to->squares));
	cmd_check(to->squares ? 0 : -1);
	for (size_t i = 0; i < s->n; i++)
		to->squares[i] = (float)s->squares[i];
	to->count = (float)tokens;
	*t = (struct importance_tensor){ .name = bytes_of(to->name),
					 .columns = s->n,
					 .matrices = 1,
					 .squares = to->squares,
					 .counts = &to->count };
}

static void write_file(const struct activations *a, const struct bind_rules *rules,
		       const struct importance_about *about, const char *path)
{
	const size_t n = activations_n(a);
	struct named *named = mem_new(n + 1, sizeof(*named));
	struct importance_tensor *tensors = mem_new(n + 1, sizeof(*tensors));
	struct outfile *f;

	cmd_check(named && tensors ? 0 : -1);
	for (size_t i = 0; i < n; i++) {
		struct activations_sum s = activations_at(a, i);

		name_in_gguf(rules, s.name, named[i].name);
		take(&named[i], &tensors[i], &s, (double)activations_tokens(a));
	}
	cmd_check(outfile_new(&f, path));
	cmd_check(importance_write(f, about, tensors, n));
	cmd_check(outfile_commit(f));
	for (size_t i = 0; i < n; i++)
		free(named[i].squares);
	free(named);
	free(tensors);
}

void cmd_importance(const struct cmd_lm *lm, struct token_documents *in, const char *dataset,
		    const char *path, uint32_t context, uint64_t max_docs)
{
	struct plan_options plan = { 0 };
	struct importance_about about = { .dataset = bytes_of(dataset), .chunk_size = context };
	struct activations *a;
	struct bind_rules rules;
	struct arena *arena;

	cmd_check(arena_new(&arena));
	cmd_check(lm_rules(&rules, arena, lm->model.config, MODEL_GGUF, false));
	cmd_plan_options(&plan);
	cmd_check(activations_new(&a, lm->model.config, lm->model.store,
				  &(struct activations_options){
					  .backend = plan.backend,
					  .team = plan.team,
					  .context = context,
					  .rope_paired = lm->model.rope_paired,
					  .memory = plan.memory,
					  .without = plan.without,
					  .strict = plan.strict,
				  }));
	read_all(a, in, max_docs);
	about.chunks = (uint32_t)activations_windows(a);
	write_file(a, &rules, &about, path);
	cmd_note("%zu matrices, %" PRIu64 " tokens in %" PRIu64 " windows", activations_n(a),
		 activations_tokens(a), activations_windows(a));
	activations_free(a);
	arena_free(arena);
}

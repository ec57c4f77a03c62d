/* compare-logits - compare the logits of two models, or with kept ones, token by token */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_compare.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_logits.h"
#include "lib/base/memory.h"

static int compute[2] = { 0, -1 }, cache[2] = { 0, -1 }, device_2 = -1;
static uint64_t top = 10;
static bool per_position, json;
static struct cmd_list taps;
static struct compare_limits limits = { -1, -1, -1, -1, -1 };

static const struct cmd_option options[] = {
	CMD_LOGITS,
	CMD_ENUM(0, "compute", &compute[0], cmd_compute_words, "TYPE",
		 "what is computed in: f32 (default), bf16 or rounded, as decode has it"),
	CMD_ENUM(0, "compute-2", &compute[1], cmd_compute_words, "TYPE",
		 "the same of the second model (default: as the first)"),
	CMD_ENUM(0, "cache-dtype", &cache[0], cmd_cache_words, "TYPE",
		 "keys and values go through a cache of this type: f32, f16, bf16 or q8_0; none "
		 "(default)"),
	CMD_ENUM(0, "cache-dtype-2", &cache[1], cmd_cache_words, "TYPE",
		 "the same of the second model (default: as the first)"),
	CMD_ENUM(0, "device-2", &device_2, cmd_devices, "NAME",
		 "where the second model runs (default: as the first)"),
	CMD_SIZE(0, "top", &top, 1, LOGITS_TOP_MOST,
		 "count how many of the N largest are the same (default 10)"),
	CMD_FLAG('p', "per-position", &per_position, "a row for each position"),
	CMD_LIST(0, "taps", &taps, "PATTERNS",
		 "also compare the nodes of these names, in their order"),
	CMD_REAL(0, "tap-limit", &limits.tap, 0, DBL_MAX,
		 "how far a node may be off, by its size (default 1e-5; bf16: 5e-2)"),
	CMD_REAL(0, "max-diff", &limits.diff, 0, DBL_MAX,
		 "most that a logit may differ, by the largest logit"),
	CMD_REAL(0, "max-kl", &limits.kl, 0, DBL_MAX, "largest mean divergence"),
	CMD_REAL(0, "min-top1", &limits.top1, 0, 1,
		 "least share of positions with the same likeliest token"),
	CMD_REAL(0, "max-perplexity", &limits.perplexity, 0, DBL_MAX,
		 "most that perplexities may differ, by the first"),
	CMD_FLAG(0, "json", &json, "JSON, one object a line"),
	CMD_GRAPH,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "compare-logits",
	.operands = "model model",
	.summary = "compare the logits of two models, token by token",
	.options = options,
	.notes = "Each MODEL is a folder, a .gguf, or a file of make-golden. Exit status: 0 within "
		 "the "
		 "limits, 1 past one,\n2 trouble. Without limits those of the types hold.",
	.min_operands = 2,
	.max_operands = 2,
};

static struct cmd_side sides[2];
static struct cmd_windows windows;
static const struct logits_tokens *tokens;
static struct logits_position *positions; /* owned: one a token */
static struct compare_taps compared_taps;

/* --- opening --- */

static void check_sides(void)
{
	const struct logits_origin *a = &sides[0].origin, *b = &sides[1].origin;

	if (memcmp(&a->tokenizer, &b->tokenizer, sizeof(a->tokenizer)) != 0)
		cmd_die("%s and %s: their tokenizers give different ids", sides[0].path,
			sides[1].path);
	if (a->vocab != b->vocab)
		cmd_die("%s and %s: vocabularies of %" PRIu32 " and %" PRIu32, sides[0].path,
			sides[1].path, a->vocab, b->vocab);
	if (taps.n && (sides[0].file || sides[1].file))
		cmd_misuse("--taps: kept logits have no nodes");
}

static bool same_tokens(const struct logits_tokens *a, const struct logits_tokens *b)
{
	return a->n_windows == b->n_windows &&
	       memcmp(a->starts, b->starts, (a->n_windows + 1) * sizeof(*a->starts)) == 0 &&
	       memcmp(a->ids, b->ids, (size_t)a->starts[a->n_windows] * sizeof(*a->ids)) == 0;
}

/* Of a file, when one is among them. The context of a window. */
static uint32_t choose_tokens(void)
{
	uint32_t context;

	for (int i = 0; i < 2; i++) {
		if (!sides[i].file)
			continue;
		if (cmd_logits.data || cmd_logits.context || cmd_logits.max_tokens != UINT64_MAX)
			cmd_misuse("-d, -c and -n: %s has the tokens", sides[i].path);
		if (tokens && !same_tokens(tokens, logits_file_tokens(sides[i].file)))
			cmd_die("%s and %s: are of different tokens", sides[0].path, sides[1].path);
		tokens = logits_file_tokens(sides[i].file);
	}
	if (tokens)
		return sides[sides[0].file ? 0 : 1].origin.context;
	context = cmd_side_context(&sides[0]);
	cmd_windows_read(&windows, &sides[0].lm, context);
	tokens = &windows.tokens;
	return context;
}

static void start_side(int i, uint32_t context)
{
	struct cmd_side_options o = { .compute = compute[i] < 0 ? compute[0] : compute[i],
				      .cache = cache[i] < 0 ? cache[0] : cache[i],
				      .taps = taps.items,
				      .n_taps = taps.n };

	if (i == 1 && device_2 >= 0)
		cmd_graph.device = device_2;
	o.backend = cmd_device();
	cmd_side_start(&sides[i], context, &o);
}

static void open_all(char **argv)
{
	uint32_t context;

	for (int i = 0; i < 2; i++)
		cmd_side_open(&sides[i], argv[i]);
	check_sides();
	context = choose_tokens();
	for (int i = 0; i < 2; i++)
		start_side(i, context);
	positions = mem_new((size_t)tokens->starts[tokens->n_windows], sizeof(*positions));
	cmd_check(positions ? 0 : -1);
	if (taps.n)
		compare_taps_start(&compared_taps, sides[0].logits, sides[1].logits);
}

/* --- the work --- */

/* Rows AT to AT + N - 1 of a window of SIZE tokens. */
static void compare_slice(size_t window, size_t at, size_t n, size_t size)
{
	const uint64_t from = tokens->starts[window];
	const float *rows[2];
	int64_t next[LOGITS_SLICE];

	for (int i = 0; i < 2; i++)
		rows[i] = cmd_side_rows(&sides[i], tokens, window, at, n);
	for (size_t i = 0; i < n; i++)
		next[i] = at + i + 1 < size ? (int64_t)tokens->ids[from + at + i + 1] : -1;
	logits_compare(cmd_team(), rows[0], rows[1], n, sides[0].origin.vocab, next,
		       (uint32_t)(top < sides[0].origin.vocab ? top : sides[0].origin.vocab),
		       positions + from + at);
}

static void compare_all(void)
{
	struct progress *p = cmd_progress("compare", "tokens", tokens->starts[tokens->n_windows]);

	for (size_t w = 0; w < tokens->n_windows; w++) {
		size_t size = (size_t)(tokens->starts[w + 1] - tokens->starts[w]);

		for (int i = 0; i < 2; i++)
			cmd_side_read(&sides[i], tokens, w);
		if (taps.n)
			compare_taps_window(&compared_taps, size);
		for (size_t at = 0; at < size; at += LOGITS_SLICE) {
			size_t n = size - at < LOGITS_SLICE ? size - at : LOGITS_SLICE;

			compare_slice(w, at, n, size);
			progress_add(p, n);
		}
	}
	progress_end(p);
}

static void print_all(void)
{
	const size_t n = (size_t)tokens->starts[tokens->n_windows];
	const uint32_t k = (uint32_t)(top < sides[0].origin.vocab ? top : sides[0].origin.vocab);
	struct logits_summary s;

	cmd_check(logits_summarize(positions, n, k, &s));
	if (per_position)
		compare_print_positions(positions, tokens->ids, n, json);
	if (taps.n)
		compare_print_taps(&compared_taps, json);
	compare_print_summary(&s, k, json);
	if (!compare_judge(&s, &limits, &sides[0].origin, &sides[1].origin,
			   taps.n ? &compared_taps : NULL))
		cmd_answer_no();
}

int main(int argc, char **argv)
{
	cmd_begin(&spec, &argc, &argv);
	if (cmd_logits.raw && cmd_logits.docs)
		cmd_misuse("--raw and --docs: only one of them");
	open_all(argv);
	compare_all();
	print_all();
	compare_taps_free(&compared_taps);
	free(positions);
	cmd_windows_free(&windows);
	for (int i = 0; i < 2; i++)
		cmd_side_close(&sides[i]);
	return cmd_end();
}

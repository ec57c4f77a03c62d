/* copy-model - copy a model: split or join its files, rename, leave out or convert tensors */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "formats/copy_model.h"
#include "formats/model_summary.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

static struct cmd_list only, except, renames;
static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", NULL };
static int dtype_word = -1;
static bool allow_overflow, join;
static uint64_t shard_bytes;

static const struct cmd_option options[] = {
	CMD_LIST(0, "only", &only, "PATTERNS", "copy tensors that match one of these alone"),
	CMD_LIST(0, "except", &except, "PATTERNS", "leave out tensors that match one of these"),
	CMD_TEXTS(0, "rename", &renames, "FROM=TO",
		  "rename tensors; one * on each side stands for any text"),
	CMD_ENUM('d', "dtype", &dtype_word, dtypes, "TYPE",
		 "convert floating-point tensors to f64, f32, f16 or bf16"),
	CMD_FLAG(0, "allow-overflow", &allow_overflow,
		 "with --dtype: let values past its range become infinite, and count them"),
	CMD_SIZE(0, "shard-size", &shard_bytes, 1, UINT64_MAX,
		 "split into files with at most N bytes of data (5G)"),
	CMD_FLAG(0, "join", &join, "write one file, where a folder would keep its shards"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "copy-model",
	.operands = "model ... target",
	.summary = "copy a model: split or join its files, rename, leave out or convert tensors",
	.options = options,
	.notes = "Several models are the parts of one split GGUF; its first part alone will do.",
	.min_operands = 2,
	.max_operands = -1,
};

/* Kept to the end, with the texts that they point to. */
static struct copy_rename *rules;

static struct copy_rename *parse_renames(void)
{
	rules = mem_new(renames.n, sizeof(*rules));
	if (!rules)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < renames.n; i++) {
		char *text = mem_copy(renames.items[i], strlen(renames.items[i]));

		if (!text)
			cmd_die("%s", err_text());
		if (copy_rename_parse(&rules[i], text) < 0)
			cmd_die("--rename: %s", err_text());
	}
	return rules;
}

static void say_what_was_done(const struct copy_report *r, const char *target)
{
	char bytes[NUMBER_TEXT];

	cmd_note("%s: %" PRIu64 " tensors, %s%s", target, r->n_tensors,
		 number_bytes(r->bytes, bytes), r->n_files > 1 ? ", in several files" : "");
	if (r->n_left_out)
		cmd_note("%" PRIu64 " tensors left out", r->n_left_out);
	if (r->n_converted)
		cmd_note("%" PRIu64 " tensors converted to %s", r->n_converted, dtypes[dtype_word]);
	if (r->n_overflows)
		cmd_warn("%" PRIu64 " values were past the range of %s and are infinite now",
			 r->n_overflows, dtypes[dtype_word]);
}

int main(int argc, char **argv)
{
	struct copy_options o = { 0 };
	struct copy_report report;
	struct model_summary s;
	struct progress *p;
	struct model *m;

	cmd_begin(&spec, &argc, &argv);
	if (join && shard_bytes)
		cmd_die("--join and --shard-size exclude each other");
	o = (struct copy_options){
		.only = only.items,
		.n_only = only.n,
		.except = except.items,
		.n_except = except.n,
		.renames = parse_renames(),
		.n_renames = renames.n,
		.dtype = dtype_word < 0 ? DTYPE_UNKNOWN : dtype_by_name(dtypes[dtype_word]),
		.allow_overflow = allow_overflow,
		.shard_bytes = shard_bytes,
		.join = join,
	};
	cmd_check(model_open_parts(&m, (const char *const *)argv, (size_t)argc - 1));
	model_summarise(m, &s);
	p = cmd_progress(argv[argc - 1], "B", s.tensor_bytes);
	cmd_check(copy_model(m, argv[argc - 1], &o, &report, p));
	progress_end(p);
	say_what_was_done(&report, argv[argc - 1]);
	model_close(m);
	return cmd_end();
}

/* make-golden - keep a model's logits, for comparisons later */

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_logits.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

static const char *folder, *target;
static int compute, cache, dtype;
static bool force;

static const char *const file_words[] = { "f32", "f16", NULL };

static const struct cmd_option options[] = {
	CMD_LOGITS,
	CMD_PATH('O', "into", &folder, "DIR",
		 "write DIR/KEY.safetensors, where KEY is a hash of all that decides the logits"),
	CMD_PATH('o', "output", &target, "FILE", "write this file"),
	CMD_FLAG(0, "force", &force, "with --into: even if the file is there"),
	CMD_ENUM(0, "compute", &compute, cmd_compute_words, "TYPE",
		 "what is computed in: f32 (default), bf16 or rounded"),
	CMD_ENUM(0, "cache-dtype", &cache, cmd_cache_words, "TYPE",
		 "keys and values go through a cache of this type: f32, f16, bf16 or q8_0; none "
		 "(default)"),
	CMD_ENUM(0, "dtype", &dtype, file_words, "TYPE",
		 "of the logits in the file: f32 (default) or f16"),
	CMD_GRAPH,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "make-golden",
	.operands = "model",
	.summary = "keep a model's logits, for comparisons later",
	.options = options,
	.notes = "MODEL is a folder or a .gguf. The name of the file that was written, or found, "
		 "is printed.",
	.min_operands = 1,
	.max_operands = 1,
};

static struct cmd_side side;
static struct cmd_windows windows;

/* What --output or --into says; owned. */
static char *choose_path(void)
{
	struct hash128 key;
	char hex[HASH_HEX];
	char *path;

	if (target)
		return mem_copy(target, strlen(target));
	cmd_check(logits_key(&key, &side.origin, &windows.tokens));
	hash_hex(&key, hex);
	if (mkdir(folder, 0777) < 0 && access(folder, W_OK) < 0)
		cmd_die("%s: cannot be made or written to", folder);
	path = mem_format("%s/%s.safetensors", folder, hex);
	cmd_check(path ? 0 : -1);
	return path;
}

/* Whether PATH is whole and of the same: its name says so, and it opens. */
static bool is_there(const char *path)
{
	struct logits_file *f;
	bool there = folder && !force && access(path, F_OK) == 0 && logits_file_open(&f, path) > 0;

	if (there)
		logits_file_close(f);
	return there;
}

static void write_logits(const char *path)
{
	const struct logits_tokens *t = &windows.tokens;
	struct progress *p = cmd_progress("compute", "tokens", t->starts[t->n_windows]);
	struct logits_writer *w;
	struct outfile *f;

	cmd_check(outfile_new(&f, path));
	cmd_check(logits_writer_new(&w, f, &side.origin, t));
	for (size_t i = 0; i < t->n_windows; i++) {
		size_t n = (size_t)(t->starts[i + 1] - t->starts[i]);

		cmd_side_read(&side, t, i);
		for (size_t at = 0; at < n; at += LOGITS_SLICE) {
			size_t some = n - at < LOGITS_SLICE ? n - at : LOGITS_SLICE;

			cmd_check(
				logits_writer_rows(w, cmd_side_rows(&side, t, i, at, some), some));
			progress_add(p, some);
		}
	}
	progress_end(p);
	cmd_check(logits_writer_end(w));
	cmd_check(outfile_commit(f));
	logits_writer_free(w);
}

int main(int argc, char **argv)
{
	uint32_t context;
	char *path;

	cmd_begin(&spec, &argc, &argv);
	if (!folder == !target)
		cmd_misuse("--output FILE or --into DIR says where the logits go: one of them");
	if (cmd_logits.raw && cmd_logits.docs)
		cmd_misuse("--raw and --docs: only one of them");
	cmd_side_open(&side, argv[0]);
	if (side.file)
		cmd_die("%s: is a file of logits, not a model", argv[0]);
	context = cmd_side_context(&side);
	cmd_windows_read(&windows, &side.lm, context);
	cmd_side_start(&side, context,
		       &(struct cmd_side_options){
			       .backend = cmd_device(), .compute = compute, .cache = cache });
	side.origin.dtype = dtype ? DTYPE_F16 : DTYPE_F32;
	path = choose_path();
	if (is_there(path))
		cmd_note("%s: is there already", path);
	else
		write_logits(path);
	if (!target || strcmp(target, "-") != 0)
		cmd_printf("%s\n", path);
	free(path);
	cmd_windows_free(&windows);
	cmd_side_close(&side);
	return cmd_end();
}

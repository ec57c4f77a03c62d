/* export-gguf - write a Hugging Face folder as a GGUF */

#include <inttypes.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/cmd_notes.h"
#include "formats/shape_text.h"
#include "lib/base/number.h"
#include "lib/model/gguf_export.h"

static const char *target, *tokenizer, *pre;
static const char *const dtypes[] = { "keep", "f32", "f16", "bf16", NULL };
static int dtype_word;
static bool clamp, plain, dry_run;
static struct cmd_list allow;

/* What --allow takes: each is a thing that GGUF, or llama.cpp, does not have. */
static const char *const losses[] = {
	"activation",
	"attention_scale",
	"bias",
	"causal",
	"head",
	"no-tokenizer",
	"rope",
	"tensors",
	"no_rope_layers",
	"window",
	"position_embedding_type",
	"tokenizer",
};

static const struct cmd_option options[] = {
	CMD_PATH('o', "output", &target, "FILE", "the GGUF to write (- is stdout)"),
	CMD_ENUM('d', "dtype", &dtype_word, dtypes, "TYPE",
		 "type of matrices: keep, f32, f16 or bf16 (keep)"),
	CMD_FLAG(0, "clamp", &clamp,
		 "with --dtype: values past its range become its largest, and are counted"),
	CMD_PATH('t', "tokenizer", &tokenizer, "PATH",
		 "a tokenizer in the place of the folder's own"),
	CMD_TEXT(0, "pre", &pre, "NAME", "llama.cpp's name of the split pattern"),
	CMD_LIST(0, "allow", &allow, "NAMES",
		 "let through what a message named: the GGUF then says less than the folder"),
	CMD_FLAG(0, "plain", &plain, "no keys but llama.cpp's: nnutils reads less back then"),
	CMD_FLAG(0, "dry-run", &dry_run, "list the tensors, and write nothing"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "export-gguf",
	.operands = "folder",
	.summary = "write a Hugging Face folder as a GGUF",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

static void check_names(void)
{
	for (size_t i = 0; i < allow.n; i++) {
		size_t k = 0, n = sizeof(losses) / sizeof(*losses);

		while (k < n && strcmp(losses[k], allow.items[i]) != 0)
			k++;
		if (k == n)
			cmd_die("--allow: nothing is called %s", allow.items[i]);
	}
}

static void check_operand(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		cmd_die("%s: is a file, not a folder with config.json; copy-model converts a GGUF, "
			"import-gguf makes a folder of it",
			path);
}

static void list_tensors(const struct gguf_source *s, const struct gguf_export_options *o)
{
	char shape[SHAPE_TEXT];

	for (size_t i = 0; i < gguf_source_n(s); i++) {
		const struct tensor_info *t = gguf_source_tensor(s, i);

		shape_text(t, shape);
		cmd_print_bytes(t->name);
		cmd_printf("\t%s\t%s\n", dtype_name(gguf_export_dtype(t, o)), shape);
	}
}

static void say_what_was_done(const struct gguf_export_report *r)
{
	char bytes[NUMBER_TEXT];

	cmd_note("%s: %" PRIu64 " tensors, %s", target, r->n_tensors,
		 number_bytes(r->bytes, bytes));
	if (r->n_converted)
		cmd_note("%" PRIu64 " tensors converted to %s, %" PRIu64 " values rounded",
			 r->n_converted, dtypes[dtype_word], r->narrow.rounded);
	if (r->narrow.clamped)
		cmd_warn("%" PRIu64 " values were past the range of %s and are its largest now",
			 r->narrow.clamped, dtypes[dtype_word]);
}

static void write_gguf(const struct gguf_source *s, const struct gguf_export_options *o)
{
	struct gguf_export_report report;
	struct progress *p = cmd_progress(target, "B", gguf_export_bytes(s, o));

	cmd_check(gguf_export(s, target, o, &report, p));
	progress_end(p);
	say_what_was_done(&report);
}

int main(int argc, char **argv)
{
	struct gguf_source_options source = { 0 };
	struct gguf_export_options o = { 0 };
	struct gguf_source *s;

	cmd_begin(&spec, &argc, &argv);
	check_names();
	if (!target && !dry_run)
		cmd_misuse("-o names the GGUF to write");
	check_operand(argv[0]);
	source = (struct gguf_source_options){ .tokenizer = tokenizer,
					       .pre = pre,
					       .allow = allow.items,
					       .n_allow = allow.n,
					       .plain = plain };
	o.clamp = clamp;
	o.dtype = dtype_word ? dtype_by_name(dtypes[dtype_word]) : DTYPE_UNKNOWN;
	cmd_check(gguf_source_open(&s, argv[0], &source));
	cmd_note_lines(gguf_source_notes(s));
	if (dry_run)
		list_tensors(s, &o);
	else
		write_gguf(s, &o);
	gguf_source_close(s);
	return cmd_end();
}

/* import-gguf - write a GGUF as a Hugging Face folder */

#include <inttypes.h>

#include "cmd/cmd.h"
#include "cmd/cmd_notes.h"
#include "lib/base/number.h"
#include "lib/model/gguf_import.h"

static const char *target;
static const char *const dtypes[] = { "keep", "f32", "f16", "bf16", NULL };
static int dtype_word;
static bool clamp;
static struct cmd_list allow;

static const struct cmd_option options[] = {
	CMD_PATH('o', "output", &target, "FOLDER", "the folder to write; it must not exist"),
	CMD_ENUM('d', "dtype", &dtype_word, dtypes, "TYPE",
		 "type of all tensors: keep, f32, f16 or bf16 (keep; blocks become f16, gemma3's "
		 "bf16)"),
	CMD_FLAG(0, "clamp", &clamp,
		 "values past the range of the type become its largest, and are counted"),
	CMD_LIST(0, "allow", &allow, "NAMES",
		 "leave out what cannot be written: tensors, tokenizer"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "import-gguf",
	.operands = "model",
	.summary = "write a GGUF as a Hugging Face folder",
	.options = options,
	.notes = "Of a split model the first part is named; the others lie beside it.",
	.min_operands = 1,
	.max_operands = 1,
};

static void take_names(struct gguf_import_options *o)
{
	for (size_t i = 0; i < allow.n; i++)
		if (strcmp(allow.items[i], "tensors") == 0)
			o->unknown_tensors = true;
		else if (strcmp(allow.items[i], "tokenizer") == 0)
			o->no_tokenizer = true;
		else
			cmd_die("--allow: nothing is called %s", allow.items[i]);
}

static void say_what_was_done(const struct gguf_import *in)
{
	struct gguf_import_report r = gguf_import_report(in);
	char bytes[NUMBER_TEXT];

	cmd_note_lines(gguf_import_notes(in));
	cmd_note("%s: %" PRIu64 " tensors, %s", target, r.n_tensors, number_bytes(r.bytes, bytes));
	if (r.n_decoded)
		cmd_note("%" PRIu64 " tensors of block types became %s", r.n_decoded,
			 dtype_name(r.blocks));
	if (r.n_rounded)
		cmd_note("%" PRIu64 " values of the others were rounded", r.n_rounded);
	if (r.n_inexact)
		cmd_note("%" PRIu64 " values of norms less 1 are not exact", r.n_inexact);
	if (r.n_clamped)
		cmd_warn("%" PRIu64 " values were past the range of their type", r.n_clamped);
}

int main(int argc, char **argv)
{
	struct gguf_import_options o = { 0 };
	struct gguf_import *in;
	struct progress *p;
	struct model *m;

	cmd_begin(&spec, &argc, &argv);
	take_names(&o);
	if (!target)
		cmd_misuse("-o names the folder to write");
	o.clamp = clamp;
	o.dtype = dtype_word ? dtype_by_name(dtypes[dtype_word]) : DTYPE_UNKNOWN;
	cmd_check(model_open(&m, argv[0]));
	cmd_check(gguf_import_new(&in, m, &o));
	p = cmd_progress(target, "B", gguf_import_bytes(in));
	cmd_check(gguf_import_write(in, target, p));
	progress_end(p);
	say_what_was_done(in);
	gguf_import_free(in);
	model_close(m);
	return cmd_end();
}

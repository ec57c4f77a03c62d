/* quantize - write a model with smaller weights, as a GGUF */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_quantize.h"
#include "cmd/cmd_table.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/model/quantize.h"

static struct cmd_list types, leave, allow;
static const char *output_type, *embedding_type, *importance_path, *target, *tokenizer, *pre;
static const char *perplexity_text;
static bool pure, no_fallback, allow_requantize, clamp, dry_run, errors, plain;
static uint64_t memory, context;

static const struct cmd_option options[] = {
	CMD_TEXTS(0, "type", &types, "[PATTERN=]TYPE",
		  "q4_k_m, q8_0, f16 and so on; with PATTERN= of the tensors that match"),
	CMD_TEXT(0, "output-type", &output_type, "TYPE", "the type of the output matrix"),
	CMD_TEXT(0, "embedding-type", &embedding_type, "TYPE", "the type of the token embedding"),
	CMD_LIST(0, "leave", &leave, "PATTERNS", "tensors that stay as they are"),
	CMD_FLAG(0, "pure", &pure, "the same type for every matrix, without the rules of the mix"),
	CMD_PATH(0, "importance", &importance_path, "FILE",
		 "weigh errors by an importance matrix (GGUF)"),
	CMD_FLAG(0, "no-fallback", &no_fallback,
		 "refuse rows that do not fit their type, where another one would be used"),
	CMD_FLAG(0, "allow-requantize", &allow_requantize,
		 "make blocks of what was made blocks before"),
	CMD_FLAG(0, "clamp", &clamp,
		 "values past the range of f16 become its largest, and are counted"),
	CMD_PATH('o', "output", &target, "FILE", "the file to write, as the second operand"),
	CMD_FLAG('n', "dry-run", &dry_run, "print what would be written, and write nothing"),
	CMD_FLAG('e', "errors", &errors, "measure and print what each tensor lost"),
	CMD_PATH(0, "perplexity", &perplexity_text, "FILE",
		 "foretell a text with the model and with what was written"),
	CMD_SIZE('c', "ctx", &context, 2, 1 << 20,
		 "with --perplexity: tokens of a window (default 512)"),
	CMD_PATH('t', "tokenizer", &tokenizer, "FILE", "the tokenizer (default: the model's)"),
	CMD_TEXT(0, "pre", &pre, "NAME", "of a folder: tokenizer.ggml.pre"),
	CMD_LIST(0, "allow", &allow, "NAMES",
		 "of a folder: what GGUF cannot say, as for export-gguf"),
	CMD_FLAG(0, "plain", &plain, "no keys of nnutils' own, nor the tokenizer.json"),
	CMD_SIZE(0, "memory", &memory, 1, UINT64_MAX, "work in at most N bytes"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "quantize",
	.operands = "model [target]",
	.summary = "write a model with smaller weights, as a GGUF",
	.options = options,
	.notes =
		"MODEL is a folder or a .gguf. Types: f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 "
		"iq4_nl\n"
		"q2_k q3_k q4_k q5_k q6_k; mixes of them: q2_k q2_k_s q3_k_s q3_k_m q3_k_l q4_k_s\n"
		"q4_k_m q5_k_s q5_k_m.",
	.min_operands = 1,
	.max_operands = 2,
};

static struct quantize_rule *rules;
static size_t n_rules;
static enum quantize_mix mix;

/* --- options --- */

static enum dtype type_of(const char *option, const char *word)
{
	enum dtype t = dtype_by_name(word);

	if (!quantize_writes(t))
		cmd_misuse("%s: '%s' is no type that is written: f32, f16, bf16, q4_0, q4_1, q5_0, "
			   "q5_1, "
			   "q8_0, iq4_nl, q2_k, q3_k, q4_k, q5_k, q6_k",
			   option, word);
	return t;
}

/* PATTERN=TYPE, cut at EQUALS. */
static void take_rule(const char *text, const char *equals)
{
	char *pattern = mem_copy(text, (size_t)(equals - text));

	if (!pattern)
		cmd_die("%s", err_text());
	rules[n_rules++] = (struct quantize_rule){ pattern, type_of("--type", equals + 1) };
}

static void take_type(const char *text)
{
	const char *equals = strrchr(text, '=');

	if (equals) {
		take_rule(text, equals);
		return;
	}
	if (mix)
		cmd_misuse("--type %s: another type for all is given too; PATTERN=%s says which",
			   text, text);
	mix = quantize_mix_by_name(text);
	if (!mix)
		cmd_misuse("--type: '%s' is no type: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, "
			   "iq4_nl, q2_k, q2_k_s, q3_k_s, q3_k_m, q3_k_l, q4_k_s, q4_k_m, q5_k_s, "
			   "q5_k_m, "
			   "q6_k",
			   text);
}

static void take_types(void)
{
	rules = mem_new(types.n, sizeof(*rules));
	if (!rules)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < types.n; i++)
		take_type(types.items[i]);
}

static void check_options(char **operands, int n)
{
	if (n > 1 && target)
		cmd_misuse("'%s' and --output: only one of them", operands[1]);
	if (n > 1)
		target = operands[1];
	if (!types.n && !output_type && !embedding_type)
		cmd_misuse("--type is missing: q4_k_m, q8_0, ...");
	if (!target && !dry_run)
		cmd_misuse("a file to write is missing");
	if (dry_run && (errors || perplexity_text))
		cmd_misuse("--dry-run writes nothing that --errors or --perplexity could measure");
	if (perplexity_text && strcmp(target, "-") == 0)
		cmd_misuse("--perplexity: standard output cannot be read again");
	if (errors && strcmp(target, "-") == 0)
		cmd_misuse("--errors: standard output is taken by the model");
}

/* --- tables --- */

static void print_shape(struct cmd_table *t, const struct tensor_info *info)
{
	char text[256] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < info->n_dims && n < sizeof(text) - 24; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu64, i ? "x" : "",
				      info->shape[i]);
	cmd_table_cell(t, "%s", text);
}

static double bits(double bytes, uint64_t elements)
{
	return elements ? 8 * bytes / (double)elements : 0;
}

static void print_tensor(struct cmd_table *t, const struct quantize_tensor *q)
{
	cmd_table_name(t, q->from->name);
	print_shape(t, q->from);
	cmd_table_cell(t, "%s", dtype_name(q->from->dtype));
	cmd_table_cell(t, "%s", dtype_name(q->to));
	cmd_table_cell(t, "%s", q->to == q->wanted ? "-" : dtype_name(q->wanted));
	cmd_table_cell(t, "%" PRIu64, q->bytes);
	cmd_table_cell(t, "%.4f", bits((double)q->bytes, q->from->n_elements));
	if (!errors)
		return;
	cmd_table_cell(t, "%.6g", q->error.rms);
	cmd_table_cell(t, "%.6g", q->error.max);
	cmd_table_cell(t, "%.8f", q->error.cosine);
}

static void print_table(const struct quantize *q)
{
	static const char *const headings[] = {
		"tensor", "shape", "from", "to", "wanted", ">bytes", ">bits_per_weight", NULL
	};
	static const char *const with_errors[] = {
		"tensor",	    "shape", "from", "to",	"wanted", ">bytes",
		">bits_per_weight", ">rms",  ">max", ">cosine", NULL
	};
	struct cmd_table *t = cmd_table_new(errors ? with_errors : headings);

	for (size_t i = 0; i < quantize_n(q); i++)
		print_tensor(t, quantize_tensor(q, i));
	cmd_table_end(t);
}

/* --- what was done --- */

static void say_fallbacks(const struct quantize_totals *t)
{
	if (!t->fallbacks)
		return;
	cmd_warn("%" PRIu64 " of %" PRIu64
		 " tensors, %.1f %% of their weights, have rows that do not fit "
		 "their type and get another one: %.3f bits per weight, not %.3f",
		 t->fallbacks, t->quantized,
		 100 * (double)t->fallback_elements / (double)t->quantized_elements,
		 bits((double)t->bytes, t->elements), bits(t->nominal_bytes, t->elements));
}

static void say_totals(const struct quantize *q)
{
	struct quantize_totals t = quantize_totals(q);
	char before[NUMBER_TEXT], after[NUMBER_TEXT];

	cmd_note("%zu tensors, %" PRIu64 " quantized: %s (%.3f bits per weight), before %s (%.3f)",
		 quantize_n(q), t.quantized, number_bytes(t.bytes, after),
		 bits((double)t.bytes, t.elements), number_bytes(t.bytes_before, before),
		 bits((double)t.bytes_before, t.elements));
	say_fallbacks(&t);
	if (t.unweighted)
		cmd_note("%" PRIu64 " quantized tensors are not in %s, and were not weighted",
			 t.unweighted, importance_path);
	if (t.clamped)
		cmd_warn("%" PRIu64 " values were past the range of f16 and are its largest now",
			 t.clamped);
}

static void say_notes(const struct gguf_source *s)
{
	const struct buffer *b = gguf_source_notes(s);
	const char *line = b->data, *end = b->data + b->size;

	while (line && line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		stop = stop ? stop : end;
		cmd_note("%.*s", (int)(stop - line), line);
		line = stop + 1;
	}
}

/* --- the whole --- */

static void write_model(struct quantize *q)
{
	struct progress *p = cmd_progress(target, "B", quantize_totals(q).bytes);
	enum level level;
	const char *word;

	if (level_choose(&level, &word) < 0)
		cmd_die("NNUTILS_ISA=%s: not a level of this machine: %s", word, level_names());
	cmd_check(quantize_write(q, target, cmd_team(), level, p));
	progress_end(p);
}

static void measure_perplexity(const char *model)
{
	const char *const paths[] = { model, target };
	struct cmd_quantize_perplexity p;
	double before = 0;

	cmd_printf("model\tscored\tloss\tperplexity\terror\tchange\n");
	for (int i = 0; i < 2; i++) {
		cmd_quantize_perplexity(&p, paths[i], tokenizer ? tokenizer : model,
					perplexity_text, context);
		cmd_printf("%s\t%" PRIu64 "\t%.6f\t%.4f\t%.4f\t%+.3f %%\n", i ? "after" : "before",
			   p.scored, p.loss, exp(p.loss), exp(p.loss) * p.error,
			   i ? 100 * (exp(p.loss - before) - 1) : 0.0);
		before = p.loss;
	}
}

int main(int argc, char **argv)
{
	struct gguf_source_options so = { 0 };
	struct quantize_options o = { 0 };
	struct importance *importance = NULL;
	struct gguf_source *source;
	struct quantize *q;

	cmd_begin(&spec, &argc, &argv);
	take_types();
	check_options(argv, argc);
	so = (struct gguf_source_options){ .tokenizer = tokenizer,
					   .pre = pre,
					   .allow = allow.items,
					   .n_allow = allow.n,
					   .plain = plain };
	cmd_check(gguf_source_open(&source, argv[0], &so));
	if (importance_path)
		cmd_check(importance_open(&importance, importance_path));
	o = (struct quantize_options){
		.mix = mix,
		.pure = pure,
		.rules = rules,
		.n_rules = n_rules,
		.output = output_type ? type_of("--output-type", output_type) : DTYPE_UNKNOWN,
		.embedding = embedding_type ? type_of("--embedding-type", embedding_type)
					    : DTYPE_UNKNOWN,
		.leave = leave.items,
		.n_leave = leave.n,
		.no_fallback = no_fallback,
		.allow_requantize = allow_requantize,
		.clamp = clamp,
		.importance = importance,
		.importance_path = importance_path,
		.errors = errors,
		.memory = memory,
	};
	cmd_check(quantize_new(&q, source, &o));
	say_notes(source);
	if (!dry_run)
		write_model(q);
	if (dry_run || errors)
		print_table(q);
	say_totals(q);
	quantize_free(q);
	importance_close(importance);
	gguf_source_close(source);
	if (perplexity_text)
		measure_perplexity(argv[0]);
	return cmd_end();
}

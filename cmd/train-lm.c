/* train-lm - train a language model on packed tokens */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_sample.h"
#include "kernels/cpu/level.h"
#include "lib/data/windows.h"
#include "lib/eval/roof.h"
#include "lib/train/training.h"

#define STEPS_MAX ((uint64_t)1 << 53)
#define COUNT_MAX ((uint64_t)1 << 40)
#define RATE_MAX  1e6

static struct training_options o;
static const char *output, *log_path;
static struct cmd_list allow;
static bool resume, dry_run;
static int log_fd = -1;
static struct progress *progress;
static struct cmd_sample *sample;
static const struct training *current; /* for its step, in samples */

static const struct cmd_option options[] = {
	CMD_PATH('d', "data", &o.data, "FILE",
		 "tokens to learn: a packed file, a mix, or - for a stream"),
	CMD_PATH('o', "output", &output, "FOLDER", "the run: checkpoints and the log"),
	CMD_FLAG('r', "resume", &resume, "go on where the run stands, or begin it"),
	CMD_LIST(0, "allow", &allow, "NAMES",
		 "go on though these options or identities are not those of the run"),
	CMD_FLAG('n', "dry-run", &dry_run, "tell what would be done: steps, rates, memory"),

	CMD_SIZE('c', "ctx", &o.ctx, 1, WINDOW_LENGTH_MAX,
		 "tokens of a window (default: what the data say, or the model's context)"),
	CMD_SIZE('b', "batch", &o.batch, 1, COUNT_MAX, "windows of a step"),
	CMD_SIZE(0, "batch-tokens", &o.batch_tokens, 1, COUNT_MAX,
		 "the same in tokens (default 8192)"),
	CMD_SIZE(0, "micro-batch", &o.micro_batch, 1, COUNT_MAX,
		 "windows at a time (default: what the memory holds)"),
	CMD_SIZE(0, "shuffle", &o.shuffle, 1, COUNT_MAX,
		 "tokens of a stream that are shuffled together (default: a step's)"),
	CMD_ENUM(0, "fit", &o.fit, training_fit_words, "HOW",
		 "how windows are filled: file (as it says), cut, best or one"),
	CMD_ENUM(0, "documents", &o.documents, training_documents_words, "HOW",
		 "apart (attention stays in one, the default) or joined"),
	CMD_ENUM(0, "objective", &o.objective, training_objective_words, "NAME",
		 "what is learnt: next (the next token) or mlm (masked ones; of bert)"),
	CMD_RATIO(0, "mask", &o.mask, "share of the tokens that are masked (default 0.15)"),
	CMD_SIZE(0, "mask-id", &o.mask_id, 0, UINT32_MAX - 1,
		 "the token that masks (default: the tokenizer's)"),
	CMD_SIZE('s', "steps", &o.steps, 1, STEPS_MAX, "steps (default: one pass over the data)"),
	CMD_SIZE(0, "tokens", &o.tokens, 1, STEPS_MAX, "the same in tokens"),
	CMD_REAL(0, "epochs", &o.epochs, 0, 1e9, "the same in passes over the data"),

	CMD_ENUM(0, "schedule", &o.schedule, training_schedule_words, "NAME",
		 "how the rate falls: cosine (default), linear, wsd or constant"),
	CMD_REAL('l', "lr", &o.lr, 0, RATE_MAX, "the highest learning rate (default 6e-4)"),
	CMD_REAL(0, "min-lr", &o.min_lr, 0, RATE_MAX, "the last one (default: a tenth)"),
	CMD_SIZE(0, "warmup", &o.warmup, 0, STEPS_MAX,
		 "steps of rising rate (default: a tenth of all, 100 at most)"),
	CMD_SIZE(0, "warmup-tokens", &o.warmup_tokens, 0, STEPS_MAX, "the same in tokens"),
	CMD_SIZE(0, "decay", &o.decay, 0, STEPS_MAX,
		 "steps of falling rate, of wsd (default: a fifth of all)"),

	CMD_ENUM(0, "optimizer", &o.optimizer, training_optimizer_words, "NAME",
		 "adamw (default), lion, muon, sgd or adamw8"),
	CMD_REAL(0, "beta1", &o.beta1, 0, 1, "of the first moment (default 0.9)"),
	CMD_REAL(0, "beta2", &o.beta2, 0, 1, "of the second (default 0.95; lion 0.99)"),
	CMD_REAL(0, "eps", &o.eps, 0, 1, "added to the root of the second moment (default 1e-8)"),
	CMD_REAL(0, "momentum", &o.momentum, 0, 1, "of muon (default 0.95) and sgd (0.9)"),
	CMD_REAL(0, "weight-decay", &o.weight_decay, 0, 1e6,
		 "of matrices alone (default 0.1; sgd 0)"),
	CMD_REAL(0, "clip", &o.clip, 0, 1e9, "the longest gradient (default 1; 0: any)"),
	CMD_REAL(0, "ema", &o.ema, 0, 1, "keep an average of the parameters with this decay"),
	CMD_REAL(0, "label-smoothing", &o.label_smoothing, 0, 1,
		 "share of the target spread over the vocabulary"),
	CMD_REAL(0, "z-loss", &o.z_loss, 0, 1e3, "weight of the squared log of the normalizer"),
	CMD_REAL(0, "dropout", &o.dropout, 0, 1, "share of values that are dropped"),

	CMD_ENUM(0, "dtype", &o.dtype, training_dtype_words, "TYPE",
		 "what is computed in: f32 (default) or bf16, from f32 parameters"),
	CMD_ENUM(0, "weights", &o.weights, training_dtype_words, "TYPE",
		 "what parameters are kept in: f32 (default) or bf16"),
	CMD_ENUM(0, "rounding", &o.rounding, training_rounding_words, "HOW",
		 "of bf16 parameters: stochastic (default) or nearest"),
	CMD_SIZE(0, "seed", &o.seed, 0, UINT64_MAX - 1,
		 "of the order of windows and of dropout (default 0)"),

	CMD_PATH('v', "val", &o.val, "FILE", "tokens to evaluate on"),
	CMD_SIZE(0, "val-every", &o.val_every, 0, STEPS_MAX,
		 "steps between evaluations (default 250; 0: the last alone)"),
	CMD_SIZE(0, "val-tokens", &o.val_tokens, 0, STEPS_MAX,
		 "how many of the tokens are looked at (default 0: all)"),
	CMD_TEXT(0, "sample", &o.sample, "TEXT",
		 "at each evaluation print how the model goes on with this"),
	CMD_SIZE(0, "sample-tokens", &o.sample_tokens, 1, COUNT_MAX,
		 "with so many tokens at most (default 64)"),
	CMD_REAL(0, "temperature", &o.temperature, 0, 100,
		 "drawn at this temperature (default 0.8; 0: the likeliest)"),
	CMD_SIZE(0, "watch", &o.watch, 0, STEPS_MAX,
		 "every N steps log each parameter's gradient and update"),

	CMD_SIZE(0, "checkpoint-every", &o.checkpoint_every, 0, STEPS_MAX,
		 "steps between checkpoints (default 250; 0: the last alone)"),
	CMD_ENUM(0, "checkpoint-async", &o.checkpoint_async, training_switch_words, "WHETHER",
		 "on: write them beside training, from a copy (default off)"),
	CMD_SIZE('k', "keep", &o.keep, 0, STEPS_MAX,
		 "how many checkpoints stay, beside the best (default 2; 0: all)"),
	CMD_PATH(0, "log", &log_path, "FILE", "append the log's lines to this file too"),

	CMD_SIZE(0, "max-skipped", &o.max_skipped, 0, STEPS_MAX,
		 "end after so many steps in a row that are not finite (default 10; 0: never)"),
	CMD_REAL(0, "spike", &o.spike, 0, 1e6,
		 "tell when the loss stands so far over the smoothed one"),
	CMD_SIZE(0, "rollback", &o.rollback, 0, COUNT_MAX,
		 "go back to the last checkpoint then, so many times at most"),

	CMD_ENUM(0, "recompute", &o.recompute, training_recompute_words, "WHICH",
		 "blocks computed again to save memory: auto (default), none or all"),
	CMD_GRAPH,
	CMD_FLAG(0, "op-stats", &cmd_graph.op_stats,
		 "at the end a table of what ran, on stderr: time, share of the roofline"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "train-lm",
	.operands = "[model]",
	.summary = "train a language model on packed tokens",
	.options = options,
	.notes = "MODEL is a folder or a .gguf; a run that goes on has its own. SIGINT and SIGTERM "
		 "leave a\n"
		 "checkpoint, SIGUSR1 reports, SIGUSR2 writes a checkpoint.",
	.max_operands = 1,
};

/* --- what the run tells --- */

static void say_note(void *to, const char *text)
{
	(void)to;
	progress_wipe(progress);
	cmd_note("%s", text);
}

static void say_warning(void *to, const char *text)
{
	(void)to;
	progress_wipe(progress);
	cmd_warn("%s", text);
}

static bool stop_asked(void *to)
{
	(void)to;
	return cmd_stop_asked();
}

static bool checkpoint_asked(void *to)
{
	(void)to;
	return cmd_checkpoint_asked();
}

static bool has_stood(void *to)
{
	(void)to;
	return cmd_has_stood();
}

/* Samples are the data that this tool writes to stdout. */
static int write_sample(void *to, struct buffer *text)
{
	(void)to;
	if (!sample)
		return 0;
	if (cmd_sample_write(sample, text) < 0)
		return -1;
	progress_wipe(progress);
	cmd_printf("--- step %" PRIu64 "\n", training_step_number(current));
	cmd_print_bytes(buffer_bytes(text));
	cmd_print_char('\n');
	if (fflush(stdout) != 0)
		return err_system("stdout");
	return 0;
}

static int open_sample(const struct training *t)
{
	const struct training_options *all = training_options(t);

	current = t;
	if (!all->sample)
		return 0;
	if (!training_tokenizer(t))
		return err_set(ERR_ARGUMENT, "--sample: the model has no tokenizer in its folder");
	return cmd_sample_new(
		&sample, &(struct cmd_sample_options){
				 .config = training_model(t)->config,
				 .store = training_model(t)->store,
				 .tokenizer = training_tokenizer(t),
				 .backend = cmd_device(),
				 .team = cmd_team(),
				 .compute = all->dtype == TRAINING_BF16 ? DTYPE_BF16 : DTYPE_F32,
				 .prompt = all->sample,
				 .tokens = (size_t)all->sample_tokens,
				 .temperature = all->temperature,
				 .seed = all->seed });
}

static int write_log(void *to, struct bytes line)
{
	struct buffer b = { 0 };
	int result;

	(void)to;
	if (log_fd < 0)
		return 0;
	buffer_put(&b, line.data, line.size);
	buffer_put_u8(&b, '\n');
	result = buffer_check(&b);
	if (result == 0 && write(log_fd, b.data, b.size) != (ssize_t)b.size)
		result = err_system("%s", log_path);
	buffer_free(&b);
	return result;
}

static void report(struct training *t, bool now)
{
	struct buffer line = { 0 };

	if (!now && !progress_due(progress))
		return;
	training_report_progress(&line, training_last(t));
	buffer_put_u8(&line, 0);
	if (line.failed) {
		buffer_free(&line);
		return;
	}
	if (now)
		say_warning(NULL, line.data);
	else
		progress_line(progress, line.data);
	buffer_free(&line);
}

/* --- the machine --- */

/*
 * Multiplications and additions a second, measured here in some milliseconds; 0: not known. The best of some: other programs make a
 * machine seem slower, never faster.
 */
static void measure_peak(struct training_setup *s)
{
	struct roof *roof;

	if (strcmp(s->backend->name, "cpu") != 0 || roof_new(&roof, s->backend->level, s->team) < 0)
		return;
	s->peak = roof_operations(roof, PEAK_F32).high;
	if (roof_operations(roof, PEAK_BF16).n)
		s->peak_half = roof_operations(roof, PEAK_BF16).high;
	roof_free(roof);
}

/* --- a run --- */

static void print_stats(struct training *t)
{
	struct trainer *trainer = training_trainer(t);

	progress_wipe(progress);
	cmd_op_stats(trainer_plan(trainer), NULL);
	cmd_op_stats(trainer_update_plan(trainer), NULL);
}

static void measure_plans(struct training *t)
{
	plan_measure(trainer_plan(training_trainer(t)), true);
	plan_measure(trainer_update_plan(training_trainer(t)), true);
}

/* The run knows its other options; those of this machine are said again. */
static void say_stopped(const struct training *t)
{
	const char *device = cmd_devices[cmd_graph.device];

	cmd_warn("stopped after step %" PRIu64 "; this goes on: train-lm --resume -o %s%s%s",
		 training_step_number(t), output, strcmp(device, "cpu") == 0 ? "" : " --device ",
		 strcmp(device, "cpu") == 0 ? "" : device);
}

/* A run that fails gives its folder back first: what it left nothing in goes again. */
static void must(struct training *t, int result)
{
	if (result == 0)
		return;
	progress_wipe(progress);
	training_close(t);
	cmd_check(result);
}

static void run(struct training *t)
{
	enum training_event event = TRAINING_STEPPED;

	if (cmd_graph.op_stats)
		measure_plans(t);
	progress = cmd_progress("train-lm", "steps", training_options(t)->steps);
	while (event == TRAINING_STEPPED) {
		must(t, training_next(t, &event));
		report(t, cmd_report_asked());
	}
	if (cmd_graph.op_stats)
		print_stats(t);
	progress_end(progress);
	progress = NULL;
	if (event == TRAINING_STOPPED)
		say_stopped(t);
}

static void describe(struct training *t)
{
	struct buffer b = { 0 };

	must(t, training_describe(t, &b));
	cmd_print_bytes(buffer_bytes(&b));
	buffer_free(&b);
}

/* --- options --- */

static void check_allowed(void)
{
	for (size_t i = 0; i < allow.n; i++)
		if (!training_is_name(allow.items[i]))
			cmd_misuse("--allow: '%s' is neither an option of a run nor an identity "
				   "(tokens, tokenizer, model, validation, level, kernels)",
				   allow.items[i]);
}

static void check_options(void)
{
	if (!output && !dry_run)
		cmd_misuse("--output is needed: the folder of the run");
	if (o.batch != TRAINING_UNSET && o.batch_tokens != TRAINING_UNSET)
		cmd_misuse("--batch and --batch-tokens: one of them");
	if ((o.steps != TRAINING_UNSET) + (o.tokens != TRAINING_UNSET) + (o.epochs == o.epochs) > 1)
		cmd_misuse("--steps, --tokens and --epochs: one of them");
	if (o.warmup != TRAINING_UNSET && o.warmup_tokens != TRAINING_UNSET)
		cmd_misuse("--warmup and --warmup-tokens: one of them");
	check_allowed();
}

static void open_log(void)
{
	if (!log_path || dry_run)
		return;
	log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log_fd < 0)
		cmd_check(err_system("%s", log_path));
}

int main(int argc, char **argv)
{
	struct training_setup setup = { .hooks = { .note = say_note,
						   .warn = say_warning,
						   .stop = stop_asked,
						   .checkpoint = checkpoint_asked,
						   .stood = has_stood,
						   .sample = write_sample,
						   .log = write_log } };
	struct plan_options plan = { 0 };
	struct training *t;

	training_options_unset(&o);
	cmd_begin(&spec, &argc, &argv);
	check_options();
	o.model = argc ? argv[0] : NULL;
	cmd_plan_options(&plan);
	if (cmd_graph.memory)
		o.memory = cmd_graph.memory;
	setup.given = o;
	setup.folder = dry_run ? NULL : output;
	setup.resume = resume;
	setup.allow = allow.items;
	setup.n_allow = allow.n;
	setup.backend = plan.backend;
	setup.team = plan.team;
	setup.without = plan.without;
	setup.version = cmd_version();
	measure_peak(&setup);
	open_log();
	cmd_check(training_open(&t, &setup));
	if (training_found(t) == RUN_DONE) {
		cmd_note("%s: done, there is nothing to do", output);
	} else if (dry_run) {
		describe(t);
	} else {
		must(t, open_sample(t));
		cmd_stop_gracefully();
		run(t);
	}
	cmd_sample_free(sample);
	training_close(t);
	return cmd_end();
}

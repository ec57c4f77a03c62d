/* init-lm - make a language model that has learned nothing yet */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_folder.h"
#include "formats/tokenizer_gguf_pre.h"
#include "formats/tokenizer_write.h"
#include "lib/base/number.h"
#include "lib/model/lm_request.h"
#include "lib/model/lm_save.h"
#include "lib/text/tokenizer.h"
#include "lib/train/fit.h"

#define SIZE_MOST (HF_SIZE_MAX - 1)
#define ROWS	  4096 /* of a batch, unless given */

static const char *architecture_words[HF_ARCHITECTURE_COUNT];
static const char *init_words[LM_INIT_COUNT + 1];
static const char *optimizer_words[TRAINER_OPTIMIZER_COUNT + 1];
static const char *const dtype_words[] = { "f32", "bf16", NULL };
static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_BF16 };

static const char *output, *preset, *tokenizer_path, *split;
static const char *bos, *eos, *pad, *unk;
static uint64_t layers, heads, kv_heads, head_dim, pad_vocab, seed;
static uint64_t batch, context, memory;
static size_t recomputed;
static int architecture = -1, init, dtype, compute, optimizer;
static bool tie, no_tie, dry_run, as_json;
static struct lm_request request;

static const struct cmd_option options[] = {
	CMD_PATH('o', "output", &output, "DIR", "the folder to make (needed but for --dry-run)"),
	CMD_TEXT('p', "preset", &preset, "NAME",
		 "sizes by name: nano, tiny, small, medium, base, large, xl; list shows them"),
	CMD_SIZE(0, "params", &request.parameters, 1, (uint64_t)1 << 50,
		 "about so many parameters, in a sensible shape"),
	CMD_PATH('c', "config", &request.config, "FILE", "begin from this config.json"),
	CMD_ENUM('a', "architecture", &architecture, architecture_words, "NAME",
		 "llama (default), mistral, qwen2, qwen3, gemma3, smollm3, gpt2 or bert"),
	CMD_SIZE('l', "layers", &layers, 1, HF_LAYERS_MAX, "layers"),
	CMD_SIZE(0, "width", &request.shape.width, 1, SIZE_MOST, "numbers a token"),
	CMD_SIZE(0, "heads", &heads, 1, 65536, "heads of queries (default: of 64 numbers)"),
	CMD_SIZE(0, "kv-heads", &kv_heads, 1, 65536,
		 "heads of keys and values (default: a third, rounded up)"),
	CMD_SIZE(0, "head-dim", &head_dim, 1, HF_HEAD_DIM_MAX, "numbers a head"),
	CMD_SIZE(0, "ffn", &request.shape.ffn, 1, SIZE_MOST,
		 "hidden width (default 8/3 widths in 64s; gpt2, bert: 4 widths)"),
	CMD_SIZE(0, "context", &request.context, 1, SIZE_MOST, "the longest text in tokens"),
	CMD_SIZE(0, "vocab", &request.vocabulary, 1, SIZE_MOST,
		 "rows of the embedding (default: the tokenizer's)"),
	CMD_SIZE(0, "window", &request.window, 1, SIZE_MOST,
		 "tokens that sliding layers see (mistral, gemma3)"),
	CMD_FLAG(0, "tie", &tie, "the embedding is the head too (default without --config)"),
	CMD_FLAG(0, "no-tie", &no_tie, "a head of its own"),
	CMD_REAL(0, "rope-theta", &request.rope_theta, 1, 1e12, "the base of the rope's periods"),
	CMD_REAL(0, "norm-eps", &request.norm_eps, 1e-12, 1, "epsilon of the norms"),
	CMD_PATH('t', "tokenizer", &tokenizer_path, "PATH",
		 "a folder, tokenizer.json, or any file that holds one"),
	CMD_TEXT(0, "split", &split, "NAME", "the split pattern of a rank file"),
	CMD_SIZE(0, "pad-vocab", &pad_vocab, 1, (uint64_t)1 << 20,
		 "round the tokenizer's vocabulary up to a multiple of N"),
	CMD_TEXT(0, "bos", &bos, "TEXT", "the token that begins a text; empty for none"),
	CMD_TEXT(0, "eos", &eos, "TEXT", "the token that ends a text; empty for none"),
	CMD_TEXT(0, "pad", &pad, "TEXT", "the token that fills up; empty for none"),
	CMD_TEXT(0, "unk", &unk, "TEXT", "the token of what is unknown; empty for none"),
	CMD_ENUM(0, "init", &init, init_words, "HOW", "first values: gpt2 (default) or mup"),
	CMD_REAL(0, "init-range", &request.initializer_range, 1e-6, 10,
		 "their standard deviation (default 0.02)"),
	CMD_SIZE('s', "seed", &seed, 0, UINT64_MAX, "what they are drawn from (default 0)"),
	CMD_ENUM(0, "dtype", &dtype, dtype_words, "TYPE",
		 "of the weights on disk: f32 (default) or bf16"),
	CMD_FLAG('n', "dry-run", &dry_run, "write nothing; print what it is and what it costs"),
	CMD_FLAG(0, "json", &as_json, "with --dry-run: one JSON object"),
	CMD_SIZE(0, "batch", &batch, 1, (uint64_t)1 << 24,
		 "with --dry-run: sequences a step (default: of 4,096 tokens in all)"),
	CMD_SIZE(0, "ctx", &context, 1, SIZE_MOST,
		 "with --dry-run: their length (default: the context)"),
	CMD_ENUM(0, "compute", &compute, dtype_words, "TYPE",
		 "with --dry-run: what training computes in: f32 (default) or bf16"),
	CMD_ENUM(0, "optimizer", &optimizer, optimizer_words, "NAME",
		 "with --dry-run: adamw (default), lion, muon, sgd or adamw8"),
	CMD_SIZE(0, "memory", &memory, 1, UINT64_MAX,
		 "with --dry-run: bytes that training may take"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "init-lm",
	.operands = "",
	.summary = "make a language model that has learned nothing yet",
	.options = options,
	.notes = "One of --preset, --params, --config, or --layers with --width.",
};

static struct arena *arena;
static struct hf_config config;
static struct tokenizer_spec tokens;
static struct tokenizer_config_role roles[TOKENIZER_OTHERS];
static size_t n_roles;

/* --- what is asked for --- */

/* What the user asked for that cannot be is misuse. */
static void check_request(int result)
{
	if (result < 0 && err_last() == ERR_ARGUMENT)
		cmd_misuse("%s", err_text());
	cmd_check(result);
}

static void set_words(void)
{
	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++)
		architecture_words[a - 1] = hf_architecture_name((enum hf_architecture)a);
	for (int i = 0; i < LM_INIT_COUNT; i++)
		init_words[i] = lm_init_name((enum lm_init)i);
	for (int i = 0; i < TRAINER_OPTIMIZER_COUNT; i++)
		optimizer_words[i] = trainer_optimizer_name((enum trainer_optimizer)i);
}

static void check_options(void)
{
	if (tie && no_tie)
		cmd_misuse("--tie and --no-tie");
	if (!output && !dry_run)
		cmd_misuse("-o DIR is needed: the folder to make");
	if (!tokenizer_path && (bos || eos || pad || unk || pad_vocab || split))
		cmd_misuse("--bos, --eos, --pad, --unk, --pad-vocab and --split are of a "
			   "tokenizer: -t is missing");
	if (!dry_run && (as_json || batch || context || memory))
		cmd_misuse("--json, --batch, --ctx and --memory go with --dry-run");
}

static void take_options(void)
{
	request.architecture = (enum hf_architecture)(architecture + 1);
	request.tie = tie ? STATE_TRUE : no_tie ? STATE_FALSE : STATE_NULL;
	request.shape.layers = (uint32_t)layers;
	request.shape.heads = (uint32_t)heads;
	request.shape.kv_heads = (uint32_t)kv_heads;
	request.shape.head_dim = (uint32_t)head_dim;
	if (preset && !(request.preset = lm_preset(preset)))
		cmd_misuse("--preset: '%s' is none; --preset list shows them", preset);
}

/* --- the tokenizer --- */

static void change_role(uint32_t *role, const char *option, const char *text)
{
	if (!text)
		return;
	*role = *text ? tokenizer_find_text(&tokens, bytes_of(text)) : TOKEN_NONE;
	if (*text && *role == TOKEN_NONE)
		cmd_die("%s: %s: no token is '%s'", option, tokenizer_path, text);
	tokens.stated_plain = tokens.stated_whole = NULL;
}

static enum scanner split_wanted(void)
{
	enum scanner s = split ? scanner_by_name(split) : SCANNER_NONE;

	if (split && s == SCANNER_NONE)
		cmd_misuse("--split: '%s' is no pattern that is known by name", split);
	return s;
}

/* The model has a row for each id. */
static void size_vocabulary(void)
{
	struct tokenizer *t;
	uint64_t size;

	cmd_check(tokenizer_new(&t, &tokens) < 0 ? err_prefix("%s", tokenizer_path) : 0);
	size = tokenizer_vocab_size(t);
	tokenizer_free(t);
	if (request.vocabulary && request.vocabulary < size)
		cmd_die("--vocab %" PRIu64 ": %s has ids up to %" PRIu64, request.vocabulary,
			tokenizer_path, size - 1);
	if (!request.vocabulary)
		request.vocabulary = size;
	if (pad_vocab)
		request.vocabulary = (request.vocabulary + pad_vocab - 1) / pad_vocab * pad_vocab;
}

static void read_tokenizer(void)
{
	struct tokenizer_file_options o = { .split = split_wanted() };

	cmd_check(tokenizer_file_read(&tokens, arena, tokenizer_path, &o));
	cmd_check(tokenizer_other_roles(roles, &n_roles, arena, tokenizer_path));
	change_role(&tokens.bos, "--bos", bos);
	change_role(&tokens.eos, "--eos", eos);
	change_role(&tokens.pad, "--pad", pad);
	change_role(&tokens.unk, "--unk", unk);
	size_vocabulary();
}

/* What Qwen2Tokenizer of transformers 5 puts in place of what the files say. */
static bool is_qwen2s(void)
{
	return gguf_pre_is(&tokens, bytes_of("qwen2")) && tokens.n_normalizers == 1 &&
	       tokens.normalizers[0].kind == NORMALIZER_NFC &&
	       tokenizer_find_text(&tokens, bytes_of("<|endoftext|>")) != TOKEN_NONE;
}

static void warn_of_qwen2(void)
{
	if (config.architecture == HF_QWEN2 && !is_qwen2s())
		cmd_warn("%s: transformers 5 opens the tokenizer of any qwen2 as Qwen2Tokenizer, "
			 "which "
			 "gives other ids than this one; --architecture qwen3 or llama is opened "
			 "as it "
			 "is",
			 tokenizer_path);
}

/* --- --preset list --- */

static void print_presets(void)
{
	static const char *const headings[] = { "preset",      ">layers", ">width",   ">heads",
						">kv",	       ">ffn",	  ">context", ">vocabulary",
						">parameters", "use",	  NULL };
	struct cmd_table *t = cmd_table_new(headings);

	for (const struct lm_preset *p = lm_presets; p->name; p++) {
		struct lm_cost cost;

		request.preset = p;
		check_request(lm_request_config(&config, arena, &request));
		cmd_check(lm_cost_of(&cost, &config, config.context));
		cmd_table_cell(t, "%s", p->name);
		cmd_table_cell(t, "%" PRIu32, config.n_layers);
		cmd_table_cell(t, "%" PRIu64, config.hidden_size);
		cmd_table_cell(t, "%" PRIu32, config.n_heads);
		cmd_table_cell(t, "%" PRIu32, config.n_kv_heads);
		cmd_table_cell(t, "%" PRIu64, config.ffn_size);
		cmd_table_cell(t, "%" PRIu64, config.context);
		cmd_table_cell(t, "%" PRIu64, config.vocab_size);
		cmd_table_cell(t, "%" PRIu64, cost.parameters);
		cmd_table_cell(t, "%s", p->use);
	}
	cmd_table_end(t);
}

/* --- --dry-run --- */

static struct cmd_table *table;
static size_t n_rows;

/* A number by its name, exact, and what a person wants to know beside it. */
static void row(const char *name, uint64_t value, const char *remark)
{
	if (as_json) {
		cmd_printf("%s\"%s\":%" PRIu64, n_rows++ ? "," : "{", name, value);
		return;
	}
	cmd_table_cell(table, "%s", name);
	cmd_table_cell(table, "%" PRIu64, value);
	cmd_table_cell(table, "%s", remark);
}

static void row_word(const char *name, const char *word, const char *remark)
{
	if (as_json) {
		cmd_printf("%s\"%s\":\"%s\"", n_rows++ ? "," : "{", name, word);
		return;
	}
	cmd_table_cell(table, "%s", name);
	cmd_table_cell(table, "%s", word);
	cmd_table_cell(table, "%s", remark);
}

static void rows_of_shape(void)
{
	row_word("architecture", hf_architecture_name(config.architecture),
		 hf_language_class(config.architecture));
	row("layers", config.n_layers, "-");
	row("width", config.hidden_size, "-");
	row("heads", config.n_heads, "-");
	row("kv_heads", config.n_kv_heads, "-");
	row("head_dim", config.head_dim, "-");
	row("ffn", config.ffn_size, "-");
	row("context", config.context, "-");
	row("vocabulary", config.vocab_size, tokenizer_path ? "the tokenizer's" : "-");
}

static void rows_of_cost(uint64_t length)
{
	char n[NUMBER_TEXT], remark[160];
	struct lm_cost cost;
	uint64_t tokens_wanted;

	cmd_check(lm_cost_of(&cost, &config, length));
	tokens_wanted = cost.parameters * LM_TOKENS_A_PARAMETER;
	row("parameters", cost.parameters, number_count(cost.parameters, n));
	row("embedding", cost.embedding,
	    config.tie_word_embeddings ? "of them; the head is tied to it" : "of them");
	row("non_embedding", cost.parameters - cost.embedding, "of them");
	snprintf(remark, sizeof(remark),
		 "a token, training: 6 x %.0f weights + %.0f of attention at %" PRIu64,
		 cost.weights / 6, cost.attention, length);
	row("flops", (uint64_t)(cost.weights + cost.attention), remark);
	snprintf(remark, sizeof(remark), "%s: %d a parameter (Hoffmann et al. 2022)",
		 number_count(tokens_wanted, n), LM_TOKENS_A_PARAMETER);
	row("tokens", tokens_wanted, remark);
}

/* As train-lm would divide a step of SEQUENCES; *WINDOWS of them are trained on at once. */
static struct trainer *plan_training(struct store *s, uint64_t length, uint64_t sequences,
				     size_t *windows)
{
	struct trainer_options o = { .backend = backend_find("cpu"),
				     .team = cmd_team(),
				     .compute = dtypes[compute],
				     .optimizer = (enum trainer_optimizer)optimizer,
				     .beta1 = 0.9,
				     .beta2 = 0.95,
				     .eps = 1e-8,
				     .momentum = 0.95,
				     .clip = 1,
				     .memory = memory };
	struct trainer *t;

	cmd_check(fit_micro_batch(windows, &config, s, &o, (size_t)sequences, (uint32_t)length));
	o.tokens = *windows * length;
	cmd_check(fit_recompute(&o.recompute_blocks, &config, s, &o));
	cmd_check(trainer_new(&t, &config, s, &o));
	recomputed = o.recompute_blocks < config.n_layers ? o.recompute_blocks : config.n_layers;
	return t;
}

static uint64_t rows_of_kinds(const struct trainer *t)
{
	char bytes[NUMBER_TEXT], name[64];
	uint64_t all = 0;

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++) {
		uint64_t n = trainer_bytes(t, (enum plan_memory)i);

		all += n;
		if (!n)
			continue;
		snprintf(name, sizeof(name), "memory_%s", plan_memory_name((enum plan_memory)i));
		for (char *c = name; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		row(name, n, number_bytes(n, bytes));
	}
	return all;
}

static void rows_of_memory(uint64_t length)
{
	uint64_t sequences = batch ? batch : length < ROWS ? ROWS / length : 1, all;
	char bytes[NUMBER_TEXT], remark[160];
	struct trainer *t;
	struct store *s;
	size_t windows;

	cmd_check(store_new(&s));
	cmd_check(lm_declare(s, &config));
	t = plan_training(s, length, sequences, &windows);
	snprintf(remark, sizeof(remark), "of %" PRIu64 " sequences of %" PRIu64 " tokens a step",
		 sequences, length);
	row("micro_batch", windows, remark);
	snprintf(remark, sizeof(remark), "of %" PRIu32 " layers", config.n_layers);
	row("recomputed", recomputed, remark);
	all = rows_of_kinds(t);
	snprintf(remark, sizeof(remark), "%s to train, %s, %s", number_bytes(all, bytes),
		 optimizer_words[optimizer], dtype_words[compute]);
	row("memory", all, remark);
	trainer_free(t);
	store_free(s);
}

static void print_plan(void)
{
	static const char *const headings[] = { "what", ">value", "remark", NULL };
	uint64_t length = context ? context : config.context;

	if (length > config.context)
		cmd_misuse("--ctx %" PRIu64 ": the model's context is %" PRIu64, length,
			   config.context);
	if (!as_json)
		table = cmd_table_new(headings);
	rows_of_shape();
	rows_of_cost(length);
	rows_of_memory(length);
	if (as_json)
		cmd_printf("}\n");
	else
		cmd_table_end(table);
}

/* --- the folder --- */

static void write_weights(struct outdir *d)
{
	struct bind_rules rules;
	struct store *s;

	cmd_check(store_new(&s));
	cmd_check(lm_declare_as(s, &config, dtypes[dtype]));
	cmd_check(lm_initialize(s, &config, (enum lm_init)init, seed, cmd_team()));
	cmd_check(lm_rules(&rules, arena, &config, MODEL_FOLDER, false));
	cmd_check(lm_save_config(d, &config, s));
	cmd_check(lm_save_weights(d, s, &rules));
	store_free(s);
}

static void write_folder(void)
{
	struct outdir *d;

	cmd_check(outdir_new(&d, output));
	if (tokenizer_path)
		cmd_check(tokenizer_write(d, &tokens, roles, n_roles));
	cmd_check(lm_save_generation(d, &config));
	write_weights(d);
	cmd_check(outdir_commit(d));
}

static void note_result(void)
{
	char count[NUMBER_TEXT];
	struct lm_cost cost;

	cmd_check(lm_cost_of(&cost, &config, config.context));
	cmd_note("%s: %s, %" PRIu32 " layers of %" PRIu64 ", %s parameters, %" PRIu64 " tokens",
		 output, hf_architecture_name(config.architecture), config.n_layers,
		 config.hidden_size, number_count(cost.parameters, count), config.vocab_size);
}

int main(int argc, char **argv)
{
	set_words();
	cmd_begin(&spec, &argc, &argv);
	cmd_check(arena_new(&arena));
	if (preset && strcmp(preset, "list") == 0) {
		preset = NULL;
		take_options();
		print_presets();
		arena_free(arena);
		return cmd_end();
	}
	check_options();
	take_options();
	if (tokenizer_path)
		read_tokenizer();
	check_request(lm_request_config(&config, arena, &request));
	if (tokenizer_path)
		cmd_check(lm_request_roles(&config, arena, &tokens));
	if (tokenizer_path && !dry_run)
		warn_of_qwen2();
	if (dry_run) {
		print_plan();
	} else {
		write_folder();
		note_result();
	}
	arena_free(arena);
	return cmd_end();
}

/* eval-lm - how well a language model foretells texts */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_importance.h"
#include "cmd/cmd_lm.h"
#include "formats/json.h"
#include "formats/token_pack.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/data/windows.h"
#include "lib/eval/perplexity.h"

#define CONTEXT_MOST 2048 /* unless it is asked for */

static const char *data, *tokenizer_path, *split_name, *importance, *field = "text";
static bool raw, docs, per_document, json;
static uint64_t context, stride, batch_tokens, max_docs = UINT64_MAX;
static int special = SPECIAL_PLAIN, dtype;

static const char *const bos_words[] = { "auto", "on", "off", NULL };
enum { BOS_AUTO, BOS_ON, BOS_OFF };
static int bos_how;

static const char *const documents_words[] = { "apart", "joined", NULL };
enum { APART, JOINED };
static int documents;

static const struct cmd_option options[] = {
	CMD_PATH('d', "data", &data, "FILE",
		 "what to foretell: packed tokens, a token stream, or text (default stdin)"),
	CMD_FLAG(0, "raw", &raw, "the data are one document of plain text"),
	CMD_FLAG(0, "docs", &docs, "the data are documents: JSON lines"),
	CMD_TEXT(0, "field", &field, "NAME", "with --docs: the field that holds the text"),
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer (default: the model's)"),
	CMD_TEXT(0, "split", &split_name, "NAME", "how a rank file splits text, as for tokenize"),
	CMD_ENUM(0, "special", &special, cmd_special_words, "HOW",
		 "special tokens in text: plain (default), parse or refuse"),
	CMD_SIZE('c', "ctx", &context, 1, WINDOW_LENGTH_MAX,
		 "tokens of a window (default: those that packed data were made for, else the "
		 "model's context, 2048 at most)"),
	CMD_SIZE(0, "stride", &stride, 1, WINDOW_LENGTH_MAX,
		 "a window begins every N tokens (default: the context)"),
	CMD_ENUM(0, "bos", &bos_how, bos_words, "HOW",
		 "a window begins with the token that texts begin with: auto (default: where the "
		 "tokenizer puts it), on or off"),
	CMD_SIZE(0, "batch-tokens", &batch_tokens, 1, WINDOW_LENGTH_MAX,
		 "tokens computed at a time (default 2048; at least the context)"),
	CMD_ENUM(0, "documents", &documents, documents_words, "HOW",
		 "apart (default), or joined to one text"),
	CMD_SIZE('n', "max-docs", &max_docs, 1, UINT64_MAX, "stop after N documents"),
	CMD_FLAG('p', "per-document", &per_document, "a row for each document"),
	CMD_FLAG(0, "json", &json, "JSON lines"),
	CMD_PATH(0, "importance", &importance, "FILE",
		 "write what the columns of weights are multiplied with, for quantize, instead"),
	CMD_ENUM(0, "dtype", &dtype, cmd_dtype_words, "TYPE",
		 "what is computed in: f32 (default) or bf16"),
	CMD_GRAPH,
	CMD_FLAG(0, "op-stats", &cmd_graph.op_stats,
		 "a table of what ran, on stderr: time, share of the roofline"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "eval-lm",
	.operands = "model",
	.summary = "measure how well a language model foretells texts",
	.options = options,
	.notes =
		"MODEL is a folder or a .gguf. The data are a token stream or a packed token file, "
		"unless --raw\n"
		"or --docs say what else.",
	.min_operands = 1,
	.max_operands = 1,
};

static struct cmd_lm lm;
static struct perplexity *perplexity;
static bool has_bos;
static uint32_t bos;
/* Bytes of the text that each document's scored tokens stand for; of joined documents all are in the first. */
static uint64_t *bytes, words;
static size_t n_bytes, bytes_capacity;

/* --- opening --- */

/* The token that the tokenizer puts before an empty text, if it is the model's. */
static bool puts_bos(uint32_t id)
{
	struct encode_options o = { .start = START_DOCUMENT, .post_process = true };
	struct encoding e = { 0 };
	struct encoder *encoder;
	bool puts;

	cmd_check(encoder_new(&encoder, lm.tokenizer));
	cmd_check(encoder_run(encoder, (struct bytes){ "", 0 }, &o, &e));
	puts = e.n && e.ids[0] == id;
	encoder_free(encoder);
	return puts;
}

static void settle_bos(void)
{
	const struct hf_config *c = lm.model.config;

	if (bos_how == BOS_ON && !c->bos.n)
		cmd_misuse("--bos on: the model's configuration names no such token");
	if (bos_how == BOS_OFF || !c->bos.n)
		return;
	bos = c->bos.ids[0];
	has_bos = bos_how == BOS_ON || puts_bos(bos);
}

/* That of a packed file, or 0. */
static uint64_t window_of_data(void)
{
	struct token_pack *p;
	uint64_t window = 0;

	if (raw || docs || !data || !token_document_is_pack(data))
		return 0;
	cmd_check(token_pack_open(&p, data));
	window = token_pack_info(p)->window;
	token_pack_close(p);
	return window;
}

static uint64_t usual_context(void)
{
	uint64_t most = lm.model.config->context, window = window_of_data();

	if (window && window <= most)
		return window;
	return most < CONTEXT_MOST ? most : CONTEXT_MOST;
}

static void choose_context(void)
{
	if (!context)
		context = usual_context();
}

static void make_perplexity(void)
{
	struct plan_options plan = { 0 };

	if (!stride)
		stride = context;
	if (stride > context)
		cmd_misuse("--stride %" PRIu64 " is more than the context, %" PRIu64
			   ": tokens between would be left out",
			   stride, context);
	cmd_plan_options(&plan);
	cmd_check(perplexity_new(&perplexity, lm.model.config, lm.model.store,
				 &(struct perplexity_options){ .backend = plan.backend,
							       .team = plan.team,
							       .compute = cmd_dtype(dtype),
							       .rope_paired = lm.model.rope_paired,
							       .context = (uint32_t)context,
							       .stride = (uint32_t)stride,
							       .has_bos = has_bos,
							       .bos = bos,
							       .rows = (size_t)batch_tokens,
							       .memory = plan.memory,
							       .without = plan.without,
							       .strict = plan.strict }));
	plan_measure(perplexity_plan(perplexity), cmd_graph.op_stats);
}

/* --- documents --- */

static void keep_bytes(uint64_t n)
{
	cmd_check(mem_grow(&bytes, &bytes_capacity, n_bytes + 1, sizeof(*bytes)));
	bytes[n_bytes++] = n;
}

/* Words are what stands between white space. */
static uint64_t count_text(struct bytes text)
{
	bool in_word = false;
	uint64_t n = 0;

	for (size_t i = 0; i < text.size; i++) {
		bool space = text.data[i] && strchr(" \t\n\r\v\f", text.data[i]);

		n += !space && !in_word;
		in_word = !space;
	}
	return n;
}

/* Bytes of the text that the tokens from AT on stand for, and its words; special tokens stand for none. */
static uint64_t bytes_after(const struct token_document *d, size_t at)
{
	uint64_t n = d->n > at ? d->text.size - (at ? d->spans[at - 1].to : 0) : 0;

	words += count_text((struct bytes){ d->text.data + d->text.size - n, n });
	for (size_t i = at; i < d->n; i++) {
		const struct added_spec *added = tokenizer_added(lm.tokenizer, d->ids[i]);

		if (added && added->special)
			n -= d->spans[i].to - d->spans[i].from;
	}
	return n;
}

/* The first token that is scored: of a text that bos is put before, all are. */
static size_t first_scored(const struct token_document *d)
{
	return has_bos && d->n && d->ids[0] != bos ? 0 : 1;
}

static void read_apart(struct token_documents *in, struct progress *p)
{
	struct token_document d;
	uint64_t before = 0;

	while (n_bytes < max_docs && cmd_check(token_documents_next(in, SIZE_MAX, &d)) > 0) {
		cmd_check(perplexity_add(perplexity, d.ids, d.n));
		keep_bytes(bytes_after(&d, first_scored(&d)));
		progress_add(p, perplexity_scored(perplexity) - before);
		before = perplexity_scored(perplexity);
	}
}

static void read_joined(struct token_documents *in)
{
	struct buffer ids = { 0 };
	struct token_document d;
	uint64_t all = 0;

	for (uint64_t i = 0; i < max_docs && cmd_check(token_documents_next(in, SIZE_MAX, &d)) > 0;
	     i++) {
		all += bytes_after(&d, ids.size ? 0 : first_scored(&d));
		buffer_put(&ids, d.ids, d.n * sizeof(*d.ids));
	}
	cmd_check(buffer_check(&ids));
	cmd_check(perplexity_add(perplexity, (const uint32_t *)(const void *)ids.data,
				 ids.size / sizeof(uint32_t)));
	keep_bytes(all);
	buffer_free(&ids);
}

/* --- results --- */

static double bits_per_byte(double loss_sum, uint64_t n)
{
	return n ? loss_sum / log(2) / (double)n : NAN;
}

static void put_number(struct buffer *b, const char *key, double value)
{
	json_put_key(b, key);
	if (isfinite(value))
		json_put_f64(b, value);
	else
		buffer_put_text(b, "null");
}

static void flush(struct buffer *b)
{
	cmd_check(buffer_check(b));
	cmd_print_bytes(buffer_bytes(b));
	buffer_clear(b);
}

static void put_document(struct buffer *b, size_t i)
{
	struct perplexity_sum s = perplexity_text(perplexity, i);
	double loss = s.scored ? s.loss / (double)s.scored : NAN;
	double bits = bits_per_byte(s.loss, bytes[i]);

	if (!json) {
		buffer_format(b, "%zu\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.6f\t%.4f\t%.4f\n",
			      i, s.tokens, s.scored, bytes[i], loss, exp(loss), bits);
		return;
	}
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "document", i);
	json_put_u64_member(b, "tokens", s.tokens);
	json_put_u64_member(b, "scored", s.scored);
	json_put_u64_member(b, "bytes", bytes[i]);
	put_number(b, "loss", loss);
	put_number(b, "perplexity", exp(loss));
	put_number(b, "bits_per_byte", bits);
	buffer_put_text(b, "}\n");
}

static void print_documents(void)
{
	struct buffer b = { 0 };

	if (!json)
		cmd_printf("document\ttokens\tscored\tbytes\tloss\tperplexity\tbits_per_byte\n");
	for (size_t i = 0; i < perplexity_n(perplexity); i++) {
		put_document(&b, i);
		flush(&b);
	}
	buffer_free(&b);
}

/* As lm-evaluation-harness has it: tokens of any size add up to words. */
static double word_perplexity(const struct perplexity_result *r)
{
	return words ? exp(r->loss * (double)r->scored / (double)words) : NAN;
}

static void put_json(struct buffer *b, const struct perplexity_result *r, uint64_t all)
{
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "documents", r->texts);
	json_put_u64_member(b, "tokens", r->tokens);
	json_put_u64_member(b, "scored", r->scored);
	json_put_u64_member(b, "bytes", all);
	json_put_u64_member(b, "ctx", context);
	json_put_u64_member(b, "stride", stride);
	put_number(b, "loss", r->loss);
	put_number(b, "loss_error", r->error);
	put_number(b, "perplexity", exp(r->loss));
	put_number(b, "perplexity_error", exp(r->loss) * r->error);
	put_number(b, "bits_per_byte", bits_per_byte(r->loss * (double)r->scored, all));
	put_number(b, "bits_per_byte_error", bits_per_byte(r->error * (double)r->scored, all));
	json_put_u64_member(b, "words", words);
	put_number(b, "word_perplexity", word_perplexity(r));
	buffer_put_text(b, "}\n");
}

static void put_text(struct buffer *b, const struct perplexity_result *r, uint64_t all)
{
	buffer_format(b, "documents      %" PRIu64 "\n", r->texts);
	buffer_format(b, "tokens         %" PRIu64 ", %" PRIu64 " scored\n", r->tokens, r->scored);
	buffer_format(b, "bytes          %" PRIu64 ", %" PRIu64 " words\n", all, words);
	buffer_format(b, "windows        %" PRIu64 " tokens every %" PRIu64 "\n", context, stride);
	buffer_format(b, "loss           %.6f +- %.6f\n", r->loss, r->error);
	buffer_format(b, "perplexity     %.4f +- %.4f\n", exp(r->loss), exp(r->loss) * r->error);
	buffer_format(b, "bits per byte  %.5f +- %.5f\n",
		      bits_per_byte(r->loss * (double)r->scored, all),
		      bits_per_byte(r->error * (double)r->scored, all));
	buffer_format(b, "word perplexity %.4f\n", word_perplexity(r));
}

static void print_result(double seconds)
{
	struct perplexity_result r = perplexity_result(perplexity);
	struct buffer b = { 0 };
	uint64_t all = 0;

	for (size_t i = 0; i < n_bytes; i++)
		all += bytes[i];
	if (r.scored == 0)
		cmd_die("%s: %" PRIu64 " documents, and no token in them has one before it",
			data ? data : "stdin", r.texts);
	if (json)
		put_json(&b, &r, all);
	else
		put_text(&b, &r, all);
	flush(&b);
	buffer_free(&b);
	cmd_note("%.0f tokens/s", (double)r.scored / seconds);
}

static void foretell(struct token_documents *in)
{
	struct progress *p;
	uint64_t start;

	make_perplexity();
	p = cmd_progress("foretell", "tokens", 0);
	start = clock_ns();
	if (documents == JOINED)
		read_joined(in);
	else
		read_apart(in, p);
	cmd_check(perplexity_end(perplexity));
	progress_end(p);
	if (per_document)
		print_documents();
	print_result(clock_seconds(start, clock_ns()));
	cmd_op_stats(perplexity_plan(perplexity), NULL);
	perplexity_free(perplexity);
}

int main(int argc, char **argv)
{
	struct token_documents *in;

	cmd_begin(&spec, &argc, &argv);
	if (raw && docs)
		cmd_misuse("--raw and --docs: only one of them");
	cmd_lm_open(&lm, argv[0], tokenizer_path, split_name);
	settle_bos();
	in = cmd_lm_documents(&lm, &(struct cmd_lm_data){ data, raw, docs, field, special });
	choose_context();
	if (importance)
		cmd_importance(&lm, in, data ? data : "stdin", importance, (uint32_t)context,
			       max_docs);
	else
		foretell(in);
	token_documents_close(in);
	free(bytes);
	cmd_lm_close(&lm);
	return cmd_end();
}

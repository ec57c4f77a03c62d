/* tests/unit/test_answers.c - requests answered several at a time, as each alone; bad ones, and what is kept of them */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_open.h"
#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/infer/answers.h"
#include "lib/infer/generate.h"
#include "lib/infer/prompt.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

enum { CONTEXT = 260 };

static const char config_format[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"%u, \"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 2, "
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"max_position_embeddings\": "
	"1024, "
	"\"eos_token_id\": [5, 7]}";

struct fixture {
	struct arena *arena;
	struct tokenizer *tokenizer;
	struct hf_config config;
	struct store *store;
};

static bool begin(struct fixture *f)
{
	char text[sizeof(config_format) + 16];

	*f = (struct fixture){ 0 };
	if (!tap_works(arena_new(&f->arena), "an arena") ||
	    !tap_works(tokenizer_open(&f->tokenizer, f->arena,
				      "fixtures/good/tokenizers/byte-level.json", NULL),
		       "a tokenizer"))
		return false;
	snprintf(text, sizeof(text), config_format, tokenizer_vocab_size(f->tokenizer));
	if (!tap_works(hf_config_parse(&f->config, f->arena, bytes_of(text), "config"),
		       "a configuration") ||
	    !tap_works(store_new(&f->store), "a store"))
		return false;
	store_declaring(f->store, true);
	if (!tap_works(lm_declare(f->store, &f->config), "parameters"))
		return false;
	store_declaring(f->store, false);
	f->config.initializer_range = 0.3;
	return tap_works(lm_initialize(f->store, &f->config, LM_INIT_GPT2, 3, NULL), "values");
}

static void end(struct fixture *f)
{
	store_free(f->store);
	tokenizer_free(f->tokenizer);
	arena_free(f->arena);
}

/* How the lines are answered. */
struct how {
	size_t parallel, room; /* of the cache: texts of the context; 0: as many */
	struct team *team;
	enum chat chat;
};

static struct engine *make_engine(struct fixture *f, const struct how *h)
{
	struct engine_options o = {
		.team = h->team,
		.cache = DTYPE_F16,
		.context = CONTEXT,
		.sequences = answers_sequences(h->parallel),
		.tokens = answers_tokens(h->room ? h->room : h->parallel, CONTEXT),
	};
	struct engine *e = NULL;

	tap_works(engine_new(&e, &f->config, f->store, &o), "an engine");
	return e;
}

static bool put_ready(struct answers *b, struct buffer *out)
{
	struct request *r;

	while ((r = answers_next(b))) {
		request_put(out, r);
		request_free(r);
	}
	return true;
}

/* Lines of TEXT through a batch; OUT gets the answers. */
static struct answers_counts run(struct fixture *f, const char *text, const struct how *h,
				 struct buffer *out)
{
	struct request_reader_options ro = { .tokenizer = f->tokenizer,
					     .config = &f->config,
					     .context = CONTEXT,
					     .chat = h->chat,
					     .defaults = { .tokens = 12,
							   .samples = 1,
							   .logprobs = REQUEST_NO_LOGPROBS,
							   .sampler = { .top_p = 1 } } };
	struct engine *e = make_engine(f, h);
	struct answers_counts counts = { 0 };
	struct request_reader *reader = NULL;
	struct answers *b = NULL;
	uint64_t line = 0;
	int more = 1;

	if (tap_works(request_reader_new(&reader, &ro), "a reader") &&
	    tap_works(answers_new(&b, &(struct answers_options){ .engine = e,
								 .config = &f->config,
								 .tokenizer = f->tokenizer,
								 .ends = f->config.eos.ids,
								 .n_ends = f->config.eos.n,
								 .parallel = h->parallel }),
		      "a batch")) {
		while (more > 0 || (more == 0 && *text)) {
			while (*text && answers_wants(b)) {
				size_t n = strcspn(text, "\n");
				struct request *r;

				if (!tap_works(request_read(reader, (struct bytes){ text, n }, "in",
							    ++line, &r),
					       "a request") ||
				    !tap_works(answers_add(b, r), "is taken"))
					break;
				text += n + 1;
			}
			more = answers_step(b);
			put_ready(b, out);
		}
		tap_works(more, "to the end");
		counts = *answers_counts(b);
	}
	answers_free(b);
	request_reader_free(reader);
	if (e)
		tap_is_u64(engine_pages_left(e),
			   answers_tokens(h->room ? h->room : h->parallel, CONTEXT) / ENGINE_PAGE +
				   (answers_tokens(h->room ? h->room : h->parallel, CONTEXT) %
					    ENGINE_PAGE >
				    0),
			   "every page is given back");
	engine_free(e);
	tap_works(buffer_check(out), "answers");
	return counts;
}

/* N lines of prompts of uneven length, some of which begin alike. */
static char *make_lines(size_t n)
{
	struct buffer b = { 0 };

	for (size_t i = 0; i < n; i++) {
		buffer_format(&b, "{\"id\": %zu, \"prompt\": \"", i);
		for (size_t k = 0; k < (i * 37) % 130; k++)
			buffer_format(&b, "%c", (int)('a' + (i % 3 + k * k + k / 7) % 26));
		buffer_format(&b,
			      "%zu\", \"temperature\": %g, \"seed\": %zu, \"max_tokens\": %zu%s}\n",
			      i, i % 4 ? 1.0 : 0.0, i / 2, 1 + i * 5 % 17,
			      i % 5 == 2 ? ", \"n\": 3"
			      : i % 2	 ? ", \"logprobs\": 2"
					 : "");
	}
	buffer_put_u8(&b, '\0');
	return b.data;
}

/* --- alone and together --- */

static void test_together(void)
{
	const size_t parallels[] = { 1, 4, 16 };
	char *lines = make_lines(40);
	struct buffer alone = { 0 };
	struct fixture f;

	if (!begin(&f))
		return;
	for (char *line = lines; *line; line = strchr(line, '\n') + 1) {
		size_t n = strcspn(line, "\n");
		char *one = strndup(line, n + 1);

		run(&f, one, &(struct how){ .parallel = 1 }, &alone);
		free(one);
	}
	for (int threads = 1; threads <= 3; threads++) {
		struct how h = { 0 };

		if (!tap_works(team_new(&h.team, threads), "%d threads", threads))
			break;
		for (size_t i = 0; i < sizeof(parallels) / sizeof(*parallels); i++) {
			struct buffer together = { 0 };

			h.parallel = parallels[i];
			run(&f, lines, &h, &together);
			tap_is_bytes(buffer_bytes(&together), buffer_bytes(&alone),
				     "%zu at a time, %d threads: as each line alone", h.parallel,
				     threads);
			buffer_free(&together);
		}
		team_free(h.team);
	}
	buffer_free(&alone);
	free(lines);
	end(&f);
}

/* Less room than places: some have to wait, and the answers are the same. */
static void test_little_room(void)
{
	char *lines = make_lines(30);
	struct buffer much = { 0 }, little = { 0 };
	struct answers_counts all, few;
	struct fixture f;

	if (!begin(&f))
		return;
	all = run(&f, lines, &(struct how){ .parallel = 8 }, &much);
	few = run(&f, lines, &(struct how){ .parallel = 8, .room = 1 }, &little);
	tap_is_bytes(buffer_bytes(&little), buffer_bytes(&much), "the same answers");
	tap_ok(few.steps > all.steps, "in more steps: %zu, %zu", (size_t)few.steps,
	       (size_t)all.steps);
	buffer_free(&much);
	buffer_free(&little);
	free(lines);
	end(&f);
}

/* The same as generate on a session of its own. */
static int keep_piece(void *to, struct bytes text)
{
	buffer_put(to, text.data, text.size);
	return 0;
}

static void test_as_generate(void)
{
	static const char line[] = "{\"prompt\":\"the words\",\"temperature\":0.9,\"seed\":4,"
				   "\"max_tokens\":30,\"ignore_eos\":true}\n";
	struct sampler_options so = { .temperature = 0.9, .top_p = 1, .seed = 4 };
	struct buffer got = { 0 }, text = { 0 }, want = { 0 };
	struct generate_options o = { .tokens = 30, .piece = keep_piece, .to = &text };
	struct session *s = NULL;
	struct generate_result r;
	struct sampler *sampler;
	struct fixture f;
	int32_t *ids;

	if (!begin(&f))
		return;
	tap_works(prompt_encode(&ids, &o.n_before, f.tokenizer, &f.config, bytes_of("the words"),
				SPECIAL_PLAIN),
		  "the prompt");
	o.before = ids;
	so.bias = (struct logit_bias[]){ { 5, -1.0f / 0.0f }, { 7, -1.0f / 0.0f } };
	so.n_bias = 2;
	tap_works(session_new(&s, &f.config, f.store,
			      &(struct session_options){ .cache = DTYPE_F16, .context = CONTEXT }),
		  "a session");
	tap_works(session_append(s, ids, o.n_before), "reads it");
	tap_works(sampler_new(&sampler, &so, f.config.vocab_size), "a sampler");
	tap_works(generate(s, sampler, f.tokenizer, &o, &r), "and goes on");
	buffer_put(&want, line, strlen(line) - 2);
	json_put_text_member(&want, "text", buffer_bytes(&text));
	buffer_format(&want,
		      ",\"finish_reason\":\"length\",\"usage\":{\"prompt_tokens\":%zu,"
		      "\"completion_tokens\":30}}\n",
		      o.n_before);
	run(&f, line, &(struct how){ .parallel = 2 }, &got);
	tap_is_bytes(buffer_bytes(&got), buffer_bytes(&want), "the very text");
	session_free(s);
	sampler_free(sampler);
	free(ids);
	buffer_free(&got);
	buffer_free(&text);
	buffer_free(&want);
	end(&f);
}

/* --- beginnings in common --- */

static void test_shared(void)
{
	struct buffer lines = { 0 }, shared = { 0 }, apart = { 0 };
	struct answers_counts c;
	struct fixture f;

	if (!begin(&f))
		return;
	for (int i = 0; i < 6; i++) {
		buffer_put_text(&lines, "{\"prompt\":\"");
		for (int k = 0; k < 108; k++)
			buffer_format(&lines, "%c", 'a' + k * k % 23);
		buffer_format(&lines, "%d\",\"max_tokens\":8,\"logprobs\":1%s}\n", i,
			      i == 5 ? ",\"n\":4" : "");
	}
	buffer_put_u8(&lines, '\0');
	for (char *line = lines.data; *line; line = strchr(line, '\n') + 1) {
		char *one = strndup(line, strcspn(line, "\n") + 1);

		c = run(&f, one, &(struct how){ .parallel = 3 }, &apart);
		tap_is_u64(c.shared_tokens, 0, "one alone shares nothing");
		free(one);
	}
	c = run(&f, lines.data, &(struct how){ .parallel = 3 }, &shared);
	tap_is_bytes(buffer_bytes(&shared), buffer_bytes(&apart), "the same answers");
	tap_is_u64(c.shared_tokens, 5 * ENGINE_PAGE, "a page of each but the first");
	tap_ok(c.prompt_tokens > c.shared_tokens, "not all of them");
	buffer_free(&lines);
	buffer_free(&shared);
	buffer_free(&apart);
	end(&f);
}

/* --- lines, and what they are answered --- */

static void check_line(struct fixture *f, const char *line, const char *want)
{
	struct buffer got = { 0 }, both = { 0 };
	const char *at;

	/* One that is answered stands before and behind it. */
	buffer_format(
		&both,
		"{\"prompt\":\"x\",\"max_tokens\":2}\n%s\n{\"prompt\":\"y\",\"max_tokens\":2}\n",
		line);
	buffer_put_u8(&both, '\0');
	run(f, both.data, &(struct how){ .parallel = 2 }, &got);
	buffer_put_u8(&got, '\0');
	at = strchr(got.data, '\n') + 1;
	tap_is_bytes(((struct bytes){ at, strcspn(at, "\n") }), bytes_of(want), "%s", line);
	at = strchr(at, '\n') + 1;
	tap_ok(strncmp(at, "{\"prompt\":\"y\",\"max_tokens\":2,\"text\":", 36) == 0,
	       "the next one is answered");
	buffer_free(&got);
	buffer_free(&both);
}

#define FAILED(fields, why) "{" fields "\"finish_reason\":\"error\",\"error\":\"in:2: " why "\"}"

static void test_bad_lines(void)
{
	struct fixture f;
	char *prompt, *line, *want;

	if (!begin(&f))
		return;
	check_line(&f, "[1]",
		   "{\"finish_reason\":\"error\",\"error\":\"in:2: byte 0 of the line: expected an "
		   "object, found an array\"}");
	check_line(&f, "{\"id\":1}",
		   FAILED("\"id\":1,", "byte 8 of the line: neither prompt nor messages"));
	check_line(&f, "{\"prompt\":\"a\",\"messages\":[]}",
		   FAILED("\"prompt\":\"a\",\"messages\":[],",
			  "byte 28 of the line: prompt and messages: one of them"));
	check_line(&f, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
		   FAILED("\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],",
			  "messages, and no chat template"));
	check_line(&f, "{\"prompt\":\"a\",\"temperature\":-1}",
		   FAILED("\"prompt\":\"a\",\"temperature\":-1,", "a temperature of -1"));
	check_line(
		&f, "{\"prompt\":\"a\",\"n\":0}",
		FAILED("\"prompt\":\"a\",\"n\":0,", "byte 19 of the line: n is 0, not 1 to 1024"));
	check_line(&f, "{\"prompt\":\"a\",\"stop\":[\"\"]}",
		   FAILED("\"prompt\":\"a\",\"stop\":[\"\"],",
			  "byte 24 of the line: a stop that is empty"));
	check_line(&f, "{\"prompt\":\"a\",\"logit_bias\":{\"x\":1}}",
		   FAILED("\"prompt\":\"a\",\"logit_bias\":{\"x\":1},",
			  "byte 32 of the line: logit_bias: 'x' is not an id"));
	prompt = malloc(1000);
	memset(prompt, 'z', 999);
	prompt[999] = '\0';
	line = malloc(2000);
	want = malloc(3000);
	snprintf(line, 2000, "{\"prompt\":\"%s\"}", prompt);
	snprintf(want, 3000,
		 "{\"prompt\":\"%s\",\"finish_reason\":\"error\",\"error\":\"in:2: a prompt of 999 "
		 "tokens: the context holds %d\"}",
		 prompt, CONTEXT);
	check_line(&f, line, want);
	free(prompt);
	free(line);
	free(want);
	end(&f);
}

/* What N lines of one field come to. */
static void check_answer(struct fixture *f, const char *options, const char *want)
{
	struct buffer got = { 0 };
	char line[500], all[1000];

	snprintf(line, sizeof(line), "{\"x\":[1, {\"y\":null}],\"prompt\":\"abc\",%s}\n", options);
	snprintf(all, sizeof(all), "{\"x\":[1, {\"y\":null}],\"prompt\":\"abc\",%s,%s}\n", options,
		 want);
	run(f, line, &(struct how){ .parallel = 2 }, &got);
	tap_is_bytes(buffer_bytes(&got), bytes_of(all), "%s", options);
	buffer_free(&got);
}

static void test_answers(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	/* The ids of "e" and "q", 100 above all others. */
	check_answer(&f, "\"logit_bias\":{\"69\":100},\"max_tokens\":3",
		     "\"text\":\"eee\",\"finish_reason\":\"length\",\"usage\":{\"prompt_tokens\":3,"
		     "\"completion_tokens\":3}");
	check_answer(&f, "\"logit_bias\":{\"69\":100},\"max_tokens\":30,\"stop\":[\"eeee\",\"q\"]",
		     "\"text\":\"\",\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":3,"
		     "\"completion_tokens\":4}");
	check_answer(
		&f, "\"logit_bias\":{\"69\":100},\"max_tokens\":3,\"stop\":\"eeeee\",\"n\":2",
		"\"choices\":[{\"text\":\"eee\",\"finish_reason\":\"length\"},{\"text\":\"eee\","
		"\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":3,"
		"\"completion_tokens\":6}");
	check_answer(&f, "\"logit_bias\":{\"7\":100}",
		     "\"text\":\"\",\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":3,"
		     "\"completion_tokens\":0}");
	check_answer(&f,
		     "\"logit_bias\":{\"7\":200,\"69\":100},\"ignore_eos\":true,\"max_tokens\":2,"
		     "\"seed\":null",
		     "\"text\":\"ee\",\"finish_reason\":\"length\",\"usage\":{\"prompt_tokens\":3,"
		     "\"completion_tokens\":2}");
	end(&f);
}

/* The answers of one request are draws of their own. */
static void test_samples_differ(void)
{
	struct buffer got = { 0 };
	struct fixture f;
	const char *at, *next;
	size_t same = 0;

	if (!begin(&f))
		return;
	run(&f, "{\"prompt\":\"a\",\"n\":4,\"temperature\":1,\"max_tokens\":20}\n",
	    &(struct how){ .parallel = 2 }, &got);
	buffer_put_u8(&got, '\0');
	at = strstr(got.data, "\"text\":");
	for (int i = 0; at && i < 3; i++, at = next) {
		next = strstr(at + 1, "\"text\":");
		same += !next || strncmp(at, next, strcspn(at, "}")) == 0;
	}
	tap_is_u64(same, 0, "four texts: %s", got.data);
	buffer_free(&got);
	end(&f);
}

/* A model that is broken: the request says where, and the tool goes on. */
static void test_broken_model(void)
{
	struct buffer got = { 0 };
	struct store_entry *e;
	struct fixture f;

	if (!begin(&f))
		return;
	e = store_find(f.store, "model.norm.weight");
	if (tap_ok(e != NULL, "a norm"))
		((float *)e->data)[3] = 0.0f / 0.0f;
	run(&f, "{\"prompt\":\"abc\",\"n\":3}\n{\"prompt\":\"abc\"}\n",
	    &(struct how){ .parallel = 2 }, &got);
	buffer_put_u8(&got, '\0');
	tap_ok(strncmp(got.data,
		       "{\"prompt\":\"abc\",\"n\":3,\"finish_reason\":\"error\",\"error\":\"at "
		       "the place 3: ",
		       60) == 0,
	       "%s", got.data);
	tap_ok(strstr(got.data, "\n{\"prompt\":\"abc\",\"finish_reason\":\"error\"") != NULL,
	       "and the next one too");
	buffer_free(&got);
	end(&f);
}

/* --- lines from anywhere --- */

static int read_line(void *arg, const void *data, size_t size)
{
	struct request *r;
	int result = 0;

	if (request_read(arg, (struct bytes){ data, size }, "in", 1, &r) < 0)
		return -1;
	if (r->error)
		result = err_set(ERR_FORMAT, "%s", r->error);
	request_free(r);
	return result;
}

static void test_damaged_lines(void)
{
	static const char good[] = "{\"id\":[1,{\"a\":null}],\"prompt\":\"ab\\u00e9c\","
				   "\"temperature\":0.5,\"top_p\":0.9,\"top_k\":7,"
				   "\"stop\":[\"x\",\"yz\"],\"logit_bias\":{\"5\":-1.5,\"6\":2},"
				   "\"n\":2,\"seed\":9,\"logprobs\":true}";
	static const char second[] =
		"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"max_tokens\":3,\"min_p\":"
		"0.1,"
		"\"typical_p\":1,\"repetition_penalty\":1.1,\"ignore_eos\":true,\"stop\":\"q\"}";
	struct request_reader *reader;
	struct fixture f;

	if (!begin(&f))
		return;
	if (tap_works(request_reader_new(
			      &reader,
			      &(struct request_reader_options){ .tokenizer = f.tokenizer,
								.config = &f.config,
								.context = CONTEXT,
								.defaults.sampler.top_p = 1 }),
		      "a reader")) {
		corrupt_run("requests", bytes_of(good), bytes_of(second), read_line, reader,
			    (size_t)64 << 20);
		request_reader_free(reader);
	}
	end(&f);
}

int main(void)
{
	tap_run(test_as_generate);
	tap_run(test_together);
	tap_run(test_little_room);
	tap_run(test_shared);
	tap_run(test_bad_lines);
	tap_run(test_answers);
	tap_run(test_samples_differ);
	tap_run(test_broken_model);
	tap_run(test_damaged_lines);
	return tap_done();
}

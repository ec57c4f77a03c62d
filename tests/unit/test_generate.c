/* tests/unit/test_generate.c - the text of drawn tokens, piece by piece, beside the text of all of them at once */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer_open.h"
#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/infer/generate.h"
#include "lib/text/decode.h"
#include "tests/tap.h"

enum { CONTEXT = 160 };

static const char config_format[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"%u, "
	"\"hidden_size\": 16, \"intermediate_size\": 24, \"num_hidden_layers\": 1, "
	"\"num_attention_heads\": 2, \"max_position_embeddings\": 512}";

struct fixture {
	struct arena *arena;
	struct tokenizer *tokenizer;
	struct hf_config config;
	struct store *store;
	struct session *session;
};

/* A model with random weights over the vocabulary of PATH. */
static bool begin(struct fixture *f, const char *path)
{
	char text[sizeof(config_format) + 16];

	*f = (struct fixture){ 0 };
	if (!tap_works(arena_new(&f->arena), "an arena") ||
	    !tap_works(tokenizer_open(&f->tokenizer, f->arena, path, NULL), "%s", path))
		return false;
	snprintf(text, sizeof(text), config_format, tokenizer_vocab_size(f->tokenizer));
	if (!tap_works(hf_config_parse(&f->config, f->arena, (struct bytes){ text, strlen(text) },
				       "config"),
		       "the configuration") ||
	    !tap_works(store_new(&f->store), "a store"))
		return false;
	store_declaring(f->store, true);
	if (!tap_works(lm_declare(f->store, &f->config), "parameters"))
		return false;
	store_declaring(f->store, false);
	return tap_works(lm_initialize(f->store, &f->config, LM_INIT_GPT2, 3, NULL), "values") &&
	       tap_works(session_new(&f->session, &f->config, f->store,
				     &(struct session_options){ .compute = DTYPE_F32,
								.cache = DTYPE_F32,
								.context = CONTEXT }),
			 "a session");
}

static void end(struct fixture *f)
{
	session_free(f->session);
	store_free(f->store);
	tokenizer_free(f->tokenizer);
	arena_free(f->arena);
}

/* What came, and whether every piece was whole characters. */
struct heard {
	struct buffer text;
	size_t pieces, broken, enough_at;
};

static int hear(void *to, struct bytes piece)
{
	struct heard *h = to;

	h->broken += utf8_valid_prefix(piece.data, piece.size) != piece.size;
	buffer_put(&h->text, piece.data, piece.size);
	return ++h->pieces == h->enough_at;
}

/* The tokens that come, drawn without generate, and their text decoded as a whole behind PROMPT. */
static size_t draw_plainly(struct fixture *f, struct sampler *s, int32_t prompt, size_t most,
			   int32_t *ids, struct buffer *text)
{
	const struct tokenizer_spec *spec = tokenizer_spec(f->tokenizer);
	struct text_decoder *d;
	size_t n = 0, skip;

	session_rewind(f->session, 0);
	tap_works(session_append(f->session, &prompt, 1), "the prompt");
	tap_works(text_decoder_new(&d, spec->decoders, spec->n_decoders,
				   tokenizer_is_byte_level(f->tokenizer), false),
		  "a decoder");
	text_decoder_add(d, tokenizer_piece(f->tokenizer, (uint32_t)prompt), false, text);
	skip = text->size;
	for (; n < most; n++) {
		const struct added_spec *added;

		ids[n] = sampler_pick(s, session_logits(f->session), NULL, 0,
				      session_length(f->session));
		added = tokenizer_added(f->tokenizer, (uint32_t)ids[n]);
		if (!added || !added->special)
			text_decoder_add(d, tokenizer_piece(f->tokenizer, (uint32_t)ids[n]),
					 added != NULL, text);
		if (n + 1 < most)
			tap_works(session_append(f->session, ids + n, 1), "a token");
	}
	text_decoder_end(d, text);
	text_decoder_free(d);
	return skip;
}

static void check_text(const char *path, int32_t prompt)
{
	struct sampler_options so = { .temperature = 3, .top_p = 1, .seed = 11 };
	struct generate_options o = {
		.tokens = 100, .piece = hear, .before = &prompt, .n_before = 1
	};
	struct heard h = { .enough_at = SIZE_MAX };
	struct generate_result r;
	struct buffer want = { 0 };
	struct sampler *s;
	struct fixture f;
	int32_t ids[100];
	size_t skip;

	if (!begin(&f, path))
		return;
	tap_works(sampler_new(&s, &so, f.config.vocab_size), "a sampler");
	skip = draw_plainly(&f, s, prompt, 100, ids, &want);
	session_rewind(f.session, 0);
	tap_works(session_append(f.session, &prompt, 1), "the prompt again");
	o.to = &h;
	tap_works(generate(f.session, s, f.tokenizer, &o, &r), "it goes on");
	tap_is_u64(r.tokens, 100, "%s: tokens", path);
	tap_is_i64(r.last, ids[99], "the last one");
	tap_ok(r.reason == GENERATE_LENGTH, "as many as were asked for");
	tap_is_bytes(buffer_bytes(&h.text),
		     ((struct bytes){ buffer_bytes(&want).data + skip, want.size - skip }),
		     "%s: the text", path);
	tap_is_u64(h.broken, 0, "every piece is whole characters");
	tap_ok(h.pieces > 20, "in %zu pieces", h.pieces);
	/* A token that comes is made a stop. */
	session_rewind(f.session, 1);
	session_rewind(f.session, 0);
	tap_works(session_append(f.session, &prompt, 1), "the prompt again");
	o.stops = &(uint32_t){ (uint32_t)ids[30] };
	o.n_stops = 1;
	buffer_clear(&h.text);
	tap_works(generate(f.session, s, f.tokenizer, &o, &r), "with a stop");
	tap_ok(r.reason == GENERATE_STOP && r.tokens <= 30, "it stops after %zu", r.tokens);
	for (size_t i = 0; i < r.tokens; i++)
		if (ids[i] == ids[30])
			tap_ok(false, "the stop is token %zu already", i);
	/* The caller has had enough. */
	session_rewind(f.session, 0);
	tap_works(session_append(f.session, &prompt, 1), "the prompt again");
	o.n_stops = 0;
	h.pieces = 0;
	h.enough_at = 5;
	tap_works(generate(f.session, s, f.tokenizer, &o, &r), "cut short");
	tap_ok(r.reason == GENERATE_CANCEL && h.pieces == 5, "after 5 pieces: %zu", h.pieces);
	/* To the end of the context: the last token has no place behind it. */
	session_rewind(f.session, 0);
	tap_works(session_append(f.session, &prompt, 1), "the prompt again");
	o.tokens = 0;
	h.enough_at = SIZE_MAX;
	tap_works(generate(f.session, s, f.tokenizer, &o, &r), "to the end");
	tap_ok(r.reason == GENERATE_LENGTH, "the context is full");
	tap_is_u64(r.tokens, CONTEXT, "all but the prompt, and one behind");
	sampler_free(s);
	buffer_free(&want);
	buffer_free(&h.text);
	end(&f);
}

/* A character that is not whole at the end comes all the same, as decoding the whole gives it. */
static void test_ends(void)
{
	struct sampler_options so = { .temperature = 3, .top_p = 1, .seed = 2 };
	int32_t prompt = 65, ids[40];
	struct generate_result r;
	struct sampler *s;
	struct fixture f;
	size_t cut = 0;

	if (!begin(&f, "fixtures/good/tokenizers/byte-level.json"))
		return;
	tap_works(sampler_new(&s, &so, f.config.vocab_size), "a sampler");
	for (size_t n = 1; n <= 40; n++) {
		struct heard h = { .enough_at = SIZE_MAX };
		struct generate_options o = {
			.tokens = n, .piece = hear, .to = &h, .before = &prompt, .n_before = 1
		};
		struct buffer want = { 0 };
		size_t skip = draw_plainly(&f, s, prompt, n, ids, &want);

		session_rewind(f.session, 0);
		tap_works(session_append(f.session, &prompt, 1), "the prompt again");
		tap_works(generate(f.session, s, f.tokenizer, &o, &r), "%zu tokens", n);
		tap_is_bytes(buffer_bytes(&h.text),
			     ((struct bytes){ buffer_bytes(&want).data + skip, want.size - skip }),
			     "the text of %zu", n);
		cut += want.size >= 3 && memcmp(want.data + want.size - 3, "\xef\xbf\xbd", 3) == 0;
		buffer_free(&want);
		buffer_free(&h.text);
	}
	tap_ok(cut > 2, "%zu of them end within a character", cut);
	sampler_free(s);
	end(&f);
}

static void test_text(void)
{
	check_text("fixtures/good/tokenizers/byte-level.json", 65);
	check_text("fixtures/good/tokenizers/spm-bpe.model", 40);
}

static void test_empty(void)
{
	struct sampler_options so = { .temperature = 0, .top_p = 1 };
	struct generate_options o = { .tokens = 1 };
	struct generate_result r;
	struct sampler *s;
	struct fixture f;

	if (!begin(&f, "fixtures/good/tokenizers/byte-level.json"))
		return;
	tap_works(sampler_new(&s, &so, f.config.vocab_size), "a sampler");
	tap_fails(generate(f.session, s, f.tokenizer, &o, &r), ERR_ARGUMENT,
		  "before its first token", "nothing to go on from");
	sampler_free(s);
	end(&f);
}

/* --- a context that is shifted --- */

struct kept {
	int32_t ids[2 * CONTEXT];
	size_t n, vocabulary;
	float *logits; /* of the first token behind the shift */
};

static int keep_id(void *to, int32_t id, const float *logits)
{
	struct kept *k = to;

	if (k->n == CONTEXT + 1)
		memcpy(k->logits, logits, k->vocabulary * sizeof(*logits));
	k->ids[k->n++] = id;
	return 0;
}

static double farthest(const float *a, const float *b, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs((double)a[i] - (double)b[i]));
	return most;
}

/* Behind the shift is what follows the first KEEP and the last half of what else would fit, read as a text. */
static void test_shift(void)
{
	enum { KEEP = 5, LAST = (CONTEXT - KEEP) / 2 };
	struct sampler_options so = { .temperature = 3, .top_p = 1, .seed = 4 };
	struct kept k = { .ids = { 65 }, .n = 1 };
	struct generate_options o = { .tokens = CONTEXT + 60,
				      .before = (const int32_t[]){ 65 },
				      .n_before = 1,
				      .shift = true,
				      .keep = KEEP,
				      .token = keep_id,
				      .to = &k };
	struct generate_result r;
	struct sampler *s;
	struct fixture f;
	double near, other;

	if (!begin(&f, "fixtures/good/tokenizers/byte-level.json"))
		return;
	k.vocabulary = f.config.vocab_size;
	k.logits = malloc(k.vocabulary * sizeof(*k.logits));
	tap_works(sampler_new(&s, &so, k.vocabulary), "a sampler");
	tap_works(session_append(f.session, o.before, 1), "the prompt");
	tap_works(generate(f.session, s, f.tokenizer, &o, &r), "past the context");
	tap_is_u64(r.shifts, 1, "it was full once");
	tap_is_u64(k.n, CONTEXT + 61, "and as many tokens came as were asked for");
	session_rewind(f.session, 0);
	tap_works(session_append(f.session, k.ids, KEEP), "the first");
	tap_works(session_append(f.session, k.ids + CONTEXT + 1 - LAST, LAST), "the last ones");
	near = farthest(session_logits(f.session), k.logits, k.vocabulary);
	session_rewind(f.session, KEEP);
	tap_works(session_append(f.session, k.ids + CONTEXT + 2 - LAST, LAST - 1), "one less");
	other = farthest(session_logits(f.session), k.logits, k.vocabulary);
	tap_ok(near < 1e-6 && other > 1e-5, "logits are off by %g, without one token by %g", near,
	       other);
	free(k.logits);
	sampler_free(s);
	end(&f);
}

int main(void)
{
	tap_run(test_shift);
	tap_run(test_text);
	tap_run(test_ends);
	tap_run(test_empty);
	return tap_done();
}

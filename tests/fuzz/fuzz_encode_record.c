/*
 * Any bytes as a record: a document, two fields, or messages under each template. The first byte says which, and what is asked
 * for. The tokenizer is byte-level, so that what is encoded must decode to the text, and runs must fit the tokens.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/data/encode_record.h"
#include "lib/text/bytelevel.h"
#include "lib/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_SPECIALS 11

static struct added_spec added[N_SPECIALS];
static struct piece_spec pieces[256];
static struct tokenizer_spec spec;
static struct tokenizer *tokenizer;

static void make_tokenizer(void)
{
	static const char *const specials[N_SPECIALS] = { "<s>",
							  "</s>",
							  "<|im_start|>",
							  "<|im_end|>",
							  "<|start_header_id|>",
							  "<|end_header_id|>",
							  "<|eot_id|>",
							  "<start_of_turn>",
							  "<end_of_turn>",
							  "[INST]",
							  "[/INST]" };
	static const struct pretokenizer_spec step = { .kind = PRETOKENIZER_BYTE_LEVEL,
						       .byte_level = { .use_regex = true } };
	static const struct decoder_spec decoder = { .kind = DECODER_BYTE_LEVEL };
	static char texts[256][4];

	for (uint32_t i = 0; i < 256; i++) {
		size_t n = utf8_encode(bytelevel_code_point((uint8_t)i), texts[i]);

		pieces[i] = (struct piece_spec){ { texts[i], n }, i, 0 };
	}
	for (uint32_t i = 0; i < N_SPECIALS; i++)
		added[i] = (struct added_spec){ .id = 256 + i,
						.text = bytes_of(specials[i]),
						.special = true };
	spec = (struct tokenizer_spec){ .model = { .kind = MODEL_BPE,
						   .pieces = pieces,
						   .n_pieces = 256,
						   .unk = TOKEN_NONE },
					.pretokenizers = &step,
					.n_pretokenizers = 1,
					.added = added,
					.n_added = N_SPECIALS,
					.decoders = &decoder,
					.n_decoders = 1,
					.bos = 256,
					.eos = 257,
					.pad = TOKEN_NONE,
					.unk = TOKEN_NONE };
	if (tokenizer_new(&tokenizer, &spec) < 0)
		abort();
}

static void check(const struct encoded_record *r)
{
	uint64_t end = 0;

	for (size_t i = 0; i < r->n_runs; i++) {
		const struct token_run *run = &r->runs[i];

		if (run->start < end || run->length == 0 || run->role == ROLE_TEXT ||
		    run->role >= N_ROLES || run->length > r->encoding.n - run->start)
			abort();
		end = run->start + run->length;
	}
	if (r->difference)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct record_field fields[] = { { "prompt", ROLE_PROMPT },
						      { "completion", ROLE_COMPLETION } };
	const struct record_place place = { .name = "fuzz", .line = 1 };
	struct record_options o = { .field = "text",
				    .fields = fields,
				    .n_fields = 2,
				    .encode = { .special = SPECIAL_PLAIN },
				    .check = true };
	struct encoded_record r = { 0 };
	struct record_encoder *e;

	if (size == 0)
		return 0;
	if (!tokenizer)
		make_tokenizer();
	o.chat = (enum chat)(1 + data[0] % (CHAT_COUNT - 1));
	o.input = (enum record_input)(data[0] / 8 % 4);
	if (o.input == RECORD_MESSAGES)
		o.field = "messages";
	o.bos = data[0] >> 5 & 1;
	o.eos = o.bos;
	o.generation_prompt = data[0] >> 6 & 1;
	o.encode.offsets = data[0] >> 7;
	o.characters = o.encode.offsets;
	if (record_encoder_new(&e, tokenizer, &o) < 0)
		abort();
	for (int i = 0; i < 2; i++)
		if (record_encode(e, (struct bytes){ (const char *)data + 1, size - 1 }, &place,
				  &r) == 0)
			check(&r);
	record_encoder_free(e);
	encoded_record_free(&r);
	return 0;
}

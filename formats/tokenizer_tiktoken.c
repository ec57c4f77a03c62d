/*
 * formats/tokenizer_tiktoken.c - tiktoken's rank files
 *
 * Lines of `BASE64 RANK`: a piece's bytes and its rank, which is its id. The file does not say its split pattern.
 */
#include "formats/tokenizer_base64.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_ranks.h"
#include "lib/base/err.h"

static int parse_rank(struct bytes digits, uint64_t *out)
{
	uint64_t v = 0;

	if (!digits.size || digits.size > 10)
		return -1;
	for (size_t i = 0; i < digits.size; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9')
			return -1;
		v = v * 10 + (uint64_t)(digits.data[i] - '0');
	}
	*out = v;
	return v > TOKENIZER_ID_MAX ? -1 : 0;
}

static int read_line(void *arg, struct bytes line, size_t number)
{
	struct tokenizer_ranks *r = arg;
	const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	size_t left = space ? (size_t)(space - line.data) : 0;
	struct bytes raw;
	uint64_t rank;

	if (!line.size)
		return 0;
	if (!space || parse_rank((struct bytes){ space + 1, line.size - left - 1 }, &rank) < 0)
		return err_set(ERR_FORMAT, "%s:%zu: is not base64, a space and a rank", r->file,
			       number);
	if (base64_decode(r->arena, (struct bytes){ line.data, left }, &raw) < 0)
		return err_prefix("%s:%zu", r->file, number);
	if (tokenizer_ranks_add(r, raw, (uint32_t)rank) < 0)
		return err_prefix("%s:%zu", r->file, number);
	return 0;
}

int tokenizer_byte_level_steps(struct tokenizer_spec *out, struct arena *arena,
			       enum regex_dialect dialect, enum scanner split)
{
	struct pretokenizer_spec *list = arena_alloc(arena, 2, sizeof(*list));
	struct decoder_spec *decoder = arena_alloc(arena, 1, sizeof(*decoder));
	struct bytes pattern = scanner_pattern(split, dialect);
	size_t n = 0;

	if (!list || !decoder)
		return -1;
	if (dialect != REGEX_ONIGURUMA || split != SCANNER_GPT2) {
		if (!pattern.size)
			return err_set(ERR_UNSUPPORTED, "no pattern of %s is known for such files",
				       scanner_name(split));
		list[n].kind = PRETOKENIZER_SPLIT;
		list[n].split.behavior = SPLIT_ISOLATED;
		list[n++].split.pattern = (struct pattern_spec){ .is_regex = true,
								 .dialect = dialect,
								 .text = pattern };
	}
	list[n].kind = PRETOKENIZER_BYTE_LEVEL;
	list[n].byte_level.trim_offsets = true;
	list[n].byte_level.use_regex = n == 0;
	decoder->kind = DECODER_BYTE_LEVEL;
	out->pretokenizers = list;
	out->n_pretokenizers = n + 1;
	out->decoders = decoder;
	out->n_decoders = 1;
	return 0;
}

int tokenizer_tiktoken_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes data,
			     const char *name, enum scanner split)
{
	struct tokenizer_ranks r;
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (split == SCANNER_NONE)
		return err_set(ERR_ARGUMENT,
			       "%s: a rank file does not say its split pattern: --split NAME does",
			       name);
	if (tokenizer_ranks_new(&r, arena, name) < 0)
		return -1;
	if (tokenizer_lines(data, read_line, &r) == 0 && tokenizer_ranks_model(out, &r) == 0)
		result = tokenizer_byte_level_steps(out, arena, REGEX_FANCY, split);
	tokenizer_ranks_free(&r);
	return result;
}

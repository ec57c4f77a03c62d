/*
 * formats/tokenizer_tiktoken.c - tiktoken's rank files
 *
 * Lines of `BASE64 RANK`: a piece's bytes and its rank, which is its id. tiktoken merges the two neighbours
 * whose joined bytes have the lowest rank, and takes a whole word that has a rank as it is: so a merge stands for
 * each way to cut a piece in two pieces, in the order of the ranks, and ignore_merges is on. The file
 * does not say its split pattern.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/tokenizer_base64.h"
#include "formats/tokenizer_file.h"
#include "formats/tokenizer_lines.h"
#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

struct ranks {
	const char *file;
	struct arena *arena;
	struct names *ids;	   /* raw bytes to rank */
	struct piece_spec *pieces; /* raw bytes */
	size_t n, capacity;
};

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
	struct ranks *r = arg;
	const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	size_t left = space ? (size_t)(space - line.data) : 0;
	struct bytes raw;
	uint64_t rank;
	int got;

	if (!line.size)
		return 0;
	if (!space || parse_rank((struct bytes){ space + 1, line.size - left - 1 }, &rank) < 0)
		return err_set(ERR_FORMAT, "%s:%zu: is not base64, a space and a rank", r->file,
			       number);
	if (base64_decode(r->arena, (struct bytes){ line.data, left }, &raw) < 0)
		return err_prefix("%s:%zu", r->file, number);
	if (!raw.size)
		return err_set(ERR_FORMAT, "%s:%zu: an empty piece", r->file, number);
	if (mem_grow(&r->pieces, &r->capacity, r->n + 1, sizeof(*r->pieces)) < 0)
		return -1;
	got = names_add(r->ids, raw, (uint32_t)rank, NULL);
	if (got == 0)
		err_set(ERR_FORMAT, "%s:%zu: a piece that is there already", r->file, number);
	r->pieces[r->n++] = (struct piece_spec){ raw, (uint32_t)rank, 0 };
	return got > 0 ? 0 : -1;
}

/* Any text must have its ids: each byte is a piece. */
static int check_bytes(const struct ranks *r)
{
	for (unsigned i = 0; i < 256; i++) {
		char byte = (char)i;

		if (!names_find(r->ids, (struct bytes){ &byte, 1 }, NULL))
			return err_set(ERR_FORMAT, "%s: no piece is the byte 0x%02x", r->file, i);
	}
	return 0;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct piece_spec *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int add_pieces(struct tokenizer_pieces *p, const struct ranks *r)
{
	struct buffer text = { 0 };
	int result = 0;

	for (size_t i = 0; i < r->n && result == 0; i++) {
		struct bytes copy;

		buffer_clear(&text);
		tokenizer_put_byte_level(&text, r->pieces[i].text);
		result = buffer_check(&text);
		if (result < 0)
			break;
		copy = tokenizer_copy(r->arena, buffer_bytes(&text));
		result = copy.data ? tokenizer_pieces_add(p, copy, r->pieces[i].id, 0) : -1;
	}
	buffer_free(&text);
	return result;
}

static int build_model(struct tokenizer_spec *out, struct ranks *r)
{
	struct tokenizer_pieces p;
	int result = -1;

	out->model = (struct model_spec){
		.kind = MODEL_BPE, .unk = TOKEN_NONE, .ignore_merges = true, .max_word_chars = 100
	};
	if (tokenizer_pieces_new(&p, r->arena, r->file) < 0)
		return -1;
	qsort(r->pieces, r->n, sizeof(*r->pieces), compare_ranks);
	if (add_pieces(&p, r) == 0 &&
	    tokenizer_pieces_splits(&p, r->ids, r->pieces, r->n, MERGE_BY_RANK) == 0)
		result = tokenizer_pieces_finish(&p, &out->model, false);
	tokenizer_pieces_free(&p);
	return result;
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
	struct ranks r = { .file = name, .arena = arena };
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (split == SCANNER_NONE)
		return err_set(ERR_ARGUMENT,
			       "%s: a rank file does not say its split pattern: --split NAME does",
			       name);
	if (names_new(&r.ids) < 0)
		return -1;
	if (tokenizer_lines(data, read_line, &r) == 0 && check_bytes(&r) == 0 &&
	    build_model(out, &r) == 0)
		result = tokenizer_byte_level_steps(out, arena, REGEX_FANCY, split);
	names_free(r.ids);
	free(r.pieces);
	return result;
}

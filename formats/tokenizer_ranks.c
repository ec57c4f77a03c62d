/* formats/tokenizer_ranks.c - pieces of bytes whose ids are ranks, as tiktoken merges them */

#include "formats/tokenizer_ranks.h"

#include <stdlib.h>

#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

int tokenizer_ranks_new(struct tokenizer_ranks *r, struct arena *arena, const char *file)
{
	*r = (struct tokenizer_ranks){ .file = file, .arena = arena };
	return names_new(&r->ids);
}

void tokenizer_ranks_free(struct tokenizer_ranks *r)
{
	names_free(r->ids);
	free(r->pieces);
	*r = (struct tokenizer_ranks){ 0 };
}

int tokenizer_ranks_add(struct tokenizer_ranks *r, struct bytes raw, uint32_t id)
{
	int got;

	if (!raw.size)
		return err_set(ERR_FORMAT, "an empty piece");
	if (mem_grow(&r->pieces, &r->capacity, r->n + 1, sizeof(*r->pieces)) < 0)
		return -1;
	got = names_add(r->ids, raw, id, NULL);
	if (got == 0)
		return err_set(ERR_FORMAT, "a piece that is there already");
	r->pieces[r->n++] = (struct piece_spec){ raw, id, 0 };
	return got > 0 ? 0 : -1;
}

/* Any text must have its ids: each byte is a piece. */
static int check_bytes(const struct tokenizer_ranks *r)
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

static int add_pieces(struct tokenizer_pieces *p, const struct tokenizer_ranks *r)
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

int tokenizer_ranks_model(struct tokenizer_spec *out, struct tokenizer_ranks *r)
{
	struct tokenizer_pieces p;
	int result = -1;

	out->model = (struct model_spec){
		.kind = MODEL_BPE, .unk = TOKEN_NONE, .ignore_merges = true, .max_word_chars = 100
	};
	if (check_bytes(r) < 0 || tokenizer_pieces_new(&p, r->arena, r->file) < 0)
		return -1;
	qsort(r->pieces, r->n, sizeof(*r->pieces), compare_ranks);
	if (add_pieces(&p, r) == 0 &&
	    tokenizer_pieces_splits(&p, r->ids, r->pieces, r->n, MERGE_BY_RANK) == 0)
		result = tokenizer_pieces_finish(&p, &out->model, false);
	tokenizer_pieces_free(&p);
	return result;
}

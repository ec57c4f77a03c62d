/* lib/text/bpe_spm.c - BPE by SentencePiece's rules: the model */
#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/utf8.h"
#include "lib/text/bpe_heap.h"
#include "lib/text/bpe_spm_parts.h"

#define DIRECT_MAX (UINT32_C(1) << 18) /* bytes, by each thread */

/* The table of merges is made when so much text has come that it pays, by whoever needs it first. */
struct tables {
	struct bpe_spm direct; /* what serves until then */
	bool has_direct;
	struct bpe_spm full;
	atomic_int is_full; /* -1: it could not be made */
	pthread_mutex_t lock;
};

static int load(struct text_model *m)
{
	struct tables *t = m->own = mem_new(1, sizeof(*t));
	int got;

	if (!t)
		return -1;
	pthread_mutex_init(&t->lock, NULL);
	got = bpe_spm_load_direct(&t->direct, m);
	t->has_direct = got > 0;
	return got < 0 ? -1 : 0;
}

static void unload(void *own)
{
	struct tables *t = own;

	if (!t)
		return;
	bpe_spm_clear(&t->direct);
	bpe_spm_clear(&t->full);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* NULL with the error set, every time that it is asked for, when there is no memory for it. */
static const struct bpe_spm *full(const struct text_model *m)
{
	struct tables *t = m->own;
	int made = atomic_load_explicit(&t->is_full, memory_order_acquire);

	if (made > 0)
		return &t->full;
	pthread_mutex_lock(&t->lock);
	made = atomic_load_explicit(&t->is_full, memory_order_relaxed);
	if (made <= 0) {
		bpe_spm_clear(&t->full);
		memset(&t->full, 0, sizeof(t->full));
		made = bpe_spm_load(&t->full, m) < 0 ? -1 : 1;
		atomic_store_explicit(&t->is_full, made, memory_order_release);
	}
	pthread_mutex_unlock(&t->lock);
	return made > 0 ? &t->full : NULL;
}

/* --- symbols --- */

static int add(struct bpe_scratch *s, uint32_t id, size_t size)
{
	if (s->n == s->capacity &&
	    mem_grow(&s->symbols, &s->capacity, s->n + 1, sizeof(*s->symbols)) < 0)
		return -1;
	s->symbols[s->n++] = (struct bpe_symbol){ id, (uint32_t)size };
	return 0;
}

/* Appends the characters of TEXT. */
static int add_characters(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes text)
{
	for (size_t at = 0, size; at < text.size; at += size) {
		uint32_t id, point = (unsigned char)text.data[at];

		size = 1;
		if (point >= 0x80)
			size = utf8_decode(text.data + at, text.size - at, &point);
		id = size ? bpe_spm_symbol(b, point) : SYMBOL_UNKNOWN;
		size += !size;
		if (add(s, id, size) < 0)
			return -1;
	}
	return 0;
}

/* --- user-defined pieces --- */

/* The longest one that begins at AT, and its bytes to *SIZE. */
static uint32_t user_at(const struct bpe_spm *b, struct bytes text, size_t at, size_t *size)
{
	uint32_t node = b->users.root, value, id = TOKEN_NONE;

	for (size_t i = at;
	     i < text.size && trie_step(&b->users, &node, (unsigned char)text.data[i], &value); i++)
		if (value != TRIE_NONE) {
			id = value;
			*size = i + 1 - at;
		}
	return id;
}

/* The first one at or after FROM; the end of TEXT when there is none, with *ID TOKEN_NONE. */
static size_t next_user(const struct bpe_spm *b, struct bytes text, size_t from, uint32_t *id,
			size_t *size)
{
	*id = TOKEN_NONE;
	if (!b->users.cells)
		return text.size;
	for (; from < text.size; from++) {
		if (!b->begins[(unsigned char)text.data[from]])
			continue;
		*id = user_at(b, text, from, size);
		if (*id != TOKEN_NONE)
			break;
	}
	return from;
}

/* --- texts without user-defined pieces, word by word --- */

static int put_symbols(const struct bpe_spm *b, const struct bpe_scratch *s,
		       const struct bpe_split *splits, struct bytes word, size_t at,
		       struct model_tokens *out)
{
	const struct bytes piece = { word.data - at, at + word.size };

	for (size_t i = 0; i < s->n; i++) {
		if (bpe_spm_put(b, splits, s->symbols[i], piece, at, out) < 0)
			return -1;
		at += s->symbols[i].size;
	}
	return 0;
}

static int encode_word(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes word, size_t at,
		       struct model_tokens *out)
{
	size_t start = out->n;
	int known = bpe_cache_get(&s->cache, word, false, at, out);

	if (known != 0)
		return known < 0 ? -1 : 0;
	s->n = 0;
	if (add_characters(b, s, word) < 0 || bpe_merge(&b->merges, s) < 0 ||
	    put_symbols(b, s, b->splits, word, at, out) < 0)
		return -1;
	bpe_cache_put(&s->cache, word, false, at, out->items + start, out->n - start);
	return 0;
}

/* Whether there are MOST tokens. An unknown one is no place to stop at: what follows may join it. */
static bool enough(const struct bpe_spm *b, const struct model_tokens *out, size_t most)
{
	return out->n >= most && out->items[out->n - 1].id != b->unknown;
}

/* From *AT on, which is moved: to TO, or until there is enough. */
static int encode_words(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			size_t *at, size_t to, size_t most, struct model_tokens *out)
{
	struct bytes text = { piece.data, to };

	for (size_t next; *at < to && !enough(b, out, most); *at = next) {
		next = bpe_cuts_next(&b->cuts, text, *at);
		if (encode_word(b, s, (struct bytes){ piece.data + *at, next - *at }, *at, out) < 0)
			return -1;
	}
	return 0;
}

static int encode_parts(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			size_t *at, size_t most, struct model_tokens *out)
{
	while (*at < piece.size && !enough(b, out, most)) {
		if (*at == 0 || *at > s->user_at)
			s->user_at = next_user(b, piece, *at, &s->user, &s->user_size);
		if (encode_words(b, s, piece, at, s->user_at, most, out) < 0)
			return -1;
		if (*at < s->user_at || s->user == TOKEN_NONE)
			continue;
		if (model_tokens_put(out, s->user, *at, *at + s->user_size) < 0)
			return -1;
		*at += s->user_size;
	}
	return 0;
}

/* --- texts as a whole --- */

static int add_all(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece)
{
	size_t at = 0, to, size = 0;
	uint32_t id;

	s->n = 0;
	while (at < piece.size) {
		to = next_user(b, piece, at, &id, &size);
		if (add_characters(b, s, (struct bytes){ piece.data + at, to - at }) < 0)
			return -1;
		if (id != TOKEN_NONE && add(s, id, size) < 0)
			return -1;
		at = id == TOKEN_NONE ? to : to + size;
	}
	return 0;
}

/* The pair that begins at node AT waits to be merged: should it make an unused piece, this is how that is cut. */
static void note_pair(const struct bpe_spm *b, const struct bpe_scratch *s,
		      struct bpe_split *splits, uint32_t at)
{
	const struct bpe_node *node = &s->nodes[at];

	if (node->rank != RANK_NONE && b->types[node->result] == PIECE_UNUSED)
		splits[node->result] =
			(struct bpe_split){ node->id, s->nodes[node->next].id, node->size };
}

static int merge_noting(const struct bpe_spm *b, struct bpe_scratch *s, struct bpe_split *splits)
{
	size_t n;

	if (bpe_heap_begin(&b->merges, s, &n) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		note_pair(b, s, splits, i);
	while (n > 0) {
		uint64_t entry = heap_pop(s->heap, &n);
		uint32_t at = (uint32_t)entry;

		if (!bpe_heap_join(&b->merges, s, entry, &n))
			continue;
		if (s->nodes[at].previous != NODE_NONE)
			note_pair(b, s, splits, s->nodes[at].previous);
		note_pair(b, s, splits, at);
	}
	bpe_heap_end(s);
	return 0;
}

/* Where an unused piece can be made in several ways, the last in the whole text counts. */
static int encode_whole(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			struct model_tokens *out)
{
	struct bpe_split *splits = mem_new(b->size, sizeof(*splits));
	int result = -1;

	if (!splits)
		return -1;
	memcpy(splits, b->splits, b->size * sizeof(*splits));
	if (add_all(b, s, piece) == 0 && merge_noting(b, s, splits) == 0)
		result = put_symbols(b, s, splits, piece, 0, out);
	free(splits);
	return result;
}

/* Neighbours that are unknown become one. */
static void join_unknown(const struct bpe_spm *b, size_t first, struct model_tokens *out)
{
	size_t n = first;

	for (size_t i = first; i < out->n; i++) {
		struct model_token *t = &out->items[i];

		if (n > first && t->id == b->unknown && out->items[n - 1].id == b->unknown)
			out->items[n - 1].to = t->to;
		else
			out->items[n++] = *t;
	}
	out->n = n;
}

/* --- texts that are short --- */

static void mark_broken(struct bpe_scratch *s, const char *text)
{
	uint32_t code_point;

	for (size_t i = 0; i < s->n; text += s->symbols[i++].size)
		if (!utf8_decode(text, s->symbols[i].size, &code_point))
			s->symbols[i].id = SYMBOL_BROKEN;
}

/* 1; 0: an unused piece came up. */
static int direct_part(const struct text_model *m, const struct bpe_spm *b, struct bpe_scratch *s,
		       struct bytes piece, size_t from, size_t to, struct model_tokens *out)
{
	const struct bytes part = { piece.data + from, to - from };
	int got;

	s->n = 0;
	if (add_characters(b, s, part) < 0)
		return -1;
	mark_broken(s, part.data);
	got = bpe_spm_merge_direct(m, b, s, piece, from);
	return got <= 0 ? got : put_symbols(b, s, NULL, part, from, out) < 0 ? -1 : 1;
}

static int encode_direct(const struct text_model *m, const struct bpe_spm *b, struct bpe_scratch *s,
			 struct bytes piece, struct model_tokens *out)
{
	size_t at = 0, to, size = 0;
	uint32_t id;
	int got = 1;

	while (at < piece.size && got > 0) {
		to = next_user(b, piece, at, &id, &size);
		got = direct_part(m, b, s, piece, at, to, out);
		if (got > 0 && id != TOKEN_NONE && model_tokens_put(out, id, to, to + size) < 0)
			got = -1;
		at = id == TOKEN_NONE ? to : to + size;
	}
	s->direct += piece.size;
	return got;
}

/* 1 when that was done. */
static int try_direct(const struct text_model *m, struct bpe_scratch *s, struct bytes piece,
		      struct model_tokens *out)
{
	struct tables *t = m->own;
	const size_t first = out->n;
	int got;

	if (!t->has_direct || piece.size > DIRECT_MAX || s->direct > DIRECT_MAX - piece.size ||
	    atomic_load_explicit(&t->is_full, memory_order_relaxed) > 0)
		return 0;
	got = encode_direct(m, &t->direct, s, piece, out);
	if (got == 0)
		out->n = first;
	return got;
}

/* --- all of it --- */

/* All of PIECE by the whole table, unless it has to be encoded at once. */
static int encode_by_table(const struct bpe_spm *b, void *own, struct bytes piece, size_t *at,
			   size_t most, struct model_tokens *out)
{
	if (!b->ambiguous)
		return encode_parts(b, own, piece, at, most, out);
	*at = piece.size;
	return encode_whole(b, own, piece, out);
}

static int encode_most(const struct text_model *m, void *own, struct bytes piece, size_t *at,
		       size_t most, struct model_tokens *out)
{
	const struct tables *t = m->own;
	const struct bpe_spm *b = &t->direct;
	const size_t first = out->n;
	int result = *at == 0 ? try_direct(m, own, piece, out) : 0;

	if (result > 0)
		*at = piece.size;
	if (result == 0) {
		b = full(m);
		if (!b)
			return -1;
		result = encode_by_table(b, own, piece, at, most, out);
	}
	if (result >= 0 && b->unknown != TOKEN_NONE)
		join_unknown(b, first, out);
	return result < 0 ? -1 : 0;
}

static int encode(const struct text_model *m, void *own, struct bytes piece,
		  struct model_tokens *out)
{
	size_t at = 0;

	return encode_most(m, own, piece, &at, SIZE_MAX, out);
}

static int encode_from(const struct text_model *m, void *own, struct bytes piece, size_t *at,
		       struct model_tokens *out)
{
	return encode_most(m, own, piece, at, out->n + BPE_MANY, out);
}

/* An unused piece that can be made in several ways is cut in the way that the file's order gives last. */
static int sample(const struct text_model *m, void *own, struct bytes piece,
		  const struct model_sampling *how, struct model_tokens *out)
{
	const struct bpe_spm *b;
	struct bpe_scratch *s = own;
	size_t first = out->n;

	if (!(how->dropout >= 0 && how->dropout <= 1))
		return err_set(ERR_ARGUMENT, "dropout %g: it is from 0 to 1", how->dropout);
	if (how->dropout == 0)
		return encode(m, own, piece, out);
	b = full(m);
	if (!b)
		return -1;
	if (add_all(b, s, piece) < 0 || bpe_merge_dropout(&b->merges, s, how) < 0 ||
	    put_symbols(b, s, b->splits, piece, 0, out) < 0)
		return -1;
	join_unknown(b, first, out);
	return 0;
}

const struct model_parts model_bpe_spm = {
	.load = load,
	.unload = unload,
	.scratch_new = bpe_scratch_new,
	.scratch_free = bpe_scratch_free,
	.encode = encode,
	.encode_from = encode_from,
	.sample = sample,
};

/* lib/text/train_spec.c - what stands around a vocabulary that is trained: special tokens, roles, the whole */

#include "lib/text/train_spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/text/train_spec_parts.h"

#define BYTES	     256
#define BYTE_NAME    8 /* `<0x00>`, its NUL, and one more */
#define SPECIALS_MAX ((size_t)10000)
#define WORD_CHARS   100 /* BERT's longest word */

const char *const train_kind_names[] = { "bpe", "sentencepiece", "unigram", "wordpiece", NULL };

/* The special tokens as they are gathered. */
struct gathering {
	struct train_spec *out;
	struct arena *arena;
	struct added_spec *added;
	struct bytes *first;
	size_t capacity;
	uint32_t next; /* id */
};

static const struct added_spec *find(const struct gathering *g, struct bytes text)
{
	for (size_t i = 0; i < g->out->spec.n_added; i++)
		if (bytes_equal(g->added[i].text, text))
			return &g->added[i];
	return NULL;
}

static bool is_old_piece(const struct train_spec *t, struct bytes text)
{
	for (size_t i = 0; t->old && i < t->old->n_pieces; i++)
		if (bytes_equal(t->old->pieces[i].text, text))
			return true;
	return false;
}

static int check_special(const struct gathering *g, struct bytes text)
{
	if (!text.size)
		return err_set(ERR_ARGUMENT, "a special token is empty");
	if (utf8_valid_prefix(text.data, text.size) < text.size)
		return err_set(ERR_ARGUMENT, "special token '" BYTES_FMT "' is not UTF-8",
			       BYTES_ARG(text));
	if (is_old_piece(g->out, text))
		return err_set(ERR_ARGUMENT, "special token '" BYTES_FMT "' is a piece already",
			       BYTES_ARG(text));
	if (g->out->n_first == g->capacity)
		return err_set(ERR_LIMIT, "more than %zu special tokens", g->capacity);
	return 0;
}

/* Adds TEXT; its id to *ID when that is not NULL. */
static int add_special(struct gathering *g, struct bytes text, uint32_t *id)
{
	struct train_spec *t = g->out;

	if (check_special(g, text) < 0)
		return -1;
	g->added[t->spec.n_added++] =
		(struct added_spec){ .id = g->next, .text = text, .special = true };
	g->first[t->n_first++] = text;
	t->n_special = t->n_first;
	if (id)
		*id = g->next;
	g->next++;
	return 0;
}

/* The same, but one that is there already will do. */
static int share_special(struct gathering *g, struct bytes text, uint32_t *id)
{
	const struct added_spec *there = find(g, text);

	if (!there)
		return add_special(g, text, id);
	if (id)
		*id = there->id;
	return 0;
}

/* --- roles --- */

/* What the user says, else the kind's own; NULL: none. */
static const char *role_text(const char *given, const char *own)
{
	return given ? given : own;
}

static int add_role(struct gathering *g, const char *text, uint32_t *id)
{
	return text ? share_special(g, bytes_of(text), id) : 0;
}

/* The texts of a kind's roles unless the user says others. */
static const struct {
	const char *unk, *bos, *eos, *pad;
} own_roles[] = {
	[TRAIN_BPE] = { .eos = "<|endoftext|>" },
	[TRAIN_SENTENCEPIECE] = { .unk = "<unk>", .bos = "<s>", .eos = "</s>" },
	[TRAIN_UNIGRAM] = { .unk = "<unk>", .bos = "<s>", .eos = "</s>" },
	[TRAIN_WORDPIECE] = { .unk = "[UNK]", .bos = "[CLS]", .eos = "[SEP]", .pad = "[PAD]" },
};

static int add_roles(struct gathering *g, const struct train_spec_options *o)
{
	struct tokenizer_spec *s = &g->out->spec;
	bool own = !g->out->old;

	return add_role(g, role_text(o->unk, own ? own_roles[o->kind].unk : NULL), &s->unk) < 0 ||
			       add_role(g, role_text(o->bos, own ? own_roles[o->kind].bos : NULL),
					&s->bos) < 0 ||
			       add_role(g, role_text(o->eos, own ? own_roles[o->kind].eos : NULL),
					&s->eos) < 0 ||
			       add_role(g, role_text(o->pad, own ? own_roles[o->kind].pad : NULL),
					&s->pad) < 0
		       ? -1
		       : 0;
}

static int add_specials(struct gathering *g, const struct train_spec_options *o)
{
	for (size_t i = 0; i < o->n_specials; i++) {
		struct bytes text = bytes_of(o->specials[i]);

		if (find(g, text))
			return err_set(ERR_ARGUMENT, "special token '" BYTES_FMT "' is there twice",
				       BYTES_ARG(text));
		if (add_special(g, text, NULL) < 0)
			return -1;
	}
	return 0;
}

static int add_chat(struct gathering *g, const struct train_spec_options *o)
{
	if (o->chat == CHAT_NONE)
		return 0;
	for (const char *const *text = chat_specials(o->chat); *text; text++)
		if (share_special(g, bytes_of(*text), NULL) < 0)
			return -1;
	g->out->spec.chat_template = chat_jinja(o->chat);
	return 0;
}

static size_t count_chat(const struct train_spec_options *o)
{
	size_t n = 0;

	if (o->chat != CHAT_NONE)
		while (chat_specials(o->chat)[n])
			n++;
	return n;
}

/* Room for all special tokens there can be, beside the N_OLD that are kept. */
static int gather(struct gathering *g, const struct added_spec *old, size_t n_old,
		  const struct train_spec_options *o)
{
	struct tokenizer_spec *s = &g->out->spec;

	if (o->n_specials > SPECIALS_MAX)
		return err_set(ERR_LIMIT, "more than %zu special tokens", SPECIALS_MAX);
	g->capacity = o->n_specials + count_chat(o) + 5;
	g->added = arena_alloc(g->arena, n_old + g->capacity, sizeof(*g->added));
	g->first = arena_alloc(g->arena, g->capacity + BYTES, sizeof(*g->first));
	if (!g->added || !g->first)
		return -1;
	if (n_old)
		memcpy(g->added, old, n_old * sizeof(*old));
	s->added = g->added;
	s->n_added = n_old;
	g->out->first = g->first;
	if (add_roles(g, o) < 0)
		return -1;
	if (!g->out->old && o->kind == TRAIN_WORDPIECE &&
	    share_special(g, bytes_of("[MASK]"), NULL) < 0)
		return -1;
	return add_specials(g, o) < 0 || add_chat(g, o) < 0 ? -1 : 0;
}

/* --- the model but for its pieces --- */

static void set_model(struct train_spec *t, const struct train_spec_options *o)
{
	static const enum model_kind_text kinds[] = { MODEL_BPE, MODEL_BPE, MODEL_UNIGRAM,
						      MODEL_WORDPIECE };
	struct tokenizer_spec *s = &t->spec;
	struct model_spec *m = &s->model;

	m->kind = kinds[o->kind];
	m->unk = s->unk;
	m->has_unk_text = s->unk != TOKEN_NONE;
	for (size_t i = 0; i < s->n_added && m->has_unk_text; i++)
		if (s->added[i].id == s->unk)
			m->unk_text = s->added[i].text;
	m->byte_fallback =
		o->kind == TRAIN_SENTENCEPIECE || (o->kind == TRAIN_UNIGRAM && o->byte_fallback);
	m->fuse_unk = o->kind == TRAIN_SENTENCEPIECE;
	m->max_word_chars = WORD_CHARS;
	if (o->kind == TRAIN_WORDPIECE)
		m->continuing_prefix = bytes_of("##");
}

/* `<0x00>` to `<0xFF>` after the special tokens. */
static int add_bytes(struct train_spec *t, struct arena *arena, struct bytes *first)
{
	char *names = arena_alloc(arena, BYTES, BYTE_NAME);

	if (!names)
		return -1;
	for (unsigned i = 0; i < BYTES; i++) {
		char *name = names + i * BYTE_NAME;
		int n = snprintf(name, BYTE_NAME, "<0x%02X>", i);

		first[t->n_first++] = (struct bytes){ name, (size_t)n };
	}
	return 0;
}

/* [CLS] A [SEP], and [CLS] A [SEP] B [SEP]. */
static int add_template(struct train_spec *t, struct arena *arena)
{
	struct template_item *items = arena_alloc(arena, 5, sizeof(*items));
	struct post_spec *post = arena_alloc(arena, 1, sizeof(*post));
	const struct tokenizer_spec *s = &t->spec;
	uint32_t *ids = arena_alloc(arena, 2, sizeof(*ids));

	if (!items || !post || !ids)
		return -1;
	ids[0] = s->bos;
	ids[1] = s->eos;
	items[0] = (struct template_item){ .ids = ids, .n_ids = 1, .name = t->roles[0].text };
	items[1] = (struct template_item){ .is_sequence = true };
	items[2] = (struct template_item){ .ids = ids + 1, .n_ids = 1, .name = t->roles[1].text };
	items[3] = (struct template_item){ .is_sequence = true, .is_pair = true, .type_id = 1 };
	items[4] = items[2];
	items[4].type_id = 1;
	post->kind = POST_TEMPLATE;
	post->single = post->pair = items;
	post->n_single = 3;
	post->n_pair = 5;
	t->spec.posts = post;
	t->spec.n_posts = 1;
	return 0;
}

static struct bytes text_of(const struct tokenizer_spec *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].id == id)
			return s->added[i].text;
	return (struct bytes){ 0 };
}

/* BERT's tokenizers call what begins and ends a text by other names. */
static int add_bert(struct train_spec *t, struct arena *arena)
{
	struct tokenizer_spec *s = &t->spec;

	t->roles[0] = (struct train_role){ "cls", text_of(s, s->bos) };
	t->roles[1] = (struct train_role){ "sep", text_of(s, s->eos) };
	t->roles[2] = (struct train_role){ "mask", bytes_of("[MASK]") };
	t->n_roles = 3;
	if (add_template(t, arena) < 0)
		return -1;
	s->bos = s->eos = TOKEN_NONE;
	return 0;
}

static void clear(struct train_spec *t)
{
	*t = (struct train_spec){ 0 };
	t->spec.bos = t->spec.eos = t->spec.pad = t->spec.unk = TOKEN_NONE;
	t->spec.model.unk = TOKEN_NONE;
}

int train_spec_begin(struct train_spec *out, struct arena *arena,
		     const struct train_spec_options *o)
{
	struct gathering g = { .out = out, .arena = arena };

	clear(out);
	if (o->byte_fallback && o->kind != TRAIN_UNIGRAM && o->kind != TRAIN_SENTENCEPIECE)
		return err_set(ERR_ARGUMENT, "byte fallback is of unigram and sentencepiece");
	if (gather(&g, NULL, 0, o) < 0)
		return -1;
	set_model(out, o);
	if (out->spec.model.byte_fallback && add_bytes(out, arena, g.first) < 0)
		return -1;
	if (o->kind == TRAIN_WORDPIECE && add_bert(out, arena) < 0)
		return -1;
	return train_spec_steps(out, arena, o);
}

/* --- going on from an old one --- */

static int check_old(const struct tokenizer_spec *old)
{
	const struct model_spec *m = &old->model;

	if (m->kind != MODEL_BPE)
		return err_set(ERR_UNSUPPORTED, "only BPE can be extended");
	if (m->merge_by_rank)
		return err_set(ERR_UNSUPPORTED, "its merges go by rank, and cannot be extended");
	return 0;
}

/*
 * A copy of the old model in which the added tokens beside its vocabulary are pieces too, so that new pieces come after
 * them.
 */
static int take_old(struct train_spec *t, struct arena *arena, const struct tokenizer_spec *old)
{
	struct model_spec *m = arena_alloc(arena, 1, sizeof(*m));
	struct piece_spec *pieces =
		arena_alloc(arena, old->model.n_pieces + old->n_added, sizeof(*pieces));
	size_t n = old->model.n_pieces;

	if (!m || !pieces)
		return -1;
	*m = old->model;
	if (n)
		memcpy(pieces, m->pieces, n * sizeof(*pieces));
	m->pieces = pieces;
	t->old = &old->model;
	for (size_t i = 0; i < old->n_added; i++)
		if (!is_old_piece(t, old->added[i].text))
			pieces[n++] = (struct piece_spec){ .text = old->added[i].text,
							   .id = old->added[i].id };
	m->n_pieces = n;
	t->old = m;
	return 0;
}

static bool is_byte_level(const struct tokenizer_spec *s)
{
	size_t n = s->n_pretokenizers;

	return n && s->pretokenizers[n - 1].kind == PRETOKENIZER_BYTE_LEVEL;
}

static uint32_t next_id(const struct model_spec *m)
{
	uint32_t next = 0;

	for (size_t i = 0; i < m->n_pieces; i++)
		if (m->pieces[i].id >= next)
			next = m->pieces[i].id + 1;
	return next;
}

int train_spec_extend(struct train_spec *out, struct arena *arena, const struct tokenizer_spec *old,
		      const struct train_spec_options *o)
{
	struct gathering g = { .out = out, .arena = arena };

	clear(out);
	if (check_old(old) < 0)
		return -1;
	out->spec = *old;
	if (take_old(out, arena, old) < 0)
		return -1;
	g.next = next_id(out->old);
	if (gather(&g, old->added, old->n_added, o) < 0)
		return -1;
	out->cut = out->spec;
	return is_byte_level(old) ? 0 : train_spec_cut_lines(out, arena, true);
}

/*
 * lib/text/fingerprint.c - what tells tokenizers apart
 *
 * The spec's fields go, in the order of lib/text/spec.h, into one stream of
 * bytes: numbers as 8 bytes little-endian, texts as their length and their
 * bytes, doubles as their bits, lists as their length and their items, pieces
 * and added tokens in the order of their ids. FINGERPRINT_VERSION stands first
 * and changes when that order does.
 */
#include "lib/text/tokenizer.h"

#include <stdlib.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

#define FINGERPRINT_VERSION 1

static void put_text(struct buffer *b, struct bytes text)
{
	buffer_put_u64(b, text.size);
	buffer_put(b, text.data, text.size);
}

static void put_pattern(struct buffer *b, const struct pattern_spec *p)
{
	buffer_put_u64(b, p->is_regex);
	buffer_put_u64(b, p->is_regex ? p->dialect : 0);
	put_text(b, p->text);
}

/* The texts to keep are pieces of the model, which says so. */
static void put_sentencepiece(struct buffer *b, const struct normalizer_spec *n)
{
	put_text(b, n->sentencepiece.charsmap);
	buffer_put_u64(b, n->sentencepiece.add_dummy_prefix);
	buffer_put_u64(b, n->sentencepiece.whitespace_as_suffix);
	buffer_put_u64(b, n->sentencepiece.remove_extra_whitespaces);
	buffer_put_u64(b, n->sentencepiece.escape_whitespaces);
	buffer_put_u64(b, n->sentencepiece.replace_invalid);
}

static void put_normalizer(struct buffer *b, const struct normalizer_spec *n)
{
	buffer_put_u64(b, n->kind);
	switch (n->kind) {
	case NORMALIZER_BERT:
		buffer_put_u64(b, n->bert.clean_text);
		buffer_put_u64(b, n->bert.handle_chinese_chars);
		buffer_put_u64(b, n->bert.lowercase);
		buffer_put_u64(b, n->bert.strip_accents);
		break;
	case NORMALIZER_PRECOMPILED: put_text(b, n->charsmap); break;
	case NORMALIZER_REPLACE:
		put_pattern(b, &n->replace.pattern);
		put_text(b, n->replace.content);
		break;
	case NORMALIZER_PREPEND: put_text(b, n->prepend); break;
	case NORMALIZER_SENTENCEPIECE: put_sentencepiece(b, n); break;
	case NORMALIZER_STRIP:
		buffer_put_u64(b, n->strip.left);
		buffer_put_u64(b, n->strip.right);
		break;
	default: break;
	}
}

static void put_pretokenizer(struct buffer *b, const struct pretokenizer_spec *p)
{
	buffer_put_u64(b, p->kind);
	switch (p->kind) {
	case PRETOKENIZER_BYTE_LEVEL:
		buffer_put_u64(b, p->byte_level.add_prefix_space);
		buffer_put_u64(b, p->byte_level.use_regex);
		break;
	case PRETOKENIZER_SPLIT:
		put_pattern(b, &p->split.pattern);
		buffer_put_u64(b, p->split.behavior);
		buffer_put_u64(b, p->split.invert);
		break;
	case PRETOKENIZER_DIGITS: buffer_put_u64(b, p->digits.individual); break;
	case PRETOKENIZER_PUNCTUATION: buffer_put_u64(b, p->punctuation.behavior); break;
	case PRETOKENIZER_METASPACE:
		buffer_put_u64(b, p->metaspace.replacement);
		buffer_put_u64(b, p->metaspace.scheme);
		buffer_put_u64(b, p->metaspace.split);
		break;
	case PRETOKENIZER_CHAR_DELIMITER: buffer_put_u64(b, p->delimiter); break;
	case PRETOKENIZER_FIXED_LENGTH: buffer_put_u64(b, p->length); break;
	default: break;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct piece_spec *x = *(const struct piece_spec *const *)a;
	const struct piece_spec *y = *(const struct piece_spec *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

static int put_pieces(struct buffer *b, const struct model_spec *m)
{
	const struct piece_spec **order = mem_new(m->n_pieces, sizeof(*order));
	bool ordered = true;

	if (!order)
		return -1;
	for (size_t i = 0; i < m->n_pieces; i++) {
		order[i] = &m->pieces[i];
		ordered &= i == 0 || m->pieces[i - 1].id <= m->pieces[i].id;
	}
	if (!ordered)
		qsort(order, m->n_pieces, sizeof(*order), by_id);
	buffer_put_u64(b, m->n_pieces);
	for (size_t i = 0; i < m->n_pieces; i++) {
		buffer_put_u64(b, order[i]->id);
		put_text(b, order[i]->text);
		if (m->kind == MODEL_UNIGRAM || m->sentencepiece)
			buffer_put_f64(b, order[i]->score);
		if (m->sentencepiece)
			buffer_put_u64(b, m->piece_types[order[i] - m->pieces]);
	}
	free(order);
	return 0;
}

static int put_model(struct buffer *b, const struct model_spec *m)
{
	buffer_put_u64(b, (uint64_t)m->kind | (m->sentencepiece ? 1 << 8 : 0));
	if (put_pieces(b, m) < 0)
		return -1;
	buffer_put_u64(b, m->n_merges);
	for (size_t i = 0; i < m->n_merges; i++) {
		buffer_put_u32(b, m->merges[i].left);
		buffer_put_u32(b, m->merges[i].right);
	}
	buffer_put_u64(b, m->unk);
	put_text(b, m->has_unk_text ? m->unk_text : (struct bytes){ "", 0 });
	put_text(b, m->continuing_prefix);
	put_text(b, m->end_of_word_suffix);
	buffer_put_u64(b, m->fuse_unk);
	buffer_put_u64(b, m->byte_fallback);
	buffer_put_u64(b, m->ignore_merges);
	buffer_put_u64(b, m->kind == MODEL_WORDPIECE ? m->max_word_chars : 0);
	return 0;
}

static void put_added(struct buffer *b, const struct tokenizer_spec *s, bool special)
{
	for (size_t i = 0; i < s->n_added; i++) {
		const struct added_spec *a = &s->added[i];

		if (a->special != special)
			continue;
		buffer_put_u64(b, a->id);
		put_text(b, a->text);
		buffer_put_u64(b, a->single_word);
		buffer_put_u64(b, a->lstrip);
		buffer_put_u64(b, a->rstrip);
		buffer_put_u64(b, a->normalized);
	}
	buffer_put_u64(b, TOKEN_NONE);
}

static int put_plain(struct buffer *b, const struct tokenizer_spec *s)
{
	buffer_put_u64(b, FINGERPRINT_VERSION);
	if (put_model(b, &s->model) < 0)
		return -1;
	buffer_put_u64(b, s->n_normalizers);
	for (size_t i = 0; i < s->n_normalizers; i++)
		put_normalizer(b, &s->normalizers[i]);
	buffer_put_u64(b, s->n_pretokenizers);
	for (size_t i = 0; i < s->n_pretokenizers; i++)
		put_pretokenizer(b, &s->pretokenizers[i]);
	put_added(b, s, false);
	return 0;
}

static void put_post(struct buffer *b, const struct post_spec *p)
{
	buffer_put_u64(b, p->kind);
	if (p->kind == POST_BERT || p->kind == POST_ROBERTA) {
		buffer_put_u64(b, p->cls.id);
		buffer_put_u64(b, p->sep.id);
	}
	for (size_t i = 0; p->kind == POST_TEMPLATE && i < p->n_single; i++) {
		const struct template_item *item = &p->single[i];

		buffer_put_u64(b, item->is_sequence);
		buffer_put_u64(b, item->n_ids);
		for (size_t k = 0; k < item->n_ids; k++)
			buffer_put_u32(b, item->ids[k]);
	}
}

static void put_decoder(struct buffer *b, const struct decoder_spec *d)
{
	buffer_put_u64(b, d->kind);
	switch (d->kind) {
	case DECODER_METASPACE:
		buffer_put_u64(b, d->metaspace.replacement);
		buffer_put_u64(b, d->metaspace.scheme);
		break;
	case DECODER_WORDPIECE:
		put_text(b, d->wordpiece.prefix);
		buffer_put_u64(b, d->wordpiece.cleanup);
		break;
	case DECODER_BPE: put_text(b, d->suffix); break;
	case DECODER_REPLACE:
		put_pattern(b, &d->replace.pattern);
		put_text(b, d->replace.content);
		break;
	case DECODER_STRIP:
		buffer_put_u64(b, d->strip.content);
		buffer_put_u64(b, d->strip.start);
		buffer_put_u64(b, d->strip.stop);
		break;
	case DECODER_CTC:
		put_text(b, d->ctc.pad);
		put_text(b, d->ctc.word_delimiter);
		buffer_put_u64(b, d->ctc.cleanup);
		break;
	default: break;
	}
}

static void put_rest(struct buffer *b, const struct tokenizer_spec *s)
{
	put_added(b, s, true);
	buffer_put_u64(b, s->n_posts);
	for (size_t i = 0; i < s->n_posts; i++)
		put_post(b, &s->posts[i]);
	buffer_put_u64(b, s->n_decoders);
	for (size_t i = 0; i < s->n_decoders; i++)
		put_decoder(b, &s->decoders[i]);
	buffer_put_u32(b, s->bos);
	buffer_put_u32(b, s->eos);
	buffer_put_u32(b, s->pad);
	buffer_put_u32(b, s->unk);
	buffer_put_u64(b, s->add_bos);
	buffer_put_u64(b, s->add_eos);
	put_text(b, s->chat_template);
}

int tokenizer_fingerprint(const struct tokenizer *t, struct hash128 *plain, struct hash128 *whole)
{
	const struct tokenizer_spec *s = tokenizer_spec(t);
	struct buffer b = { 0 };
	int result = put_plain(&b, s);

	if (result == 0 && buffer_check(&b) == 0)
		result = hash_memory(NULL, b.data, b.size, plain);
	put_rest(&b, s);
	if (result == 0)
		result = buffer_check(&b);
	if (result == 0)
		result = hash_memory(NULL, b.data, b.size, whole);
	if (result == 0 && s->stated_plain)
		*plain = *s->stated_plain;
	if (result == 0 && s->stated_whole)
		*whole = *s->stated_whole;
	buffer_free(&b);
	return result;
}

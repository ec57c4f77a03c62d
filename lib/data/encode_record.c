/* lib/data/encode_record.c - the parts of a record into tokens, and their roles into runs */

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/encode_record_parts.h"
#include "lib/text/encode_part.h"

#define FIELDS_MAX 64

/* --- making --- */

static struct bytes token_text(const struct tokenizer *t, uint32_t id)
{
	return id == TOKEN_NONE ? (struct bytes){ "", 0 } : tokenizer_piece(t, id);
}

static int check_options(const struct tokenizer_spec *s, const struct record_options *o)
{
	bool in_parts = o->input == RECORD_FIELDS || o->input == RECORD_MESSAGES;

	if (o->bos && s->bos == TOKEN_NONE)
		return err_set(ERR_MISSING, "the tokenizer names no BOS token");
	if (o->eos && s->eos == TOKEN_NONE)
		return err_set(ERR_MISSING, "the tokenizer names no EOS token");
	if (in_parts && (o->encode.special == SPECIAL_PARSE || o->encode.post_process))
		return err_set(ERR_ARGUMENT, "parts of a document are not parsed for special "
					     "tokens, nor post-processed");
	if (o->input == RECORD_FIELDS && (o->n_fields == 0 || o->n_fields > FIELDS_MAX))
		return err_set(ERR_ARGUMENT, "%zu fields: 1 to %d can be read", o->n_fields,
			       FIELDS_MAX);
	return o->input == RECORD_MESSAGES ? encode_part_check(s, o->chat) : 0;
}

int record_encoder_new(struct record_encoder **out, const struct tokenizer *t,
		       const struct record_options *o)
{
	const struct tokenizer_spec *s = tokenizer_spec(t);
	struct record_encoder *e;

	*out = NULL;
	if (check_options(s, o) < 0)
		return -1;
	e = mem_new(1, sizeof(*e));
	if (!e)
		return -1;
	e->tokenizer = t;
	e->o = *o;
	e->chat = (struct chat_options){ .bos = token_text(t, s->bos),
					 .eos = token_text(t, s->eos),
					 .generation_prompt = o->generation_prompt };
	if (encoder_new(&e->encoder, t) < 0 || json_new(&e->json) < 0) {
		record_encoder_free(e);
		return -1;
	}
	*out = e;
	return 0;
}

void record_encoder_free(struct record_encoder *e)
{
	if (!e)
		return;
	encoder_free(e->encoder);
	json_free(e->json);
	text_decoder_free(e->decoder);
	free(e->parts);
	free(e->messages);
	free(e->contents);
	buffer_free(&e->decoded);
	buffer_free(&e->document);
	buffer_free(&e->joined);
	buffer_free(&e->back);
	chat_parts_free(&e->rendered);
	encoding_free(&e->part);
	free(e);
}

void encoded_record_free(struct encoded_record *r)
{
	encoding_free(&r->encoding);
	free(r->runs);
	free(r->difference);
	*r = (struct encoded_record){ 0 };
}

uint64_t record_encoder_dropped(const struct record_encoder *e)
{
	return encoder_dropped(e->encoder);
}

/* --- runs --- */

/* N tokens from START on have ROLE; they come after all others. */
static int add_run(struct encoded_record *r, uint64_t start, uint64_t n, enum token_role role)
{
	struct token_run *last = r->n_runs ? &r->runs[r->n_runs - 1] : NULL;

	if (n == 0 || role == ROLE_TEXT)
		return 0;
	if (last && last->role == (uint32_t)role && last->start + last->length == start) {
		last->length += n;
		return 0;
	}
	if (mem_grow(&r->runs, &r->runs_capacity, r->n_runs + 1, sizeof(*r->runs)) < 0)
		return -1;
	r->runs[r->n_runs++] = (struct token_run){ start, n, (uint32_t)role };
	return 0;
}

/* --- parts --- */

static int append(struct encoding *to, const struct encoding *from, bool offsets, size_t at)
{
	size_t n = to->n + from->n;

	if (mem_grow(&to->ids, &to->capacity, n, sizeof(*to->ids)) < 0)
		return -1;
	if (from->n)
		memcpy(to->ids + to->n, from->ids, from->n * sizeof(*to->ids));
	if (offsets) {
		if (mem_grow(&to->offsets, &to->offsets_capacity, n, sizeof(*to->offsets)) < 0)
			return -1;
		for (size_t i = 0; i < from->n; i++)
			to->offsets[to->n + i] =
				(struct text_span){ from->offsets[i].from + (uint32_t)at,
						    from->offsets[i].to + (uint32_t)at };
	}
	to->n = n;
	return 0;
}

/* Part I into e->part; BEFORE is what the parts before it gave. */
static int encode_one(struct record_encoder *e, size_t i, const struct encoding *before,
		      uint64_t document)
{
	const struct record_part *p = &e->parts[i];
	const struct text_part part = { p->text, p->scaffold, p->spaced };
	struct encode_options o = e->o.encode;
	struct model_sampling sampling;

	if (o.sampling) {
		sampling = *o.sampling;
		sampling.document = document;
		sampling.position = (uint64_t)i << 40;
		o.sampling = &sampling;
	}
	if (encode_part(e->encoder, e->tokenizer, &part, &o, before->ids, before->n, &e->part) < 0)
		return p->field	     ? err_prefix("\"%s\"", p->field)
		       : p->scaffold ? err_prefix("the template's text")
				     : err_prefix("the %s's text", token_role_name(p->role));
	return 0;
}

static int encode_parts(struct record_encoder *e, uint64_t document, struct encoded_record *out)
{
	size_t at = 0;

	out->encoding.n = 0;
	for (size_t i = 0; i < e->n; i++) {
		uint64_t start = out->encoding.n;

		if (encode_one(e, i, &out->encoding, document) < 0 ||
		    append(&out->encoding, &e->part, e->o.encode.offsets, at) < 0 ||
		    add_run(out, start, e->part.n, e->parts[i].role) < 0)
			return -1;
		at += e->parts[i].text.size;
	}
	return 0;
}

static int encode_whole(struct record_encoder *e, uint64_t document, struct encoded_record *out)
{
	struct encode_options o = e->o.encode;
	struct model_sampling sampling;

	if (o.sampling) {
		sampling = *o.sampling;
		sampling.document = document;
		o.sampling = &sampling;
	}
	return encoder_run(e->encoder, e->parts[0].text, &o, &out->encoding);
}

/* --- the ends --- */

static enum token_role role_of_bos(const struct record_encoder *e)
{
	switch (e->o.input) {
	case RECORD_FIELDS: return e->parts[0].role;
	case RECORD_MESSAGES: return ROLE_SCAFFOLD;
	default: return ROLE_TEXT;
	}
}

static enum token_role role_of_eos(const struct record_encoder *e)
{
	if (e->o.input == RECORD_TEXT || e->o.input == RECORD_JSON)
		return ROLE_TEXT;
	return e->parts[e->n - 1].role;
}

static int put_bos(struct record_encoder *e, uint32_t id, struct encoded_record *r)
{
	struct encoding *c = &r->encoding;
	enum token_role role = role_of_bos(e);
	bool joins = r->n_runs && r->runs[0].start == 0 && r->runs[0].role == (uint32_t)role;

	if (mem_grow(&c->ids, &c->capacity, c->n + 1, sizeof(*c->ids)) < 0 ||
	    mem_grow(&r->runs, &r->runs_capacity, r->n_runs + 1, sizeof(*r->runs)) < 0)
		return -1;
	memmove(c->ids + 1, c->ids, c->n * sizeof(*c->ids));
	c->ids[0] = id;
	c->n++;
	for (size_t i = 0; i < r->n_runs; i++)
		r->runs[i].start++;
	if (joins) {
		r->runs[0].start = 0;
		r->runs[0].length++;
	} else if (role != ROLE_TEXT) {
		memmove(r->runs + 1, r->runs, r->n_runs * sizeof(*r->runs));
		r->runs[0] = (struct token_run){ 0, 1, (uint32_t)role };
		r->n_runs++;
	}
	return 0;
}

static int put_eos(struct record_encoder *e, uint32_t id, struct encoded_record *r)
{
	struct encoding *c = &r->encoding;

	if (mem_grow(&c->ids, &c->capacity, c->n + 1, sizeof(*c->ids)) < 0)
		return -1;
	c->ids[c->n++] = id;
	return add_run(r, c->n - 1, 1, role_of_eos(e));
}

/* Never two in a row. */
static int put_ends(struct record_encoder *e, struct encoded_record *r)
{
	const struct tokenizer_spec *s = tokenizer_spec(e->tokenizer);
	const struct encoding *c = &r->encoding;
	bool has_bos = c->n && c->ids[0] == s->bos, has_eos = c->n && c->ids[c->n - 1] == s->eos;

	if (e->o.eos && !has_eos && put_eos(e, s->eos, r) < 0)
		return -1;
	return e->o.bos && !has_bos ? put_bos(e, s->bos, r) : 0;
}

/* --- all of it --- */

static int encode(struct record_encoder *e, struct bytes document, uint64_t number,
		  struct encoded_record *out)
{
	bool in_parts = e->o.input == RECORD_FIELDS || e->o.input == RECORD_MESSAGES;

	if (e->o.encode.offsets && document.size > UINT32_MAX)
		return err_set(ERR_LIMIT, "a document of %zu bytes is too long for offsets",
			       document.size);
	if ((in_parts ? encode_parts(e, number, out) : encode_whole(e, number, out)) < 0)
		return -1;
	if (e->o.check &&
	    record_check(e, out->encoding.ids, out->encoding.n, document, &out->difference) < 0)
		return -1;
	if (e->o.encode.offsets && e->o.characters)
		record_count_characters(out->encoding.offsets, out->encoding.n, document);
	return put_ends(e, out);
}

int record_encode(struct record_encoder *e, struct bytes record, const struct record_place *place,
		  struct encoded_record *out)
{
	struct bytes document;

	out->n_runs = 0;
	free(out->difference);
	out->difference = NULL;
	if (record_read(e, record, place, &document) < 0)
		return -1;
	out->bytes = document.size;
	if (encode(e, document, place->document, out) < 0)
		return err_prefix("%s:%" PRIu64, place->name, place->line);
	return 0;
}

/* lib/infer/conversation.c - messages that go to and fro, and their tokens */

#include "lib/infer/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/chat_parts.h"
#include "lib/text/encode_part.h"

/* What the assistant said of a message: NULL where it was not it, or what it said is not known by token. */
struct said {
	uint32_t *ids; /* owned */
	size_t n;
};

struct conversation {
	const struct tokenizer *tokenizer;
	enum chat chat;
	struct chat_options options;
	uint32_t end;
	struct chat_message *messages; /* owned, and their texts */
	struct said *said;	       /* owned, one for each */
	size_t n, messages_room, said_room;
	struct encoder *encoder;
	struct chat_parts parts;
	struct encoding part; /* of one */
	uint32_t *ids;	      /* owned */
	size_t n_ids, ids_room;
};

/* --- making --- */

static struct bytes token_text(const struct tokenizer *t, uint32_t id)
{
	return id == TOKEN_NONE ? (struct bytes){ "", 0 } : tokenizer_piece(t, id);
}

static uint32_t special_id(const struct tokenizer_spec *s, struct bytes text)
{
	for (size_t i = 0; i < s->n_added; i++)
		if (s->added[i].special && bytes_equal(s->added[i].text, text))
			return s->added[i].id;
	return TOKEN_NONE;
}

/* As the template renders an answer. */
static int find_end(struct conversation *c)
{
	const struct chat_message two[] = { { CHAT_USER, { "q", 1 } },
					    { CHAT_ASSISTANT, { "a", 1 } } };

	c->end = TOKEN_NONE;
	if (chat_render(&c->parts, c->chat, two, 2, &c->options) < 0)
		return -1;
	for (size_t i = 0; i < c->parts.n; i++) {
		const struct chat_part *p = &c->parts.items[i];
		struct bytes text = { c->parts.text.data + p->from, p->to - p->from };

		if (p->ends_turn)
			c->end = special_id(tokenizer_spec(c->tokenizer), text);
	}
	return c->end == TOKEN_NONE ? err_set(ERR_MISSING,
					      "the template %s ends the assistant's turn with "
					      "no special token of this tokenizer",
					      chat_name(c->chat))
				    : 0;
}

int conversation_new(struct conversation **out, const struct tokenizer *t, enum chat chat)
{
	const struct tokenizer_spec *s = tokenizer_spec(t);
	struct conversation *c;

	*out = NULL;
	if (encode_part_check(s, chat) < 0)
		return -1;
	c = mem_new(1, sizeof(*c));
	if (!c)
		return -1;
	c->tokenizer = t;
	c->chat = chat;
	c->options = (struct chat_options){ .bos = token_text(t, s->bos),
					    .eos = token_text(t, s->eos),
					    .generation_prompt = true };
	if (find_end(c) < 0 || encoder_new(&c->encoder, t) < 0) {
		struct err_saved saved;

		err_save(&saved);
		conversation_free(c);
		return err_restore(&saved);
	}
	*out = c;
	return 0;
}

void conversation_free(struct conversation *c)
{
	if (!c)
		return;
	conversation_forget(c, 0, c->n);
	free(c->messages);
	free(c->said);
	encoder_free(c->encoder);
	chat_parts_free(&c->parts);
	encoding_free(&c->part);
	free(c->ids);
	free(c);
}

uint32_t conversation_end(const struct conversation *c)
{
	return c->end;
}

/* --- messages --- */

int conversation_add(struct conversation *c, enum chat_role role, struct bytes text)
{
	char *copy;

	if (mem_grow(&c->messages, &c->messages_room, c->n + 1, sizeof(*c->messages)) < 0 ||
	    mem_grow(&c->said, &c->said_room, c->n + 1, sizeof(*c->said)) < 0)
		return -1;
	copy = mem_copy(text.data, text.size);
	if (!copy)
		return -1;
	c->messages[c->n] = (struct chat_message){ role, { copy, text.size } };
	c->said[c->n] = (struct said){ 0 };
	c->n++;
	return 0;
}

int conversation_answer(struct conversation *c, struct bytes text, const int32_t *ids, size_t n)
{
	uint32_t *copy = mem_new(n, sizeof(*copy));

	if (!copy || conversation_add(c, CHAT_ASSISTANT, text) < 0) {
		free(copy);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		copy[i] = (uint32_t)ids[i];
	c->said[c->n - 1] = (struct said){ copy, n };
	return 0;
}

void conversation_forget(struct conversation *c, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		free((char *)c->messages[i].content.data);
		free(c->said[i].ids);
	}
	for (size_t i = first + n; i < c->n; i++) {
		c->messages[i - n] = c->messages[i];
		c->said[i - n] = c->said[i];
	}
	c->n -= n;
}

size_t conversation_length(const struct conversation *c)
{
	return c->n;
}

const struct chat_message *conversation_messages(const struct conversation *c)
{
	return c->messages;
}

void conversation_write(const struct conversation *c, struct buffer *out)
{
	buffer_put_text(out, "{\"messages\":[");
	for (size_t i = 0; i < c->n; i++) {
		buffer_put_text(out, i ? ",{" : "{");
		json_put_text_member(out, "role", bytes_of(chat_role_name(c->messages[i].role)));
		json_put_text_member(out, "content", c->messages[i].content);
		buffer_put_u8(out, '}');
	}
	buffer_put_text(out, "]}\n");
}

/* --- tokens --- */

/* The message whose text PART is, from *NEXT on, if the assistant's tokens of it are known. Messages without text have no part. */
static const struct said *said_in(const struct conversation *c, const struct chat_part *p,
				  size_t *next)
{
	struct bytes text = { c->parts.text.data + p->from + p->spaced,
			      p->to - p->from - p->spaced };

	if (p->scaffold || p->role != CHAT_ASSISTANT)
		return NULL;
	for (size_t i = *next; i < c->n; i++) {
		const struct chat_message *m = &c->messages[i];

		if (m->role != CHAT_ASSISTANT ||
		    (!bytes_equal(m->content, text) && !bytes_equal(chat_trim(m->content), text)))
			continue;
		*next = i + 1;
		return c->said[i].ids ? &c->said[i] : NULL;
	}
	return NULL;
}

static int append(struct conversation *c, const uint32_t *ids, size_t n)
{
	if (mem_grow(&c->ids, &c->ids_room, c->n_ids + n + 1, sizeof(*c->ids)) < 0)
		return -1;
	if (n)
		memcpy(c->ids + c->n_ids, ids, n * sizeof(*ids));
	c->n_ids += n;
	return 0;
}

static int add_part(struct conversation *c, const struct chat_part *p, size_t *next)
{
	const struct encode_options o = { .special = SPECIAL_PLAIN };
	const struct said *said = said_in(c, p, next);
	const struct text_part part = { { c->parts.text.data + p->from, p->to - p->from },
					p->scaffold,
					p->spaced };

	if (said)
		return append(c, said->ids, said->n);
	if (encode_part(c->encoder, c->tokenizer, &part, &o, c->ids, c->n_ids, &c->part) < 0)
		return p->scaffold ? err_prefix("the template's text")
				   : err_prefix("the %s's text", chat_role_name(p->role));
	return append(c, c->part.ids, c->part.n);
}

int conversation_encode(struct conversation *c, const int32_t **ids, size_t *n)
{
	size_t next = 0;

	c->n_ids = 0;
	if (chat_render(&c->parts, c->chat, c->messages, c->n, &c->options) < 0)
		return -1;
	for (size_t i = 0; i < c->parts.n; i++)
		if (add_part(c, &c->parts.items[i], &next) < 0)
			return -1;
	*ids = (const int32_t *)c->ids;
	*n = c->n_ids;
	return 0;
}

/*
 * lib/text/chat.h - the chat templates that are known by name
 *
 * ChatML, Llama 3, Gemma, Mistral and Qwen: messages into parts, each either scaffold (what the template says, in which
 * special tokens are what they say) or text (what a person or a program wrote, which never is a special token). The parts
 * are encoded apart, so that no text can close its own turn.
 */
#ifndef LIB_TEXT_CHAT_H
#define LIB_TEXT_CHAT_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

enum chat { CHAT_NONE, CHAT_CHATML, CHAT_LLAMA3, CHAT_GEMMA, CHAT_MISTRAL, CHAT_QWEN, CHAT_COUNT };

enum chat chat_by_name(
	const char *name); /* `chatml`, `llama3`, `gemma`, `mistral`, `qwen`; else CHAT_NONE */
const char *chat_name(enum chat c);
/* By the whole text of a template, never by likeness: those that models of the families ship, and our own. */
enum chat chat_recognise(struct bytes jinja);
/* The Jinja template that stands for C in tokenizer_config.json. */
struct bytes chat_jinja(enum chat c);
/* The special tokens that its scaffold is made of, NULL at the end. */
const char *const *chat_specials(enum chat c);

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL };
int chat_role_find(struct bytes name, enum chat_role *out); /* -1 with the error set */

struct chat_message {
	enum chat_role role;
	struct bytes content;
};

struct chat_part {
	bool scaffold;
	/* Whose: of the message that it belongs to. What ends the turn of an assistant is its own (a model learns to say it). */
	enum chat_role role;
	bool ends_turn;	 /* scaffold that an assistant says itself */
	size_t from, to; /* of chat_parts.text */
};

struct chat_parts {
	struct buffer text;
	struct chat_part *items; /* owned */
	size_t n, capacity;
};
void chat_parts_free(struct chat_parts *p); /* what it holds */

struct chat_options {
	struct bytes bos, eos;	/* the texts of the roles' tokens, for templates that name them */
	bool generation_prompt; /* end with what opens the assistant's turn */
};

/*
 * As the family's template renders N messages: OUT is emptied first. Messages that the template refuses (a system message where
 * it takes none, roles that do not alternate where they must) are ERR_FORMAT and say what the template says.
 */
int chat_render(struct chat_parts *out, enum chat c, const struct chat_message *messages, size_t n,
		const struct chat_options *o);

#endif

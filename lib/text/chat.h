/*
 * lib/text/chat.h - the chat templates that are known by name
 *
 * ChatML, SmolLM2, Llama 3, Gemma, Mistral and Qwen: messages into parts, each either scaffold (what the template says, in
 * which special tokens are what they say) or text (what a person or a program wrote, which never is a special token). The
 * parts are encoded apart, so that no text can close its own turn. man/man7/nnutils-chat.7 says what each renders.
 */
#ifndef LIB_TEXT_CHAT_H
#define LIB_TEXT_CHAT_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

enum chat {
	CHAT_NONE,
	CHAT_CHATML,
	CHAT_SMOLLM2, /* ChatML with a system message of its own where there is none */
	CHAT_LLAMA3,
	CHAT_GEMMA,
	CHAT_MISTRAL,
	CHAT_QWEN,
	CHAT_COUNT
};

/* `chatml`, `smollm2`, `llama3`, `gemma`, `mistral`, `qwen`; else CHAT_NONE. */
enum chat chat_by_name(const char *name);
const char *chat_name(enum chat c);
/*
 * By the whole text of a template, never by likeness: our own, and those of the families' models that render the same (by
 * their hash). A line end behind it does not count; Jinja does not print it either.
 */
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
	enum chat_role role; /* of the message that it belongs to; scaffold: that it begins with */
	/* Scaffold that an assistant says itself, since it ends the turn: a model learns to say it. */
	bool ends_turn;
	/* Text whose first byte is a space that the template puts there: a tokenizer's own prefix space is not put as well. */
	bool spaced;
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
 * As the family's template renders N messages: OUT is emptied first. Messages that the template refuses (roles that do not
 * alternate where they must, a tool's message) are ERR_FORMAT and say what the template says, after the message's number,
 * from 1. No messages, and a system message that the template would drop for want of another, are refused too; an EOS
 * that the template needs and the tokenizer lacks is ERR_MISSING.
 */
int chat_render(struct chat_parts *out, enum chat c, const struct chat_message *messages, size_t n,
		const struct chat_options *o);

#endif

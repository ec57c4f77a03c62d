/*
 * lib/infer/conversation.h - messages that go to and fro, and their tokens
 *
 * Messages are rendered by a known template and encoded part by part (lib/text/encode_part.h), as `tokenize --messages` does. What the
 * assistant said itself stays in the tokens that it said it in, so that a cache of them goes on: encoding its text need not give them back.
 */
#ifndef LIB_INFER_CONVERSATION_H
#define LIB_INFER_CONVERSATION_H

#include "lib/text/chat.h"
#include "lib/text/tokenizer.h"

struct conversation;

/* T outlives it. ERR_MISSING: a token of the template that the tokenizer lacks. */
int conversation_new(struct conversation **out, const struct tokenizer *t, enum chat c);
void conversation_free(struct conversation *c); /* NULL is allowed */

/* Appends a message, of which it keeps a copy. */
int conversation_add(struct conversation *c, enum chat_role role, struct bytes text);
/* Appends what the assistant said, in N tokens, without what ends its turn. */
int conversation_answer(struct conversation *c, struct bytes text, const int32_t *ids, size_t n);
/* Forgets N messages from FIRST on. */
void conversation_forget(struct conversation *c, size_t first, size_t n);

size_t conversation_length(const struct conversation *c);
/* Valid until the next message comes or goes. */
const struct chat_message *conversation_messages(const struct conversation *c);
/* {"messages":[{"role":...,"content":...}...]} and a line end, as tokenize and decode read it. */
void conversation_write(const struct conversation *c, struct buffer *out);

/*
 * All tokens, and those that open the assistant's turn. *IDS is valid until the next call. -1 with the error set: messages that the
 * template refuses, text that the tokenizer cannot encode.
 */
int conversation_encode(struct conversation *c, const int32_t **ids, size_t *n);
/* The token that ends the assistant's turn. */
uint32_t conversation_end(const struct conversation *c);

#endif

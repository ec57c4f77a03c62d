/* lib/text/chat_parts.h - what the files of the chat templates share */
#ifndef LIB_TEXT_CHAT_PARTS_H
#define LIB_TEXT_CHAT_PARTS_H

#include "lib/text/chat.h"

const char *chat_role_name(enum chat_role role);

/* Appends parts; `failed` sticks (memory). */
struct chat_writer {
	struct chat_parts *out;
	enum chat_role role; /* whose message it is now */
	bool failed;
};

void chat_put_scaffold(struct chat_writer *w, struct bytes text);
void chat_put(struct chat_writer *w, const char *text); /* scaffold */
/* Scaffold that ends the message: an assistant's own. */
void chat_put_end(struct chat_writer *w, struct bytes text);
void chat_put_text(struct chat_writer *w, struct bytes text);
/* Text after a space of the template's. */
void chat_put_spaced(struct chat_writer *w, struct bytes text);

/* Jinja's `trim`: what Python's str.strip takes from both ends. */
struct bytes chat_trim(struct bytes text);

#endif

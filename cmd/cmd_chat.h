/* cmd/cmd_chat.h - which chat template a tokenizer's messages are of */
#ifndef CMD_CMD_CHAT_H
#define CMD_CMD_CHAT_H

#include "lib/text/chat.h"
#include "lib/text/spec.h"

/*
 * NAME, the value of OPTION, or, NULL, the one that the tokenizer S of PATH has. Ends the tool where it has none, and where it has one that
 * is not known here.
 */
enum chat cmd_chat(const struct tokenizer_spec *s, const char *path, const char *option,
		   const char *name);

#endif

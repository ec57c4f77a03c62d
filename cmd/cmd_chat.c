/* cmd/cmd_chat.c - which chat template a tokenizer's messages are of */

#include "cmd/cmd_chat.h"

#include "cmd/cmd.h"
#include "lib/base/hash.h"

static enum chat by_name(const char *option, const char *name)
{
	enum chat chat = chat_by_name(name);

	if (chat == CHAT_NONE)
		cmd_misuse("%s: '%s' is not one of chatml, smollm2, llama3, gemma, mistral or qwen",
			   option, name);
	return chat;
}

/* By its hash, which a list of templates can be searched for. */
static _Noreturn void refuse(struct bytes jinja, const char *path, const char *option)
{
	struct hash128 hash;
	char hex[HASH_HEX];

	cmd_check(hash_memory(NULL, jinja.data, jinja.size, &hash));
	hash_hex(&hash, hex);
	cmd_die("%s has a chat template that is not known here (%zu bytes, XXH3 %s): name the one "
		"that it is like with %s",
		path, jinja.size, hex, option);
}

enum chat cmd_chat(const struct tokenizer_spec *s, const char *path, const char *option,
		   const char *name)
{
	enum chat chat;

	if (name)
		return by_name(option, name);
	if (s->chat_template.size == 0)
		cmd_die("%s has no chat template: name one with %s", path, option);
	chat = chat_recognise(s->chat_template);
	if (chat == CHAT_NONE)
		refuse(s->chat_template, path, option);
	return chat;
}

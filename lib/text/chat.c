/* lib/text/chat.c - the chat templates by name, and by the whole text of a template */

#include "lib/text/chat_parts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

static const char *const im_tokens[] = { "<|im_start|>", "<|im_end|>", NULL };
static const char *const llama3_tokens[] = { "<|start_header_id|>", "<|end_header_id|>",
					     "<|eot_id|>", NULL };
static const char *const gemma_tokens[] = { "<start_of_turn>", "<end_of_turn>", NULL };
static const char *const mistral_tokens[] = { "[INST]", "[/INST]", NULL };
static const char *const no_tokens[] = { NULL };

static const struct {
	const char *name;
	const char *const *specials;
} families[CHAT_COUNT] = {
	[CHAT_NONE] = { "none", no_tokens },	   [CHAT_CHATML] = { "chatml", im_tokens },
	[CHAT_SMOLLM2] = { "smollm2", im_tokens }, [CHAT_LLAMA3] = { "llama3", llama3_tokens },
	[CHAT_GEMMA] = { "gemma", gemma_tokens },  [CHAT_MISTRAL] = { "mistral", mistral_tokens },
	[CHAT_QWEN] = { "qwen", im_tokens },
};

enum chat chat_by_name(const char *name)
{
	for (int c = CHAT_NONE + 1; c < CHAT_COUNT; c++)
		if (strcmp(families[c].name, name) == 0)
			return (enum chat)c;
	return CHAT_NONE;
}

const char *chat_name(enum chat c)
{
	return families[c].name;
}

const char *const *chat_specials(enum chat c)
{
	return families[c].specials;
}

/* --- recognising --- */

/*
 * XXH3-128 of templates that models ship, without the line end at their end, each held against ours by rendering
 * (scripts/gen-fixtures-chat, tests/peer/chat.bats).
 */
static const struct {
	const char *hash;
	enum chat chat;
} shipped[] = {
	{ "6a4d2d67c119d22ee727c4580a22cc0f", CHAT_CHATML },  /* transformers' and others' ChatML */
	{ "3b834641f3d6d9341df86b31ee953f84", CHAT_GEMMA },   /* Gemma 3's */
	{ "4db906259a570ac9df88485bcf0c158a", CHAT_LLAMA3 },  /* Llama 3's */
	{ "1db19169341301c532f934b634af4055", CHAT_MISTRAL }, /* mistral-common's of version 3 */
	{ "b334059f88f6963cf9d905ec53699188", CHAT_QWEN },    /* Qwen 2.5's */
	{ "b5d13ad2f717c69dc1baf515c298069c", CHAT_SMOLLM2 }, /* SmolLM2's */
};

enum chat chat_recognise(struct bytes jinja)
{
	struct hash128 hash;
	char hex[HASH_HEX];

	if (bytes_end_with(jinja, "\n"))
		jinja.size--;
	for (int c = CHAT_NONE + 1; c < CHAT_COUNT; c++)
		if (bytes_equal(jinja, chat_jinja((enum chat)c)))
			return (enum chat)c;
	if (hash_memory(NULL, jinja.data, jinja.size, &hash) < 0)
		return CHAT_NONE;
	hash_hex(&hash, hex);
	for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++)
		if (strcmp(hex, shipped[i].hash) == 0)
			return shipped[i].chat;
	return CHAT_NONE;
}

/* --- roles --- */

static const char *const role_names[] = {
	[CHAT_SYSTEM] = "system",
	[CHAT_USER] = "user",
	[CHAT_ASSISTANT] = "assistant",
	[CHAT_TOOL] = "tool",
};

const char *chat_role_name(enum chat_role role)
{
	return role_names[role];
}

int chat_role_find(struct bytes name, enum chat_role *out)
{
	for (int i = CHAT_SYSTEM; i <= CHAT_TOOL; i++) {
		if (bytes_are(name, role_names[i])) {
			*out = (enum chat_role)i;
			return 0;
		}
	}
	return err_set(ERR_FORMAT,
		       "the role \"" BYTES_FMT "\" is not one of system, user, assistant and tool",
		       BYTES_ARG(name));
}

/* --- parts --- */

void chat_parts_free(struct chat_parts *p)
{
	buffer_free(&p->text);
	free(p->items);
	*p = (struct chat_parts){ 0 };
}

static void add(struct chat_writer *w, struct chat_part part, struct bytes text)
{
	struct chat_parts *p = w->out;

	part.from = p->text.size;
	buffer_put(&p->text, text.data, text.size);
	part.to = p->text.size;
	if (w->failed || part.from == part.to)
		return;
	if (mem_grow(&p->items, &p->capacity, p->n + 1, sizeof(*p->items)) < 0)
		w->failed = true;
	else
		p->items[p->n++] = part;
}

void chat_put_scaffold(struct chat_writer *w, struct bytes text)
{
	struct chat_parts *p = w->out;
	struct chat_part *last = p->n ? &p->items[p->n - 1] : NULL;

	/* What stands together is encoded together. */
	if (last && last->scaffold && !last->ends_turn) {
		buffer_put(&p->text, text.data, text.size);
		last->to = p->text.size;
		return;
	}
	add(w, (struct chat_part){ .scaffold = true, .role = w->role }, text);
}

void chat_put(struct chat_writer *w, const char *text)
{
	chat_put_scaffold(w, bytes_of(text));
}

void chat_put_end(struct chat_writer *w, struct bytes text)
{
	if (w->role == CHAT_ASSISTANT)
		add(w, (struct chat_part){ .scaffold = true, .role = w->role, .ends_turn = true },
		    text);
	else
		chat_put_scaffold(w, text);
}

void chat_put_text(struct chat_writer *w, struct bytes text)
{
	add(w, (struct chat_part){ .role = w->role }, text);
}

void chat_put_spaced(struct chat_writer *w, struct bytes text)
{
	size_t n = w->out->n;

	add(w, (struct chat_part){ .role = w->role, .spaced = true }, (struct bytes){ " ", 1 });
	buffer_put(&w->out->text, text.data, text.size);
	if (w->out->n > n)
		w->out->items[n].to = w->out->text.size;
}

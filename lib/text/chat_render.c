/*
 * lib/text/chat_render.c - messages as the families' templates render them
 *
 * Each function is what one Jinja template says of plain messages, written out (chat_jinja.c has ours of the same
 * meaning; scripts/gen-fixtures-chat holds the two and the shipped ones together).
 */
#include "lib/text/chat_parts.h"

#include <string.h>

#include "lib/base/err.h"

/* The messages that a template is given. */
struct conversation {
	const struct chat_message *items;
	size_t n;
	const struct chat_options *options;
};

static int refuse(size_t i, const char *why)
{
	return err_set(ERR_FORMAT, "message %zu: %s", i + 1, why);
}

static void put_eos(struct chat_writer *w, const struct chat_options *o)
{
	chat_put_end(w, o->eos);
}

/* --- ChatML and its relatives --- */

static void im_open(struct chat_writer *w, const char *role)
{
	chat_put(w, "<|im_start|>");
	chat_put(w, role);
	chat_put(w, "\n");
}

static void im_close(struct chat_writer *w)
{
	chat_put_end(w, bytes_of("<|im_end|>"));
	chat_put(w, "\n");
}

static void im_message(struct chat_writer *w, const struct chat_message *m)
{
	w->role = m->role;
	im_open(w, chat_role_name(m->role));
	chat_put_text(w, m->content);
	im_close(w);
}

/* A system message that the template brings, where the first one is none. */
static void im_default(struct chat_writer *w, const struct conversation *c, const char *system)
{
	if (c->items[0].role == CHAT_SYSTEM)
		return;
	w->role = CHAT_SYSTEM;
	im_open(w, "system");
	chat_put(w, system);
	im_close(w);
}

static void im_prompt(struct chat_writer *w, const struct conversation *c)
{
	if (!c->options->generation_prompt)
		return;
	w->role = CHAT_ASSISTANT;
	im_open(w, "assistant");
}

static int render_chatml(struct chat_writer *w, const struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++)
		im_message(w, &c->items[i]);
	im_prompt(w, c);
	return 0;
}

static int render_smollm2(struct chat_writer *w, const struct conversation *c)
{
	im_default(w, c, "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
	return render_chatml(w, c);
}

/* Answers of tools that follow one another share one message of the user. */
static void qwen_tool(struct chat_writer *w, const struct conversation *c, size_t i)
{
	w->role = CHAT_TOOL;
	if (i == 0 || c->items[i - 1].role != CHAT_TOOL)
		chat_put(w, "<|im_start|>user");
	chat_put(w, "\n<tool_response>\n");
	chat_put_text(w, c->items[i].content);
	chat_put(w, "\n</tool_response>");
	if (i + 1 == c->n || c->items[i + 1].role != CHAT_TOOL)
		im_close(w);
}

static int render_qwen(struct chat_writer *w, const struct conversation *c)
{
	im_default(w, c, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
	for (size_t i = 0; i < c->n; i++) {
		if (c->items[i].role == CHAT_TOOL)
			qwen_tool(w, c, i);
		else
			im_message(w, &c->items[i]);
	}
	im_prompt(w, c);
	return 0;
}

/* --- Llama 3 --- */

static void llama3_open(struct chat_writer *w, enum chat_role role)
{
	w->role = role;
	chat_put(w, "<|start_header_id|>");
	chat_put(w, chat_role_name(role));
	chat_put(w, "<|end_header_id|>\n\n");
}

static int render_llama3(struct chat_writer *w, const struct conversation *c)
{
	w->role = c->items[0].role;
	chat_put_scaffold(w, c->options->bos);
	for (size_t i = 0; i < c->n; i++) {
		llama3_open(w, c->items[i].role);
		chat_put_text(w, chat_trim(c->items[i].content));
		chat_put_end(w, bytes_of("<|eot_id|>"));
	}
	if (c->options->generation_prompt)
		llama3_open(w, CHAT_ASSISTANT);
	return 0;
}

/* --- Gemma --- */

static void gemma_open(struct chat_writer *w, enum chat_role role)
{
	w->role = role;
	chat_put(w, "<start_of_turn>");
	chat_put(w, role == CHAT_ASSISTANT ? "model" : chat_role_name(role));
	chat_put(w, "\n");
}

/* The system's text stands before the first message's, in its turn. */
static void gemma_system(struct chat_writer *w, struct bytes text, enum chat_role turn)
{
	w->role = CHAT_SYSTEM;
	chat_put_text(w, text);
	chat_put(w, "\n\n");
	w->role = turn;
}

static int render_gemma(struct chat_writer *w, const struct conversation *c)
{
	size_t first = c->items[0].role == CHAT_SYSTEM;

	if (first == c->n)
		return refuse(0, "a system message needs a message that it goes with");
	w->role = c->items[first].role;
	chat_put_scaffold(w, c->options->bos);
	for (size_t i = first; i < c->n; i++) {
		const struct chat_message *m = &c->items[i];

		if ((m->role == CHAT_USER) != ((i - first) % 2 == 0))
			return refuse(i, "Conversation roles must alternate "
					 "user/assistant/user/assistant/...");
		gemma_open(w, m->role);
		if (i == first && first)
			gemma_system(w, c->items[0].content, m->role);
		chat_put_text(w, chat_trim(m->content));
		chat_put_end(w, bytes_of("<end_of_turn>"));
		chat_put(w, "\n");
	}
	if (c->options->generation_prompt)
		gemma_open(w, CHAT_ASSISTANT);
	return 0;
}

/* --- Mistral --- */

static size_t skip_system(const struct conversation *c, size_t i)
{
	while (i < c->n && c->items[i].role == CHAT_SYSTEM)
		i++;
	return i;
}

static int mistral_check(const struct conversation *c, size_t before, size_t i)
{
	enum chat_role role = c->items[i].role;

	if (before == c->n && role != CHAT_USER)
		return err_set(ERR_FORMAT,
			       "message %zu: Conversation must start with a user message, got %s.",
			       i + 1, chat_role_name(role));
	if (role == CHAT_TOOL && c->items[before].role == CHAT_USER)
		return refuse(i, "Unexpected role 'tool' after role 'user'");
	return 0;
}

static bool is_last_user(const struct conversation *c, size_t after)
{
	for (size_t i = after; i < c->n; i++)
		if (c->items[i].role == CHAT_USER)
			return false;
	return true;
}

/* All system messages, wherever they stood, two line ends after each; nothing where they are one without text. */
static bool mistral_system(struct chat_writer *w, const struct conversation *c)
{
	size_t n = 0, text = 0;
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		n += c->items[i].role == CHAT_SYSTEM;
		text += c->items[i].role == CHAT_SYSTEM ? c->items[i].content.size : 0;
	}
	if (n == 0 || (n == 1 && text == 0))
		return false;
	w->role = CHAT_SYSTEM;
	for (size_t i = 0; i < c->n; i++) {
		if (c->items[i].role != CHAT_SYSTEM)
			continue;
		if (any)
			chat_put_text(w, c->items[i].content);
		else
			chat_put_spaced(w, c->items[i].content);
		chat_put(w, "\n\n");
		any = true;
	}
	return true;
}

/* The messages of one role that follow one another, from FROM on: two line ends between them. */
static void mistral_texts(struct chat_writer *w, const struct conversation *c, size_t from,
			  bool spaced)
{
	enum chat_role role = c->items[from].role;
	size_t i = from;

	w->role = role;
	while (i < c->n && c->items[i].role == role) {
		if (i > from)
			chat_put(w, "\n\n");
		if (i == from && spaced)
			chat_put_spaced(w, c->items[i].content);
		else
			chat_put_text(w, c->items[i].content);
		i = skip_system(c, i + 1);
	}
}

static size_t mistral_end(const struct conversation *c, size_t from)
{
	enum chat_role role = c->items[from].role;

	while (from < c->n && c->items[from].role == role)
		from = skip_system(c, from + 1);
	return from;
}

static int mistral_turn(struct chat_writer *w, const struct conversation *c, size_t from)
{
	size_t to = mistral_end(c, from);
	bool system = false;

	w->role = c->items[from].role;
	if (w->role == CHAT_USER) {
		chat_put(w, "[INST]");
		if (is_last_user(c, to))
			system = mistral_system(w, c);
		mistral_texts(w, c, from, !system);
		w->role = CHAT_USER;
		chat_put(w, "[/INST]");
		return 0;
	}
	if (w->role == CHAT_TOOL)
		return refuse(from, "Tool message must have a call_id or tool_call_id of 9 "
				    "characters or numbers.");
	if (c->items[from].content.size == 0 && skip_system(c, from + 1) == to)
		return refuse(from, "Assistant message must have a string or a list of chunks in "
				    "content or a list of tool calls.");
	mistral_texts(w, c, from, true);
	put_eos(w, c->options);
	return 0;
}

static int render_mistral(struct chat_writer *w, const struct conversation *c)
{
	size_t start = skip_system(c, 0);

	if (start == c->n)
		return refuse(0, "Conversation must start with a user message.");
	if (c->options->eos.size == 0)
		return err_set(ERR_MISSING, "the template needs an EOS token, and there is none");
	for (size_t i = start, before = c->n; i < c->n; before = i, i = skip_system(c, i + 1))
		if (mistral_check(c, before, i) < 0)
			return -1;
	w->role = CHAT_USER;
	chat_put_scaffold(w, c->options->bos);
	for (size_t i = start; i < c->n; i = mistral_end(c, i))
		if (mistral_turn(w, c, i) < 0)
			return -1;
	return 0;
}

/* --- any --- */

int chat_render(struct chat_parts *out, enum chat chat, const struct chat_message *messages,
		size_t n, const struct chat_options *o)
{
	static int (*const render[CHAT_COUNT])(struct chat_writer *,
					       const struct conversation *) = {
		[CHAT_CHATML] = render_chatml,	 [CHAT_SMOLLM2] = render_smollm2,
		[CHAT_LLAMA3] = render_llama3,	 [CHAT_GEMMA] = render_gemma,
		[CHAT_MISTRAL] = render_mistral, [CHAT_QWEN] = render_qwen,
	};
	struct conversation c = { messages, n, o };
	struct chat_writer w = { .out = out };

	buffer_clear(&out->text);
	out->n = 0;
	if (!render[chat])
		return err_set(ERR_ARGUMENT, "no template is chosen");
	if (n == 0)
		return err_set(ERR_FORMAT, "there are no messages");
	if (render[chat](&w, &c) < 0)
		return -1;
	return w.failed ? -1 : buffer_check(&out->text);
}

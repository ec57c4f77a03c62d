/*
 * tests/unit/test_chat.c - chat templates against what transformers renders from the templates that models ship
 *
 * fixtures/good/chat/messages.jsonl has lists of messages; line by line fixtures/golden/chat/NAME.jsonl what the template of
 * that name makes of them, a text or an error (scripts/gen-fixtures-chat).
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/chat_parts.h"
#include "tests/tap.h"

#define MESSAGES_MAX 16

static struct json *list_json, *want_json;
static struct chat_message messages[MESSAGES_MAX];
static struct chat_parts parts;
static const struct chat_options plain = { .bos = { "<s>", 3 }, .eos = { "</s>", 4 } };

static const enum chat chats[] = { CHAT_CHATML, CHAT_SMOLLM2, CHAT_LLAMA3,
				   CHAT_GEMMA,	CHAT_MISTRAL, CHAT_QWEN };

static size_t read_messages(struct bytes record)
{
	struct json *j = list_json;
	struct bytes key, value;
	size_t n = 0;

	json_init(j, record.data, record.size, "messages", NULL);
	json_object(j);
	json_key(j, &key);
	json_array(j);
	while (json_item(j) > 0 && n < MESSAGES_MAX) {
		struct chat_message *m = &messages[n++];

		json_object(j);
		while (json_key(j, &key) > 0) {
			if (json_string(j, &value) < 0)
				return 0;
			if (bytes_are(key, "content"))
				m->content = value;
			else if (chat_role_find(value, &m->role) < 0)
				return 0;
		}
	}
	json_key(j, &key);
	return json_end(j) < 0 ? 0 : n;
}

/* Fills WANT, and says whether it is an error's text. */
static bool read_want(struct bytes record, struct bytes *want)
{
	struct json *j = want_json;
	struct bytes key = { "", 0 };
	bool is_error;

	json_init(j, record.data, record.size, "want", NULL);
	json_object(j);
	json_key(j, &key);
	is_error = bytes_are(key, "error");
	json_string(j, want);
	return is_error;
}

/* The parts follow one another over the whole text; what is text stands in a message of its role. */
static bool parts_fit(size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < parts.n; i++) {
		const struct chat_part *p = &parts.items[i];
		struct bytes text = { parts.text.data + p->from + p->spaced,
				      p->to - p->from - p->spaced };
		bool found = p->scaffold;

		for (size_t k = 0; k < n && !found; k++)
			found = messages[k].role == p->role &&
				(bytes_equal(messages[k].content, text) ||
				 bytes_equal(chat_trim(messages[k].content), text));
		if (!found || p->from != at || p->to <= p->from ||
		    (p->spaced && parts.text.data[p->from] != ' ') ||
		    (p->ends_turn && (!p->scaffold || p->role != CHAT_ASSISTANT)))
			return false;
		at = p->to;
	}
	return at == parts.text.size;
}

static void check_list(enum chat chat, size_t line, struct bytes list, struct bytes golden)
{
	struct chat_options o = plain;
	struct bytes want = { "", 0 };
	size_t n = read_messages(list);
	bool is_error = read_want(golden, &want);

	o.generation_prompt = line % 2 == 0;
	if (is_error) {
		char *words = mem_copy(want.data, want.size);

		tap_fails(chat_render(&parts, chat, messages, n, &o), ERR_FORMAT, words, "%s %zu",
			  chat_name(chat), line);
		free(words);
		return;
	}
	if (!tap_works(chat_render(&parts, chat, messages, n, &o), "%s %zu", chat_name(chat), line))
		return;
	tap_is_bytes(buffer_bytes(&parts.text), want, "%s %zu", chat_name(chat), line);
	tap_ok(parts_fit(n), "%s %zu: parts", chat_name(chat), line);
}

static void check_golden(enum chat chat)
{
	char path[128];
	struct jsonl *lists = NULL, *golden = NULL;
	struct bytes list, want;
	size_t line = 0;

	snprintf(path, sizeof(path), "fixtures/golden/chat/%s.jsonl", chat_name(chat));
	if (!tap_works(jsonl_open(&lists, "fixtures/good/chat/messages.jsonl", NULL), "lists") ||
	    !tap_works(jsonl_open(&golden, path, NULL), "%s", path))
		goto out;
	for (; jsonl_next(lists, &list) > 0 && jsonl_next(golden, &want) > 0; line++)
		check_list(chat, line, list, want);
	tap_ok(line >= 80, "%zu lists for %s", line, chat_name(chat));
out:
	jsonl_close(lists);
	jsonl_close(golden);
}

static void test_golden(void)
{
	for (size_t i = 0; i < sizeof(chats) / sizeof(*chats); i++)
		check_golden(chats[i]);
}

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(chats) / sizeof(*chats); i++) {
		struct bytes text = chat_jinja(chats[i]);
		char *changed = mem_copy(text.data, text.size);

		tap_is_u64(chat_by_name(chat_name(chats[i])), chats[i], "%s", chat_name(chats[i]));
		tap_is_u64(chat_recognise(text), chats[i], "its own template");
		changed[text.size] = '\n';
		tap_is_u64(chat_recognise((struct bytes){ changed, text.size + 1 }), chats[i],
			   "with a line end, which Jinja does not print");
		changed[text.size / 2] ^= 1;
		tap_is_u64(chat_recognise((struct bytes){ changed, text.size }), CHAT_NONE,
			   "one bit of it changed");
		tap_ok(chat_specials(chats[i])[0] != NULL, "it has special tokens");
		free(changed);
	}
	tap_is_u64(chat_by_name("jinja"), CHAT_NONE, "no such name");
	tap_is_u64(chat_by_name("none"), CHAT_NONE, "none is no name");
	tap_is_u64(chat_recognise((struct bytes){ "", 0 }), CHAT_NONE, "no template");
}

static void test_ends_of_turns(void)
{
	static const char *const ends[CHAT_COUNT] = {
		[CHAT_CHATML] = "<|im_end|>", [CHAT_SMOLLM2] = "<|im_end|>",
		[CHAT_LLAMA3] = "<|eot_id|>", [CHAT_GEMMA] = "<end_of_turn>",
		[CHAT_MISTRAL] = "</s>",      [CHAT_QWEN] = "<|im_end|>",
	};
	struct chat_message two[] = { { CHAT_USER, { "q", 1 } }, { CHAT_ASSISTANT, { "a", 1 } } };

	for (size_t i = 0; i < sizeof(chats) / sizeof(*chats); i++) {
		size_t n = 0;

		tap_works(chat_render(&parts, chats[i], two, 2, &plain), "%s", chat_name(chats[i]));
		for (size_t k = 0; k < parts.n; k++) {
			const struct chat_part *p = &parts.items[k];
			struct bytes text = { parts.text.data + p->from, p->to - p->from };

			if (!p->ends_turn)
				continue;
			n++;
			tap_ok(bytes_are(text, ends[chats[i]]), "%s: what ends the turn",
			       chat_name(chats[i]));
		}
		tap_is_u64(n, 1, "the assistant's turn alone ends so");
	}
}

static void test_refusals(void)
{
	struct chat_message one[] = { { CHAT_USER, { "q", 1 } } };
	struct chat_options none = { .generation_prompt = false };
	enum chat_role role;

	tap_fails(chat_render(&parts, CHAT_CHATML, one, 0, &plain), ERR_FORMAT, "no messages", "0");
	tap_fails(chat_render(&parts, CHAT_NONE, one, 1, &plain), ERR_ARGUMENT, "template", "none");
	tap_fails(chat_render(&parts, CHAT_MISTRAL, one, 1, &none), ERR_MISSING, "EOS", "no EOS");
	tap_works(chat_render(&parts, CHAT_GEMMA, one, 1, &none), "no BOS is no text");
	tap_is_bytes(buffer_bytes(&parts.text), bytes_of("<start_of_turn>user\nq<end_of_turn>\n"),
		     "no BOS");
	tap_fails(chat_role_find(bytes_of("model"), &role), ERR_FORMAT, "\"model\"", "role");
	tap_fails(chat_role_find((struct bytes){ "user\0", 5 }, &role), ERR_FORMAT, "system",
		  "NUL");
}

/* Bytes that are not UTF-8 are no white space, and none is read past the end. */
static void test_trim(void)
{
	struct bytes nul = { "\0 ", 2 }, nothing = { NULL, 0 };

	tap_is_bytes(chat_trim(bytes_of("\xa0 x \x85")), bytes_of("\xa0 x \x85"), "bytes alone");
	tap_is_bytes(chat_trim(bytes_of("\xc2\xa0x\xe2\x80\x83\xc2\x85")), bytes_of("x"),
		     "2, 3, 2");
	tap_is_bytes(chat_trim(bytes_of(" \xe3\x80\x80 \n")), bytes_of(""), "nothing but space");
	tap_is_bytes(chat_trim(nul), ((struct bytes){ nul.data, 1 }), "NUL stays");
	tap_is_bytes(chat_trim(nothing), nothing, "nothing");
}

int main(void)
{
	if (json_new(&list_json) < 0 || json_new(&want_json) < 0)
		return 1;
	tap_run(test_names);
	tap_run(test_golden);
	tap_run(test_ends_of_turns);
	tap_run(test_refusals);
	tap_run(test_trim);
	chat_parts_free(&parts);
	json_free(list_json);
	json_free(want_json);
	return tap_done();
}

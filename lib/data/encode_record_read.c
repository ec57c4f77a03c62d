/* lib/data/encode_record_read.c - a JSON record into the parts of its document */

#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/encode_record_parts.h"
#include "lib/data/record_text.h"

static int add_part(struct record_encoder *e, struct record_part part)
{
	if (mem_grow(&e->parts, &e->capacity, e->n + 1, sizeof(*e->parts)) < 0)
		return -1;
	e->parts[e->n++] = part;
	return 0;
}

/* --- fields --- */

/* Which part KEY is; n for none. */
static size_t part_of(const struct record_encoder *e, struct bytes key, enum record_form *form)
{
	size_t i = 0;

	while (i < e->n && (*form = record_form(key, e->parts[i].field)) == RECORD_OTHER)
		i++;
	return i;
}

/* Fills the texts of the parts, whose fields are set. */
static int read_fields(struct record_encoder *e, struct bytes record,
		       const struct record_place *place)
{
	struct json *j = e->json;
	uint64_t plain = 0, base64 = 0; /* parts that are there, a bit each */
	struct bytes key;
	enum record_form form = RECORD_OTHER;

	if (record_begins(record, place->name, place->line) < 0)
		return -1;
	json_init(j, record.data, record.size, place->name,
		  &(struct json_limits){ .line = place->line });
	json_object(j);
	while (json_key(j, &key) > 0) {
		size_t i = part_of(e, key, &form);
		bool other = i == e->n || (form == RECORD_BASE64 && plain >> i & 1);

		if (other) {
			json_skip(j, NULL);
			continue;
		}
		json_string(j, &e->parts[i].text);
		*(form == RECORD_BASE64 ? &base64 : &plain) |= UINT64_C(1) << i;
	}
	if (json_end(j) < 0)
		return -1;
	buffer_clear(&e->decoded);
	/* Room for all at once: texts that were decoded must not move. */
	if (base64 && buffer_reserve(&e->decoded, record.size) < 0)
		return -1;
	for (size_t i = 0; i < e->n; i++) {
		if (plain >> i & 1)
			continue;
		if (!(base64 >> i & 1))
			return err_set(ERR_MISSING, "%s:%" PRIu64 ": has no field \"%s\"",
				       place->name, place->line, e->parts[i].field);
		if (record_decode(&e->decoded, &e->parts[i].text, e->parts[i].field) < 0)
			return err_prefix("%s:%" PRIu64, place->name, place->line);
	}
	return 0;
}

/* --- messages --- */

static int take_text(struct record_encoder *e, struct record_message *m)
{
	struct json *j = e->json;
	struct bytes key, text = { 0 }, type = { 0 };
	bool has_text = false, has_type = false;

	json_object(j);
	while (json_key(j, &key) > 0) {
		if (bytes_are(key, "text"))
			has_text = json_string(j, &text) == 0;
		else if (bytes_are(key, "type"))
			has_type = json_string(j, &type) == 0;
		else
			json_skip(j, NULL);
	}
	if (has_type && !bytes_are(type, "text"))
		return json_fail(j,
				 "message %zu: content of the type \"" BYTES_FMT
				 "\", and only text is handled",
				 e->n_messages, BYTES_ARG(type));
	if (!has_text)
		return json_fail(j, "message %zu: content without a \"text\"", e->n_messages);
	m->content.size += text.size;
	buffer_put(&e->joined, text.data, text.size);
	return 0;
}

static int take_content(struct record_encoder *e, struct record_message *m)
{
	struct json *j = e->json;
	int type = json_peek(j);

	if (type == JSON_STRING)
		return json_string(j, &m->content);
	if (type == JSON_NULL)
		return json_fail(j, "message %zu: the content is null", e->n_messages);
	if (type >= 0 && type != JSON_ARRAY)
		return json_fail(j, "message %zu: the content is neither a string nor an array",
				 e->n_messages);
	m->is_joined = true;
	m->joined = e->joined.size;
	json_array(j);
	while (json_item(j) > 0)
		if (take_text(e, m) < 0)
			return -1;
	return 0;
}

/* Calls of tools are no text: null and an empty array say that there are none. */
static int refuse_calls(struct record_encoder *e)
{
	struct bytes raw;

	if (json_skip(e->json, &raw) < 0)
		return -1;
	if (bytes_are(raw, "null") || bytes_are(raw, "[]"))
		return 0;
	return json_fail(e->json, "message %zu: tool_calls are not handled", e->n_messages);
}

static int add_message(struct record_encoder *e)
{
	size_t n = e->n_messages + 1;

	if (mem_grow(&e->messages, &e->messages_capacity, n, sizeof(*e->messages)) < 0 ||
	    mem_grow(&e->contents, &e->contents_capacity, n, sizeof(*e->contents)) < 0)
		return -1;
	e->contents[n - 1] = (struct record_message){ 0 };
	e->n_messages = n;
	return 0;
}

static int read_message(struct record_encoder *e)
{
	struct json *j = e->json;
	bool has_role = false, has_content = false;
	struct bytes key, role = { 0 };
	size_t i = e->n_messages;

	if (add_message(e) < 0)
		return -1;
	json_object(j);
	while (json_key(j, &key) > 0) {
		int result = 0;

		if (bytes_are(key, "role"))
			has_role = json_string(j, &role) == 0;
		else if (bytes_are(key, "content"))
			has_content = (result = take_content(e, &e->contents[i])) == 0;
		else if (bytes_are(key, "tool_calls"))
			result = refuse_calls(e);
		else
			json_skip(j, NULL);
		if (result < 0)
			return -1;
	}
	if (!has_role || !has_content)
		return json_fail(j, "message %zu: has no \"%s\"", e->n_messages,
				 has_role ? "content" : "role");
	if (chat_role_find(role, &e->messages[i].role) < 0)
		return json_fail(j, "message %zu: %s", e->n_messages, err_text());
	return 0;
}

static int read_messages(struct record_encoder *e, struct bytes record,
			 const struct record_place *place)
{
	struct json *j = e->json;
	struct bytes key;
	bool found = false;

	e->n_messages = 0;
	buffer_clear(&e->joined);
	if (record_begins(record, place->name, place->line) < 0)
		return -1;
	json_init(j, record.data, record.size, place->name,
		  &(struct json_limits){ .line = place->line });
	json_object(j);
	while (json_key(j, &key) > 0) {
		if (!bytes_are(key, e->o.field)) {
			json_skip(j, NULL);
			continue;
		}
		found = true;
		json_array(j);
		while (json_item(j) > 0)
			if (read_message(e) < 0)
				return -1;
	}
	if (json_end(j) < 0 || buffer_check(&e->joined) < 0)
		return -1;
	if (!found)
		return err_set(ERR_MISSING, "%s:%" PRIu64 ": has no field \"%s\"", place->name,
			       place->line, e->o.field);
	for (size_t i = 0; i < e->n_messages; i++) {
		e->messages[i].content = e->contents[i].content;
		if (e->contents[i].is_joined)
			e->messages[i].content.data = e->joined.data + e->contents[i].joined;
	}
	return 0;
}

static enum token_role role_of(const struct chat_part *p)
{
	static const enum token_role roles[] = {
		[CHAT_SYSTEM] = ROLE_SYSTEM,
		[CHAT_USER] = ROLE_USER,
		[CHAT_ASSISTANT] = ROLE_ASSISTANT,
		[CHAT_TOOL] = ROLE_TOOL,
	};

	return p->scaffold && !p->ends_turn ? ROLE_SCAFFOLD : roles[p->role];
}

static int render(struct record_encoder *e, const struct record_place *place)
{
	const struct chat_parts *r = &e->rendered;

	if (chat_render(&e->rendered, e->o.chat, e->messages, e->n_messages, &e->chat) < 0)
		return err_prefix("%s:%" PRIu64, place->name, place->line);
	for (size_t i = 0; i < r->n; i++) {
		const struct chat_part *p = &r->items[i];

		if (add_part(e, (struct record_part){
					.text = { r->text.data + p->from, p->to - p->from },
					.role = role_of(p),
					.scaffold = p->scaffold,
					.spaced = p->spaced }) < 0)
			return -1;
	}
	return 0;
}

/* --- any --- */

static int join(struct record_encoder *e, struct bytes *document)
{
	buffer_clear(&e->document);
	for (size_t i = 0; i < e->n; i++)
		buffer_put(&e->document, e->parts[i].text.data, e->parts[i].text.size);
	*document = buffer_bytes(&e->document);
	return buffer_check(&e->document);
}

int record_read(struct record_encoder *e, struct bytes record, const struct record_place *place,
		struct bytes *document)
{
	e->n = 0;
	switch (e->o.input) {
	case RECORD_TEXT:
		*document = record;
		return add_part(e, (struct record_part){ .text = record });
	case RECORD_JSON:
		if (add_part(e, (struct record_part){ .field = e->o.field }) < 0 ||
		    read_fields(e, record, place) < 0)
			return -1;
		*document = e->parts[0].text;
		return 0;
	case RECORD_FIELDS:
		for (size_t i = 0; i < e->o.n_fields; i++)
			if (add_part(e, (struct record_part){ .field = e->o.fields[i].name,
							      .role = e->o.fields[i].role }) < 0)
				return -1;
		if (read_fields(e, record, place) < 0)
			return -1;
		return join(e, document);
	case RECORD_MESSAGES:
		if (read_messages(e, record, place) < 0 || render(e, place) < 0)
			return -1;
		*document = buffer_bytes(&e->rendered.text);
		return 0;
	}
	return err_set(ERR_ARGUMENT, "no such kind of record");
}

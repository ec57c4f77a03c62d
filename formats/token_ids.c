/* formats/token_ids.c - ids and runs as they lie in files (man/man5/token-stream.5) */
#include <endian.h>
#include <string.h>

#include "formats/token_header.h"
#include "lib/base/err.h"

static const char *const role_names[N_ROLES] = {
	[ROLE_TEXT] = "text",	  [ROLE_PROMPT] = "prompt",	[ROLE_COMPLETION] = "completion",
	[ROLE_SYSTEM] = "system", [ROLE_USER] = "user",		[ROLE_ASSISTANT] = "assistant",
	[ROLE_TOOL] = "tool",	  [ROLE_SCAFFOLD] = "scaffold",
};

const char *token_role_name(enum token_role r)
{
	return role_names[r];
}

int token_role_find(const char *name, enum token_role *out)
{
	for (int r = 0; r < N_ROLES; r++) {
		if (strcmp(role_names[r], name) == 0) {
			*out = (enum token_role)r;
			return 0;
		}
	}
	return err_set(ERR_ARGUMENT,
		       "'%s' is not one of text, prompt, completion, system, user, assistant, tool "
		       "or scaffold",
		       name);
}

void token_run_encode(const struct token_run *r, unsigned char out[TOKEN_RUN_SIZE])
{
	uint64_t start = htole64(r->start), length = htole64(r->length);
	uint32_t role = htole32(r->role);

	memcpy(out, &start, 8);
	memcpy(out + 8, &length, 8);
	memcpy(out + 16, &role, 4);
	memset(out + 20, 0, 4);
}

const char *token_run_decode(struct token_run *r, const unsigned char data[TOKEN_RUN_SIZE])
{
	uint32_t reserved;

	memcpy(&r->start, data, 8);
	memcpy(&r->length, data + 8, 8);
	memcpy(&r->role, data + 16, 4);
	memcpy(&reserved, data + 20, 4);
	r->start = le64toh(r->start);
	r->length = le64toh(r->length);
	r->role = le32toh(r->role);
	if (reserved)
		return "reserved bytes of a run that are not 0";
	if (r->role >= N_ROLES)
		return "a role that is not known";
	if (r->length == 0)
		return "a run of no tokens";
	return r->length > UINT64_MAX - r->start ? "a run past the end" : NULL;
}

void token_ids_encode(unsigned char *out, const uint32_t *ids, size_t n, uint32_t width)
{
	if (width == 2) {
		for (size_t i = 0; i < n; i++) {
			uint16_t v = htole16((uint16_t)ids[i]);

			memcpy(out + 2 * i, &v, 2);
		}
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t v = htole32(ids[i]);

		memcpy(out + 4 * i, &v, 4);
	}
}

static uint32_t decode_2(uint32_t *out, const unsigned char *data, size_t n)
{
	uint32_t top = 0;

	for (size_t i = 0; i < n; i++) {
		uint16_t v;

		memcpy(&v, data + 2 * i, 2);
		out[i] = le16toh(v);
		top = out[i] > top ? out[i] : top;
	}
	return top;
}

static uint32_t decode_4(uint32_t *out, const unsigned char *data, size_t n)
{
	uint32_t top = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, data + 4 * i, 4);
		out[i] = le32toh(v);
		top = out[i] > top ? out[i] : top;
	}
	return top;
}

uint32_t token_ids_decode(uint32_t *out, const unsigned char *data, size_t n, uint32_t width)
{
	return width == 2 ? decode_2(out, data, n) : decode_4(out, data, n);
}

/*
 * lib/train/run_state.c - run.json, written and read
 *
 * man/man5/nnutils-run.5 has its keys. A line each, so that people and diff can read it; losses that are not finite are null or
 * strings, since JSON has no other way to say them.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"
#include "lib/base/utf8.h"
#include "lib/train/run_parts.h"

#define VERSION	     1
#define SETTINGS_MAX 4096
#define COUNT_MAX    (UINT64_C(1) << 53)

enum kind { COUNT, LOSS, PAIRS };

/* The keys after `version`, in the order in which they are written. */
static const struct field {
	const char *key;
	enum kind kind;
	size_t at;   /* of the value, in struct run_state */
	size_t n_at; /* of the number of pairs */
} fields[] = {
#define FIELD(kind, name)                          \
 {                                                 \
#  name, kind, offsetof(struct run_state, name), 0 \
 }
	FIELD(COUNT, step),
	FIELD(COUNT, tokens),
	FIELD(COUNT, targets),
	FIELD(COUNT, skipped),
	FIELD(COUNT, skipped_in_row),
	FIELD(COUNT, log_bytes),
	FIELD(LOSS, best_loss),
	FIELD(COUNT, best_step),
	FIELD(LOSS, smoothed_loss),
	FIELD(COUNT, rollbacks),
	{ "settings", PAIRS, offsetof(struct run_state, settings),
	  offsetof(struct run_state, n_settings) },
	{ "identities", PAIRS, offsetof(struct run_state, identities),
	  offsetof(struct run_state, n_identities) },
#undef FIELD
};

#define N_FIELDS (sizeof(fields) / sizeof(*fields))

const char *run_setting(const struct run_setting *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return list[i].value;
	return NULL;
}

/* --- writing --- */

static bool is_utf8(const char *text)
{
	size_t n = strlen(text);

	return utf8_valid_prefix(text, n) == n;
}

/* What a reader would refuse, or would read as something else, is not written. */
static int check_pairs(const char *key, const struct run_setting *pairs, size_t n)
{
	struct names *seen;
	int added = 1;

	if (n > SETTINGS_MAX)
		return err_set(ERR_LIMIT, "%s: %zu, more than %d", key, n, SETTINGS_MAX);
	if (names_new(&seen) < 0)
		return -1;
	for (size_t i = 0; i < n && added == 1; i++) {
		const struct run_setting *p = &pairs[i];

		if (!is_utf8(p->name) || !is_utf8(p->value))
			added = err_set(ERR_ARGUMENT, "%s: %s: is not UTF-8: \"%s\"", key, p->name,
					p->value);
		else if ((added = names_add(seen, bytes_of(p->name), 0, NULL)) == 0)
			err_set(ERR_ARGUMENT, "%s: %s: is there twice", key, p->name);
	}
	names_free(seen);
	return added == 1 ? 0 : -1;
}

static void put_loss(struct buffer *b, double v)
{
	if (isinf(v))
		buffer_put_text(b, v > 0 ? "\"inf\"" : "\"-inf\"");
	else
		json_put_f64(b, v);
}

static int put_pairs(struct buffer *b, const char *key, const struct run_setting *pairs, size_t n)
{
	if (check_pairs(key, pairs, n) < 0)
		return -1;
	buffer_put_u8(b, '{');
	for (size_t i = 0; i < n; i++) {
		buffer_put_text(b, i ? ",\n    " : "\n    ");
		json_put_string(b, bytes_of(pairs[i].name));
		buffer_put_text(b, ": ");
		json_put_string(b, bytes_of(pairs[i].value));
	}
	buffer_put_text(b, n ? "\n  }" : "}");
	return 0;
}

static int put_field(struct buffer *b, const struct field *f, const struct run_state *s)
{
	const char *at = (const char *)s + f->at;
	uint64_t count;

	buffer_format(b, ",\n  \"%s\": ", f->key);
	if (f->kind == LOSS) {
		put_loss(b, *(const double *)at);
		return 0;
	}
	if (f->kind == PAIRS)
		return put_pairs(b, f->key, *(const struct run_setting *const *)at,
				 *(const size_t *)((const char *)s + f->n_at));
	count = *(const uint64_t *)at;
	if (count > COUNT_MAX)
		return err_set(ERR_LIMIT, "%s: %" PRIu64 ", more than 2^53", f->key, count);
	json_put_u64(b, count);
	return 0;
}

int run_state_put(struct buffer *b, const struct run_state *s)
{
	buffer_format(b, "{\n  \"version\": %d", VERSION);
	for (size_t i = 0; i < N_FIELDS; i++)
		if (put_field(b, &fields[i], s) < 0)
			return -1;
	buffer_put_text(b, "\n}\n");
	return buffer_check(b);
}

/* --- reading --- */

static int read_count(struct json *j, uint64_t *out)
{
	if (json_u64(j, out) < 0)
		return -1;
	return *out <= COUNT_MAX ? 0 : json_fail(j, "%" PRIu64 ", more than 2^53", *out);
}

static int read_loss(struct json *j, double *out)
{
	struct bytes word;
	int type = json_peek(j);

	if (type == JSON_NULL) {
		*out = NAN;
		return json_skip(j, NULL);
	}
	if (type != JSON_STRING)
		return json_f64(j, out);
	if (json_string(j, &word) < 0)
		return -1;
	if (!bytes_are(word, "inf") && !bytes_are(word, "-inf"))
		return json_fail(j, "\"" BYTES_FMT "\" is no loss", BYTES_ARG(word));
	*out = word.data[0] == '-' ? -INFINITY : INFINITY;
	return 0;
}

/* TEXT as a C string in ARENA. */
static int keep_text(struct json *j, struct arena *arena, struct bytes text, const char **out)
{
	if (text.size && memchr(text.data, 0, text.size))
		return json_fail(j, "a NUL in a setting");
	*out = arena_copy(arena, text);
	return *out ? 0 : -1;
}

static int read_pair(struct json *j, struct arena *arena, struct bytes key, struct run_setting *out)
{
	struct bytes value;

	/* The key first: reading the value may move the reader's memory. */
	if (keep_text(j, arena, key, &out->name) < 0 || json_string(j, &value) < 0)
		return -1;
	return keep_text(j, arena, value, &out->value);
}

static int read_pairs(struct json *j, struct arena *arena, const struct run_setting **out,
		      size_t *n_out)
{
	struct run_setting *pairs = NULL, *kept;
	size_t n = 0, capacity = 0;
	struct bytes key;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (n == SETTINGS_MAX)
			got = json_fail(j, "more than %d settings", SETTINGS_MAX);
		else if (mem_grow(&pairs, &capacity, n + 1, sizeof(*pairs)) < 0)
			got = -1;
		else
			got = read_pair(j, arena, key, &pairs[n++]);
		if (got < 0)
			break;
	}
	kept = got < 0 ? NULL : arena_alloc(arena, n, sizeof(*pairs));
	if (kept && n)
		memcpy(kept, pairs, n * sizeof(*pairs));
	free(pairs);
	*out = kept;
	*n_out = n;
	return kept ? 0 : -1;
}

static int read_field(struct json *j, struct arena *arena, const struct field *f,
		      struct run_state *out)
{
	char *at = (char *)out + f->at;

	switch (f->kind) {
	case COUNT: return read_count(j, (uint64_t *)at);
	case LOSS: return read_loss(j, (double *)at);
	default:
		return read_pairs(j, arena, (const struct run_setting **)at,
				  (size_t *)((char *)out + f->n_at));
	}
}

static int read_version(struct json *j, const char *name)
{
	uint64_t version;

	if (json_u64(j, &version) < 0)
		return -1;
	if (version != VERSION)
		return err_set(ERR_UNSUPPORTED, "%s: version %" PRIu64 ", not %d", name, version,
			       VERSION);
	return 0;
}

static size_t field_of(struct bytes key)
{
	size_t i = 0;

	while (i < N_FIELDS && !bytes_are(key, fields[i].key))
		i++;
	return i;
}

static int read_all(struct json *j, struct run_state *out, struct arena *arena, const char *name)
{
	bool seen[N_FIELDS + 1] = { false };
	struct bytes key;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		size_t i = bytes_are(key, "version") ? N_FIELDS : field_of(key);

		if (i == N_FIELDS && !bytes_are(key, "version"))
			return json_fail(j, "unknown key \"" BYTES_FMT "\"", BYTES_ARG(key));
		seen[i] = true;
		if (i == N_FIELDS ? read_version(j, name) < 0
				  : read_field(j, arena, &fields[i], out) < 0)
			return -1;
	}
	if (got < 0 || json_end(j) < 0)
		return -1;
	for (size_t i = 0; i <= N_FIELDS; i++)
		if (!seen[i])
			return err_set(ERR_MISSING, "%s: key %s: is missing", name,
				       i < N_FIELDS ? fields[i].key : "version");
	return 0;
}

int run_state_parse(struct run_state *out, struct arena *arena, struct bytes text, const char *name)
{
	struct json *j;
	int result;

	*out = (struct run_state){ 0 };
	if (text.size > RUN_STATE_BYTES_MAX)
		return err_set(ERR_LIMIT, "%s: more than %zu bytes", name, RUN_STATE_BYTES_MAX);
	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, name, NULL);
	result = read_all(j, out, arena, name);
	json_free(j);
	return result;
}

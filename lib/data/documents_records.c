/* lib/data/documents_records.c - documents that are JSON lines (man/man5/nnutils-documents.5) */
#include <stdlib.h>

#include "formats/jsonl.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/base/base64.h"
#include "lib/data/documents_parts.h"

struct record_reader {
	const struct reader_options *o;
	struct input *in;
	struct jsonl *lines;
	struct json *json;
	struct buffer line, fields, decoded, text, source;
};

/* What a record was found to hold. */
struct record {
	bool has_text, has_base64, has_source;
	struct bytes text, base64;
};

/* --- opening --- */

static int read_input(void *arg, void *data, size_t n, size_t *got)
{
	return input_read(arg, data, n, got);
}

/* A record's text may be max_bytes long, and its escapes up to six times that. */
static size_t line_limit(size_t max_bytes)
{
	size_t most = max_bytes > JSONL_LINE_MAX ? max_bytes : JSONL_LINE_MAX;

	if (max_bytes > most / 8)
		return most;
	return max_bytes * 8 < 1 << 20 ? 1 << 20 : max_bytes * 8;
}

int records_open(struct record_reader **out, const struct reader_options *o, struct input *in)
{
	struct record_reader *r = mem_new(1, sizeof *r);
	struct jsonl_options lines = { .line_max = line_limit(o->max_bytes) };

	if (!r)
		return -1;
	r->o = o;
	r->in = in;
	if (json_new(&r->json) || jsonl_open_reader(&r->lines, read_input, in, in->name, &lines)) {
		records_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

void records_close(struct record_reader *r)
{
	if (!r)
		return;
	jsonl_close(r->lines);
	json_free(r->json);
	buffer_free(&r->line);
	buffer_free(&r->fields);
	buffer_free(&r->decoded);
	buffer_free(&r->text);
	buffer_free(&r->source);
	free(r);
}

/* --- one record --- */

/* The value that comes next is passed on under KEY. */
static int pass_field(struct record_reader *r, struct bytes key)
{
	struct bytes raw;

	if (json_skip(r->json, &raw))
		return -1;
	if (r->fields.size)
		buffer_put_u8(&r->fields, ',');
	json_put_string(&r->fields, key);
	buffer_put_u8(&r->fields, ':');
	buffer_put(&r->fields, raw.data, raw.size);
	if (r->o->options->invalid == DOCUMENTS_KEEP &&
	    (utf8_valid_prefix(raw.data, raw.size) < raw.size ||
	     utf8_valid_prefix(key.data, key.size) < key.size))
		return json_fail(r->json,
				 "only the text may hold what is not UTF-8, not field " BYTES_FMT,
				 BYTES_ARG(key));
	return buffer_check(&r->fields);
}

static int read_field(struct record_reader *r, struct bytes key, struct record *rec)
{
	if (bytes_are(key, r->o->field)) {
		rec->has_text = true;
		return json_string(r->json, &rec->text);
	}
	if (bytes_are(key, "text_base64")) {
		rec->has_base64 = true;
		return json_string(r->json, &rec->base64);
	}
	if (bytes_are(key, "text")) /* its name is taken by the field that was asked for */
		return json_skip(r->json, NULL);
	rec->has_source = rec->has_source || bytes_are(key, "source");
	return pass_field(r, key);
}

static int read_record(struct record_reader *r, struct bytes line, struct record *rec)
{
	struct bytes key;
	int got;

	buffer_clear(&r->fields);
	json_init(r->json, line.data, line.size, r->in->name,
		  &(struct json_limits){ .line = jsonl_line(r->lines),
					 .any_bytes = r->o->options->invalid == DOCUMENTS_KEEP });
	if (json_object(r->json))
		return -1;
	while ((got = json_key(r->json, &key)) > 0)
		if (read_field(r, key, rec))
			return -1;
	if (got < 0 || json_end(r->json))
		return -1;
	if (rec->has_text && rec->has_base64)
		return json_fail(r->json, "has both %s and text_base64", r->o->field);
	if (!rec->has_text && !rec->has_base64)
		return json_fail(r->json, "has no field %s", r->o->field);
	return 0;
}

static int decode(struct record_reader *r, struct record *rec)
{
	size_t bad;

	buffer_clear(&r->decoded);
	if (!base64_get(&r->decoded, rec->base64, &bad))
		return err_set(ERR_FORMAT, "%s:%llu: text_base64: character %zu: not base64",
			       r->in->name, (unsigned long long)jsonl_line(r->lines), bad);
	rec->text = buffer_bytes(&r->decoded);
	return buffer_check(&r->decoded);
}

static int set_source(struct record_reader *r)
{
	buffer_clear(&r->source);
	buffer_format(&r->source, "%s:%llu", r->in->name, (unsigned long long)jsonl_line(r->lines));
	return buffer_check(&r->source);
}

int records_next(struct record_reader *r, struct document *out)
{
	struct record rec = { 0 };
	struct bytes line;
	int got = jsonl_next(r->lines, &line);

	if (got <= 0)
		return got;
	if (r->o->options->invalid == DOCUMENTS_REPLACE) {
		buffer_clear(&r->line);
		r->o->counts->replaced += mend_json(&r->line, line);
		line = buffer_bytes(&r->line);
		if (buffer_check(&r->line))
			return -1;
	}
	if (read_record(r, line, &rec) || (rec.has_base64 && decode(r, &rec)) || set_source(r))
		return -1;
	*out = (struct document){ .text = rec.text, .fields = buffer_bytes(&r->fields) };
	if (out->text.size > r->o->max_bytes)
		return err_set(ERR_LIMIT, "%.*s: a document of more than %zu bytes (--max-bytes)",
			       (int)r->source.size, r->source.data, r->o->max_bytes);
	/* Text that had to be UTF-8 to be JSON is. */
	out->utf8 = !rec.has_base64 && r->o->options->invalid != DOCUMENTS_KEEP;
	buffer_put_u8(&r->source, 0);
	if (!out->utf8 && document_check(r->o, 0, &r->text, r->source.data, UINT64_MAX, out))
		return -1;
	r->source.size--;
	if (!rec.has_source) {
		out->source = buffer_bytes(&r->source);
		out->source_name = strlen(r->in->name);
	}
	return 1;
}

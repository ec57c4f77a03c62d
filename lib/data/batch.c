/* lib/data/batch.c - documents encoded by a team, in order */

#include "lib/data/batch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/base64.h"

#define DEFAULT_BYTES ((size_t)4 << 20)

/* Records that a thread takes at a time hold about this many bytes: enough that taking costs nothing. */
#define TAKE_BYTES ((size_t)32 << 10)

struct record {
	size_t at, size; /* in the batch's bytes */
	uint64_t line;
	struct encoding encoding;
	uint64_t document_bytes;
	char *error; /* NULL: encoded */
};

/* One thread's own. */
struct worker {
	struct encoder *encoder;
	struct json *json;
	struct buffer decoded; /* of base64 */
};

struct batch {
	const struct tokenizer *tokenizer;
	struct team *team;
	struct batch_options o;
	struct worker *workers;
	int n_workers;
	struct buffer bytes;
	struct record *records;
	size_t n, capacity; /* records in use; records that have memory */
	size_t n_good;	    /* after batch_run */
	atomic_size_t next;
};

int batch_new(struct batch **out, const struct tokenizer *t, struct team *team,
	      const struct batch_options *o)
{
	struct batch *b = mem_new(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -1;
	b->tokenizer = t;
	b->team = team;
	b->o = *o;
	if (!b->o.bytes)
		b->o.bytes = DEFAULT_BYTES;
	b->workers = mem_new((size_t)team_size(team), sizeof(*b->workers));
	for (int i = 0; b->workers && i < team_size(team); i++) {
		b->n_workers = i + 1;
		if (encoder_new(&b->workers[i].encoder, t) < 0 ||
		    json_new(&b->workers[i].json) < 0) {
			batch_free(b);
			return -1;
		}
	}
	if (!b->workers) {
		batch_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_workers; i++) {
		encoder_free(b->workers[i].encoder);
		json_free(b->workers[i].json);
		buffer_free(&b->workers[i].decoded);
	}
	for (size_t i = 0; i < b->capacity; i++) {
		encoding_free(&b->records[i].encoding);
		free(b->records[i].error);
	}
	free(b->workers);
	free(b->records);
	buffer_free(&b->bytes);
	free(b);
}

int batch_add(struct batch *b, struct bytes record, uint64_t line)
{
	size_t before = b->capacity;
	struct record *r;

	if (mem_grow(&b->records, &b->capacity, b->n + 1, sizeof(*b->records)) < 0)
		return -1;
	memset(b->records + before, 0, (b->capacity - before) * sizeof(*b->records));
	r = &b->records[b->n++];
	r->at = b->bytes.size;
	r->size = record.size;
	r->line = line;
	buffer_put(&b->bytes, record.data, record.size);
	if (buffer_check(&b->bytes) < 0)
		return -1;
	return b->bytes.size >= b->o.bytes;
}

/* --- one record, by one thread --- */

/* The field's text; FIELD_base64 holds what is not UTF-8. */
static int find_document(const struct batch *b, struct worker *w, struct bytes record,
			 uint64_t line, struct bytes *out)
{
	struct json *j = w->json;
	struct bytes key, encoded = { 0 };
	bool found = false, is_base64 = false;
	size_t n = strlen(b->o.field), bad;
	int got;

	json_init(j, record.data, record.size, b->o.name, &(struct json_limits){ .line = line });
	json_object(j);
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, b->o.field)) {
			found = json_string(j, out) == 0;
		} else if (key.size == n + 7 && bytes_start_with(key, b->o.field) &&
			   bytes_end_with(key, "_base64")) {
			is_base64 = json_string(j, &encoded) == 0;
		} else {
			json_skip(j, NULL);
		}
	}
	if (json_end(j) < 0)
		return -1;
	if (!found && !is_base64)
		return err_set(ERR_MISSING, "%s:%" PRIu64 ": has no field \"%s\"", b->o.name, line,
			       b->o.field);
	if (found)
		return 0;
	buffer_clear(&w->decoded);
	if (!base64_get(&w->decoded, encoded, &bad))
		return err_set(ERR_FORMAT,
			       "%s:%" PRIu64 ": \"%s_base64\" is not base64 at its byte %zu",
			       b->o.name, line, b->o.field, bad);
	if (buffer_check(&w->decoded) < 0)
		return -1;
	*out = buffer_bytes(&w->decoded);
	return 0;
}

static int encode_record(struct batch *b, struct worker *w, struct record *r)
{
	struct bytes document = { b->bytes.data + r->at, r->size };

	if (b->o.input == BATCH_JSON && find_document(b, w, document, r->line, &document) < 0)
		return -1;
	r->document_bytes = document.size;
	if (encoder_run(w->encoder, document, &b->o.encode, &r->encoding) < 0)
		return err_prefix("%s:%" PRIu64, b->o.name, r->line);
	return 0;
}

/* Threads take runs of records until none is left. */
static void work(void *arg, int part, int parts)
{
	struct batch *b = arg;

	(void)parts;
	for (;;) {
		size_t average = b->bytes.size / b->n + 1;
		size_t take = TAKE_BYTES / average + 1;
		size_t from = atomic_fetch_add(&b->next, take);

		if (from >= b->n)
			return;
		for (size_t i = from; i < from + take && i < b->n; i++)
			if (encode_record(b, &b->workers[part], &b->records[i]) < 0)
				b->records[i].error = mem_copy(err_text(), strlen(err_text()));
	}
}

int batch_run(struct batch *b)
{
	b->n_good = 0;
	if (b->n == 0)
		return 0;
	atomic_store(&b->next, 0);
	team_run(b->team, work, b);
	while (b->n_good < b->n && !b->records[b->n_good].error)
		b->n_good++;
	if (b->n_good < b->n)
		return err_set(ERR_FORMAT, "%s", b->records[b->n_good].error);
	return 0;
}

size_t batch_n(const struct batch *b)
{
	return b->n_good;
}

const struct encoding *batch_encoding(const struct batch *b, size_t i)
{
	return &b->records[i].encoding;
}

uint64_t batch_document_bytes(const struct batch *b, size_t i)
{
	return b->records[i].document_bytes;
}

uint64_t batch_dropped(const struct batch *b)
{
	uint64_t n = 0;

	for (int i = 0; i < b->n_workers; i++)
		n += encoder_dropped(b->workers[i].encoder);
	return n;
}

void batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->records[i].error);
		b->records[i].error = NULL;
	}
	b->n = b->n_good = 0;
	buffer_clear(&b->bytes);
}

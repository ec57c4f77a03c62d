/*
 * lib/data/documents_samples.c - the members of an archive as samples (WebDataset)
 *
 * The key of a member is its path up to the first dot of its last part, and what follows the dot is the
 * field. Members of one key stand one after the other. The next sample's first member is read
 * before this one is known to be whole, so there are two of them.
 */
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/data/documents_parts.h"
#include "lib/data/hash_set.h"

#define LOOK 4096 /* bytes that tell whether a member is text */

struct sample {
	struct buffer key, text, fields;
	struct hash_set members; /* names of fields */
	bool begun, has_text;
};

struct sample_reader {
	const struct reader_options *o;
	struct members *members;
	struct sample samples[2];
	int present; /* the one that is being filled */
	struct hash_set keys;
	struct json *json;
	struct buffer whole, mended, source;
	bool ended;
};

int samples_open(struct sample_reader **out, const struct reader_options *o, struct members *m)
{
	struct sample_reader *r = mem_new(1, sizeof *r);

	if (!r)
		return -1;
	r->o = o;
	r->members = m;
	if (json_new(&r->json)) {
		free(r);
		return -1;
	}
	*out = r;
	return 0;
}

static void sample_free(struct sample *s)
{
	buffer_free(&s->key);
	buffer_free(&s->text);
	buffer_free(&s->fields);
	hash_set_free(&s->members);
}

void samples_close(struct sample_reader *r)
{
	if (!r)
		return;
	sample_free(&r->samples[0]);
	sample_free(&r->samples[1]);
	hash_set_free(&r->keys);
	json_free(r->json);
	buffer_free(&r->whole);
	buffer_free(&r->mended);
	buffer_free(&r->source);
	free(r);
}

static int fail_member(struct sample_reader *r, struct bytes path, const char *what)
{
	return err_set(ERR_FORMAT, "%s:" BYTES_FMT ": %s", members_name(r->members),
		       BYTES_ARG(path), what);
}

/* --- keys --- */

/* PATH as a key and a field; false when it is no member of a sample. */
static bool cut_path(struct bytes path, struct bytes *key, struct bytes *field)
{
	size_t from = path.size, dot;

	while (from > 0 && path.data[from - 1] != '/')
		from--;
	for (dot = from; dot < path.size && path.data[dot] != '.'; dot++)
		;
	if (dot == from || dot + 1 >= path.size)
		return false;
	*key = (struct bytes){ path.data, dot };
	*field = (struct bytes){ path.data + dot + 1, path.size - dot - 1 };
	return true;
}

static int add_hash(struct hash_set *set, struct bytes name)
{
	struct hash128 hash;

	if (hash_memory(NULL, name.data, name.size, &hash))
		return -1;
	return hash_set_add(set, &hash);
}

static int begin_sample(struct sample_reader *r, struct sample *s, struct bytes key,
			struct bytes path)
{
	int added = add_hash(&r->keys, key);

	if (added < 0)
		return -1;
	if (!added)
		return fail_member(
			r, path,
			"the members of this sample do not stand together (tar --sort=name)");
	buffer_clear(&s->key);
	buffer_clear(&s->text);
	buffer_clear(&s->fields);
	hash_set_free(&s->members);
	s->has_text = false;
	s->begun = true;
	buffer_put(&s->key, key.data, key.size);
	json_put_text_member(&s->fields, "__key__", key);
	return buffer_check(&s->key);
}

/* --- one member --- */

static bool is_text_field(const struct sample_reader *r, struct bytes field)
{
	return bytes_are(field, r->o->field) ||
	       (strcmp(r->o->field, "text") == 0 && bytes_are(field, "txt"));
}

/* Whether all of HEAD, but for a character that is cut off at its end, is UTF-8. */
static bool looks_like_text(struct bytes head)
{
	return head.size - utf8_valid_prefix(head.data, head.size) < 4;
}

static int read_text(struct sample_reader *r, struct sample *s, const struct input *in)
{
	struct document doc = { .text = buffer_bytes(&r->whole) };

	if (document_check(r->o, 0, &r->mended, in->name, 0, &doc))
		return -1;
	buffer_put(&s->text, doc.text.data, doc.text.size);
	s->has_text = true;
	return buffer_check(&s->text);
}

/* JSON goes on as it is. Line ends, which can only stand between its parts, become spaces. */
static int put_json(struct sample_reader *r, struct sample *s, struct bytes field,
		    const struct input *in)
{
	struct bytes raw;
	size_t from;

	json_init(r->json, r->whole.data, r->whole.size, in->name, NULL);
	if (json_skip(r->json, &raw) || json_end(r->json))
		return -1;
	buffer_put_u8(&s->fields, ',');
	json_put_string(&s->fields, field);
	buffer_put_u8(&s->fields, ':');
	from = s->fields.size;
	buffer_put(&s->fields, raw.data, raw.size);
	for (size_t i = from; i < s->fields.size; i++)
		if (s->fields.data[i] == '\n' || s->fields.data[i] == '\r')
			s->fields.data[i] = ' ';
	return buffer_check(&s->fields);
}

static int put_field(struct sample_reader *r, struct sample *s, struct bytes field,
		     const struct input *in)
{
	struct bytes text = buffer_bytes(&r->whole);

	if (bytes_are(field, "json") || bytes_end_with(field, ".json"))
		return put_json(r, s, field, in);
	if (utf8_valid_prefix(text.data, text.size) < text.size) {
		r->o->counts->binary_members++;
		return 0;
	}
	buffer_put_u8(&s->fields, ',');
	json_put_string(&s->fields, field);
	buffer_put_u8(&s->fields, ':');
	json_put_string(&s->fields, text);
	return buffer_check(&s->fields);
}

static int read_member(struct sample_reader *r, struct sample *s, struct bytes field,
		       struct input *in)
{
	bool is_text = is_text_field(r, field);
	size_t room = r->o->max_bytes;
	struct bytes head;

	if (input_peek(in, LOOK, &head))
		return -1;
	if (!is_text && !looks_like_text(head)) {
		r->o->counts->binary_members++;
		return 0;
	}
	buffer_clear(&r->whole);
	if (text_whole(in, &r->whole, room > s->fields.size ? room - s->fields.size : 0))
		return -1;
	return is_text ? read_text(r, s, in) : put_field(r, s, field, in);
}

static int add_member(struct sample_reader *r, struct sample *s, struct bytes path,
		      struct bytes field)
{
	struct bytes name = is_text_field(r, field) ? bytes_of("text") : field;
	struct input *in;
	int result = add_hash(&s->members, name);

	if (result < 0)
		return -1;
	if (!result || bytes_are(field, "source") || bytes_are(field, "text_base64") ||
	    bytes_are(field, "__key__") || (bytes_are(field, "text") && !is_text_field(r, field)))
		return fail_member(r, path, "the sample has a field of this name already");
	if (members_input(r->members, &in))
		return -1;
	result = read_member(r, s, field, in);
	input_close(in);
	return result;
}

/* --- samples --- */

/* The sample that is whole, if it has a text: 1, else 0. */
static int give(struct sample_reader *r, struct sample *s, struct document *out)
{
	if (!s->begun)
		return 0;
	s->begun = false;
	if (!s->has_text) {
		r->o->counts->without_text++;
		return 0;
	}
	buffer_clear(&r->source);
	buffer_format(&r->source, "%s:%.*s", members_name(r->members), (int)s->key.size,
		      s->key.data);
	*out = (struct document){ .text = buffer_bytes(&s->text),
				  .source = buffer_bytes(&r->source),
				  .source_name = r->source.size,
				  .fields = buffer_bytes(&s->fields) };
	out->utf8 = utf8_valid_prefix(out->text.data, out->text.size) == out->text.size;
	return buffer_check(&r->source) ? -1 : 1;
}

/* One member: 1 with a document, 2 when there is none yet, 0 after the last, -1. */
static int take_member(struct sample_reader *r, struct document *out)
{
	struct sample *s = &r->samples[r->present], *done = NULL;
	struct bytes path, key, field;
	enum member_kind kind;
	int got = members_next(r->members, &path, &kind);

	if (got <= 0)
		return got;
	if (kind != MEMBER_FILE || !cut_path(path, &key, &field)) {
		r->o->counts->non_samples++;
		return 2;
	}
	if (name_excluded(r->o->options, path, true)) {
		r->o->counts->excluded++;
		return 2;
	}
	if (!s->begun || !bytes_equal(buffer_bytes(&s->key), key)) {
		done = s;
		r->present = !r->present;
		s = &r->samples[r->present];
		if (begin_sample(r, s, key, path))
			return -1;
	}
	if (add_member(r, s, path, field))
		return -1;
	got = done ? give(r, done, out) : 0;
	return got ? got : 2;
}

int samples_next(struct sample_reader *r, struct document *out)
{
	int got = 2;

	if (r->ended)
		return 0;
	while (got == 2)
		got = take_member(r, out);
	if (got)
		return got;
	r->ended = true;
	return give(r, &r->samples[r->present], out);
}

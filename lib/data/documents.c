/*
 * lib/data/documents.c - documents from files, folders, archives and pipes
 *
 * A stack of archives that are being read, the outermost first, and a reader on top of it. When a
 * reader ends, the archive below gives the next member; when the stack is empty, the walk gives
 * the next file.
 */
#include "lib/data/documents.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/utf8.h"
#include "lib/data/documents_parts.h"
#include "lib/data/hash_set.h"

struct documents {
	struct documents_options options;
	struct documents_counts counts;
	struct reader_options reader;
	struct json *json; /* looks at first lines */
	struct walk *walk;
	struct members *stack[DOCUMENTS_DEPTH_MAX];
	size_t depth;

	struct input *in; /* what the text or record reader reads */
	struct text_reader text;
	struct record_reader *records;
	struct sample_reader *samples; /* over the top of the stack */
	bool reading_text, failed;
	struct hash_set seen;
};

static const char *const stdin_alone[] = { "-" };

int documents_open(struct documents **out, const char *const *paths, size_t n,
		   const struct documents_options *o)
{
	struct documents *d = mem_new(1, sizeof *d);

	if (!d)
		return -1;
	if (o)
		d->options = *o;
	d->reader = (struct reader_options){
		.options = &d->options,
		.counts = &d->counts,
		.field = d->options.field ? d->options.field : "text",
		.max_bytes = d->options.max_bytes ? d->options.max_bytes : DOCUMENTS_BYTES_MAX,
	};
	if (json_new(&d->json) ||
	    walk_open(&d->walk, n ? paths : stdin_alone, n ? n : 1, &d->counts)) {
		documents_close(d);
		return -1;
	}
	*out = d;
	return 0;
}

static void close_reader(struct documents *d)
{
	records_close(d->records);
	d->records = NULL;
	d->reading_text = false;
	input_close(d->in);
	d->in = NULL;
}

static void pop(struct documents *d)
{
	samples_close(d->samples);
	d->samples = NULL;
	members_close(d->stack[--d->depth]);
}

void documents_close(struct documents *d)
{
	if (!d)
		return;
	close_reader(d);
	while (d->depth > 0)
		pop(d);
	text_reader_free(&d->text);
	hash_set_free(&d->seen);
	walk_close(d->walk);
	json_free(d->json);
	free(d);
}

const struct documents_counts *documents_counts(const struct documents *d)
{
	return &d->counts;
}

/* --- names --- */

static bool matches(struct bytes name, const char *pattern)
{
	const char *slash = NULL;

	if (!strchr(pattern, '/'))
		for (size_t i = 0; i < name.size; i++)
			if (name.data[i] == '/')
				slash = name.data + i;
	if (slash)
		name = (struct bytes){ slash + 1, (size_t)(name.data + name.size - slash - 1) };
	return bytes_match(name, pattern);
}

static bool matches_any(struct bytes name, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (matches(name, patterns[i]))
			return true;
	return false;
}

bool name_excluded(const struct documents_options *o, struct bytes name, bool leaf)
{
	if (matches_any(name, o->exclude, o->n_exclude))
		return true;
	return leaf && o->n_include && !matches_any(name, o->include, o->n_include);
}

/* --- text that is not UTF-8 --- */

static int refuse_byte(const char *name, uint64_t offset, unsigned char byte)
{
	char place[64] = "";

	if (offset != UINT64_MAX)
		snprintf(place, sizeof place, " byte %llu:", (unsigned long long)offset);
	return err_set(ERR_FORMAT, "%s:%s 0x%02X is not UTF-8 (--invalid keep or replace)", name,
		       place, byte);
}

int document_check(const struct reader_options *o, size_t valid, struct buffer *b, const char *name,
		   uint64_t offset, struct document *out)
{
	valid += utf8_valid_prefix(out->text.data + valid, out->text.size - valid);
	out->utf8 = valid == out->text.size;
	if (out->utf8)
		return 0;
	switch (o->options->invalid) {
	case DOCUMENTS_KEEP: o->counts->kept++; return 0;
	case DOCUMENTS_REPLACE: break;
	default:
		return refuse_byte(name, offset == UINT64_MAX ? offset : offset + valid,
				   (unsigned char)out->text.data[valid]);
	}
	buffer_clear(b);
	o->counts->replaced += mend_text(b, out->text);
	out->text = buffer_bytes(b);
	out->utf8 = true;
	return buffer_check(b);
}

/* --- the next input --- */

#define WORTH_A_THREAD ((size_t)1 << 17) /* bytes that a compressed file unpacks to at least */

/* A large file that was compressed is unpacked by another thread. */
static int unpack_ahead(struct input **in)
{
	struct bytes head;

	if (input_peek(*in, WORTH_A_THREAD, &head))
		return -1;
	return head.size < WORTH_A_THREAD ? 0 : input_ahead(in);
}

/* Takes what compression there is from IN, so that what is left is text, records or an archive. */
static int unpack(struct documents *d, struct input **in)
{
	bool alone = d->depth == 0 && (*in)->regular;
	size_t n_unpacked = 0;
	int kind, result;

	for (;;) {
		struct input *inner = NULL;

		kind = input_kind(*in, d->json, d->reader.field, d->reader.max_bytes);
		if (kind < 0)
			return -1;
		if (kind != INPUT_GZIP && kind != INPUT_ZSTD && kind != INPUT_COMPRESSED)
			return alone && n_unpacked && unpack_ahead(in) ? -1 : kind;
		if (d->depth + ++n_unpacked > DOCUMENTS_DEPTH_MAX)
			return err_set(ERR_LIMIT, "%s: more than %d inputs in each other",
				       (*in)->name, DOCUMENTS_DEPTH_MAX);
		result = kind == INPUT_GZIP   ? input_gunzip(&inner, *in)
			 : kind == INPUT_ZSTD ? input_unzstd(&inner, *in)
					      : input_unpack(&inner, *in);
		*in = inner;
		if (result)
			return -1;
	}
}

/* Files that are not read by their name are counted. The name begins after PREFIX bytes. */
static bool leave_out(struct documents *d, const struct input *in, size_t prefix)
{
	struct bytes name = { in->name + prefix, strlen(in->name) - prefix };
	struct bytes plain = { name.data, input_plain_name(in->name) - prefix };

	if (!name_excluded(&d->options, name, true) || !name_excluded(&d->options, plain, true))
		return false;
	d->counts.excluded++;
	return true;
}

static int skip_byte_order_mark(struct input *in)
{
	struct bytes head;
	char mark[3];
	size_t got;

	if (input_peek(in, 3, &head))
		return -1;
	return bytes_start_with(head, "\xEF\xBB\xBF") ? input_read(in, mark, 3, &got) : 0;
}

static int begin_archive(struct documents *d, struct input *in, enum input_kind kind)
{
	struct members *m;

	if (d->depth == DOCUMENTS_DEPTH_MAX) {
		err_set(ERR_LIMIT, "%s: more than %d inputs in each other", in->name,
			DOCUMENTS_DEPTH_MAX);
		input_close(in);
		return -1;
	}
	if (members_open(&m, in, kind))
		return -1;
	d->stack[d->depth++] = m;
	return d->options.group ? samples_open(&d->samples, &d->reader, m) : 0;
}

/* Starts reading IN, which is D's from now on. FILTER: patterns count, on the name from PREFIX on. */
static int begin(struct documents *d, struct input *in, bool filter, size_t prefix)
{
	int kind = unpack(d, &in);

	if (kind == INPUT_TAR || kind == INPUT_ZIP)
		return begin_archive(d, in, (enum input_kind)kind);
	d->in = in;
	if (kind < 0)
		return -1;
	if (filter && leave_out(d, in, prefix)) {
		close_reader(d);
		return 0;
	}
	if (skip_byte_order_mark(in))
		return -1;
	if (kind == INPUT_RECORDS)
		return records_open(&d->records, &d->reader, in);
	text_reader_begin(&d->text, &d->reader, in);
	d->reading_text = true;
	return 0;
}

/* 1 when another file was begun, 0 after the last, -1. */
static int begin_file(struct documents *d)
{
	struct input *in;
	const char *path;
	bool inside;
	int got = walk_next(d->walk, &path, &inside);

	if (got <= 0)
		return got;
	if (inside && name_excluded(&d->options, bytes_of(path), false)) {
		d->counts.excluded++;
		return 1;
	}
	if (input_open(&in, path, !inside) || begin(d, in, inside, 0))
		return -1;
	return 1;
}

/* 1 when another member was begun or left out, 0 after the last, -1. */
static int begin_member(struct documents *d)
{
	struct members *m = d->stack[d->depth - 1];
	struct input *in;
	struct bytes path;
	enum member_kind kind;
	int got = members_next(m, &path, &kind);

	if (got <= 0)
		return got;
	if (kind != MEMBER_FILE) {
		d->counts.links += kind == MEMBER_LINK;
		d->counts.special += kind == MEMBER_SPECIAL;
		return 1;
	}
	if (name_excluded(&d->options, path, false)) {
		d->counts.excluded++;
		return 1;
	}
	if (members_input(m, &in) || begin(d, in, true, strlen(members_name(m)) + 1))
		return -1;
	return 1;
}

/* --- the next document --- */

/* From what is being read: 1, 0 when it ended and something else was begun, 2 at the end of all, -1. */
static int step(struct documents *d, struct document *out)
{
	int got;

	if (d->records || d->reading_text) {
		got = d->records ? records_next(d->records, out) : text_reader_next(&d->text, out);
		if (got == 0)
			close_reader(d);
		return got;
	}
	if (d->depth > 0) {
		got = d->samples ? samples_next(d->samples, out) : begin_member(d);
		if (got < 0 || (got && d->samples))
			return got;
		if (!got)
			pop(d);
		return 0;
	}
	got = begin_file(d);
	return got < 0 ? -1 : got ? 0 : 2;
}

/* Whether the document is to be left out: 1, 0, -1. */
static int left_out(struct documents *d, const struct document *doc)
{
	struct hash128 hash;
	int added;

	if (doc->text.size < d->options.min_bytes) {
		d->counts.too_short++;
		return 1;
	}
	if (!d->options.dedup)
		return 0;
	if (hash_memory(NULL, doc->text.data, doc->text.size, &hash))
		return -1;
	added = hash_set_add(&d->seen, &hash);
	d->counts.dedup_bytes = hash_set_bytes(&d->seen);
	d->counts.duplicates += added == 0;
	return added < 0 ? -1 : !added;
}

static int next(struct documents *d, struct document *out)
{
	int got, left;

	if (d->options.max_documents && d->counts.documents == d->options.max_documents)
		return 0;
	for (;;) {
		got = step(d, out);
		if (got == 2)
			return 0;
		if (got < 0)
			return -1;
		if (got == 0)
			continue;
		left = left_out(d, out);
		if (left < 0)
			return -1;
		if (!left)
			break;
	}
	d->counts.documents++;
	d->counts.bytes += out->text.size;
	return 1;
}

int documents_next(struct documents *d, struct document *out)
{
	int got;

	if (d->failed)
		return err_set(ERR_ARGUMENT, "documents: read on after an error");
	got = next(d, out);
	d->failed = got < 0;
	return got;
}

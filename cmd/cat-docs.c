/* cat-docs - write the documents of files, folders and archives as JSON lines */

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "formats/json.h"
#include "lib/base/number.h"
#include "lib/base/base64.h"
#include "lib/base/memory.h"
#include "lib/base/write_behind.h"
#include "lib/data/documents.h"
#include "lib/data/shuffle.h"

#define WRITE_AT ((size_t)1 << 17) /* bytes that are written at once */
#define PIECE	 ((size_t)3 << 16) /* bytes of a text that are encoded at once: a multiple of 3 */

static const char *const splits[] = { "file", "line", "blank", "form-feed", NULL };
static const char *const invalids[] = { "refuse", "keep", "replace", NULL };

static int split = DOCUMENTS_FILE, invalid = DOCUMENTS_REFUSE;
static const char *field = "text";
static struct cmd_list include, exclude;
static uint64_t min_bytes, max_bytes = DOCUMENTS_BYTES_MAX, max_documents;
static uint64_t shuffle_buffer, seed;
static bool dedup, group, crlf, lax;

static const struct cmd_option options[] = {
	CMD_ENUM('s', "split", &split, splits, "WHERE",
		 "cut plain text at: file (default), line, blank (lines), form-feed"),
	CMD_TEXT('f', "field", &field, "NAME", "the field of JSON records that is the text (text)"),
	CMD_TEXTS(0, "include", &include, "PATTERN",
		  "only files and members whose name matches; may be given again"),
	CMD_TEXTS(0, "exclude", &exclude, "PATTERN",
		  "no files and members whose name matches; may be given again"),
	CMD_FLAG('g', "group", &group, "one document a sample of an archive (WebDataset)"),
	CMD_SIZE(0, "min-bytes", &min_bytes, 0, UINT64_MAX, "leave out shorter documents"),
	CMD_SIZE(0, "max-bytes", &max_bytes, 1, SIZE_MAX / 2,
		 "refuse longer documents (default 1Gi)"),
	CMD_SIZE('n', "max-docs", &max_documents, 1, UINT64_MAX, "stop after N documents"),
	CMD_FLAG('d', "dedup", &dedup, "leave out a text that was there before"),
	CMD_SIZE(0, "shuffle-buffer", &shuffle_buffer, 1, UINT32_MAX,
		 "shuffle, with N documents held"),
	CMD_SIZE(0, "seed", &seed, 0, UINT64_MAX, "of the shuffling (default 0)"),
	CMD_ENUM(0, "invalid", &invalid, invalids, "WHAT",
		 "bytes that are not UTF-8: refuse (default), keep, replace"),
	CMD_FLAG(0, "lax", &lax, "the same as --invalid=replace"),
	CMD_FLAG(0, "crlf", &crlf, "CR LF in plain text becomes LF"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "cat-docs",
	.operands = "[file ...]",
	.summary = "write the documents of files, folders and archives as JSON lines",
	.options = options,
	.notes = "Reads text, JSON lines, tar and zip, compressed or not, and folders of them; - "
		 "and no\n"
		 "file at all are stdin.",
	.max_operands = -1,
};

static struct buffer line; /* or many of them */
static struct write_behind *output;
static struct progress *progress;

static void write_lines(void)
{
	progress_add(progress, line.size);
	cmd_check(write_behind_put(output, &line));
}

static void write_enough(void)
{
	if (line.size >= WRITE_AT)
		write_lines();
}

/* A long text is written in pieces, so that it is not held twice. */
static void put_text(const struct document *doc)
{
	for (size_t at = 0; at < doc->text.size; at += PIECE) {
		size_t left = doc->text.size - at;
		struct bytes piece = { doc->text.data + at, left < PIECE ? left : PIECE };

		if (doc->utf8)
			json_put_escaped(&line, piece, left - piece.size + doc->behind);
		else
			base64_put(&line, piece);
		write_enough();
	}
}

/* Many documents in a row come from one file: its name is made JSON once. */
static void put_source(struct bytes source, size_t name_size)
{
	static struct buffer name, json; /* JSON: `","source":"NAME` */

	if (name.size != name_size || memcmp(name.data, source.data, name_size) != 0) {
		buffer_clear(&name);
		buffer_put(&name, source.data, name_size);
		buffer_clear(&json);
		buffer_put_text(&json, "\",\"source\":");
		json_put_string(&json, buffer_bytes(&name));
		json.size--;
		cmd_check(buffer_check(&name) || buffer_check(&json) ? -1 : 0);
	}
	buffer_put(&line, json.data, json.size);
	buffer_put(&line, source.data + name_size, source.size - name_size);
}

static void put_document(const struct document *doc)
{
	if (doc->utf8)
		buffer_put_text(&line, "{\"text\":\"");
	else
		buffer_put_text(&line, "{\"text_base64\":\"");
	put_text(doc);
	if (doc->source.size)
		put_source(doc->source, doc->source_name);
	if (doc->fields.size) {
		buffer_put_text(&line, "\",");
		buffer_put(&line, doc->fields.data, doc->fields.size);
		buffer_put_text(&line, "}\n");
	} else {
		buffer_put_text(&line, "\"}\n");
	}
	write_enough();
}

/* --- the summary --- */

/* ` WHAT N` after BEFORE, when there are any; what stands before the next one to *BEFORE. */
static void put_count(struct buffer *b, const char **before, const char *what, uint64_t n)
{
	if (!n)
		return;
	buffer_format(b, "%s %s %" PRIu64, *before, what, n);
	*before = ",";
}

static void say_summary(const struct documents_counts *c)
{
	const char *skipped = "; skipped:", *text = ";";
	char bytes[NUMBER_TEXT];
	struct buffer b = { 0 };

	buffer_format(&b, "%" PRIu64 " document%s, %s", c->documents, c->documents == 1 ? "" : "s",
		      number_bytes(c->bytes, bytes));
	put_count(&b, &skipped, "too short", c->too_short);
	put_count(&b, &skipped, "duplicates", c->duplicates);
	put_count(&b, &skipped, "files by their names", c->excluded);
	put_count(&b, &skipped, "links", c->links);
	put_count(&b, &skipped, "special files", c->special);
	put_count(&b, &skipped, "members of no sample", c->non_samples);
	put_count(&b, &skipped, "samples without text", c->without_text);
	put_count(&b, &skipped, "members that are not text", c->binary_members);
	put_count(&b, &text, "replaced by U+FFFD", c->replaced);
	put_count(&b, &text, "documents in base64", c->kept);
	put_count(&b, &text,
		  crlf ? "documents whose CR LF became LF"
		       : "documents with CR LF (--crlf makes it LF)",
		  c->with_crlf);
	if (dedup)
		buffer_format(&b, "; %s for --dedup", number_bytes(c->dedup_bytes, bytes));
	cmd_check(buffer_check(&b));
	cmd_note("%.*s", (int)b.size, b.data);
	buffer_free(&b);
}

/* --- the run --- */

/* What was read before trouble came is written, and then the trouble told. */
static int check(int result)
{
	char *why;

	if (result >= 0)
		return result;
	progress_end(progress);
	progress = NULL;
	why = mem_copy(err_text(), strlen(err_text()));
	write_lines();
	cmd_check(write_behind_wait(output));
	cmd_die("%s", why ? why : "out of memory");
}

static void copy(struct documents *d)
{
	struct document doc;

	while (check(documents_next(d, &doc)) > 0)
		put_document(&doc);
}

static void copy_shuffled(struct documents *d)
{
	struct document doc, out;
	struct shuffle *shuffle;
	int got = 1;

	check(shuffle_new(&shuffle, (size_t)shuffle_buffer, seed));
	while (got > 0) {
		got = documents_next(d, &doc);
		if (got > 0 && check(shuffle_put(shuffle, &doc, &out)))
			put_document(&out);
	}
	while (shuffle_drain(shuffle, &out))
		put_document(&out);
	check(got);
	shuffle_free(shuffle);
}

int main(int argc, char **argv)
{
	struct documents *d;

	cmd_begin(&spec, &argc, &argv);
	cmd_check(documents_open(
		&d, (const char *const *)argv, (size_t)argc,
		&(struct documents_options){
			.split = (enum documents_split)split,
			.invalid = lax ? DOCUMENTS_REPLACE : (enum documents_invalid)invalid,
			.field = field,
			.include = include.items,
			.exclude = exclude.items,
			.n_include = include.n,
			.n_exclude = exclude.n,
			.min_bytes = min_bytes,
			.max_documents = max_documents,
			.max_bytes = (size_t)max_bytes,
			.dedup = dedup,
			.group = group,
			.crlf = crlf,
		}));
	cmd_output_much();
	cmd_check(write_behind_new(&output, STDOUT_FILENO, "stdout"));
	progress = cmd_progress("write documents", "B", 0);
	if (shuffle_buffer)
		copy_shuffled(d);
	else
		copy(d);
	write_lines();
	cmd_check(write_behind_wait(output));
	progress_end(progress);
	say_summary(documents_counts(d));
	documents_close(d);
	write_behind_free(output);
	buffer_free(&line);
	return cmd_end();
}

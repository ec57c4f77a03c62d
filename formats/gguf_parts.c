/*
 * formats/gguf_parts.c - opening: one file, or the parts of a split model
 *
 * llama.cpp's llama-gguf-split writes PREFIX-00001-of-00003.gguf and so on; each part has
 * split.no (from 0), split.count and split.tensors.count, and the first has all the other
 * keys. A merged file keeps split.count, as 0. Each part has an alignment of its own.
 */
#include "formats/gguf_private.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define SPLIT_NO      "split.no"
#define SPLIT_COUNT   "split.count"
#define SPLIT_TENSORS "split.tensors.count"

struct split {
	uint64_t no, count;
};

/* 1 and *OUT when F is one part of several, 0 when it is a whole model. */
static int split_of(const struct gguf_file *f, struct split *out)
{
	int got;

	*out = (struct split){ 0, 0 };
	if (gguf_file_get_u64(f, SPLIT_COUNT, &out->count) < 0)
		return -1;
	if (out->count <= 1)
		return 0;
	if (out->count > UINT16_MAX)
		return err_set(ERR_FORMAT, "%s: key %s: is %" PRIu64 ", more than %d", f->path,
			       SPLIT_COUNT, out->count, UINT16_MAX);
	got = gguf_file_get_u64(f, SPLIT_NO, &out->no);
	if (got < 0)
		return -1;
	if (got == 0)
		return err_set(ERR_MISSING, "%s: key %s: is missing, and %s is %" PRIu64, f->path,
			       SPLIT_NO, SPLIT_COUNT, out->count);
	if (out->no >= out->count)
		return err_set(ERR_FORMAT,
			       "%s: key %s: is %" PRIu64 ", must be less than %s, %" PRIu64,
			       f->path, SPLIT_NO, out->no, SPLIT_COUNT, out->count);
	return 1;
}

/* --- names --- */

/* The digits of `-00001-of-00003.gguf` at the end of a path. */
#define SUFFIX_SIZE 20

static bool read_digits(const char *s, uint64_t *out)
{
	*out = 0;
	for (int i = 0; i < 5; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(s[i] - '0');
	}
	return true;
}

/* What a part's name says, counted from 0 as split.no is; false when it says nothing. */
static bool split_of_name(const char *path, struct split *out)
{
	size_t size = strlen(path);
	const char *suffix = path + size - SUFFIX_SIZE;

	if (size < SUFFIX_SIZE || suffix[0] != '-' || memcmp(suffix + 6, "-of-", 4) != 0 ||
	    memcmp(suffix + 15, ".gguf", 5) != 0 || !read_digits(suffix + 1, &out->no) ||
	    !read_digits(suffix + 10, &out->count) || out->no == 0)
		return false;
	out->no--;
	return true;
}

/* The name of part NO beside PATH, which is a part's name; the caller frees. */
static char *part_path(const char *path, uint64_t no, uint64_t count)
{
	int prefix = (int)(strlen(path) - SUFFIX_SIZE);

	return mem_format("%.*s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", prefix, path, no + 1, count);
}

static int part_missing(const char *known, uint64_t no, uint64_t count)
{
	struct split ignored;
	char *path = split_of_name(known, &ignored) ? part_path(known, no, count) : NULL;
	int result;

	result = err_set(ERR_MISSING, "%s: part %" PRIu64 " of %" PRIu64 " is missing%s%s", known,
			 no + 1, count, path ? ": " : "", path ? path : "");
	free(path);
	return result;
}

/* S is what F's keys say. */
static int check_name(const struct gguf_file *f, const struct split *s)
{
	struct split named;

	if (!split_of_name(f->path, &named))
		return err_set(ERR_ARGUMENT,
			       "%s: is part %" PRIu64 " of %" PRIu64
			       ", but its name does not end in -%05" PRIu64 "-of-%05" PRIu64
			       ".gguf: name all the parts",
			       f->path, s->no + 1, s->count, s->no + 1, s->count);
	if (named.no != s->no || named.count != s->count)
		return err_set(ERR_MISMATCH,
			       "%s: has %s %" PRIu64 " and %s %" PRIu64
			       ", which is not what its name says",
			       f->path, SPLIT_NO, s->no, SPLIT_COUNT, s->count);
	return 0;
}

/* --- the parts together --- */

static int gguf_new(struct gguf **out, size_t n_files)
{
	struct gguf *g = mem_new(1, sizeof(*g));

	if (!g)
		return -1;
	g->files = mem_new(n_files, sizeof(*g->files));
	if (!g->files || names_new(&g->tensor_names)) {
		free(g->files);
		free(g);
		return -1;
	}
	g->n_files = n_files;
	*out = g;
	return 0;
}

void gguf_close(struct gguf *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n_files; i++)
		gguf_file_close(&g->files[i]);
	free(g->files);
	free(g->tensors);
	names_free(g->tensor_names);
	free(g);
}

/* Moves F to its place among the parts. */
static int place_part(struct gguf *g, struct gguf_file *f)
{
	struct split s;
	int got = split_of(f, &s);

	if (got < 0)
		return -1;
	if (got == 0)
		return err_set(ERR_MISMATCH, "%s: is a whole model, not a part of a split one",
			       f->path);
	if (s.count != g->n_files)
		return err_set(ERR_MISMATCH, "%s: key %s: is %" PRIu64 ", and %zu in another part",
			       f->path, SPLIT_COUNT, s.count, g->n_files);
	if (g->files[s.no].path)
		return err_set(ERR_MISMATCH, "%s: is part %" PRIu64 " of %" PRIu64 ", as is %s",
			       f->path, s.no + 1, s.count, g->files[s.no].path);
	g->files[s.no] = *f;
	*f = (struct gguf_file){ 0 };
	return 0;
}

static bool same_value(const struct gguf_value *a, const struct gguf_value *b)
{
	return a->type == b->type && a->item_type == b->item_type && a->n == b->n &&
	       bytes_equal(a->raw, b->raw);
}

/* Keys that a part has besides its place must be those of the first part. */
static int check_keys(const struct gguf_file *first, const struct gguf_file *f)
{
	for (size_t i = 0; i < f->n_keys; i++) {
		const struct gguf_value *v = &f->keys[i];
		uint32_t at;

		if (bytes_start_with(v->key, "split.") || bytes_are(v->key, GGUF_ALIGNMENT_KEY) ||
		    !names_find(first->key_names, v->key, &at))
			continue;
		if (!same_value(&first->keys[at], v))
			return err_set(ERR_MISMATCH, "%s: key " BYTES_FMT ": is not as in %s",
				       f->path, BYTES_ARG(v->key), first->path);
	}
	return 0;
}

static int check_total(const struct gguf *g, size_t total)
{
	for (size_t i = 0; i < g->n_files; i++) {
		const struct gguf_file *f = &g->files[i];
		uint64_t said = total;
		int got = gguf_file_get_u64(f, SPLIT_TENSORS, &said);

		if (got < 0)
			return -1;
		if (got == 0 && i == 0)
			return err_set(ERR_MISSING, "%s: key %s: is missing", f->path,
				       SPLIT_TENSORS);
		if (said != total)
			return err_set(ERR_MISMATCH,
				       "%s: key %s: is %" PRIu64 ", but the %zu parts hold %zu",
				       f->path, SPLIT_TENSORS, said, g->n_files, total);
	}
	return 0;
}

static int check_parts(const struct gguf *g, size_t total)
{
	for (size_t i = 1; i < g->n_files; i++) {
		if (check_keys(&g->files[0], &g->files[i]))
			return -1;
	}
	return check_total(g, total);
}

/* One table of all tensors; of a single file it is the file's own. */
static int take_tensors(struct gguf *g, size_t total)
{
	size_t at = 0;

	g->n_tensors = total;
	if (g->n_files == 1) {
		g->tensors = g->files[0].tensors;
		g->files[0].tensors = NULL;
		return 0;
	}
	g->tensors = mem_new(total, sizeof(*g->tensors));
	if (!g->tensors)
		return -1;
	for (size_t i = 0; i < g->n_files; i++) {
		struct gguf_file *f = &g->files[i];

		for (size_t j = 0; j < f->n_tensors; j++) {
			g->tensors[at] = f->tensors[j];
			g->tensors[at++].file = (uint32_t)i;
		}
		free(f->tensors);
		f->tensors = NULL;
	}
	return 0;
}

static int name_tensors(struct gguf *g)
{
	for (size_t i = 0; i < g->n_tensors; i++) {
		const struct tensor_info *t = &g->tensors[i];
		uint32_t old = 0;
		int added = names_add(g->tensor_names, t->name, (uint32_t)i, &old);

		if (added < 0)
			return -1;
		if (added == 0 && g->tensors[old].file == t->file)
			return err_set(ERR_FORMAT, "%s: tensor " BYTES_FMT ": is there twice",
				       g->files[t->file].path, BYTES_ARG(t->name));
		if (added == 0)
			return err_set(ERR_MISMATCH, "%s: tensor " BYTES_FMT ": is in %s too",
				       g->files[t->file].path, BYTES_ARG(t->name),
				       g->files[g->tensors[old].file].path);
	}
	return 0;
}

static int join(struct gguf *g)
{
	size_t total = 0;

	for (size_t i = 0; i < g->n_files; i++)
		total += g->files[i].n_tensors;
	if (total > GGUF_COUNT_MAX)
		return err_set(ERR_LIMIT, "%s: %zu tensors in all parts, at most %d are read",
			       g->files[0].path, total, GGUF_COUNT_MAX);
	if (g->n_files > 1 && check_parts(g, total))
		return -1;
	if (take_tensors(g, total))
		return -1;
	return name_tensors(g);
}

/* --- opening --- */

/* Opens part I from beside KNOWN; it must be what its name says. */
static int open_part(struct gguf *g, const char *known, size_t i)
{
	struct gguf_file f = { 0 };
	struct split s;
	int result = -1;
	char *path = part_path(known, i, g->n_files);

	if (!path)
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		part_missing(known, i, g->n_files);
	else if (gguf_file_open(&f, path) == 0 && split_of(&f, &s) >= 0 && check_name(&f, &s) == 0)
		result = place_part(g, &f);
	gguf_file_close(&f);
	free(path);
	return result;
}

static int open_others(struct gguf *g, const char *known)
{
	for (size_t i = 0; i < g->n_files; i++) {
		if (!g->files[i].path && open_part(g, known, i))
			return -1;
	}
	return 0;
}

/* Makes *OUT of the one file F, which is closed whatever happens, and of its other parts. */
static int open_from(struct gguf **out, struct gguf_file *f)
{
	struct gguf *g = NULL;
	struct split s;
	int got = split_of(f, &s);

	if (got < 0 || (got && check_name(f, &s)) || gguf_new(&g, got ? (size_t)s.count : 1))
		goto fail;
	g->files[s.no] = *f;
	*f = (struct gguf_file){ 0 };
	if (got && open_others(g, g->files[s.no].path))
		goto fail;
	if (join(g))
		goto fail;
	*out = g;
	return 0;
fail:
	gguf_file_close(f);
	gguf_close(g);
	return -1;
}

int gguf_open(struct gguf **out, const char *path)
{
	struct gguf_file f;

	if (gguf_file_open(&f, path))
		return -1;
	return open_from(out, &f);
}

int gguf_open_memory(struct gguf **out, const void *data, size_t size, const char *name)
{
	struct gguf_file f;
	struct split s;
	int got;

	if (gguf_file_open_memory(&f, (struct bytes){ data, size }, name))
		return -1;
	got = split_of(&f, &s);
	if (got > 0)
		err_set(ERR_UNSUPPORTED,
			"%s: is part %" PRIu64 " of %" PRIu64 ", and the other parts are not given",
			name, s.no + 1, s.count);
	if (got) {
		gguf_file_close(&f);
		return -1;
	}
	return open_from(out, &f);
}

/* How many parts there are, by the first that is given; 1 for a whole model given alone. */
static int count_parts(const struct gguf_file *f, size_t given, size_t *out)
{
	struct split s;
	int got = split_of(f, &s);

	if (got < 0)
		return -1;
	*out = got ? (size_t)s.count : 1;
	if (!got && given > 1)
		return err_set(ERR_MISMATCH, "%s: is a whole model, not a part of a split one",
			       f->path);
	return 0;
}

static int open_given(struct gguf *g, struct gguf_file *first, const char *const *paths, size_t n)
{
	struct gguf_file f = { 0 };

	if (place_part(g, first))
		return -1;
	for (size_t i = 1; i < n; i++) {
		if (gguf_file_open(&f, paths[i]))
			return -1;
		if (place_part(g, &f)) {
			gguf_file_close(&f);
			return -1;
		}
	}
	for (size_t i = 0; i < g->n_files; i++) {
		if (!g->files[i].path)
			return part_missing(paths[0], i, g->n_files);
	}
	return 0;
}

int gguf_open_parts(struct gguf **out, const char *const *paths, size_t n)
{
	struct gguf_file first = { 0 };
	struct gguf *g = NULL;
	size_t n_files = 0;

	if (n == 0)
		return err_set(ERR_ARGUMENT, "no part of a GGUF model is given");
	if (gguf_file_open(&first, paths[0]) || count_parts(&first, n, &n_files) ||
	    gguf_new(&g, n_files))
		goto fail;
	if (n_files == 1) {
		g->files[0] = first;
		first = (struct gguf_file){ 0 };
	} else if (open_given(g, &first, paths, n)) {
		goto fail;
	}
	if (join(g))
		goto fail;
	*out = g;
	return 0;
fail:
	gguf_file_close(&first);
	gguf_close(g);
	return -1;
}

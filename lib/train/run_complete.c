/*
 * lib/train/run_complete.c - the end mark of a checkpoint: each file, its size and its hash
 *
 * A checkpoint that lost bytes on its way (a copy that was cut, a damaged disk) is found before anything is made of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/outfile.h"
#include "lib/model/lm_save.h"
#include "lib/train/run_parts.h"

#define MARK_BYTES_MAX ((size_t)1 << 20)

bool run_is_complete(const char *folder)
{
	char *path = mem_format("%s/" RUN_COMPLETE, folder);
	struct stat st;
	bool is = path && lstat(path, &st) == 0 && S_ISREG(st.st_mode);

	free(path);
	return is;
}

/* --- writing --- */

void run_marks_free(struct run_marks *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->items[i].name);
	free(m->items);
}

int run_marks_add(void *marks, const char *name, uint64_t size, const struct hash128 *hash)
{
	struct run_marks *m = marks;
	char *copy;

	if (m->n == RUN_FILES_MAX)
		return err_set(ERR_LIMIT, "a checkpoint of more than %d files", RUN_FILES_MAX);
	if (mem_grow(&m->items, &m->capacity, m->n + 1, sizeof(*m->items)) < 0)
		return -1;
	copy = mem_copy(name, strlen(name));
	if (!copy)
		return -1;
	m->items[m->n++] = (struct run_mark){ *hash, size, copy };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct run_mark *)a)->name, ((const struct run_mark *)b)->name);
}

static void put_line(struct buffer *b, const struct run_mark *m)
{
	char hex[HASH_HEX];

	hash_hex(&m->hash, hex);
	buffer_format(b, "%s %" PRIu64 " %s\n", hex, m->size, m->name);
}

static int write_mark(const char *folder, struct bytes text)
{
	char *path = mem_format("%s/" RUN_COMPLETE, folder);
	struct outfile *f;
	int result = path ? outfile_new(&f, path) : -1;

	free(path);
	if (result < 0)
		return -1;
	if (outfile_write(f, text.data, text.size) == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

int run_complete_write(const char *folder, struct run_marks *m)
{
	struct buffer b = { 0 };
	int result;

	qsort(m->items, m->n, sizeof(*m->items), by_name);
	for (size_t i = 0; i < m->n; i++)
		put_line(&b, &m->items[i]);
	result = buffer_check(&b);
	if (result == 0)
		result = write_mark(folder, buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

/* --- checking --- */

static bool parse_size(const char *s, char **end, uint64_t *out)
{
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, end, 10);
	return errno == 0;
}

/* LINE without its end, which is changed; false: of another form. */
static bool parse_line(char *line, struct run_mark *out)
{
	char *end;

	if (strlen(line) < HASH_HEX || line[HASH_HEX - 1] != ' ')
		return false;
	line[HASH_HEX - 1] = '\0';
	if (hash_parse(line, &out->hash) < 0 || !parse_size(line + HASH_HEX, &end, &out->size) ||
	    *end != ' ')
		return false;
	out->name = end + 1;
	return *out->name && *out->name != '.' && !strchr(out->name, '/');
}

static int hash_file(const char *path, struct hash128 *hash, uint64_t *size)
{
	struct mapfile *m;
	struct bytes all;
	int result;

	if (mapfile_open(&m, path) < 0)
		return -1;
	all = mapfile_bytes(m);
	*size = all.size;
	result = hash_memory(NULL, all.data, all.size, hash);
	mapfile_close(m);
	return result;
}

static int check_file(const char *folder, const struct run_mark *m)
{
	char *path = mem_format("%s/%s", folder, m->name);
	struct hash128 hash;
	struct stat st;
	uint64_t size;
	int result = path ? 0 : -1;

	if (result == 0 && stat(path, &st) != 0)
		result = err_system("%s", path);
	if (result == 0 && (uint64_t)st.st_size != m->size)
		result = err_set(ERR_MISMATCH,
				 "%s: has %" PRIu64
				 " bytes, and the checkpoint was made with %" PRIu64,
				 path, (uint64_t)st.st_size, m->size);
	if (result == 0)
		result = hash_file(path, &hash, &size);
	if (result == 0 && memcmp(&hash, &m->hash, sizeof(hash)) != 0)
		result = err_set(ERR_MISMATCH,
				 "%s: is damaged: its hash is not that of the checkpoint", path);
	free(path);
	return result;
}

/* The files without which there is nothing to go on from. */
static const char *const needed[] = { "config.json", LM_WEIGHTS, RUN_STATE };

#define N_NEEDED (sizeof(needed) / sizeof(*needed))

static int check_lines(const char *folder, char *text, size_t size)
{
	bool seen[N_NEEDED] = { false };
	char *line = text, *end;
	struct run_mark m;

	for (int n = 1; line < text + size; n++, line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + size - line));
		if (end)
			*end = '\0';
		if (!end || n > RUN_FILES_MAX || !parse_line(line, &m))
			return err_set(ERR_FORMAT, "%s/" RUN_COMPLETE ":%d: not HASH SIZE NAME",
				       folder, n);
		if (check_file(folder, &m) < 0)
			return -1;
		for (size_t i = 0; i < N_NEEDED; i++)
			seen[i] = seen[i] || strcmp(m.name, needed[i]) == 0;
	}
	for (size_t i = 0; i < N_NEEDED; i++)
		if (!seen[i])
			return err_set(ERR_MISSING, "%s/" RUN_COMPLETE ": does not list %s", folder,
				       needed[i]);
	return 0;
}

int run_complete_check(const char *folder)
{
	char *path = mem_format("%s/" RUN_COMPLETE, folder), *text = NULL;
	size_t size;
	int result = path ? file_read(path, MARK_BYTES_MAX, &text, &size) : -1;

	if (result == 0)
		result = check_lines(folder, text, size);
	free(text);
	free(path);
	return result;
}

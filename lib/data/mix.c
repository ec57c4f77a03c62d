/* lib/data/mix.c - windows of several packed token files, in given proportions */
#include "lib/data/mix.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/random.h"
#include "lib/base/target.h"

#define FIRST_LINE "nnutils token mix 1"
#define SIZE_LIMIT ((size_t)1 << 20)

struct part {
	struct token_pack *pack;
	struct windows *windows;
	uint32_t weight;
	uint64_t before; /* the weights of the parts before it */
};

struct mix {
	struct part *parts;
	size_t n, capacity;
	uint64_t total; /* weight of all */
	struct windows_options options;
};

void mix_close(struct mix *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		windows_free(m->parts[i].windows);
		token_pack_close(m->parts[i].pack);
	}
	free(m->parts);
	free(m);
}

/* --- parts ---------------------------------------------------------------------------------- */

/* NAME as it stands in the mix at PATH. The caller frees. */
static char *path_of(const char *path, const char *name)
{
	char *folder, *out;

	if (*name == '/')
		return mem_copy(name, strlen(name));
	folder = target_folder(path);
	if (!folder)
		return NULL;
	out = strcmp(folder, "./") == 0 && strncmp(path, "./", 2) != 0
		      ? mem_copy(name, strlen(name))
		      : mem_format("%s%s", folder, name);
	free(folder);
	return out;
}

/* Takes P over, also when it fails. */
static int add_part(struct mix *m, struct token_pack *p, uint32_t weight)
{
	struct part part = { .pack = p, .weight = weight, .before = m->total };
	const struct token_pack *first = m->n ? m->parts[0].pack : p;

	if (mem_grow(&m->parts, &m->capacity, m->n + 1, sizeof(part)) != 0 ||
	    token_header_match(&token_pack_info(first)->header, token_pack_name(first),
			       &token_pack_info(p)->header, token_pack_name(p)) != 0 ||
	    windows_new(&part.windows, p, &m->options) != 0) {
		token_pack_close(p);
		return -1;
	}
	m->parts[m->n++] = part;
	m->total += weight;
	if (windows_n(part.windows) == 0)
		return err_set(ERR_ARGUMENT,
			       "%s: has no window, of %" PRIu64 " documents: pack-tokens shares "
			       "out whole ones, so give it more text, a larger share, or text cut "
			       "smaller (cat-docs --split=blank, line or form-feed)",
			       token_pack_name(p), token_pack_info(p)->n_documents);
	return 0;
}

static int check_hash(const struct token_pack *p, const struct hash128 *want, const char *path)
{
	struct hash128 is = token_pack_hash(p);
	char hex_is[HASH_HEX], hex_want[HASH_HEX];

	if (memcmp(&is, want, sizeof(is)) == 0)
		return 0;
	hash_hex(&is, hex_is);
	hash_hex(want, hex_want);
	return err_set(ERR_MISMATCH, "%s: has the hash %s, but %s wants the one with %s",
		       token_pack_name(p), hex_is, path, hex_want);
}

static int open_part(struct mix *m, const char *path, uint32_t weight, const struct hash128 *hash,
		     const char *name)
{
	char *file = path_of(path, name);
	struct token_pack *p = NULL;
	int result = -1;

	if (file && token_pack_open(&p, file) == 0) {
		result = check_hash(p, hash, path);
		if (result == 0)
			result = add_part(m, p, weight);
		else
			token_pack_close(p);
	}
	free(file);
	return result;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Cuts the field that ends at END off the front of *TEXT; NULL when there is none. */
static char *take(char **text, char end)
{
	char *start = *text, *at = strchr(start, end);

	if (!at)
		return NULL;
	*at = '\0';
	*text = at + 1;
	return start;
}

static int parse_line(struct mix *m, const char *path, uint64_t line, char *text)
{
	char *weight = take(&text, '\t'), *hash = weight ? take(&text, '\t') : NULL;
	struct hash128 h;
	uint64_t w;

	if (!hash || !*text)
		return err_set(ERR_FORMAT, "%s:%" PRIu64 ": is not weight, hash and file with tabs",
			       path, line);
	if (weight[strspn(weight, "0123456789")] != '\0' ||
	    number_u64(weight, 1, MIX_WEIGHT_MAX, &w) != 0)
		return err_set(ERR_FORMAT, "%s:%" PRIu64 ": a weight that is not 1 to %d", path,
			       line, MIX_WEIGHT_MAX);
	if (hash_parse(hash, &h) != 0)
		return err_prefix("%s:%" PRIu64, path, line);
	if (m->n == MIX_PARTS_MAX)
		return err_set(ERR_LIMIT, "%s:%" PRIu64 ": more than %d parts", path, line,
			       MIX_PARTS_MAX);
	return open_part(m, path, (uint32_t)w, &h, text);
}

static int parse_lines(struct mix *m, const char *path, char *text, size_t size)
{
	char *end = text + size, *first = take(&text, '\n');

	if (!first || strcmp(first, FIRST_LINE) != 0)
		return err_set(ERR_FORMAT, "%s:1: is no token mix", path);
	for (uint64_t line = 2; text < end; line++) {
		char *l = take(&text, '\n');

		if (!l)
			return err_set(ERR_FORMAT,
				       "%s:%" PRIu64 ": is cut: no line break, or a NUL", path,
				       line);
		if (parse_line(m, path, line, l) != 0)
			return -1;
	}
	return m->n ? 0 : err_set(ERR_FORMAT, "%s: a mix without parts", path);
}

static int open_mix(struct mix *m, const char *path)
{
	size_t size;
	char *text;
	int result;

	if (file_read(path, SIZE_LIMIT, &text, &size) != 0)
		return -1;
	result = parse_lines(m, path, text, size);
	free(text);
	return result;
}

/* What a person is likely to have given instead. */
static int not_tokens(const char *path, struct bytes b)
{
	if (bytes_start_with(b, TOKEN_STREAM_MAGIC))
		return err_set(ERR_FORMAT,
			       "%s: is a token stream: pack-tokens -o FILE.tok %s packs it", path,
			       path);
	return err_set(ERR_FORMAT,
		       "%s: is neither a packed token file nor a token mix; of text they are made "
		       "by: tokenize -t TOKENIZER %s | pack-tokens -o FILE.tok",
		       path, path);
}

/* 1, and the pack, when PATH is one; 0 when it is a mix. */
static int open_pack(struct token_pack **out, const char *path)
{
	struct mapfile *map;
	struct bytes b;
	int result = -1;

	if (mapfile_open(&map, path) != 0)
		return -1;
	b = mapfile_bytes(map);
	if (bytes_start_with(b, TOKEN_PACK_MAGIC))
		result = token_pack_open(out, path) == 0 ? 1 : -1;
	else if (b.size == 0)
		err_set(ERR_FORMAT, "%s: is empty, no tokens", path);
	else if (bytes_start_with(b, FIRST_LINE "\n"))
		result = 0;
	else
		not_tokens(path, b);
	mapfile_close(map);
	return result;
}

int mix_open(struct mix **out, const char *path, const struct windows_options *o)
{
	struct mix *m = mem_new(1, sizeof(*m));
	struct token_pack *p = NULL;
	int got;

	if (!m)
		return -1;
	m->options = *o;
	got = open_pack(&p, path);
	if (got < 0 || (got ? add_part(m, p, 1) : open_mix(m, path)) != 0) {
		mix_close(m);
		return -1;
	}
	*out = m;
	return 0;
}

static int put_part(struct buffer *b, const char *path, const char *name, uint32_t weight,
		    struct token_pack **first)
{
	char *file = path_of(path, name), hex[HASH_HEX];
	struct token_pack *p = NULL;
	struct hash128 hash;

	if (!file || token_pack_open(&p, file) != 0) {
		free(file);
		return -1;
	}
	free(file);
	hash = token_pack_hash(p);
	hash_hex(&hash, hex);
	buffer_format(b, "%" PRIu32 "\t%s\t%s\n", weight, hex, name);
	if (!*first) {
		*first = p;
		return 0;
	}
	if (token_header_match(&token_pack_info(*first)->header, token_pack_name(*first),
			       &token_pack_info(p)->header, token_pack_name(p)) != 0) {
		token_pack_close(p);
		return -1;
	}
	token_pack_close(p);
	return 0;
}

int mix_write(struct outfile *f, const char *path, const char *const *names,
	      const uint32_t *weights, size_t n)
{
	struct token_pack *first = NULL;
	struct buffer b = { 0 };
	int result = -1;

	buffer_put_text(&b, FIRST_LINE "\n");
	for (size_t i = 0; i < n; i++) {
		if (!*names[i] || strchr(names[i], '\n')) {
			err_set(ERR_ARGUMENT, "%s: a file that a mix cannot name", path);
			goto done;
		}
		if (put_part(&b, path, names[i], weights[i], &first) != 0)
			goto done;
	}
	if (n == 0 || n > MIX_PARTS_MAX || b.size > SIZE_LIMIT)
		err_set(ERR_LIMIT, "%s: a mix has 1 to %d parts and at most 1 MiB", path,
			MIX_PARTS_MAX);
	else if (buffer_check(&b) == 0)
		result = outfile_write(f, b.data, b.size);
done:
	token_pack_close(first);
	buffer_free(&b);
	return result;
}

/* --- the order -------------------------------------------------------------------------------- */

size_t mix_n_parts(const struct mix *m)
{
	return m->n;
}

const struct token_pack *mix_pack(const struct mix *m, size_t i)
{
	return m->parts[i].pack;
}

const struct windows *mix_windows(const struct mix *m, size_t i)
{
	return m->parts[i].windows;
}

uint32_t mix_weight(const struct mix *m, size_t i)
{
	return m->parts[i].weight;
}

/* The part whose slots hold SLOT, below the weight of all. */
static size_t part_of(const struct mix *m, uint64_t slot)
{
	size_t low = 0, high = m->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->parts[middle].before <= slot)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct mix_place mix_at(const struct mix *m, uint64_t t)
{
	struct random_stream r = random_at(m->options.seed, 0, hash_short("mix", 3, 0));
	uint64_t block = t / m->total;
	uint64_t slot = random_permute(&r, block, m->total, t % m->total);
	struct mix_place place = { .part = part_of(m, slot) };
	const struct part *p = &m->parts[place.part];
	uint64_t turn = block * p->weight + (slot - p->before); /* which of the part's own */
	uint64_t n = windows_n(p->windows);

	place.epoch = turn / n;
	place.window = windows_at(p->windows, place.epoch, turn % n);
	return place;
}

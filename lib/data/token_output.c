/* lib/data/token_output.c - one file of token ids, or a folder of several that share the documents */
#include "lib/data/token_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/outfile.h"

struct part {
	char *name;
	double share;
	struct outfile *file;
	struct token_sink *sink;
	struct token_shuffle *shuffle; /* or NULL */
	char *path;		       /* where it is in the end; NULL for stdout */
	struct token_sink_counts counts;
};

struct token_output {
	const char *path, *key;
	char *near; /* where things may be put aside */
	bool is_folder;
	struct outdir *folder;
	struct token_router *router;
	struct part parts[TOKEN_OUTPUT_PARTS_MAX];
	size_t n;
};

/* --- the parts ------------------------------------------------------------------------------ */

/* NAME is owned, also when this fails. */
static int add_part(struct token_output *t, char *name, double share)
{
	if (!name)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->parts[i].name, name) == 0) {
			err_set(ERR_ARGUMENT, "--split: two parts are called %s", name);
			free(name);
			return -1;
		}
	t->parts[t->n++] = (struct part){ .name = name, .share = share };
	return 0;
}

static bool is_part_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '-')
			return false;
	return n > 0;
}

/* The part that ITEM, NAME=SHARE, tells of; its share is added to *SUM. */
static int take_share(struct token_output *t, const char *item, double *sum)
{
	const char *equals = strchr(item, '=');
	double share;

	if (t->n + 1 == TOKEN_OUTPUT_PARTS_MAX)
		return err_set(ERR_LIMIT, "--split: more than %d parts",
			       TOKEN_OUTPUT_PARTS_MAX - 1);
	if (!equals || !is_part_name(item, (size_t)(equals - item)))
		return err_set(ERR_ARGUMENT, "--split: '%s' is not NAME=SHARE", item);
	if (number_ratio(equals + 1, &share) < 0) {
		err_prefix("--split: %s", item);
		return -1;
	}
	*sum += share;
	return add_part(t, mem_copy(item, (size_t)(equals - item)), share);
}

static int take_split(struct token_output *t, const char *const *split, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (take_share(t, split[i], &sum) < 0)
			return -1;
	if (sum > 1)
		return err_set(ERR_ARGUMENT, "--split: the shares are more than 1");
	return add_part(t, mem_copy("train", 5), 1 - sum);
}

/* --- places --------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat s;
	size_t n = strlen(path);

	return n && (path[n - 1] == '/' || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)));
}

/* Things are put aside beside the output, or in the folder for temporary files. */
static char *place_aside(const char *path)
{
	const char *tmp = getenv("TMPDIR");
	size_t n = strlen(path);

	if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0)
		return mem_format("%s/pack-tokens", tmp && *tmp ? tmp : "/tmp");
	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_copy(path, n);
}

int token_output_new(struct token_output **out, const char *path, const char *const *split,
		     size_t n, const char *key)
{
	struct token_output *t = mem_new(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return -1;
	t->path = path;
	t->key = key;
	t->is_folder = is_folder(path);
	t->near = place_aside(path);
	if (!t->near || take_split(t, split, n) < 0)
		goto fail;
	if (t->n > 1 && !t->is_folder) {
		err_set(ERR_ARGUMENT, "--split writes several files: --output must be a folder, "
				      "with / at its end");
		goto fail;
	}
	*out = t;
	return 0;
fail:
	token_output_free(t);
	return -1;
}

void token_output_free(struct token_output *t)
{
	if (!t)
		return;
	token_router_free(t->router);
	for (size_t i = 0; i < t->n; i++) {
		struct part *p = &t->parts[i];

		token_sink_free(p->sink);
		token_shuffle_free(p->shuffle);
		outfile_discard(p->file);
		free(p->path);
		free(p->name);
	}
	outdir_discard(t->folder);
	free(t->near);
	free(t);
}

/* --- opening -------------------------------------------------------------------------------- */

static const char *suffix_of(enum token_format format)
{
	switch (format) {
	case TOKENS_PACKED: return "tok";
	case TOKENS_STREAM: return "tokens";
	default: return "bin";
	}
}

static int open_in_folder(struct token_output *t, struct part *p, enum token_format format)
{
	char *name = mem_format("%s.%s", p->name, suffix_of(format));
	int got = -1;

	if (name && (p->path = mem_format("%s/%s", t->near, name)))
		got = outdir_file(t->folder, name, &p->file);
	free(name);
	return got;
}

static int open_file(struct token_output *t, struct part *p, enum token_format format)
{
	if (t->folder)
		return open_in_folder(t, p, format);
	if (strcmp(t->path, "-") != 0 && !(p->path = mem_copy(t->path, strlen(t->path))))
		return -1;
	return outfile_new(&p->file, t->path);
}

int token_output_open(struct token_output *t, const struct token_output_options *o)
{
	struct token_sink_options sink = {
		.format = o->format, .header = o->header, .pack = o->pack, .near = t->near
	};
	struct token_part routes[TOKEN_OUTPUT_PARTS_MAX];

	if (t->is_folder && outdir_new(&t->folder, t->path) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		struct part *p = &t->parts[i];

		if (open_file(t, p, o->format) < 0 || token_sink_new(&p->sink, p->file, &sink) < 0)
			return -1;
		if (o->shuffle && token_shuffle_new(&p->shuffle, o->header.vocab, t->near) < 0)
			return -1;
		routes[i] = (struct token_part){ p->share, p->sink, p->shuffle };
	}
	return token_router_new(&t->router, routes, (uint32_t)t->n, t->key);
}

struct token_router *token_output_router(const struct token_output *t)
{
	return t->router;
}

/* --- the end -------------------------------------------------------------------------------- */

static int end_part(struct part *p, uint64_t seed)
{
	if (p->shuffle && token_shuffle_give(p->shuffle, p->sink, seed, p->name) < 0)
		return -1;
	token_shuffle_free(p->shuffle);
	p->shuffle = NULL;
	if (token_sink_end(p->sink) < 0)
		return -1;
	p->counts = token_sink_counts(p->sink);
	token_sink_free(p->sink);
	p->sink = NULL;
	return 0;
}

static int check_counts(const struct token_output *t, const struct token_counts *in)
{
	uint64_t documents = 0, tokens = 0, separators = 0;

	for (size_t i = 0; i < t->n; i++) {
		documents += t->parts[i].counts.documents;
		tokens += t->parts[i].counts.tokens;
		separators += t->parts[i].counts.separators;
	}
	if (documents == in->documents && tokens == in->tokens + separators)
		return 0;
	return err_set(ERR_FORMAT,
		       "%" PRIu64 " documents and %" PRIu64 " tokens came in, but %" PRIu64
		       " and %" PRIu64 " went out, %" PRIu64 " separators among them",
		       in->documents, in->tokens, documents, tokens, separators);
}

int token_output_commit(struct token_output *t, uint64_t seed, const struct token_counts *in)
{
	struct outdir *folder = t->folder;

	for (size_t i = 0; i < t->n; i++)
		if (end_part(&t->parts[i], seed) < 0)
			return -1;
	if (check_counts(t, in) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		struct outfile *f = t->parts[i].file;

		t->parts[i].file = NULL;
		if (outfile_commit(f) < 0)
			return -1;
	}
	t->folder = NULL;
	return folder ? outdir_commit(folder) : 0;
}

size_t token_output_files(const struct token_output *t)
{
	return t->n;
}

struct token_output_file token_output_file(const struct token_output *t, size_t i)
{
	return (struct token_output_file){ t->parts[i].path, t->parts[i].counts };
}

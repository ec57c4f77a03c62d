/* lib/data/token_contents.c - what a file of token ids holds, once it was read whole */
#include "lib/data/token_contents.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/token_pack.h"
#include "formats/token_stream.h"

static int read_stream(struct token_contents *out, const char *path)
{
	struct token_reader *r;
	struct token_event e;
	struct token_counts counts;
	int got;

	if (token_reader_open(&r, path) < 0)
		return -1;
	while ((got = token_reader_next(r, &e)) > 0)
		out->runs += e.kind == TOKEN_EVENT_RUN;
	counts = token_reader_counts(r);
	out->documents = counts.documents;
	out->tokens = counts.tokens;
	token_reader_close(r);
	return got;
}

static int read_packed(struct token_contents *out, const char *path, struct team *t)
{
	const struct token_pack_info *i;
	struct token_pack *p;
	int got;

	if (token_pack_open(&p, path) < 0)
		return -1;
	got = token_pack_check(p, t);
	i = token_pack_info(p);
	*out = (struct token_contents){
		.packed = true,
		.documents = i->n_documents,
		.tokens = i->n_tokens,
		.separators = i->n_separators,
		.runs = i->n_runs,
	};
	token_pack_close(p);
	return got;
}

/* By the first bytes of a regular file: what cannot be read is told by who reads it. */
static bool is_packed(const char *path)
{
	char magic[8] = { 0 };
	struct stat s;
	bool packed;
	FILE *f;

	if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || !(f = fopen(path, "rb")))
		return false;
	packed = fread(magic, 1, sizeof(magic), f) == sizeof(magic) &&
		 memcmp(magic, TOKEN_PACK_MAGIC, sizeof(magic)) == 0;
	fclose(f);
	return packed;
}

int token_contents_read(struct token_contents *out, const char *path, struct team *t)
{
	*out = (struct token_contents){ 0 };
	return is_packed(path) ? read_packed(out, path, t) : read_stream(out, path);
}

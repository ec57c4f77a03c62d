/* formats/tokenizer_open.c - a tokenizer ready for use, from whatever file holds one */

#include "formats/tokenizer_open.h"

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"

int tokenizer_open(struct tokenizer **out, struct arena *arena, const char *path, const char *split)
{
	struct tokenizer_file_options o = { .split = SCANNER_NONE };
	struct tokenizer_spec *spec = arena_alloc(arena, 1, sizeof(*spec));

	*out = NULL;
	if (!spec)
		return -1;
	if (split && (o.split = scanner_by_name(split)) == SCANNER_NONE)
		return err_set(ERR_ARGUMENT, "--split: '%s' is not a known pattern", split);
	if (tokenizer_file_read(spec, arena, path, &o) < 0)
		return -1;
	return tokenizer_new(out, spec);
}

int tokenizer_match(const struct tokenizer *t, const char *path, const struct token_header *h,
		    const char *name)
{
	struct token_header ours = { .vocab = tokenizer_vocab_size(t),
				     .bos = TOKEN_NONE,
				     .eos = TOKEN_NONE,
				     .pad = TOKEN_NONE };

	if (!token_header_known(h))
		return 0;
	if (tokenizer_fingerprint(t, &ours.plain, &ours.whole) < 0)
		return -1;
	return token_header_match(h, name, &ours, path);
}

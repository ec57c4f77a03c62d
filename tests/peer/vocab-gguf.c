/*
 * tests/peer/vocab-gguf.c - writes a tokenizer as a GGUF without tensors, for peers to load
 *
 *	vocab-gguf [-i] [-j] [-p PRE] [-s SPLIT] TOKENIZER OUT.gguf
 *
 * -i writes what is not exact too, -j adds tokenizer.huggingface.json, -p names `pre`, -s is the split of rank files. What the
 * keys do not say goes to stderr, a line each. Exit 0, or 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/tokenizer_file.h"
#include "lib/base/err.h"
#include "tests/vocab_gguf.h"

static int convert(const char *from, const char *to, enum scanner split,
		   const struct tokenizer_gguf_options *options)
{
	struct tokenizer_file_options how = { split };
	struct tokenizer_spec spec;
	struct arena *arena;
	int result = -1;

	if (arena_new(&arena) < 0)
		return -1;
	if (tokenizer_file_read(&spec, arena, from, &how) == 0)
		result = vocab_gguf_write(to, &spec, options);
	arena_free(arena);
	return result;
}

int main(int argc, char **argv)
{
	struct buffer differences = { 0 };
	struct tokenizer_gguf_options options = { .differences = &differences };
	enum scanner split = SCANNER_NONE;
	int c, result;

	while ((c = getopt(argc, argv, "ijp:s:")) != -1) {
		switch (c) {
		case 'i': options.inexact = true; break;
		case 'j': options.with_json = true; break;
		case 'p': options.pre = optarg; break;
		case 's': split = scanner_by_name(optarg); break;
		default: return 2;
		}
	}
	if (argc - optind != 2) {
		fputs("usage: vocab-gguf [-i] [-j] [-p PRE] [-s SPLIT] TOKENIZER OUT.gguf\n",
		      stderr);
		return 2;
	}
	result = convert(argv[optind], argv[optind + 1], split, &options);
	if (differences.size)
		fwrite(differences.data, 1, differences.size, stderr);
	if (result < 0)
		fprintf(stderr, "vocab-gguf: %s\n", err_text());
	buffer_free(&differences);
	return result < 0 ? 2 : 0;
}

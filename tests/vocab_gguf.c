/* tests/vocab_gguf.c - a GGUF that holds a tokenizer and no tensor */

#include "tests/vocab_gguf.h"

static int write_whole(struct gguf_writer *w, const char *path)
{
	struct outfile *f;

	if (outfile_new(&f, path) < 0)
		return -1;
	if (gguf_writer_begin(w, f) < 0 || gguf_writer_end(w) < 0) {
		outfile_discard(f);
		return -1;
	}
	return outfile_commit(f);
}

int vocab_gguf_write(const char *path, const struct tokenizer_spec *spec,
		     const struct tokenizer_gguf_options *options)
{
	struct gguf_writer *w;
	int result = -1;

	if (gguf_writer_new(&w, 32) < 0)
		return -1;
	gguf_put_string(w, "general.architecture", bytes_of("llama"));
	gguf_put_string(w, "general.name", bytes_of("vocabulary"));
	if (tokenizer_gguf_put(w, spec, options) == 0)
		result = write_whole(w, path);
	gguf_writer_free(w);
	return result;
}

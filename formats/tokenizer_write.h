/*
 * formats/tokenizer_write.h - a tokenizer as the files that a Hugging Face folder has of it
 */
#ifndef FORMATS_TOKENIZER_WRITE_H
#define FORMATS_TOKENIZER_WRITE_H

#include "formats/tokenizer_config_write.h"
#include "lib/base/outfile.h"

/*
 * Writes tokenizer.json and tokenizer_config.json (class, roles, chat template) into D. SPEC is compiled first: what does not open is not
 * written. OTHERS: N roles that SPEC does not know.
 */
int tokenizer_write(struct outdir *d, const struct tokenizer_spec *spec,
		    const struct tokenizer_config_role *others, size_t n);

/* Of PATH, if that is a folder: the texts of cls, sep and mask in its tokenizer_config.json or special_tokens_map.json. */
#define TOKENIZER_OTHERS 3
int tokenizer_other_roles(struct tokenizer_config_role out[TOKENIZER_OTHERS], size_t *n,
			  struct arena *arena, const char *path);

#endif

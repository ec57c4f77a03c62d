/*
 * formats/tokenizer_config_write.h - tokenizer_config.json, which goes beside tokenizer.json
 *
 * What transformers reads there: the class, the texts of the roles, the chat template. All else is in tokenizer.json.
 */
#ifndef FORMATS_TOKENIZER_CONFIG_WRITE_H
#define FORMATS_TOKENIZER_CONFIG_WRITE_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

/* A role that struct tokenizer_spec does not know: `cls`, `sep`, `mask`. */
struct tokenizer_config_role {
	const char *name;
	struct bytes text;
};

/*
 * Appends the file, keys in the order of the alphabet as transformers writes them. ERR_MISSING for a role whose id is
 * no token of SPEC.
 */
int tokenizer_config_put(struct buffer *b, const struct tokenizer_spec *spec,
			 const struct tokenizer_config_role *others, size_t n);

#endif

/*
 * formats/tokenizer_folder.h - what the files beside a tokenizer say
 */
#ifndef FORMATS_TOKENIZER_FOLDER_H
#define FORMATS_TOKENIZER_FOLDER_H

#include "formats/json_tree.h"
#include "lib/text/spec.h"

/* `FOLDER/NAME`, or NULL with the error set; the caller frees. */
char *tokenizer_beside(const char *folder, const char *name);

/* tokenizer_config.json of FOLDER; *OUT is NULL when there is none. */
int tokenizer_config_open(struct json_tree **out, const char *folder);

/*
 * Roles, add_bos, add_eos and the chat template, from tokenizer_config.json (CONFIG, may be NULL),
 * special_tokens_map.json, generation_config.json and config.json: the first that names a role counts.
 */
int tokenizer_folder_roles(struct tokenizer_spec *out, struct arena *arena, const char *folder,
			   const struct json_tree *config);

#endif

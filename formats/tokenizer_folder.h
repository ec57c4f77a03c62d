/*
 * formats/tokenizer_folder.h - what the files beside a tokenizer say
 */
#ifndef FORMATS_TOKENIZER_FOLDER_H
#define FORMATS_TOKENIZER_FOLDER_H

#include "formats/json_tree.h"
#include "lib/text/spec.h"

/* `FOLDER/NAME`, or NULL with the error set; the caller frees. */
char *tokenizer_beside(const char *folder, const char *name);

/* The tree of FOLDER/NAME; *OUT is NULL when there is no such file. */
int tokenizer_beside_open(struct json_tree **out, const char *folder, const char *name);
/* tokenizer_config.json of FOLDER; *OUT is NULL when there is none. */
int tokenizer_config_open(struct json_tree **out, const char *folder);

/* 1 and the text of a role (`NAME_token`: a string, or an object whose `content` is one) as long as T is there; 0: none. */
int tokenizer_role_text(const struct json_tree *t, const char *name, const char **text);
/* The id of the token that is TEXT, added ones first; or TOKEN_NONE. */
uint32_t tokenizer_find_text(const struct tokenizer_spec *spec, struct bytes text);

/*
 * Roles, add_bos, add_eos and the chat template, from tokenizer_config.json (CONFIG, may be NULL),
 * special_tokens_map.json, generation_config.json and config.json: the first that names a role counts.
 */
int tokenizer_folder_roles(struct tokenizer_spec *out, struct arena *arena, const char *folder,
			   const struct json_tree *config);

#endif

/*
 * formats/tokenizer_json_vocab.h - vocabularies and merges as JSON spells them
 *
 * Both tokenizer.json and vocab.json hold them.
 */
#ifndef FORMATS_TOKENIZER_JSON_VOCAB_H
#define FORMATS_TOKENIZER_JSON_VOCAB_H

#include "formats/json.h"
#include "formats/tokenizer_pieces.h"

/* RAW is one JSON value; NAME is for messages. */
int tokenizer_vocab_object(struct tokenizer_pieces *p, struct bytes raw, const char *name);
/* [["piece", score], …]: ids count from 0. */
int tokenizer_vocab_scores(struct tokenizer_pieces *p, struct bytes raw, const char *name);
/* ["a b", …] or [["a", "b"], …]. */
int tokenizer_vocab_merges(struct tokenizer_pieces *p, struct bytes raw, const char *name,
			   size_t skip);

#endif

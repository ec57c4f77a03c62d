/*
 * cmd/cmd_example.h - the options of tools that look at graphs of models: the examples (lib/model/example.h), and language models on disk
 */
#ifndef CMD_CMD_EXAMPLE_H
#define CMD_CMD_EXAMPLE_H

#include "cmd/cmd.h"
#include "lib/model/example.h"
#include "lib/model/lm.h"

struct cmd_example {
	int kind, optimizer, dtype; /* kind: -1 while none is given */
	uint64_t tokens, width, ffn, layers, heads, kv_heads, vocab;
	/* Of a language model: sequences, and rows of each; 0: not given. */
	uint64_t batch, length;
	bool train;
};
extern struct cmd_example cmd_example;
extern const char *const cmd_example_kinds[], *const cmd_example_optimizers[],
						      *const cmd_example_dtypes[];

#define CMD_EXAMPLE_MOST 1000000000

/* clang-format off */
#define CMD_EXAMPLE \
	CMD_ENUM(0, "example", &cmd_example.kind, cmd_example_kinds, "MODEL", "mlp: products with a gelu between; block: transformer blocks"), \
	CMD_SIZE('n', "tokens", &cmd_example.tokens, 1, CMD_EXAMPLE_MOST, "rows (default 512; of a language model at most its context)"), \
	CMD_SIZE(0, "batch", &cmd_example.batch, 1, CMD_EXAMPLE_MOST, "of a language model: sequences of --ctx rows (default 1)"), \
	CMD_SIZE(0, "ctx", &cmd_example.length, 1, CMD_EXAMPLE_MOST, "of a language model: rows a sequence (default as -n)"), \
	CMD_SIZE(0, "width", &cmd_example.width, 1, CMD_EXAMPLE_MOST, "numbers a row (default 768)"), \
	CMD_SIZE(0, "ffn", &cmd_example.ffn, 1, CMD_EXAMPLE_MOST, "hidden width (default 4 widths, of a block 8/3, in 64s)"), \
	CMD_SIZE('l', "layers", &cmd_example.layers, 1, 10000, "blocks, or products (default 1, of an mlp 2)"), \
	CMD_SIZE(0, "heads", &cmd_example.heads, 1, CMD_EXAMPLE_MOST, "heads of a block (default: of 64 numbers)"), \
	CMD_SIZE(0, "kv-heads", &cmd_example.kv_heads, 1, CMD_EXAMPLE_MOST, "heads of keys and values (default: as many)"), \
	CMD_SIZE(0, "vocab", &cmd_example.vocab, 1, INT32_MAX, "embedding and head over N words (default none)"), \
	CMD_ENUM(0, "dtype", &cmd_example.dtype, cmd_example_dtypes, "TYPE", "what it computes in: f32, bf16 or f16 (default f32)"), \
	CMD_FLAG(0, "train", &cmd_example.train, "the loss and its gradients too"), \
	CMD_ENUM(0, "optimizer", &cmd_example.optimizer, cmd_example_optimizers, "NAME", "and the update: none, sgd, adamw, lion")
/* clang-format on */

struct cmd_example_model {
	struct lm lm; /* closed for the examples */
	struct store *store;
	struct graph *graph;
	struct example_config config; /* of a language model: tokens and vocab alone */
	struct example example;
	uint64_t length; /* of a language model: rows a sequence */
	size_t forward;	 /* nodes of the graph before the gradients */
	bool made_up;	 /* an example: the store is declared, without values */
	char title[160];
};
/*
 * The model that the options describe, or the language model at PATH (a folder or a .gguf) where one is given: its
 * logits, or with a loss the mean cross-entropy, of --batch sequences. Ends the tool at an error, and where both are asked for, or neither.
 */
void cmd_example_build(struct cmd_example_model *m, const char *path);
void cmd_example_free(struct cmd_example_model *m);

#endif

/* cmd/cmd_lm.c - what tools that use a language model open: the model, and a tokenizer */

#include "cmd/cmd_lm.h"

#include <inttypes.h>

#include "cmd/cmd.h"
#include "formats/tokenizer_open.h"

const char *const cmd_special_words[] = { "plain", "parse", "refuse", NULL };
const char *const cmd_dtype_words[] = { "f32", "bf16", NULL };

enum dtype cmd_dtype(int word)
{
	return word ? DTYPE_BF16 : DTYPE_F32;
}

static void open_tokenizer(struct cmd_lm *m, bool given, const char *split)
{
	cmd_check(arena_new(&m->arena));
	if (tokenizer_open(&m->tokenizer, m->arena, m->tokenizer_path, split) == 0)
		return;
	cmd_die("%s%s", err_text(),
		!given && err_last() == ERR_MISSING ? "; -t FILE names a tokenizer" : "");
}

void cmd_lm_open(struct cmd_lm *out, const char *path, const char *tokenizer, const char *split)
{
	*out = (struct cmd_lm){ .tokenizer_path = tokenizer ? tokenizer : path };
	cmd_check(lm_open(&out->model, path, &(struct lm_open_options){ .frozen = true }));
	open_tokenizer(out, tokenizer != NULL, split);
	if (out->model.config->vocab_size < tokenizer_vocab_size(out->tokenizer))
		cmd_warn("%s: has a vocabulary of %" PRIu64 ", the tokenizer one of %" PRIu32, path,
			 out->model.config->vocab_size, tokenizer_vocab_size(out->tokenizer));
}

void cmd_lm_close(struct cmd_lm *m)
{
	lm_close(&m->model);
	tokenizer_free(m->tokenizer);
	arena_free(m->arena);
}

struct token_documents *cmd_lm_documents(const struct cmd_lm *m, const struct cmd_lm_data *d)
{
	struct token_document_options o = {
		.path = cmd_input(d->path),
		.field = d->field,
		.tokenizer_path = m->tokenizer_path,
		.encode = { .special = (enum special_mode)d->special, .post_process = true },
		.input = d->raw	   ? TOKEN_INPUT_TEXT
			 : d->docs ? TOKEN_INPUT_RECORDS
				   : TOKEN_INPUT_TOKENS,
	};
	struct token_documents *documents;

	if (token_documents_open(&documents, m->tokenizer, &o) < 0)
		cmd_die("%s%s", err_text(),
			o.input == TOKEN_INPUT_TOKENS && err_last() == ERR_FORMAT
				? "; text needs --raw or --docs"
				: "");
	return documents;
}

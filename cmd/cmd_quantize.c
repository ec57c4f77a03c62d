/* cmd/cmd_quantize.c - how well a model foretells a text, for quantize's before and after */

#include "cmd/cmd_quantize.h"

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_lm.h"
#include "lib/data/token_document.h"
#include "lib/eval/perplexity.h"

static struct perplexity *make(const struct cmd_lm *lm, uint64_t context)
{
	struct plan_options plan = { 0 };
	struct perplexity *p;

	if (!context)
		context = lm->model.config->context < 512 ? lm->model.config->context : 512;
	cmd_plan_options(&plan);
	cmd_check(perplexity_new(&p, lm->model.config, lm->model.store,
				 &(struct perplexity_options){
					 .backend = plan.backend,
					 .team = plan.team,
					 .compute = DTYPE_F32,
					 .rope_paired = lm->model.rope_paired,
					 .context = (uint32_t)context,
					 .stride = (uint32_t)context,
				 }));
	return p;
}

static void read_text(const struct cmd_lm *lm, struct perplexity *p, const char *text)
{
	struct token_document_options o = {
		.path = cmd_input(text),
		.field = "text",
		.tokenizer_path = lm->tokenizer_path,
		.encode = { .special = SPECIAL_PLAIN, .post_process = true },
		.input = TOKEN_INPUT_TEXT,
	};
	struct token_documents *in;
	struct token_document d;

	cmd_check(token_documents_open(&in, lm->tokenizer, &o));
	while (cmd_check(token_documents_next(in, SIZE_MAX, &d)) > 0)
		cmd_check(perplexity_add(p, d.ids, d.n));
	cmd_check(perplexity_end(p));
	token_documents_close(in);
}

void cmd_quantize_perplexity(struct cmd_quantize_perplexity *out, const char *model,
			     const char *tokenizer, const char *text, uint64_t context)
{
	struct perplexity_result r;
	struct perplexity *p;
	struct cmd_lm lm;

	cmd_lm_open(&lm, model, tokenizer, NULL);
	p = make(&lm, context);
	read_text(&lm, p, text);
	r = perplexity_result(p);
	if (r.scored == 0)
		cmd_die("%s: holds no token that has one before it", text);
	*out = (struct cmd_quantize_perplexity){ r.scored, r.loss, r.error };
	perplexity_free(p);
	cmd_lm_close(&lm);
}

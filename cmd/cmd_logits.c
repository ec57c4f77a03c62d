/* cmd/cmd_logits.c - tokens to read, and who gives their logits */

#include "cmd/cmd_logits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_graph.h"
#include "lib/base/memory.h"

#define CONTEXT_DEFAULT 512

struct cmd_logits cmd_logits = { .field = "text",
				 .special = SPECIAL_PLAIN,
				 .max_tokens = UINT64_MAX };

const char *const cmd_compute_words[] = { "f32", "bf16", "rounded", NULL };
const char *const cmd_cache_words[] = { "none", "f32", "f16", "bf16", "q8_0", NULL };

const char *cmd_logits_kernels(const struct backend *b)
{
	return strcmp(b->name, "cpu") == 0 ? level_name(b->level) : b->name;
}

/* --- tokens --- */

static void add_windows(struct cmd_windows *w, size_t *capacity, uint64_t n, uint32_t context)
{
	while (n) {
		uint64_t some = n < context ? n : context, at = w->starts[w->tokens.n_windows];

		cmd_check(mem_grow(&w->starts, capacity, w->tokens.n_windows + 2,
				   sizeof(*w->starts)));
		w->starts[++w->tokens.n_windows] = at + some;
		n -= some;
	}
}

void cmd_windows_read(struct cmd_windows *w, const struct cmd_lm *lm, uint32_t context)
{
	const struct cmd_lm_data data = { cmd_logits.data, cmd_logits.raw, cmd_logits.docs,
					  cmd_logits.field, cmd_logits.special };
	struct token_documents *in = cmd_lm_documents(lm, &data);
	size_t capacity = 0, ids_capacity = 0, n = 0;
	struct token_document d;

	*w = (struct cmd_windows){ 0 };
	cmd_check(mem_grow(&w->starts, &capacity, 1, sizeof(*w->starts)));
	w->starts[0] = 0;
	while (n < cmd_logits.max_tokens && cmd_check(token_documents_next(in, SIZE_MAX, &d)) > 0) {
		size_t some =
			d.n < cmd_logits.max_tokens - n ? d.n : (size_t)cmd_logits.max_tokens - n;

		if (some == 0) /* an empty document, whose ids are nowhere */
			continue;
		cmd_check(mem_grow(&w->ids, &ids_capacity, n + some + 1, sizeof(*w->ids)));
		memcpy(w->ids + n, d.ids, some * sizeof(*w->ids));
		add_windows(w, &capacity, some, context);
		n += some;
	}
	token_documents_close(in);
	if (n == 0)
		cmd_die("%s: no token to read", cmd_logits.data ? cmd_logits.data : "stdin");
	w->tokens.ids = w->ids;
	w->tokens.starts = w->starts;
}

void cmd_windows_free(struct cmd_windows *w)
{
	free(w->ids);
	free(w->starts);
}

/* --- sides --- */

static enum dtype common_dtype(const struct model *m)
{
	uint64_t bytes[DTYPE_COUNT] = { 0 };
	int most = DTYPE_F32;

	for (size_t i = 0; i < model_n_tensors(m); i++)
		bytes[model_tensor(m, i)->dtype] += model_tensor(m, i)->n_bytes;
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (bytes[t] > bytes[most])
			most = t;
	return (enum dtype)most;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_safetensors(const char *path)
{
	size_t n = strlen(path);

	return n > 12 && strcmp(path + n - 12, ".safetensors") == 0;
}

void cmd_side_open(struct cmd_side *s, const char *path)
{
	struct hash128 whole;

	*s = (struct cmd_side){ .path = path };
	if (is_safetensors(path)) {
		if (!cmd_check(logits_file_open(&s->file, path)))
			cmd_die("%s: holds no logits; make-golden writes files that do, and a "
				"model is its folder",
				path);
		s->origin = *logits_file_origin(s->file);
		s->rows = mem_new((size_t)LOGITS_SLICE * s->origin.vocab, sizeof(*s->rows));
		cmd_check(s->rows ? 0 : -1);
		return;
	}
	cmd_lm_open(&s->lm, path, cmd_logits.tokenizer, cmd_logits.split);
	s->origin.name = base_name(path);
	s->origin.weights = dtype_name(common_dtype(s->lm.model.model));
	s->origin.vocab = (uint32_t)s->lm.model.config->vocab_size;
	cmd_check(tokenizer_fingerprint(s->lm.tokenizer, &s->origin.tokenizer, &whole));
	cmd_check(lm_hash(&s->lm.model, cmd_team(), &s->origin.model));
}

uint32_t cmd_side_context(const struct cmd_side *s)
{
	uint64_t most = s->lm.model.config->context;

	if (cmd_logits.context)
		return (uint32_t)cmd_logits.context;
	return (uint32_t)(most < CONTEXT_DEFAULT ? most : CONTEXT_DEFAULT);
}

void cmd_side_start(struct cmd_side *s, uint32_t context, const struct cmd_side_options *o)
{
	struct plan_options plan = { 0 };

	if (s->file)
		return;
	cmd_plan_options(&plan);
	s->origin.context = context;
	s->origin.compute = cmd_compute_words[o->compute];
	s->origin.cache = cmd_cache_words[o->cache];
	s->origin.kernels = cmd_logits_kernels(o->backend);
	if (logits_new(&s->logits, s->lm.model.config, s->lm.model.store,
		       &(struct logits_options){
			       .backend = o->backend,
			       .team = plan.team,
			       .compute = o->compute == CMD_COMPUTE_BF16 ? DTYPE_BF16 : DTYPE_F32,
			       .round = o->compute == CMD_COMPUTE_ROUNDED,
			       .cache = o->cache ? dtype_by_name(cmd_cache_words[o->cache]) : 0,
			       .context = context,
			       .rope_paired = s->lm.model.rope_paired,
			       .memory = plan.memory,
			       .without = plan.without,
			       .strict = plan.strict,
			       .taps = o->taps,
			       .n_taps = o->n_taps }) < 0)
		cmd_die("%s: %s", s->path, err_text());
}

void cmd_side_close(struct cmd_side *s)
{
	logits_free(s->logits);
	logits_file_close(s->file);
	free(s->rows);
	if (!s->file)
		cmd_lm_close(&s->lm);
}

void cmd_side_read(struct cmd_side *s, const struct logits_tokens *t, size_t i)
{
	const uint64_t from = t->starts[i];

	if (!s->file &&
	    logits_read(s->logits, t->ids + from, (size_t)(t->starts[i + 1] - from)) < 0)
		cmd_die("%s: %s", s->path, err_text());
}

const float *cmd_side_rows(struct cmd_side *s, const struct logits_tokens *t, size_t i,
			   size_t first, size_t n)
{
	const float *rows;

	if (s->file) {
		logits_file_rows(s->file, t->starts[i] + first, n, s->rows);
		return s->rows;
	}
	rows = logits_rows(s->logits, first, n);
	if (!rows)
		cmd_die("%s: %s", s->path, err_text());
	return rows;
}

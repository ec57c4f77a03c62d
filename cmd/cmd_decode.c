/* cmd/cmd_decode.c - what decode's ways of going on share */

#include "cmd/cmd_decode.h"

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"

void cmd_decode_say_sampling(const struct cmd_decode *d)
{
	struct buffer words = { 0 };

	sampler_describe(&d->sampling, &words);
	buffer_put_u8(&words, 0);
	cmd_check(buffer_check(&words));
	cmd_note("sampling: %s", words.data);
	buffer_free(&words);
}

void cmd_decode_open(struct cmd_decode *d, size_t context, size_t forks)
{
	const struct hf_config *c = d->lm.model.config;
	struct plan_options plan = { 0 };
	struct session_options o = { .compute = d->compute,
				     .round = d->round,
				     .repack = d->round && d->repack != REPACK_NONE,
				     .cache = d->cache,
				     .context = context,
				     .forks = forks,
				     .rope_paired = d->lm.model.rope_paired };
	int made;

	cmd_plan_options(&plan);
	o.backend = plan.backend;
	o.team = plan.team;
	o.memory = plan.memory;
	o.without = plan.without;
	o.strict = plan.strict;
	made = session_new(&d->session, c, d->lm.model.store, &o);
	if (made < 0 && o.repack && d->repack == REPACK_IF_IT_FITS && err_last() == ERR_LIMIT) {
		o.repack = false;
		made = session_new(&d->session, c, d->lm.model.store, &o);
	}
	cmd_check(made);
	plan_measure(session_plan(d->session), cmd_graph.op_stats);
	cmd_check(sampler_new(&d->sampler, &d->sampling, (size_t)c->vocab_size));
}

/* --- output --- */

void cmd_decode_writer_begin(struct cmd_decode_writer *w, const struct cmd_decode *d)
{
	cmd_check(stop_text_new(&w->stops, d->stops, d->n_stops));
}

static void print_certain(struct cmd_decode_writer *w)
{
	cmd_check(buffer_check(&w->certain));
	if (w->certain.size == 0)
		return;
	if (w->also)
		buffer_put(w->also, w->certain.data, w->certain.size);
	if (!w->silent) {
		cmd_print_bytes(buffer_bytes(&w->certain));
		cmd_flush();
	}
	buffer_clear(&w->certain);
}

int cmd_decode_write(void *writer, struct bytes piece)
{
	struct cmd_decode_writer *w = writer;
	int found = cmd_check(stop_text_add(w->stops, piece, &w->certain));

	print_certain(w);
	return found;
}

void cmd_decode_writer_end(struct cmd_decode_writer *w)
{
	stop_text_end(w->stops, &w->certain);
	print_certain(w);
	stop_text_free(w->stops);
	buffer_free(&w->certain);
}

const char *cmd_decode_reason(const struct cmd_decode *d, const struct generate_result *r)
{
	if (cmd_stop_asked())
		return "interrupted";
	if (r->reason == GENERATE_STOP)
		return "an end of text";
	if (r->reason == GENERATE_CANCEL)
		return "a stop";
	return d->tokens && r->tokens == d->tokens ? "as many as asked for" : "the context is full";
}

/* tests/unit/test_training.c - what a run tells of the machine: no share above 1, no time that the process stood still */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/token_pack.h"
#include "lib/base/err.h"
#include "lib/train/training.h"
#include "tests/tap.h"

enum { TOKENS = 4096, STEPS = 400, STANDS_AT = 5 };

struct watch {
	int warnings;
	char warned[256];
	int lines;
	useconds_t stands; /* for so long at the end of STANDS_AT */
	bool stood;
};

static const char *tokens(void)
{
	struct token_header h = {
		.vocab = 61, .bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE
	};
	struct token_pack_options o = { .learnt = ROLES_ALL };
	struct token_pack_writer *w = NULL;
	const char *path = tap_path("tokens");
	struct outfile *f;
	int failed = outfile_new(&f, path) || token_pack_new(&w, f, &h, &o, path);

	for (uint32_t i = 0; i < TOKENS && !failed; i++) {
		uint32_t id = i * i % 61;

		failed = token_pack_add(w, &id, 1);
	}
	failed = failed || token_pack_end_document(w) || token_pack_end(w) || outfile_commit(f);
	token_pack_free(w);
	tap_ok(!failed, "tokens");
	return path;
}

static void warn(void *to, const char *text)
{
	struct watch *w = to;

	w->warnings++;
	snprintf(w->warned, sizeof(w->warned), "%s", text);
}

static int log_line(void *to, struct bytes line)
{
	struct watch *w = to;

	w->lines++;
	if (w->lines == STANDS_AT && w->stands) {
		usleep(w->stands);
		w->stood = true;
	}
	return 0;
}

static bool has_stood(void *to)
{
	struct watch *w = to;
	bool stood = w->stood;

	w->stood = false;
	return stood;
}

static struct training *begin(struct training_setup *s, struct watch *w, double peak)
{
	struct training *t = NULL;

	*s = (struct training_setup){ .backend = backend_cpu(), .version = "test", .peak = peak };
	s->hooks = (struct training_hooks){
		.to = w, .warn = warn, .log = log_line, .stood = has_stood
	};
	training_options_unset(&s->given);
	s->given.model = "fixtures/good/lm/llama";
	s->given.data = tokens();
	s->given.ctx = 8;
	s->given.batch = 2;
	s->given.steps = STEPS;
	tap_works(training_open(&t, s), "a run");
	return t;
}

static void test_share(void)
{
	struct watch w = { 0 };
	struct training_setup s;
	struct training *t = begin(&s, &w, 1e3);
	enum training_event event;
	double most = 0;

	for (int i = 0; t && i < 20; i++) {
		if (!tap_works(training_next(t, &event), "step %d", i + 1))
			break;
		if (training_last(t)->peak_share > most)
			most = training_last(t)->peak_share;
	}
	tap_ok(most == 1, "a machine that was measured too slow: a share of %g, not more than 1",
	       most);
	tap_is_u64((uint64_t)w.warnings, 1, "it is said once");
	tap_ok(strstr(w.warned, "step 1: more than the machine's peak") != NULL,
	       "with the step: %s", w.warned);
	training_close(t);
}

static void test_no_share(void)
{
	struct watch w = { 0 };
	struct training_setup s;
	struct training *t = begin(&s, &w, 0);
	enum training_event event;

	if (t && tap_works(training_next(t, &event), "a step"))
		tap_ok(training_last(t)->peak_share != training_last(t)->peak_share,
		       "no peak, no share");
	tap_is_u64((uint64_t)w.warnings, 0, "nothing is said");
	training_close(t);
}

/* Seconds that are said to be left after the step behind the one that stood, and what they would be if that counted. */
static void test_standing(void)
{
	struct watch w = { .stands = 900 * 1000 };
	struct training_setup s;
	struct training *t = begin(&s, &w, 0);
	enum training_event event;
	const struct training_report *r;

	for (int i = 0; t && i <= STANDS_AT; i++)
		if (!tap_works(training_next(t, &event), "step %d", i + 1))
			break;
	r = training_last(t);
	tap_is_u64(r->step, STANDS_AT + 1, "the step behind");
	tap_ok(r->seconds > 0.9, "%.2f s have gone by", r->seconds);
	tap_ok(r->seconds_left > 0 &&
		       r->seconds_left < (r->seconds - 0.8) / (double)r->step * (STEPS - 6),
	       "%.2f s are left: it did not stand in what is counted on", r->seconds_left);
	training_close(t);
}

int main(void)
{
	tap_run(test_share);
	tap_run(test_no_share);
	tap_run(test_standing);
	return tap_done();
}

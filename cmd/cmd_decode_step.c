/*
 * cmd/cmd_decode_step.c - decode --step: somebody else chooses each token
 *
 * Out go the logits of the next token, in comes the id that was chosen, or several, or `end`.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_decode.h"
#include "cmd/cmd_graph.h"
#include "formats/npy.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/infer/logprobs.h"

#define USUAL 20

struct steps {
	struct cmd_decode *d;
	bool npy;
	size_t k;	      /* tokens a line */
	struct logprob *best; /* owned */
	struct buffer out;
	int32_t *ids; /* owned: those of a line */
	size_t n_ids, ids_room;
	char *line; /* owned */
	size_t line_room;
	uint64_t lines;
};

static void read_how(struct steps *s, const char *how)
{
	size_t vocabulary = (size_t)s->d->lm.model.config->vocab_size;
	uint64_t k = USUAL;

	s->npy = strcmp(how, "npy") == 0;
	if (!s->npy && *how && number_u64(how, 0, vocabulary, &k) < 0)
		cmd_misuse("--step: '%s': %s, or npy", how, err_text());
	s->k = k && k < vocabulary ? (size_t)k : vocabulary;
	s->best = mem_new(s->k, sizeof(*s->best));
	cmd_check(s->best ? 0 : -1);
}

/* --- out --- */

static void write_npy(struct steps *s, const float *logits)
{
	uint64_t n = s->d->lm.model.config->vocab_size;

	buffer_clear(&s->out);
	cmd_check(npy_put_header(&s->out, DTYPE_F32, false, &n, 1));
	for (size_t i = 0; i < n; i++)
		buffer_put_f32(&s->out, logits[i]);
	cmd_check(buffer_check(&s->out));
	cmd_print_bytes(buffer_bytes(&s->out));
}

/* The place, and id, logit and text of each of the K largest. */
static void write_line(struct steps *s, const float *logits)
{
	size_t n = (size_t)s->d->lm.model.config->vocab_size;
	char number[NUMBER_TEXT];
	double own;

	logprobs(logits, n, s->k, s->best, 0, &own);
	cmd_printf("%zu", session_length(s->d->session));
	for (size_t i = 0; i < s->k; i++) {
		int32_t id = s->best[i].id;

		cmd_printf("\t%" PRId32 "\t%s\t", id, number_f32(logits[id], number));
		cmd_print_quoted(tokenizer_piece(s->d->lm.tokenizer, (uint32_t)id));
	}
	cmd_print_char('\n');
}

/* A chooser that compares them would not notice. */
static void check_logits(const struct steps *s, const float *logits)
{
	for (size_t i = 0; i < s->d->lm.model.config->vocab_size; i++)
		if (isnan(logits[i]))
			cmd_die("at the place %zu: the logit of token %zu is not a number",
				session_length(s->d->session), i);
}

static void write_logits(struct steps *s)
{
	const float *logits = session_logits(s->d->session);

	check_logits(s, logits);
	if (s->npy)
		write_npy(s, logits);
	else
		write_line(s, logits);
	cmd_flush();
}

/* --- in --- */

static void read_ids(struct steps *s)
{
	uint64_t most = s->d->lm.model.config->vocab_size - 1, id;
	char *rest = NULL;

	s->n_ids = 0;
	for (char *word = strtok_r(s->line, " \t\r\n", &rest); word;
	     word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (number_u64(word, 0, most, &id) < 0)
			cmd_die("stdin:%" PRIu64 ": '%s': %s, or end", s->lines, word, err_text());
		cmd_check(mem_grow(&s->ids, &s->ids_room, s->n_ids + 1, sizeof(*s->ids)));
		s->ids[s->n_ids++] = (int32_t)id;
	}
	if (s->n_ids == 0)
		cmd_die("stdin:%" PRIu64 ": no id on the line, nor end", s->lines);
}

/* Whether there is a next token. A chooser that dies says no `end`. */
static bool read_line(struct steps *s)
{
	ssize_t n = getline(&s->line, &s->line_room, stdin);

	s->lines++;
	if (n < 0 && ferror(stdin))
		cmd_die("stdin: %s", strerror(errno));
	if (n < 0)
		cmd_die("stdin ended without end, after %" PRIu64 " lines", s->lines - 1);
	if (strlen(s->line) != (size_t)n)
		cmd_die("stdin:%" PRIu64 ": a NUL", s->lines);
	if (strcmp(s->line, "end\n") == 0 || strcmp(s->line, "end") == 0)
		return false;
	read_ids(s);
	return true;
}

void cmd_decode_step(struct cmd_decode *d, const int32_t *prompt, size_t n, const char *how)
{
	struct steps s = { .d = d };
	uint64_t made = 0;

	read_how(&s, how);
	cmd_check(session_append(d->session, prompt, n));
	write_logits(&s);
	while (read_line(&s)) {
		if (s.n_ids > session_context(d->session) - session_length(d->session))
			cmd_die("stdin:%" PRIu64 ": the context of %zu tokens is full: --ctx N "
				"makes a longer one",
				s.lines, session_context(d->session));
		cmd_check(session_append(d->session, s.ids, s.n_ids));
		made += s.n_ids;
		write_logits(&s);
	}
	cmd_note("%" PRIu64 " tokens were chosen", made);
	cmd_op_stats(session_plan(d->session), NULL);
	buffer_free(&s.out);
	free(s.best);
	free(s.ids);
	free(s.line);
}

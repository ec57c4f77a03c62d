/*
 * cmd/cmd_decode_chat.c - decode --chat: a conversation
 *
 * The session holds the tokens of the conversation so far. Before an answer all messages are rendered anew, and only what the session does
 * not hold is read: with most templates that is the new message and what stands around it.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_decode.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_line.h"
#include "lib/base/memory.h"
#include "lib/base/outfile.h"
#include "lib/infer/conversation.h"

struct talk {
	struct cmd_decode *d;
	struct conversation *messages;
	size_t n_system; /* messages that stay: 0 or 1 */
	int32_t *held;	 /* owned: what the session holds */
	size_t n_held, held_room;
	struct cmd_decode_writer writer;
	struct buffer answer;
	int32_t *said; /* owned: the tokens of the answer */
	size_t n_said, said_room;
	uint64_t sample; /* of /regen */
	bool stopped;	 /* by SIGINT */
};

/* --- an answer --- */

static int take_piece(void *to, struct bytes piece)
{
	struct talk *t = to;

	return cmd_decode_write(&t->writer, piece);
}

static int take_token(void *to, int32_t id, const float *logits)
{
	struct talk *t = to;

	cmd_check(mem_grow(&t->said, &t->said_room, t->n_said + 1, sizeof(*t->said)));
	t->said[t->n_said++] = id;
	t->stopped |= cmd_line_interrupted();
	return t->stopped;
}

/* Of a conversation with a person, who can do something about it; else the tool's end. */
static void trouble(const char *what)
{
	if (!cmd_line_is_terminal())
		cmd_die("%s", what);
	cmd_warn("%s", what);
}

static int refuse_long(const struct talk *t, size_t n)
{
	return err_set(ERR_LIMIT,
		       "the conversation has %zu tokens, and the context %zu: /reset begins anew, "
		       "--ctx makes it longer, --context-shift forgets the oldest turns",
		       n, session_context(t->d->session));
}

/* All tokens; where they are to be shifted, the oldest turns go until a quarter of the context is left. */
static int encode(struct talk *t, const int32_t **ids, size_t *n)
{
	size_t context = session_context(t->d->session);

	if (conversation_encode(t->messages, ids, n) < 0)
		return -1;
	while (t->d->shift && *n > context / 4 * 3 &&
	       conversation_length(t->messages) > t->n_system + 2) {
		conversation_forget(t->messages, t->n_system, 2);
		if (conversation_encode(t->messages, ids, n) < 0)
			return -1;
	}
	return *n > context ? refuse_long(t, *n) : 0;
}

static size_t common(const struct talk *t, const int32_t *ids, size_t n)
{
	size_t i = 0;

	while (i < n && i < t->n_held && ids[i] == t->held[i])
		i++;
	return i;
}

static void hold(struct talk *t, const int32_t *ids, size_t n)
{
	if (n == 0)
		return;
	cmd_check(mem_grow(&t->held, &t->held_room, t->n_held + n, sizeof(*t->held)));
	memcpy(t->held + t->n_held, ids, n * sizeof(*ids));
	t->n_held += n;
}

/* Makes the session hold the N tokens. How many it had to read: one at least, which the logits are after. */
static size_t catch_up(struct talk *t, const int32_t *ids, size_t n)
{
	size_t same = common(t, ids, n);

	if (same == n)
		same--;
	session_rewind(t->d->session, same);
	t->n_held = same;
	cmd_check(session_append(t->d->session, ids + same, n - same));
	hold(t, ids + same, n - same);
	return n - same;
}

static struct generate_result go_on(struct talk *t)
{
	struct cmd_decode *d = t->d;
	const struct generate_options o = { .tokens = (size_t)d->tokens,
					    .stops = d->ends.ids,
					    .n_stops = d->ends_count ? d->ends.n : 0,
					    .before = t->held,
					    .n_before = t->n_held,
					    .piece = take_piece,
					    .token = take_token,
					    .to = t };
	struct generate_result r;

	t->n_said = 0;
	buffer_clear(&t->answer);
	t->writer = (struct cmd_decode_writer){ .also = &t->answer };
	cmd_decode_writer_begin(&t->writer, d);
	sampler_set_sample(d->sampler, t->sample);
	cmd_check(generate(d->session, d->sampler, d->lm.tokenizer, &o, &r));
	cmd_decode_writer_end(&t->writer);
	cmd_print_char('\n');
	cmd_flush();
	return r;
}

static void forget_last(struct talk *t)
{
	conversation_forget(t->messages, conversation_length(t->messages) - 1, 1);
}

/* What the model said; a message to which it said nothing is forgotten, for a template may refuse an answer without text. */
static void keep_answer(struct talk *t)
{
	if (t->n_said)
		hold(t, t->said, session_length(t->d->session) - t->n_held);
	cmd_check(buffer_check(&t->answer));
	if (t->answer.size == 0) {
		cmd_warn("no answer: the message is forgotten");
		forget_last(t);
		return;
	}
	cmd_check(conversation_answer(t->messages, buffer_bytes(&t->answer), t->said, t->n_said));
}

/* Answers the messages, whose last one is the user's. */
static void answer(struct talk *t)
{
	struct generate_result r;
	const int32_t *ids;
	size_t n, read;

	if (encode(t, &ids, &n) < 0) {
		trouble(err_text());
		forget_last(t);
		return;
	}
	cmd_line_interrupted();
	t->stopped = false;
	read = catch_up(t, ids, n);
	r = go_on(t);
	keep_answer(t);
	cmd_note("%zu tokens read, %zu said, %zu of %zu in all, %.1f tokens/s: %s", read, r.tokens,
		 t->n_held, session_context(t->d->session),
		 r.seconds > 0 ? (double)r.tokens / r.seconds : 0,
		 t->stopped ? "interrupted" : cmd_decode_reason(t->d, &r));
}

static void say(struct talk *t, struct bytes text)
{
	t->sample = t->d->sampling.sample;
	cmd_check(conversation_add(t->messages, CHAT_USER, text));
	answer(t);
}

/* --- commands --- */

static void reset(struct talk *t)
{
	conversation_forget(t->messages, t->n_system,
			    conversation_length(t->messages) - t->n_system);
	cmd_note("the conversation is forgotten");
}

/* Another answer to the last message: of the next sample, else it would be the same. */
static void regenerate(struct talk *t)
{
	size_t n = conversation_length(t->messages);

	if (n == 0 || conversation_messages(t->messages)[n - 1].role != CHAT_ASSISTANT) {
		trouble("/regen: there is no answer yet");
		return;
	}
	forget_last(t);
	t->sample++;
	answer(t);
}

static int write_all(const char *path, struct bytes text)
{
	struct outfile *f;

	if (outfile_new(&f, path) < 0)
		return -1;
	if (outfile_write(f, text.data, text.size) < 0) {
		outfile_discard(f);
		return -1;
	}
	return outfile_commit(f);
}

static void save(struct talk *t, const char *path)
{
	struct buffer text = { 0 };

	conversation_write(t->messages, &text);
	cmd_check(buffer_check(&text));
	if (!*path)
		trouble("/save FILE: no file is named");
	else if (write_all(path, buffer_bytes(&text)) < 0)
		trouble(err_text());
	else
		cmd_note("%zu messages are in %s", conversation_length(t->messages), path);
	buffer_free(&text);
}

static void help(void)
{
	cmd_printf("/help        this list\n"
		   "/reset       forget the conversation, but not --system\n"
		   "/regen       another answer to the last message\n"
		   "/save FILE   the messages so far, as one JSON line\n"
		   "/quit        end; so does the end of input\n"
		   "//...        a message that begins with a slash\n"
		   "A line that ends in a backslash goes on with the next one. Ctrl-C stops an "
		   "answer.\n");
	cmd_flush();
}

static void unknown(const char *line)
{
	err_set(ERR_ARGUMENT,
		"%s is no command: /help lists them; a message that begins with a slash begins "
		"with two",
		line);
	trouble(err_text());
}

/* A line that begins with a slash. False: the conversation is over. */
static bool command(struct talk *t, char *line)
{
	char *argument = line + strcspn(line, " \t");

	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, " \t");
	if (strcmp(line, "/quit") == 0)
		return false;
	if (strcmp(line, "/help") == 0)
		help();
	else if (strcmp(line, "/reset") == 0)
		reset(t);
	else if (strcmp(line, "/regen") == 0)
		regenerate(t);
	else if (strcmp(line, "/save") == 0)
		save(t, argument);
	else
		unknown(line);
	return true;
}

static bool take_line(struct talk *t, struct buffer *line)
{
	struct bytes text = buffer_bytes(line);

	if (line->size == 0)
		return true;
	if (line->data[0] != '/') {
		say(t, text);
		return true;
	}
	if (line->size > 1 && line->data[1] == '/') {
		say(t, (struct bytes){ text.data + 1, text.size - 1 });
		return true;
	}
	buffer_put_u8(line, 0);
	cmd_check(buffer_check(line));
	return command(t, line->data);
}

/* --- the conversation --- */

static void begin(struct talk *t, enum chat chat, const char *system)
{
	cmd_check(conversation_new(&t->messages, t->d->lm.tokenizer, chat));
	if (!system)
		return;
	cmd_check(conversation_add(t->messages, CHAT_SYSTEM, bytes_of(system)));
	t->n_system = 1;
}

void cmd_decode_chat(struct cmd_decode *d, enum chat chat, const char *system)
{
	struct talk t = { .d = d, .sample = d->sampling.sample };
	struct buffer line = { 0 };
	bool more;

	begin(&t, chat, system);
	cmd_line_begin("decode");
	cmd_decode_say_sampling(d);
	cmd_note("template %s; /help lists commands", chat_name(chat));
	cmd_line_catch(cmd_line_is_terminal());
	do {
		bool taken_back;

		more = cmd_line_read(&line);
		taken_back = !more && cmd_line_interrupted();
		if (taken_back) {
			cmd_print_char('\n');
			more = true;
			continue;
		}
		/* Of a pipe SIGINT at any other time ends the tool. */
		cmd_line_catch(true);
		more = more && take_line(&t, &line);
		cmd_line_catch(cmd_line_is_terminal());
	} while (more);
	cmd_line_catch(false);
	cmd_line_end();
	cmd_op_stats(session_plan(d->session), NULL);
	conversation_free(t.messages);
	buffer_free(&line);
	buffer_free(&t.answer);
	free(t.held);
	free(t.said);
}

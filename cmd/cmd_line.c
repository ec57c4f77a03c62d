/* cmd/cmd_line.c - lines that a person types, or a pipe brings */

#include "cmd/cmd_line.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define HISTORY_LINES 1000

static EditLine *editor; /* NULL: no terminal */
static History *past;
static bool goes_on; /* the line before ended in a backslash */
static char *line;   /* owned: of a pipe */
static size_t line_room;
static volatile sig_atomic_t interrupted;
static struct sigaction before;
static bool caught;

/* --- signals --- */

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

void cmd_line_catch(bool on)
{
	/* No SA_RESTART: a line that is being read is given up. */
	struct sigaction new = { .sa_handler = on_interrupt };

	if (on == caught)
		return;
	sigemptyset(&new.sa_mask);
	interrupted = 0;
	sigaction(SIGINT, on ? &new : &before, on ? &before : NULL);
	caught = on;
}

bool cmd_line_interrupted(void)
{
	bool was = interrupted;

	interrupted = 0;
	return was;
}

/* --- the terminal --- */

static char *prompt(EditLine *e)
{
	static char first[] = "> ", next[] = ". ";

	(void)e;
	return goes_on ? next : first;
}

static void begin_editor(const char *name)
{
	HistEvent event;

	/* How wide characters are; numbers stay as they are. */
	setlocale(LC_CTYPE, "");
	editor = el_init(name, stdin, stdout, stderr);
	past = history_init();
	if (!editor || !past)
		cmd_die("the terminal's line editor cannot start");
	history(past, &event, H_SETSIZE, HISTORY_LINES);
	history(past, &event, H_SETUNIQUE, 1);
	el_set(editor, EL_PROMPT, prompt);
	el_set(editor, EL_EDITOR, "emacs");
	el_set(editor, EL_HIST, history, past);
	el_source(editor, NULL);
}

bool cmd_line_is_terminal(void)
{
	return editor != NULL;
}

void cmd_line_begin(const char *name)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		begin_editor(name);
}

void cmd_line_end(void)
{
	if (past)
		history_end(past);
	if (editor)
		el_end(editor);
	free(line);
	editor = NULL;
	past = NULL;
	line = NULL;
}

/* --- lines --- */

/* One line with its end, NULL at the end of input, or where it was taken back (interrupted). */
static const char *edit(size_t *n)
{
	HistEvent event;
	int got = 0;
	const char *text = el_gets(editor, &got);

	if (!text || got <= 0)
		return NULL;
	if (text[strspn(text, " \t\n")])
		history(past, &event, H_ENTER, text);
	*n = (size_t)got;
	return text;
}

static const char *read_pipe(size_t *n)
{
	ssize_t got = getline(&line, &line_room, stdin);

	if (got < 0 && ferror(stdin) && errno != EINTR)
		cmd_die("stdin: %s", strerror(errno));
	*n = got < 0 ? 0 : (size_t)got;
	return got < 0 ? NULL : line;
}

static bool ends_in_backslash(const struct buffer *b)
{
	return b->size && b->data[b->size - 1] == '\\';
}

bool cmd_line_read(struct buffer *out)
{
	const char *text;
	size_t n;

	buffer_clear(out);
	goes_on = false;
	while ((text = editor ? edit(&n) : read_pipe(&n)) != NULL) {
		buffer_put(out, text, n && text[n - 1] == '\n' ? n - 1 : n);
		cmd_check(buffer_check(out));
		if (!ends_in_backslash(out))
			return true;
		out->data[out->size - 1] = '\n';
		goes_on = true;
	}
	/* What stood before a last backslash is a message all the same, unless it was taken back. */
	return goes_on && !interrupted;
}

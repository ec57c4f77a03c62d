/* cmd/cmd.c - how a tool begins and ends, and its messages */

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd_internal.h"
#include "lib/base/outfile.h"
#include "lib/base/printable.h"

uint64_t cmd_threads;
bool cmd_quiet;

static const struct cmd_spec *current;
static struct team *team;
static bool answer_no;

const struct cmd_spec *cmd_current(void)
{
	return current;
}

void cmd_begin(const struct cmd_spec *spec, int *argc, char ***argv)
{
	current = spec;
	cmd_output_begin();
	cmd_signals_begin();
	cmd_parse(spec, argc, argv);
	if (*argc < spec->min_operands)
		cmd_misuse("an operand is missing: %s", spec->operands);
	if (spec->max_operands >= 0 && *argc > spec->max_operands)
		cmd_misuse("too many operands, from '%s' on", (*argv)[spec->max_operands]);
}

int cmd_end(void)
{
	team_free(team);
	team = NULL;
	cmd_output_end();
	cmd_signals_end();
	return answer_no ? 1 : 0;
}

void cmd_answer_no(void)
{
	answer_no = true;
}

struct team *cmd_team(void)
{
	if (!team)
		cmd_check(team_new(&team, (int)cmd_threads));
	return team;
}

const char *cmd_input(const char *path)
{
	return !path || strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

struct progress *cmd_progress(const char *label, const char *unit, uint64_t total)
{
	struct progress *p;

	cmd_check(progress_new(&p, &(struct progress_options){
					   .label = label,
					   .unit = unit,
					   .total = total,
					   .fd = cmd_quiet ? -1 : STDERR_FILENO,
					   .terminal = isatty(STDERR_FILENO) == 1,
				   }));
	return p;
}

/* --- messages: one write each, so that those of several processes do not mix --- */

#define MESSAGE_MAX 8192

/* RAW with what is not printable as \xNN: arguments may hold anything, and a message is one line. */
static size_t put_clean(char *out, size_t room, const char *raw)
{
	size_t at = 0, left = strlen(raw);

	while (left && at + 4 <= room) {
		size_t n = printable_length(raw, left);

		if (n)
			memcpy(out + at, raw, n);
		else
			snprintf(out + at, 5, "\\x%02x", (unsigned char)*raw);
		at += n ? n : 4;
		raw += n ? n : 1;
		left -= n ? n : 1;
	}
	return at;
}

static void say(const char *format, va_list args, const char *after)
{
	char raw[MESSAGE_MAX], line[MESSAGE_MAX + 2];
	size_t at;
	int n = snprintf(raw, sizeof(raw), "%s: ", current ? current->name : "nnutils");

	at = (size_t)n;
	n = vsnprintf(raw + at, sizeof(raw) - at, format, args);
	if (n < 0)
		snprintf(raw + at, sizeof(raw) - at, "%s", format);
	at = put_clean(line, sizeof(line) - 2 - strlen(after), raw);
	memcpy(line + at, after, strlen(after));
	at += strlen(after);
	line[at++] = '\n';
	while (write(STDERR_FILENO, line, at) < 0 && errno == EINTR)
		;
}

void cmd_fail(void)
{
	outfile_remove_all();
	_exit(2);
}

static void say_usage(void)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "usage: %s [options]%s%s\n", current->name,
			 *current->operands ? " " : "", current->operands);

	while (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0 && errno == EINTR)
		;
}

void cmd_misuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args, " (--help lists the options)");
	va_end(args);
	say_usage();
	cmd_fail();
}

void cmd_usage(void)
{
	say_usage();
	cmd_fail();
}

void cmd_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args, "");
	va_end(args);
	cmd_fail();
}

int cmd_check(int result)
{
	if (result < 0)
		cmd_die("%s", err_text());
	return result;
}

void cmd_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args, "");
	va_end(args);
}

void cmd_note(const char *format, ...)
{
	va_list args;

	if (cmd_quiet)
		return;
	va_start(args, format);
	say(format, args, "");
	va_end(args);
}

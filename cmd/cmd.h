/*
 * cmd/cmd.h - what every tool shares: options, messages, input, output, signals
 *
 * A tool is an option table and a main:
 *
 *	int main(int argc, char **argv)
 *	{
 *		cmd_begin(&spec, &argc, &argv);	   (parses; argv[0] is now the first operand)
 *		cmd_check(thing_open(&t, argv[0])); (any library call that returns -1)
 *		cmd_printf("…");
 *		return cmd_end();		   (flushes stdout; fails if that fails)
 *	}
 *
 * stdout is data, stderr is for people. Exit 0 done, 1 "no" from a tool that answers a question
 * (cmd_answer_no), 2 any trouble. Every table also gets --help and --version, and a hidden
 * --complete that lists the options for the shell's completion.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/base/team.h"

/* Words of an option that may be given several times, or once with commas. */
struct cmd_list {
	const char **items;
	size_t n;
};

enum cmd_kind {
	CMD_KIND_FLAG,	   /* bool */
	CMD_KIND_TEXT,	   /* const char *, as it is */
	CMD_KIND_PATH,	   /* const char *, completed as a file name */
	CMD_KIND_SIZE,	   /* uint64_t in [lo, hi]; k M G Ki Mi Gi */
	CMD_KIND_INT,	   /* int64_t in [lo, hi] */
	CMD_KIND_REAL,	   /* double in [lo, hi] */
	CMD_KIND_RATIO,	   /* double in [0, 1]; 25% */
	CMD_KIND_ENUM,	   /* int: index into words */
	CMD_KIND_LIST,	   /* struct cmd_list, commas split */
	CMD_KIND_TEXTS,	   /* struct cmd_list, each occurrence whole */
	CMD_KIND_OPTIONAL, /* const char *: --name=TEXT, "" for --name alone */
};

struct cmd_option {
	int letter;	  /* or 0 */
	const char *name; /* NULL ends the table */
	enum cmd_kind kind;
	void *value;	 /* set only when the option is given: the initial value is the default */
	const char *arg; /* its name in --help: `N`, `FILE`; NULL for a flag */
	const char *help;
	union {
		struct {
			uint64_t lo, hi;
		} size;
		struct {
			int64_t lo, hi;
		} integer;
		struct {
			double lo, hi;
		} real;
		const char *const *words; /* ends with NULL */
	} range;
};

/* clang-format off */
/* One row; the conditional lets the compiler hold the pointer to its type. */
#define CMD_ROW(letter, name, kind, type, pointer, arg, help, ...) \
	{ letter, name, CMD_KIND_##kind, (1 ? (pointer) : (type *)0), arg, help, { __VA_ARGS__ } }

#define CMD_FLAG(c, n, p, h)         CMD_ROW(c, n, FLAG, bool, p, NULL, h, .words = NULL)
#define CMD_TEXT(c, n, p, a, h)      CMD_ROW(c, n, TEXT, const char *, p, a, h, .words = NULL)
#define CMD_PATH(c, n, p, a, h)      CMD_ROW(c, n, PATH, const char *, p, a, h, .words = NULL)
#define CMD_SIZE(c, n, p, lo, hi, h) CMD_ROW(c, n, SIZE, uint64_t, p, "N", h, .size = { lo, hi })
#define CMD_INT(c, n, p, lo, hi, h)  CMD_ROW(c, n, INT, int64_t, p, "N", h, .integer = { lo, hi })
#define CMD_REAL(c, n, p, lo, hi, h) CMD_ROW(c, n, REAL, double, p, "X", h, .real = { lo, hi })
#define CMD_RATIO(c, n, p, h)        CMD_ROW(c, n, RATIO, double, p, "SHARE", h, .words = NULL)
#define CMD_ENUM(c, n, p, w, a, h)   CMD_ROW(c, n, ENUM, int, p, a, h, .words = w)
#define CMD_LIST(c, n, p, a, h)      CMD_ROW(c, n, LIST, struct cmd_list, p, a, h, .words = NULL)
#define CMD_TEXTS(c, n, p, a, h)     CMD_ROW(c, n, TEXTS, struct cmd_list, p, a, h, .words = NULL)
#define CMD_OPTIONAL(c, n, p, a, h)  CMD_ROW(c, n, OPTIONAL, const char *, p, a, h, .words = NULL)
/* -j, --threads; cmd_team() is made of it. */
#define CMD_THREADS CMD_SIZE('j', "threads", &cmd_threads, 1, TEAM_MAX, "threads to use (default: what the machine allows)")
/* -q, --quiet: no progress and no summaries on stderr. */
#define CMD_QUIET   CMD_FLAG('q', "quiet", &cmd_quiet, "no progress and no remarks on stderr")
#define CMD_END     { .name = NULL }
/* clang-format on */

struct cmd_spec {
	const char *name;
	const char *operands; /* `[file]`, `model …`; "" for none */
	const char *summary;  /* one line, lower case, no full stop: the same as in the man page */
	const struct cmd_option *options;
	const char *notes;		/* printed after the options by --help, or NULL */
	int min_operands, max_operands; /* max -1: any number */
};

extern uint64_t cmd_threads;
extern bool cmd_quiet;

/*
 * Sets up signals and stdout, parses the options, and leaves the operands in *ARGC, *ARGV.
 * --help and --version print and exit 0; misuse prints one line and exits 2.
 */
void cmd_begin(const struct cmd_spec *spec, int *argc, char ***argv);

/* Flushes and closes stdout. Returns main's exit status: 0, 1 after cmd_answer_no, 2 when the
   output could not be written. After a signal that cmd_stop_gracefully caught, dies of it. */
int cmd_end(void);

/* This tool's answer is "no": cmd_end returns 1. */
void cmd_answer_no(void);

/* `usage: NAME [options] OPERANDS` on stderr, exit 2. */
_Noreturn void cmd_usage(void);
/* `tool: MESSAGE` before it. */
_Noreturn void cmd_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* When RESULT is negative: prints `tool: ` and the library's error, removes half-written files,
   exits 2. Returns RESULT. */
int cmd_check(int result);

/* `tool: …`, and exit 2. */
_Noreturn void cmd_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `tool: …`, and on. Not silenced by -q: it is for what the user must know. */
void cmd_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `tool: …` for summaries; nothing under -q. */
void cmd_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* stdout. Failure is noticed at once and ends the tool (exit 2, or death by SIGPIPE). */
void cmd_write(const void *data, size_t n);
void cmd_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cmd_print_char(int c);
void cmd_print_bytes(struct bytes b); /* as they are */
/* What was written goes out now: for output that somebody waits for. */
void cmd_flush(void);
/* Much will be written: where stdout is a pipe, it holds more from now on, if the system lets it. */
void cmd_output_much(void);
/* As a C string in double quotes: \n, \t, \xNN for what is not printable UTF-8. */
void cmd_print_quoted(struct bytes b);
/* Plain when printable and free of white space and quotes, else as cmd_print_quoted: for a column of names. */
void cmd_print_name(struct bytes b);

/* PATH, or `/dev/stdin` for NULL and `-`. */
const char *cmd_input(const char *path);

/* The team of -j; made once, freed by cmd_end. */
struct team *cmd_team(void);

/* Progress on stderr, unless -q. End it with progress_end. */
struct progress *cmd_progress(const char *label, const char *unit, uint64_t total);

/*
 * For a long run that can leave a checkpoint: SIGINT and SIGTERM no longer kill at once;
 * cmd_stop_asked() tells that one came (a second one kills). SIGUSR1, SIGUSR2 and SIGCONT are counted,
 * each asking takes them.
 */
void cmd_stop_gracefully(void);
bool cmd_stop_asked(void);
bool cmd_report_asked(void);	 /* SIGUSR1 */
bool cmd_checkpoint_asked(void); /* SIGUSR2 */
bool cmd_has_stood(void);	 /* SIGCONT: after a stop of the process */

/* The commit that was built: `0.1.0 (abc1234)`. */
const char *cmd_version(void);

#endif

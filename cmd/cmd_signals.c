/*
 * cmd/cmd_signals.c - signals as every tool treats them
 *
 * A signal that ends the tool first removes what is half-written, then kills as it would have, so that
 * make and shells see the signal and stop. One that was ignored when the tool started stays
 * ignored (nohup). SIGXFSZ is ignored so that the write fails, with a message. SIGBUS inside a mapped
 * file means that somebody cut the file: one line, exit 2.
 */

#include <signal.h>
#include <unistd.h>

#include "cmd/cmd_internal.h"
#include "lib/base/mapfile.h"
#include "lib/base/outfile.h"

static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };

static volatile sig_atomic_t stopped_by;
static volatile sig_atomic_t reports, checkpoints, stands;

static void die_of(int number)
{
	sigset_t one;

	outfile_remove_all();
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
}

static void put(const char *s)
{
	ssize_t ignored = write(STDERR_FILENO, s, strlen(s));

	(void)ignored;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	const char *path = mapfile_path_at(info->si_addr);

	(void)context;
	if (!path)
		die_of(number);
	outfile_remove_all();
	put(cmd_current()->name);
	put(": ");
	put(path);
	put(": the file was cut short, or its disk failed, while it was being read\n");
	_exit(2);
}

static void on_stop(int number)
{
	if (stopped_by)
		die_of(number);
	stopped_by = number;
}

static void on_report(int number)
{
	(void)number;
	reports = reports + 1;
}

static void on_checkpoint(int number)
{
	(void)number;
	checkpoints = checkpoints + 1;
}

static void on_continue(int number)
{
	(void)number;
	stands = stands + 1;
}

/* Unless the signal was ignored when the tool started. */
static void handle(int number, void (*handler)(int))
{
	struct sigaction old, new = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigemptyset(&new.sa_mask);
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(number, &new, NULL);
}

void cmd_signals_begin(void)
{
	struct sigaction bus = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		handle(fatal[i], die_of);
	sigemptyset(&bus.sa_mask);
	sigaction(SIGBUS, &bus, NULL);
	signal(SIGXFSZ, SIG_IGN);
}

void cmd_stop_gracefully(void)
{
	handle(SIGINT, on_stop);
	handle(SIGTERM, on_stop);
	handle(SIGUSR1, on_report);
	handle(SIGUSR2, on_checkpoint);
	handle(SIGCONT, on_continue);
}

bool cmd_stop_asked(void)
{
	return stopped_by != 0;
}

/* A signal between the look and the store is lost only if another one is being answered. */
static bool take(volatile sig_atomic_t *count)
{
	if (*count == 0)
		return false;
	*count = 0;
	return true;
}

bool cmd_report_asked(void)
{
	return take(&reports);
}

bool cmd_checkpoint_asked(void)
{
	return take(&checkpoints);
}

bool cmd_has_stood(void)
{
	return take(&stands);
}

void cmd_signals_end(void)
{
	if (stopped_by)
		die_of(stopped_by);
}

/* cmd/: option kinds, and the signals of a long run; each case in a process of its own */

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/base/mapfile.h"
#include "tests/tap.h"

static const char *const words[] = { "red", "green", NULL };
static bool flag;
static const char *text = "none", *alone, *given, *left;
static uint64_t size = 7;
static int64_t integer;
static double real, ratio;
static int word;
static struct cmd_list list, texts;

static const struct cmd_option options[] = {
	CMD_FLAG('f', "flag", &flag, "a flag"),
	CMD_TEXT('t', "text", &text, "TEXT", "a text"),
	CMD_SIZE('s', "size", &size, 1, 5000, "a size"),
	CMD_INT('i', "integer", &integer, -3, 3, "an integer"),
	CMD_REAL('r', "real", &real, 0, 1, "a real"),
	CMD_RATIO(0, "ratio", &ratio, "a share"),
	CMD_ENUM('w', "word", &word, words, "WORD", "a word"),
	CMD_LIST('l', "list", &list, "WORDS", "a list"),
	CMD_TEXTS(0, "texts", &texts, "TEXT", "texts"),
	CMD_OPTIONAL('a', "alone", &alone, "TEXT", "a text or none"),
	CMD_OPTIONAL(0, "given", &given, "TEXT", "a text or none"),
	CMD_OPTIONAL(0, "left", &left, "TEXT", "a text or none"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "tool",
	.operands = "[file]",
	.summary = "a tool",
	.options = options,
	.max_operands = 1,
};

/* Runs WORK in a child whose stderr goes to a file; its wait status. */
static int status_of(void (*work)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen(tap_path("stderr"), "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(99);
		work(arg);
		_exit(98);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int exit_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void parse(const char **words_given)
{
	char **argv = (char **)(uintptr_t)words_given;
	int argc = 0;

	while (argv[argc])
		argc++;
	cmd_begin(&spec, &argc, &argv);
	if (argc == 1 && strcmp(argv[0], "operand") != 0)
		_exit(97);
}

static void parse_all(void *arg)
{
	const char *argv[] = { "tool",	    "-f",      "--text=x", "-s2k",	"operand",
			       "--integer", "-3",      "-r",	   "0.5",	"--ratio",
			       "25%",	    "-w",      "green",	   "-l",	"a,b",
			       "--list=c",  "--texts", "d,e",	   "--given=y", "--alone",
			       NULL };
	bool good;

	(void)arg;
	parse(argv);
	good = flag && strcmp(text, "x") == 0 && size == 2000 && integer == -3 && real == 0.5 &&
	       ratio == 0.25 && word == 1 && list.n == 3 && strcmp(list.items[2], "c") == 0 &&
	       texts.n == 1 && strcmp(texts.items[0], "d,e") == 0 && strcmp(given, "y") == 0 &&
	       alone && *alone == '\0' && !left;
	_exit(good ? 0 : 1);
}

static void parse_one(void *arg)
{
	const char *argv[] = { "tool", arg, NULL };

	parse(argv);
	_exit(0);
}

static void test_options(void)
{
	static const char *const bad[] = { "--size=0",	  "--size=6k",	  "--size=x",
					   "--integer=4", "--integer=1k", "--real=1.5",
					   "--real=nan",  "--ratio=101%", "--word=blue",
					   "--list=a,,b", "--flag=1",	  "--nothing" };

	tap_is_i64(exit_of(status_of(parse_all, NULL)), 0, "every kind of option is read");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *copy = strdup(bad[i]);

		tap_is_i64(exit_of(status_of(parse_one, copy)), 2, "%s is refused", bad[i]);
		free(copy);
	}
}

/* --- signals --- */

static void stop_gracefully(void *arg)
{
	const char *argv[] = { "tool", NULL };
	bool good = true;

	(void)arg;
	parse(argv);
	cmd_stop_gracefully();
	good = good && !cmd_stop_asked() && !cmd_report_asked() && !cmd_checkpoint_asked();
	raise(SIGUSR1);
	good = good && cmd_report_asked() && !cmd_report_asked();
	raise(SIGUSR2);
	good = good && cmd_checkpoint_asked() && !cmd_checkpoint_asked();
	raise(SIGTERM);
	good = good && cmd_stop_asked();
	if (!good)
		_exit(1);
	exit(cmd_end());
}

static void stop_twice(void *arg)
{
	const char *argv[] = { "tool", NULL };

	(void)arg;
	parse(argv);
	cmd_stop_gracefully();
	raise(SIGINT);
	raise(SIGINT);
	_exit(1);
}

static int signal_of(int status)
{
	return WIFSIGNALED(status) ? WTERMSIG(status) : -exit_of(status);
}

static void test_signals(void)
{
	tap_is_i64(signal_of(status_of(stop_gracefully, NULL)), SIGTERM,
		   "a run that was asked to stop ends, and then dies of the signal");
	tap_is_i64(signal_of(status_of(stop_twice, NULL)), SIGINT, "a second signal kills at once");
}

/* The file is cut while it is mapped. */
static void read_cut_file(void *arg)
{
	const char *argv[] = { "tool", NULL };
	struct mapfile *map;
	volatile char sink;

	parse(argv);
	cmd_check(mapfile_open(&map, arg));
	if (truncate(arg, 0) != 0)
		_exit(96);
	sink = mapfile_bytes(map).data[5000];
	(void)sink;
}

static void test_cut_file(void)
{
	char *zeros = calloc(1, 10000), *message;
	const char *path = tap_file("cut", zeros, 10000);
	size_t n;

	tap_is_i64(exit_of(status_of(read_cut_file, (void *)(uintptr_t)path)), 2,
		   "a file that is cut while it is read ends the tool");
	message = tap_fixture(tap_path("stderr"), &n);
	tap_ok(strstr(message, "cut: the file was cut short") != NULL, "with a line that names it");
	free(message);
	free(zeros);
}

int main(void)
{
	tap_folder(); /* the parent's, so that it is removed */
	tap_run(test_options);
	tap_run(test_signals);
	tap_run(test_cut_file);
	return tap_done();
}

/* cmd/cmd_options.c - from argv to the variables of the option table */

#include <getopt.h>
#include <stdlib.h>

#include "cmd/cmd_internal.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

/* Values above any letter, for getopt_long to return. */
enum { OPTION_HELP = 0x1000, OPTION_VERSION, OPTION_COMPLETE, OPTION_FIRST };

static size_t count_options(const struct cmd_spec *spec)
{
	size_t n = 0;

	while (spec->options[n].name)
		n++;
	return n;
}

static void *need(void *p)
{
	if (!p)
		cmd_die("%s", err_text());
	return p;
}

static void list_add(struct cmd_list *list, const char *item)
{
	size_t capacity = list->n;

	cmd_check(mem_grow(&list->items, &capacity, list->n + 1, sizeof(*list->items)));
	list->items[list->n++] = item;
}

/* The parts between commas; empty ones are refused, since they are slips. */
static void list_split(const struct cmd_option *o, const char *text)
{
	while (true) {
		size_t n = strcspn(text, ",");

		if (n == 0)
			cmd_misuse("--%s: an empty word in the list", o->name);
		list_add(o->value, need(mem_copy(text, n)));
		if (text[n] == '\0')
			return;
		text += n + 1;
	}
}

/* `f32, f16 or bf16` */
static void words_text(const char *const *words, char *out, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; words[i] && at < size; i++) {
		const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
		int n = snprintf(out + at, size - at, "%s%s", before, words[i]);

		at += n < 0 ? 0 : (size_t)n;
	}
}

static void set_word(const struct cmd_option *o, const char *text)
{
	char words[512];

	for (int i = 0; o->range.words[i]; i++) {
		if (strcmp(o->range.words[i], text) == 0) {
			*(int *)o->value = i;
			return;
		}
	}
	words_text(o->range.words, words, sizeof(words));
	cmd_misuse("--%s: '%s' is not one of %s", o->name, text, words);
}

static int set_number(const struct cmd_option *o, const char *text)
{
	switch (o->kind) {
	case CMD_KIND_SIZE: return number_u64(text, o->range.size.lo, o->range.size.hi, o->value);
	case CMD_KIND_INT:
		return number_i64(text, o->range.integer.lo, o->range.integer.hi, o->value);
	case CMD_KIND_REAL: return number_real(text, o->range.real.lo, o->range.real.hi, o->value);
	default: return number_ratio(text, o->value);
	}
}

static void set_option(const struct cmd_option *o, const char *text)
{
	switch (o->kind) {
	case CMD_KIND_FLAG: *(bool *)o->value = true; return;
	case CMD_KIND_TEXT:
	case CMD_KIND_PATH: *(const char **)o->value = text; return;
	case CMD_KIND_OPTIONAL: *(const char **)o->value = text ? text : ""; return;
	case CMD_KIND_ENUM: set_word(o, text); return;
	case CMD_KIND_LIST: list_split(o, text); return;
	case CMD_KIND_TEXTS: list_add(o->value, text); return;
	case CMD_KIND_SIZE:
	case CMD_KIND_INT:
	case CMD_KIND_REAL:
	case CMD_KIND_RATIO:
		if (set_number(o, text) < 0)
			cmd_misuse("--%s: %s", o->name, err_text());
	}
}

static int takes_argument(const struct cmd_option *o)
{
	switch (o->kind) {
	case CMD_KIND_FLAG: return no_argument;
	case CMD_KIND_OPTIONAL: return optional_argument;
	default: return required_argument;
	}
}

/* getopt's two tables, made of ours. */
static void getopt_tables(const struct cmd_spec *spec, struct option *longs, char *shorts)
{
	size_t n = count_options(spec);

	*shorts++ = ':'; /* tell a missing argument from an unknown option */
	for (size_t i = 0; i < n; i++) {
		const struct cmd_option *o = &spec->options[i];
		int has_arg = takes_argument(o);

		longs[i] = (struct option){ o->name, has_arg, NULL, OPTION_FIRST + (int)i };
		if (o->letter) {
			*shorts++ = (char)o->letter;
			if (has_arg != no_argument)
				*shorts++ = ':';
			if (has_arg == optional_argument)
				*shorts++ = ':';
		}
	}
	longs[n] = (struct option){ "help", no_argument, NULL, OPTION_HELP };
	longs[n + 1] = (struct option){ "version", no_argument, NULL, OPTION_VERSION };
	longs[n + 2] = (struct option){ "complete", no_argument, NULL, OPTION_COMPLETE };
}

static _Noreturn void print_and_exit(const struct cmd_spec *spec, int which)
{
	if (which == OPTION_HELP)
		cmd_print_help(spec);
	else if (which == OPTION_VERSION)
		cmd_printf("%s (nnutils) %s\n", spec->name, cmd_version());
	else
		cmd_print_completion(spec);
	cmd_output_end();
	exit(0);
}

static const char *long_name(const struct cmd_spec *spec, int value)
{
	switch (value) {
	case OPTION_HELP: return "help";
	case OPTION_VERSION: return "version";
	case OPTION_COMPLETE: return "complete";
	default: return spec->options[value - OPTION_FIRST].name;
	}
}

/* ARG is a long option that is in no table, or of which several begin so. */
static _Noreturn void refuse_name(const struct cmd_spec *spec, const char *arg)
{
	const char *name = arg + strspn(arg, "-"), *nearest;
	size_t n = strcspn(name, "="), count = 0;
	char several[200] = "";

	for (const struct cmd_option *o = spec->options; o->name; o++) {
		size_t at = strlen(several);

		if (n > 0 && strncmp(o->name, name, n) == 0)
			snprintf(several + at, sizeof(several) - at, "%s--%s", count++ ? ", " : "",
				 o->name);
	}
	if (count > 1)
		cmd_misuse("'%s' could be %s", arg, several);
	nearest = cmd_nearest(spec, name, n);
	if (nearest)
		cmd_misuse("'%s' is not an option here; the nearest is --%s", arg, nearest);
	cmd_misuse("'%s' is not an option here", arg);
}

/* optopt is the letter, or for a long option its value in the table (an argument too many), or 0. */
static _Noreturn void refuse(const struct cmd_spec *spec, int got, char *const *argv)
{
	const char *why = got == ':' ? "needs an argument" : "is not an option here";

	if (optopt >= OPTION_HELP) {
		if (got != ':')
			why = "takes no argument";
		cmd_misuse("--%s %s", long_name(spec, optopt), why);
	}
	if (optopt)
		cmd_misuse("-%c %s", optopt, why);
	refuse_name(spec, argv[optind - 1]);
}

static const struct cmd_option *option_of(const struct cmd_spec *spec, int got)
{
	if (got >= OPTION_FIRST)
		return &spec->options[got - OPTION_FIRST];
	for (const struct cmd_option *o = spec->options; o->name; o++)
		if (o->letter == got)
			return o;
	return NULL;
}

void cmd_parse(const struct cmd_spec *spec, int *argc, char ***argv)
{
	size_t n = count_options(spec);
	struct option *longs = need(mem_new(n + 4, sizeof(*longs)));
	char *shorts = need(mem_new(n + 1, 3));
	const struct cmd_option *o;
	int got;

	getopt_tables(spec, longs, shorts);
	opterr = 0;
	while ((got = getopt_long(*argc, *argv, shorts, longs, NULL)) != -1) {
		if (got == OPTION_HELP || got == OPTION_VERSION || got == OPTION_COMPLETE)
			print_and_exit(spec, got);
		o = option_of(spec, got);
		if (!o)
			refuse(spec, got, *argv);
		set_option(o, optarg);
	}
	*argc -= optind;
	*argv += optind;
	free(longs);
	free(shorts);
}

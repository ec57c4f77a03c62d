/* cmd/cmd_help.c - --help for people, --complete for the shell, from the option table */

#include "cmd/cmd_internal.h"

#define HELP_COLUMN 24
#define HELP_WIDTH  80

/* Words up to WIDTH columns, continued under COLUMN. AT is where the cursor stands. */
static void print_wrapped(const char *text, int at)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > HELP_COLUMN && at + (int)n > HELP_WIDTH) {
			cmd_printf("\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		cmd_printf("%.*s", (int)n, text);
		at += (int)n;
		text += n;
		if (*text == ' ') {
			text++;
			if (at < HELP_WIDTH)
				cmd_print_char(' ');
			at++;
		}
	}
	cmd_print_char('\n');
}

static void print_option(int letter, const char *name, const char *arg, bool optional,
			 const char *help)
{
	char head[128];
	int n = snprintf(head, sizeof(head), "  %c%c%c --%s%s%s%s%s", letter ? '-' : ' ',
			 letter ? letter : ' ', letter ? ',' : ' ', name, optional ? "[" : "",
			 arg ? "=" : "", arg ? arg : "", optional ? "]" : "");

	cmd_printf("%s", head);
	if (n + 1 >= HELP_COLUMN) {
		cmd_print_char('\n');
		n = 0;
	}
	cmd_printf("%*s", HELP_COLUMN - n, "");
	print_wrapped(help, HELP_COLUMN);
}

void cmd_print_help(const struct cmd_spec *spec)
{
	cmd_printf("usage: %s [options]%s%s\n%s\n\n", spec->name, *spec->operands ? " " : "",
		   spec->operands, spec->summary);
	for (const struct cmd_option *o = spec->options; o->name; o++)
		print_option(o->letter, o->name, o->arg, o->kind == CMD_KIND_OPTIONAL, o->help);
	print_option(0, "help", NULL, false, "print this and exit");
	print_option(0, "version", NULL, false, "print the version and exit");
	if (spec->notes)
		cmd_printf("\n%s\n", spec->notes);
}

/* --name, -letter, kind, argument, words: tabs between, one option a line. */
static void print_completion(int letter, const char *name, const char *kind, const char *arg,
			     const char *const *words)
{
	cmd_printf("--%s\t", name);
	if (letter)
		cmd_printf("-%c", letter);
	cmd_printf("\t%s\t%s\t", kind, arg ? arg : "");
	for (size_t i = 0; words && words[i]; i++)
		cmd_printf("%s%s", i ? "," : "", words[i]);
	cmd_print_char('\n');
}

void cmd_print_completion(const struct cmd_spec *spec)
{
	static const char *const kinds[] = {
		[CMD_KIND_FLAG] = "flag",
		[CMD_KIND_TEXT] = "text",
		[CMD_KIND_PATH] = "path",
		[CMD_KIND_SIZE] = "size",
		[CMD_KIND_INT] = "int",
		[CMD_KIND_REAL] = "real",
		[CMD_KIND_ENUM] = "enum",
		[CMD_KIND_RATIO] = "ratio",
		[CMD_KIND_LIST] = "list",
		[CMD_KIND_TEXTS] = "text",
		/* The next word is not its argument. */
		[CMD_KIND_OPTIONAL] = "flag",
	};

	for (const struct cmd_option *o = spec->options; o->name; o++)
		print_completion(o->letter, o->name, kinds[o->kind], o->arg,
				 o->kind == CMD_KIND_ENUM ? o->range.words : NULL);
	print_completion(0, "help", "flag", NULL, NULL);
	print_completion(0, "version", "flag", NULL, NULL);
}

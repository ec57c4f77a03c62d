/* cmd/cmd_table.c - a table for people on a terminal, tab-separated lines for everything else */

#include "cmd/cmd_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"

struct cmd_table {
	const char *const *headings;
	size_t n_columns;
	size_t column; /* of the next cell */
	bool aligned;
	struct buffer text; /* aligned: every cell so far, each with its NUL */
	size_t *widths;	    /* in characters */
};

/* Characters, not cells of the terminal: wide ones would need wcwidth and a locale. */
static size_t characters(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

static void put(struct cmd_table *t, const char *cell)
{
	size_t width = characters(cell);

	if (t->aligned) {
		buffer_put(&t->text, cell, strlen(cell) + 1);
		if (width > t->widths[t->column])
			t->widths[t->column] = width;
	} else {
		cmd_printf("%s%s", t->column ? "\t" : "", cell);
	}
	if (++t->column == t->n_columns) {
		t->column = 0;
		if (!t->aligned)
			cmd_print_char('\n');
	}
}

struct cmd_table *cmd_table_new(const char *const *headings)
{
	struct cmd_table *t = mem_new(1, sizeof(*t));

	if (!t)
		cmd_die("%s", err_text());
	t->headings = headings;
	while (headings[t->n_columns])
		t->n_columns++;
	t->aligned = isatty(STDOUT_FILENO);
	t->widths = mem_new(t->n_columns, sizeof(*t->widths));
	if (!t->widths)
		cmd_die("%s", err_text());
	for (size_t i = 0; i < t->n_columns; i++)
		put(t, headings[i] + (headings[i][0] == '>'));
	return t;
}

void cmd_table_cell(struct cmd_table *t, const char *format, ...)
{
	char cell[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(cell, sizeof(cell), format, args);
	va_end(args);
	put(t, cell);
}

void cmd_table_bytes(struct cmd_table *t, struct bytes text)
{
	char *cell = mem_copy(text.data, text.size);

	if (!cell)
		cmd_die("%s", err_text());
	put(t, cell);
	free(cell);
}

void cmd_table_name(struct cmd_table *t, struct bytes name)
{
	struct buffer b = { 0 };

	quote_name(&b, name);
	cmd_check(buffer_check(&b));
	cmd_table_bytes(t, buffer_bytes(&b));
	buffer_free(&b);
}

static void print_cell(const struct cmd_table *t, size_t column, const char *cell)
{
	size_t pad = t->widths[column] - characters(cell);
	bool number = t->headings[column][0] == '>';

	if (column)
		cmd_printf("  ");
	if (number)
		cmd_printf("%*s", (int)pad, "");
	cmd_printf("%s", cell);
	if (!number && column + 1 < t->n_columns)
		cmd_printf("%*s", (int)pad, "");
}

void cmd_table_end(struct cmd_table *t)
{
	size_t column = 0;

	cmd_check(buffer_check(&t->text));
	for (size_t at = 0; at < t->text.size; at += strlen(t->text.data + at) + 1) {
		print_cell(t, column, t->text.data + at);
		if (++column == t->n_columns) {
			column = 0;
			cmd_print_char('\n');
		}
	}
	buffer_free(&t->text);
	free(t->widths);
	free(t);
}

/*
 * cmd/cmd_table.h - a table for people on a terminal, tab-separated lines for everything else
 *
 * The first line holds the headings. On a terminal the columns are aligned, numbers to the right; elsewhere
 * each row goes out at once, so that a table of any length streams. Cells hold no tab or line end:
 * names are quoted where they need it.
 */
#ifndef CMD_CMD_TABLE_H
#define CMD_CMD_TABLE_H

#include "lib/base/bytes.h"

#include <stdint.h>

struct cmd_table;

/* HEADINGS ends with NULL; one that starts with `>` is a column of numbers. Borrowed. */
struct cmd_table *cmd_table_new(const char *const *headings);

/* The next cell; a row is full after as many cells as there are headings. */
void cmd_table_cell(struct cmd_table *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* TEXT is printable, as quote_text gives it. */
void cmd_table_bytes(struct cmd_table *t, struct bytes text);
void cmd_table_name(struct cmd_table *t, struct bytes name);

/* Prints what is left and frees. */
void cmd_table_end(struct cmd_table *t);

#endif

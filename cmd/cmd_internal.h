/* cmd/cmd_internal.h - what the parts of the command layer know of each other; tools include cmd.h */
#ifndef CMD_CMD_INTERNAL_H
#define CMD_CMD_INTERNAL_H

#include "cmd/cmd.h"

/* The spec given to cmd_begin. */
const struct cmd_spec *cmd_current(void);

/* Parses the options and moves ARGC, ARGV to the operands. */
void cmd_parse(const struct cmd_spec *spec, int *argc, char ***argv);

/* The option whose name is nearest to the N bytes at NAME, when they are a slip or two apart; else NULL. */
const char *cmd_nearest(const struct cmd_spec *spec, const char *name, size_t n);

void cmd_print_help(const struct cmd_spec *spec);
void cmd_print_completion(const struct cmd_spec *spec);

/* Removes half-written files and exits 2. */
_Noreturn void cmd_fail(void);

void cmd_output_begin(void);
void cmd_output_end(void); /* flushes and closes stdout, or ends the tool */

void cmd_signals_begin(void);
void cmd_signals_end(void); /* dies of a signal that was caught gracefully */

#endif

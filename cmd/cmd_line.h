/*
 * cmd/cmd_line.h - lines that a person types, or a pipe brings
 *
 * On a terminal (stdin and stdout) a line can be edited, and those before it called back (libedit). SIGINT takes the line back. A line that ends
 * in a backslash goes on with the next one; the backslash becomes a line end.
 */
#ifndef CMD_CMD_LINE_H
#define CMD_CMD_LINE_H

#include <stdbool.h>

#include "lib/base/buffer.h"

/* NAME: whose settings of editrc are used. */
void cmd_line_begin(const char *name);
void cmd_line_end(void);
bool cmd_line_is_terminal(void);
/* The next line, without its end, into OUT, emptied first. False: there is none. Ends the tool where reading fails. */
bool cmd_line_read(struct buffer *out);

/*
 * While it is on, SIGINT is counted and kills nothing; cmd_line_interrupted tells whether one came since it was asked last. Off: SIGINT does what
 * it did before.
 */
void cmd_line_catch(bool on);
bool cmd_line_interrupted(void);

#endif

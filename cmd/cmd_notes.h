/* cmd/cmd_notes.h - remarks that a library call left, a line each */
#ifndef CMD_CMD_NOTES_H
#define CMD_CMD_NOTES_H

#include "lib/base/buffer.h"

/* Every line of B by cmd_note. */
void cmd_note_lines(const struct buffer *b);

#endif

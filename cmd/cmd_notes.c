/* cmd/cmd_notes.c - remarks that a library call left, a line each */

#include "cmd/cmd_notes.h"

#include "cmd/cmd.h"

void cmd_note_lines(const struct buffer *b)
{
	const char *at = b->data, *end = b->size ? at + b->size : at;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line_end = line_end ? line_end : end;
		cmd_note("%.*s", (int)(line_end - at), at);
		at = line_end + 1;
	}
}

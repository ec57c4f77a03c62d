/* Any bytes as a token stream, through a pipe, in which 64 KiB fit. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/token_stream.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_HERE 60000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_reader *r;
	struct token_event e;
	uint64_t sent = 0;
	int fds[2], got = -1;

	if (size > SIZE_MAX_HERE)
		return 0;
	if (pipe(fds) || write(fds[1], data, size) != (ssize_t)size || close(fds[1]))
		abort();
	if (token_reader_open_fd(&r, fds[0], "fuzz") == 0) {
		uint32_t vocab = token_reader_header(r)->vocab;

		while ((got = token_reader_next(r, &e)) > 0) {
			for (size_t i = 0; e.kind == TOKEN_EVENT_IDS && i < e.n; i++)
				if (e.ids[i] >= vocab)
					abort();
			sent = e.kind == TOKEN_EVENT_END ? 0 : sent + e.n;
			if (e.kind == TOKEN_EVENT_RUN && e.run.start + e.run.length > sent)
				abort();
		}
		token_reader_close(r);
	}
	if (got < 0 && !*err_text())
		abort();
	close(fds[0]);
	return 0;
}

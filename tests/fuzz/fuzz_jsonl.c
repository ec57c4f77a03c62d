/*
 * Any bytes as JSON lines, with buffers of two sizes that must give the same records; each
 * goes through the JSON reader. The input passes through a pipe, in which 64 KiB fit.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_HERE 60000
#define LINE_MAX_HERE 3000

/* Every record with its line and place, and then how it ended. */
static void read_all(struct buffer *b, struct json *j, const uint8_t *data, size_t size,
		     size_t buffer)
{
	struct jsonl_options o = { .line_max = LINE_MAX_HERE, .buffer = buffer };
	struct jsonl *r;
	struct bytes record;
	int fds[2], got;

	if (pipe(fds) || write(fds[1], data, size) != (ssize_t)size || close(fds[1]) ||
	    jsonl_open_fd(&r, fds[0], "fuzz", &o))
		abort();
	while ((got = jsonl_next(r, &record)) > 0) {
		json_init(j, record.data, record.size, jsonl_name(r),
			  &(struct json_limits){ .line = jsonl_line(r) });
		buffer_put_u64(b, jsonl_line(r));
		buffer_put_u64(b, jsonl_offset(r));
		buffer_put(b, record.data, record.size);
		if (json_skip(j, NULL) || json_end(j))
			buffer_put_text(b, err_text());
		if (jsonl_offset(r) > size || record.size > size - jsonl_offset(r))
			abort();
	}
	buffer_put_text(b, got ? err_text() : "end");
	jsonl_close(r);
	close(fds[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer small = { 0 }, large = { 0 };
	struct json *j;

	if (size > SIZE_MAX_HERE || json_new(&j))
		return 0;
	read_all(&small, j, data, size, 5);
	read_all(&large, j, data, size, 8192);
	if (!bytes_equal(buffer_bytes(&small), buffer_bytes(&large)))
		abort();
	json_free(j);
	buffer_free(&small);
	buffer_free(&large);
	return 0;
}

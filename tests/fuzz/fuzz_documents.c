/*
 * Any bytes as an input of documents: the first byte chooses how it is cut and what is done about
 * bytes that are not UTF-8. What comes out must be within its limit, and UTF-8 where it says so.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/data/documents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 100000

/* A file without a name, which is reached by its descriptor's. */
static int open_file(char path[64])
{
	static int fd = -1;

	if (fd < 0) {
		snprintf(path, 64, "/dev/shm/nnutils-fuzz-%ld", (long)getpid());
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		unlink(path);
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct documents_options o = { .max_bytes = MOST, .dedup = true };
	char name[64];
	const char *path = name;
	struct documents *d;
	struct document doc;
	int fd = open_file(name);

	if (size < 1)
		return 0;
	o.split = (enum documents_split)(data[0] & 3);
	o.invalid = (enum documents_invalid)((data[0] >> 2 & 3) % 3);
	o.group = data[0] & 16;
	o.crlf = data[0] & 32;
	if (pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1) ||
	    ftruncate(fd, (off_t)size - 1))
		abort();
	if (documents_open(&d, &path, 1, &o))
		abort();
	while (documents_next(d, &doc) > 0) {
		size_t valid = utf8_valid_prefix(doc.text.data, doc.text.size);

		/* Replacing makes at most three bytes of one. */
		if (doc.text.size > 3 * (size_t)MOST || (valid == doc.text.size) != doc.utf8)
			abort();
	}
	documents_close(d);
	return 0;
}

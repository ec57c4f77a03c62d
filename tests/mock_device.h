/*
 * tests/mock_device.h - a device in the host's memory that is as strict as a real one may be
 *
 * Its memory may not be touched but by its queue, which runs nothing before the wait: a plan that forgets a move, reads
 * too early or hands out the wrong pointer dies or gives other bits. Its kernels are a backend's, but for the ops that are
 * left out.
 */
#ifndef TESTS_MOCK_DEVICE_H
#define TESTS_MOCK_DEVICE_H

#include "lib/graph/backend.h"

struct mock_device;

/* Kernels of FROM, but those of the N ops WITHOUT. LIMIT: bytes that it has. Exits when there is no memory. */
struct mock_device *mock_device_new(const struct backend *from, const enum op *without, size_t n,
				    uint64_t limit);
void mock_device_free(struct mock_device *m);
const struct backend *mock_device_backend(struct mock_device *m);

struct mock_counts {
	uint64_t launches, uploads, downloads, waits, captures,
		replays; /* launches: those run from a capture too */
	uint64_t allocated;
};
struct mock_counts mock_device_counts(const struct mock_device *m);
/* The next launch fails: the wait after it says so. */
void mock_device_fail(struct mock_device *m);

#endif

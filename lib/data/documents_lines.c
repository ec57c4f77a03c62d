/*
 * lib/data/documents_lines.c - lines that are not blank, passed over many bytes at once
 *
 * A line that begins with anything but white space is not blank. So only a line end that white space
 * follows needs a closer look; all others are counted where they stand.
 */
#include "lib/base/scan.h"
#include "lib/data/documents_parts.h"

size_t full_lines(const char *p, size_t n, uint64_t *lines)
{
	size_t end = 0;

	if (n == 0 || (unsigned char)p[0] <= ' ')
		return 0;
	/* Each line end is looked at together with the byte behind it. */
	for (size_t at = 0; n - at > SCAN_WIDTH; at += SCAN_WIDTH) {
		uint64_t ends = scan_mask(scan_equal(scan_load(p + at), '\n'));
		uint64_t spaces = scan_mask(scan_at_most(scan_load(p + at + 1), ' '));
		uint64_t stop = ends & spaces;

		ends = scan_up_to(ends, stop);
		*lines += scan_count(ends);
		if (ends)
			end = at + scan_last(ends) + 1;
		if (stop)
			break;
	}
	return end;
}

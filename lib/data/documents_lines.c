/*
 * lib/data/documents_lines.c - lines that are not blank, passed over many bytes at once
 *
 * A line that begins with anything but white space is not blank. So only a line end that white space
 * follows needs a closer look; all others are counted where they stand.
 */
#include "lib/base/scan.h"
#include "lib/data/documents_parts.h"

#define TALLY_MOST 255

/* Whether the line at P, which begins with white space, is blank, or ends later than N bytes from it. */
static bool maybe_blank(const char *p, size_t n)
{
	size_t at = 0;

	while (at < n && (p[at] == ' ' || p[at] == '\t' || p[at] == '\r'))
		at++;
	return at == n || p[at] == '\n';
}

/* The lowest bit of STOPS, line ends from P on with white space behind, that a blank line may follow; 0. */
static uint64_t blank_stop(const char *p, size_t n, uint64_t stops)
{
	while (stops) {
		size_t next = scan_first(stops) + 1;

		if (maybe_blank(p + next, n - next))
			return stops & (0 - stops);
		stops &= stops - 1;
	}
	return 0;
}

size_t full_lines(const char *p, size_t n, uint64_t *lines)
{
	scan_bytes tally = scan_none();
	uint64_t last = 0, stop = 0;
	size_t at, last_at = 0, tallied = 0;

	if (n == 0 || (unsigned char)p[0] <= ' ')
		return 0;
	/* Each line end is looked at together with the byte behind it. */
	for (at = 0; n - at > SCAN_WIDTH; at += SCAN_WIDTH) {
		scan_bytes matches = scan_equal(scan_load(p + at), '\n');
		uint64_t ends = scan_mask(matches);
		uint64_t spaces = scan_mask(scan_at_most(scan_load(p + at + 1), ' '));

		if (ends & spaces && (stop = blank_stop(p + at, n - at, ends & spaces))) {
			last = scan_up_to(ends, stop);
			last_at = at;
			*lines += scan_count(last);
			break;
		}
		last = ends ? ends : last;
		last_at = ends ? at : last_at;
		tally = scan_tally(tally, matches);
		if (++tallied == TALLY_MOST) {
			*lines += scan_tally_sum(tally);
			tally = scan_none();
			tallied = 0;
		}
	}
	*lines += scan_tally_sum(tally);
	return last ? last_at + scan_last(last) + 1 : 0;
}

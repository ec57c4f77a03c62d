/*
 * lib/data/windows.h - window k of epoch e under seed s, from the numbers alone
 *
 * A window is LENGTH inputs and, one token on, LENGTH targets: LENGTH + 1 tokens of a packed token file.
 * Which tokens a window has depends on the file, the length and how windows are filled, never on who
 * asked for what before; so there is no state to save, and readers who share an epoch (reader r of R
 * takes the places r, r + R, ...) get each window exactly once, whatever their number.
 *
 *	cut	the file is cut every LENGTH tokens; each token but the first is a target exactly once.
 *		The last window may be short.
 *	best	documents are kept whole: each goes into the window with the least room that still holds it, longest
 *		first (best-fit decreasing; of windows with the same room the one filled last; documents of
 *		equal length in their order). One that is longer than a window is first cut as above, and its rest
 *		goes as a document. Those of fewer than 2 tokens have no target and are left out.
 *	one	a document a window; what is longer is cut off and counted.
 *
 * The order of an epoch is random_permute of (seed, epoch), scope "windows", row 0.
 */
#ifndef LIB_DATA_WINDOWS_H
#define LIB_DATA_WINDOWS_H

#include "formats/token_pack.h"

#define WINDOW_LENGTH_MAX ((uint32_t)1 << 24)

struct windows_options {
	uint32_t length;    /* 1 to WINDOW_LENGTH_MAX */
	enum token_fit fit; /* FIT_NONE: FIT_CUT */
	uint64_t seed;
	/*
	 * Documents are told apart: they get numbers, so that attention can stay inside one, and the first token
	 * of a document is no target of the one before it. Without, a window has one number, and such targets
	 * count.
	 */
	bool apart;
};

struct windows_counts {
	uint64_t windows;
	uint64_t targets; /* places in all windows with a target, whatever its role */
	uint64_t
		lost; /* tokens that are in no window, because they were cut off or had no target */
	uint64_t cut; /* documents that do not lie whole in one window */
};

struct windows;

/* P must outlive it. Best passes over all documents, and takes 24 bytes of memory for each, 56 while it
   is made; the others take none. */
int windows_new(struct windows **out, const struct token_pack *p, const struct windows_options *o);
void windows_free(struct windows *w); /* NULL is allowed */

uint64_t windows_n(const struct windows *w);
/* Of cut and one too this passes over all documents. */
int windows_count(const struct windows *w, struct windows_counts *out);

/* Which window has place K (below windows_n) in epoch E. */
uint64_t windows_at(const struct windows *w, uint64_t epoch, uint64_t k);

/*
 * Window I (below windows_n), not permuted. The caller has room for LENGTH + 1 ids, and for LENGTH + 1
 * documents and LENGTH of learnt where it wants them (else NULL).
 *	ids	  inputs are ids[0..LENGTH), targets ids[1..LENGTH]; past the last token the padding id, or 0
 *	documents 0, 1, 2, ... in the window; padding has a number of its own, after the last
 *	learnt	  1 where the target of the place is a token of a role to be learnt
 */
int windows_get(const struct windows *w, uint64_t i, uint32_t *ids, uint32_t *documents,
		uint8_t *learnt);

#endif

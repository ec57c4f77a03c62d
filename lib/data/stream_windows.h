/*
 * lib/data/stream_windows.h - windows of a token stream, which is read once and forwards
 *
 * Documents lie end to end, each followed by the id that ends a text (unless it has no tokens, ends in that id, or the tokenizer has none:
 * what pack-tokens does when nothing is said), and are cut every LENGTH tokens: the windows that lib/data/windows.h makes of
 * the same documents packed, roles that are learnt by default. A span of windows is held and shuffled in itself; place K of all is
 * window random_permute(seed, span, scope "stream windows") of the span that K lies in, so what a place has depends on
 * the stream, the options and K alone. Of memory it takes 5 bytes for each token of a span and of AHEAD more.
 */
#ifndef LIB_DATA_STREAM_WINDOWS_H
#define LIB_DATA_STREAM_WINDOWS_H

#include "formats/token_stream.h"

/*
 * A stream tells roles after the tokens. A span is complete when the document that its end lies in has ended, or when so many tokens
 * past the span have come without a role; a role that then comes for a token already given out is an error.
 */
#define STREAM_WINDOWS_AHEAD ((size_t)1 << 18)

struct stream_windows_options {
	uint32_t length; /* 1 to WINDOW_LENGTH_MAX */
	size_t span;	 /* windows that are shuffled together, 1 or more */
	uint64_t seed;
	bool apart; /* as windows_options */
};

struct stream_windows;

/* `-` is stdin. */
int stream_windows_open(struct stream_windows **out, const char *path,
			const struct stream_windows_options *o);
void stream_windows_close(struct stream_windows *s); /* NULL is allowed */

const struct token_header *stream_windows_header(const struct stream_windows *s);
const char *stream_windows_name(const struct stream_windows *s);
struct token_counts stream_windows_counts(const struct stream_windows *s); /* read so far */

/*
 * The window of PLACE, laid out as windows_get does. 1; 0: the stream ended well before it; -1 with the error set: the stream is bad, or PLACE
 * lies in a span that was given up for a later one.
 */
int stream_windows_get(struct stream_windows *s, uint64_t place, uint32_t *ids, uint32_t *documents,
		       uint8_t *learnt);

#endif

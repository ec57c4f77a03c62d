/*
 * lib/text/pretokenize.h - the pre-tokenizers of `tokenizers`: a text into pieces
 */
#ifndef LIB_TEXT_PRETOKENIZE_H
#define LIB_TEXT_PRETOKENIZE_H

#include "lib/text/scanner.h"
#include "lib/text/spec.h"
#include "lib/text/text.h"

struct pretokenizer;

/* Bytes FROM to TO of the text: a piece for the model. Pieces are in order, never empty, and do not overlap. */
struct piece {
	size_t from, to;
};

struct pieces {
	struct piece *items; /* owned */
	size_t n, capacity;
};

/*
 * Compiles N steps. ByteLevel as the last step is not run as a rewriting: pretokenizer_is_byte_level tells, and
 * the model then works on raw bytes, its vocabulary having been mapped back when it was loaded. Anywhere
 * else than last it is ERR_UNSUPPORTED. SPECS' bytes must outlive it.
 */
int pretokenizer_new(struct pretokenizer **out, const struct pretokenizer_spec *specs, size_t n);
void pretokenizer_free(struct pretokenizer *p); /* NULL is allowed */
bool pretokenizer_is_byte_level(const struct pretokenizer *p);
/* The scanner that does all the cutting, nothing else being done to the text; else SCANNER_NONE. */
enum scanner pretokenizer_scanner(const struct pretokenizer *p);
/*
 * Whether the text must be tracked for the pieces to be right: Metaspace with PREPEND_FIRST after a step that cuts
 * asks which pieces come from the document's first byte.
 */
bool pretokenizer_wants_spans(const struct pretokenizer *p);

struct pretokenizer_scratch; /* one a thread */
int pretokenizer_scratch_new(struct pretokenizer_scratch **out);
void pretokenizer_scratch_free(struct pretokenizer_scratch *s); /* NULL is allowed */

/*
 * Cuts TEXT, and changes it where a step does (Metaspace, a prefix space). FIRST: no added token and no text
 * comes before it in the document (prepend schemes). TEXT is well-formed UTF-8. 0, or -1 with the error set.
 */
int pretokenizer_run(const struct pretokenizer *p, struct pretokenizer_scratch *s,
		     struct text *text, bool first, struct pieces *out);

#endif

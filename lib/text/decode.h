/*
 * lib/text/decode.h - the decoders of `tokenizers`: tokens back into text
 *
 * Works on one token at a time, holding back what later tokens can still change, so that a stream of any length
 * decodes in constant memory to the very bytes that decoding the whole would give.
 */
#ifndef LIB_TEXT_DECODE_H
#define LIB_TEXT_DECODE_H

#include "lib/base/buffer.h"
#include "lib/text/spec.h"

struct text_decoder;

/*
 * BYTE_LEVEL: pieces come as raw bytes already. RAW: bytes that are not UTF-8 go out as they are, at once; else an incomplete
 * character is held until it is complete, and what can never be complete becomes U+FFFD, as in `tokenizers`: ByteLevel
 * gives one for each maximal invalid part, ByteFallback one for each byte of a run of byte tokens that is not
 * UTF-8 as a whole, so that such a run is held to its end. What must be seen whole is collected: the one token behind
 * Fuse or ByteLevel, for a regular expression, ByteLevel, ByteFallback, BPEDecoder and CTC. No decoder: a space between
 * any two tokens. SPECS' bytes must outlive it.
 */
int text_decoder_new(struct text_decoder **out, const struct decoder_spec *specs, size_t n,
		     bool byte_level, bool raw);
void text_decoder_free(struct text_decoder *d); /* NULL is allowed */

/*
 * Appends to OUT what PIECE makes certain. ADDED: an added token, which comes as its text: ByteLevel reads that as its
 * alphabet where it can, as in `tokenizers`, and RAW leaves it alone.
 */
int text_decoder_add(struct text_decoder *d, struct bytes piece, bool added, struct buffer *out);
/* Appends what was held back, and begins anew. */
int text_decoder_end(struct text_decoder *d, struct buffer *out);
/* Whether decoding can give back any text exactly (byte-level); else the tool says that it is lossy. */
bool text_decoder_is_exact(const struct text_decoder *d);

#endif

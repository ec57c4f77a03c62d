/*
 * formats/tokenizer_gguf_plan.h - what the files of the GGUF tokenizer writer share
 *
 * A plan is what tokenizer.ggml.* will say. Each kind fills it from the spec, and tells of whatever it cannot say.
 */
#ifndef FORMATS_TOKENIZER_GGUF_PLAN_H
#define FORMATS_TOKENIZER_GGUF_PLAN_H

#include "formats/tokenizer_gguf_write.h"
#include "formats/tokenizer_spm.h"

struct gguf_plan {
	const struct tokenizer_spec *spec;
	const struct tokenizer_gguf_options *options;
	struct arena *arena;
	const char *model;
	struct bytes pre;
	struct spm_piece *pieces; /* by id: every id has one */
	size_t n;
	bool has_scores, has_merges, has_spm, has_bert;
	struct bytes *merges; /* gpt2: `left right` */
	size_t n_merges;
	struct spm_source
		source; /* llama and t5: the flags and the charsmap; its pieces are those above */
	uint32_t bos, eos, unk, cls, sep;
	bool add_bos, add_eos;
	bool other_ids, other_whole; /* what the keys say is not all of the spec */
};

/* How much it matters that the keys do not say a thing of the spec. */
enum gguf_loss {
	LOSS_WHOLE, /* ids of plain text are the same */
	LOSS_RARE,  /* ids differ where text spells a special token, or in like corners */
	LOSS_IDS,   /* ids of ordinary text differ: refused, unless the options allow it */
};

/* Every id with its text, and the types that the spec tells. */
int gguf_plan_pieces(struct gguf_plan *p);

/* Notes it among the differences. -1 with ERR_UNSUPPORTED when it is refused. */
int gguf_plan_loss(struct gguf_plan *p, enum gguf_loss loss, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Flags of added tokens that a GGUF has no place for. */
int gguf_plan_added(struct gguf_plan *p);

/* What begins and ends a text by the post-processors, as bos, eos and the two flags; others are a LOSS_WHOLE. */
int gguf_plan_posts(struct gguf_plan *p);

/* Each fills what is its own. */
int gguf_plan_gpt2(struct gguf_plan *p);
int gguf_plan_spm(struct gguf_plan *p);
int gguf_plan_bert(struct gguf_plan *p);

/* The text [unusedID], with as many underscores behind the number as make it no other piece's. */
struct bytes gguf_gap_text(struct arena *arena, size_t id, unsigned underscores);
/* Whether TEXT is such a text of ID. */
bool gguf_is_gap(struct bytes text, size_t id);

/*
 * tokenizer_gguf_stamp.c. The hash over every key that a tokenizer is read from, in the order of the manual page, and
 * the fingerprints beside it.
 */
int gguf_keys_hash(const struct gguf *g, struct hash128 *out);
/* Sets the stated fingerprints of *OUT where the file states them, and its hash is that of its keys. */
int gguf_stamp_read(struct tokenizer_spec *out, struct arena *arena, const struct gguf *g);
/* Declares the hash of the keys declared so far, and the fingerprints that are not NULL. */
int gguf_stamp_put(struct gguf_writer *w, const struct hash128 *plain, const struct hash128 *whole);

#endif

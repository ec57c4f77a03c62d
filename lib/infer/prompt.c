/* lib/infer/prompt.c - the tokens of a text that is to go on */

#include "lib/infer/prompt.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"

static bool is_end(const struct hf_config *c, uint32_t id)
{
	for (uint32_t i = 0; i < c->eos.n; i++)
		if (c->eos.ids[i] == id)
			return true;
	return false;
}

static int encode(struct encoder *encoder, struct bytes text, enum special_mode special,
		  struct encoding *out)
{
	return encoder_run(encoder, text,
			   &(struct encode_options){ .special = special,
						     .start = START_DOCUMENT,
						     .post_process = true },
			   out);
}

/* How many ends of text the tokenizer put behind what is in E. */
static size_t count_ends(const struct hf_config *c, const struct encoding *e)
{
	size_t n = 0;

	while (n < e->n && is_end(c, e->ids[e->n - 1 - n]))
		n++;
	return n;
}

/* E without the last ENDS. */
static int keep(int32_t **ids, size_t *n, const struct hf_config *c, const struct encoding *e,
		size_t ends)
{
	size_t kept = e->n - (ends < e->n ? ends : e->n);

	*ids = mem_new(kept + 1, sizeof(**ids));
	if (!*ids)
		return -1;
	for (size_t i = 0; i < kept; i++)
		(*ids)[i] = (int32_t)e->ids[i];
	if (kept == 0 && (c->bos.n || c->eos.n))
		(*ids)[kept++] = (int32_t)(c->bos.n ? c->bos.ids[0] : c->eos.ids[0]);
	*n = kept;
	return kept ? 0 : err_set(ERR_ARGUMENT, "an empty text has no token to go on from");
}

int prompt_encode(int32_t **ids, size_t *n, const struct tokenizer *t, const struct hf_config *c,
		  struct bytes text, enum special_mode special)
{
	struct encoding e = { 0 };
	struct encoder *encoder;
	size_t ends = 0;
	int result;

	*ids = NULL;
	*n = 0;
	if (encoder_new(&encoder, t) < 0)
		return -1;
	/* Of plain text no token is an end of text by itself; one that the text spells stays. */
	result = encode(encoder, text, special == SPECIAL_PARSE ? SPECIAL_PLAIN : special, &e);
	if (result == 0) {
		ends = count_ends(c, &e);
		if (special == SPECIAL_PARSE)
			result = encode(encoder, text, special, &e);
	}
	if (result == 0)
		result = keep(ids, n, c, &e, ends);
	encoding_free(&e);
	encoder_free(encoder);
	return result;
}

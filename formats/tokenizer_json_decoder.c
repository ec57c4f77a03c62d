/* formats/tokenizer_json_decoder.c - the decoders of a tokenizer.json */

#include "formats/tokenizer_json_parts.h"

static int read_metaspace(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_metaspace(p, at, &d->metaspace.replacement, &d->metaspace.scheme);
}

static int read_wordpiece(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_text(p, at, "prefix", &d->wordpiece.prefix) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "cleanup", &d->wordpiece.cleanup);
}

static int read_bpe(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_text(p, at, "suffix", &d->suffix);
}

static int read_replace(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_pattern(p, at, &d->replace.pattern) < 0
		       ? -1
		       : tokenizer_json_text(p, at, "content", &d->replace.content);
}

static int read_strip(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_char(p, at, "content", &d->strip.content) < 0 ||
			       tokenizer_json_u32(p, at, "start", &d->strip.start) < 0
		       ? -1
		       : tokenizer_json_u32(p, at, "stop", &d->strip.stop);
}

static int read_ctc(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;

	return tokenizer_json_text(p, at, "pad_token", &d->ctc.pad) < 0 ||
			       tokenizer_json_text(p, at, "word_delimiter_token",
						   &d->ctc.word_delimiter) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "cleanup", &d->ctc.cleanup);
}

static const char *const wordpiece_fields[] = { "prefix", "cleanup", NULL };
static const char *const bpe_fields[] = { "suffix", NULL };
static const char *const replace_fields[] = { "pattern", "content", NULL };
static const char *const strip_fields[] = { "content", "start", "stop", NULL };
static const char *const ctc_fields[] = { "pad_token", "word_delimiter_token", "cleanup", NULL };

static const struct json_part table[] = {
	{ "ByteLevel", DECODER_BYTE_LEVEL, tokenizer_json_byte_level, NULL },
	{ "Metaspace", DECODER_METASPACE, tokenizer_json_metaspace_fields, read_metaspace },
	{ "WordPiece", DECODER_WORDPIECE, wordpiece_fields, read_wordpiece },
	{ "BPEDecoder", DECODER_BPE, bpe_fields, read_bpe },
	{ "ByteFallback", DECODER_BYTE_FALLBACK, NULL, NULL },
	{ "Fuse", DECODER_FUSE, NULL, NULL },
	{ "Replace", DECODER_REPLACE, replace_fields, read_replace },
	{ "Strip", DECODER_STRIP, strip_fields, read_strip },
	{ "CTC", DECODER_CTC, ctc_fields, read_ctc },
};

static void set_kind(void *item, int kind)
{
	((struct decoder_spec *)item)->kind = (enum decoder_kind)kind;
}

int tokenizer_json_decoders(struct tokenizer_json *p)
{
	static const struct json_family family = { "decoder",
						   "decoders",
						   table,
						   sizeof(table) / sizeof(table[0]),
						   sizeof(struct decoder_spec),
						   set_kind };

	p->out->decoders = tokenizer_json_family(p, &family, &p->out->n_decoders);
	return p->out->decoders ? 0 : -1;
}

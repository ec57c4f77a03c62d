/* formats/tokenizer_json_decoder.c - the decoders of a tokenizer.json */

#include "formats/tokenizer_json_parts.h"

static int read_metaspace(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct decoder_spec *d = spec;
	unsigned scheme = PREPEND_ALWAYS;
	bool prefix = true;

	if (tokenizer_json_char(p, at, "replacement", &d->metaspace.replacement) < 0 ||
	    json_tree_bool(p->tree, at, "add_prefix_space", &prefix) < 0)
		return -1;
	if (json_tree_find(p->tree, at, "prepend_scheme") &&
	    tokenizer_json_word(p, at, "prepend_scheme", tokenizer_json_schemes, &scheme) < 0)
		return -1;
	if (!prefix && scheme != PREPEND_NEVER)
		return json_tree_fail(p->tree, json_tree_find(p->tree, at, "add_prefix_space"),
				      ERR_FORMAT, "false does not go with prepend_scheme %s",
				      tokenizer_json_schemes[scheme]);
	d->metaspace.scheme = (enum prepend_scheme)scheme;
	return 0;
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

/* Those of ByteLevel and `split` say nothing in a decoder, and `tokenizers` writes them all the same. */
static const char *const byte_level_fields[] = { "add_prefix_space", "trim_offsets", "use_regex",
						 NULL };
static const char *const metaspace_fields[] = { "replacement",	    "str_rep", "prepend_scheme",
						"add_prefix_space", "split",   NULL };
static const char *const wordpiece_fields[] = { "prefix", "cleanup", NULL };
static const char *const bpe_fields[] = { "suffix", NULL };
static const char *const replace_fields[] = { "pattern", "content", NULL };
static const char *const strip_fields[] = { "content", "start", "stop", NULL };
static const char *const ctc_fields[] = { "pad_token", "word_delimiter_token", "cleanup", NULL };

static const struct json_part table[] = {
	{ "ByteLevel", DECODER_BYTE_LEVEL, byte_level_fields, NULL },
	{ "Metaspace", DECODER_METASPACE, metaspace_fields, read_metaspace },
	{ "WordPiece", DECODER_WORDPIECE, wordpiece_fields, read_wordpiece },
	{ "BPEDecoder", DECODER_BPE, bpe_fields, read_bpe },
	{ "ByteFallback", DECODER_BYTE_FALLBACK, NULL, NULL },
	{ "Fuse", DECODER_FUSE, NULL, NULL },
	{ "Replace", DECODER_REPLACE, replace_fields, read_replace },
	{ "Strip", DECODER_STRIP, strip_fields, read_strip },
	{ "CTC", DECODER_CTC, ctc_fields, read_ctc },
};

static int read_item(struct tokenizer_json *p, const cJSON *at, const struct json_part *part,
		     void *item)
{
	struct decoder_spec *d = item;

	d->kind = (enum decoder_kind)part->kind;
	return part->read ? part->read(p, at, d) : 0;
}

int tokenizer_json_decoders(struct tokenizer_json *p)
{
	static const struct json_family family = {
		.key = "decoder",
		.list = "decoders",
		.table = table,
		.n_table = sizeof(table) / sizeof(table[0]),
		.item_size = sizeof(struct decoder_spec),
		.read = read_item,
	};
	const void *items = NULL;

	if (tokenizer_json_family(p, &family, &items, &p->out->n_decoders) < 0)
		return -1;
	p->out->decoders = items;
	return 0;
}

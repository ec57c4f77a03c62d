/* formats/tokenizer_json_put_parts.c - normalizers, pre-tokenizers and decoders into a tokenizer.json */

#include "formats/json.h"
#include "formats/tokenizer_base64.h"
#include "formats/tokenizer_json_parts.h"
#include "formats/tokenizer_json_put.h"

void tokenizer_put_pattern(struct json_pretty *w, const struct pattern_spec *pattern)
{
	pretty_key(w, bytes_of("pattern"));
	pretty_open(w, '{');
	pretty_text(w, pattern->is_regex ? "Regex" : "String", pattern->text);
	pretty_close(w, '}');
}

static void put_bert(struct json_pretty *w, const struct normalizer_spec *n)
{
	pretty_bool(w, "clean_text", n->bert.clean_text);
	pretty_bool(w, "handle_chinese_chars", n->bert.handle_chinese_chars);
	if (n->bert.strip_accents == STATE_NULL)
		pretty_null(w, "strip_accents");
	else
		pretty_bool(w, "strip_accents", n->bert.strip_accents == STATE_TRUE);
	pretty_bool(w, "lowercase", n->bert.lowercase);
}

static void put_charsmap(struct json_pretty *w, struct bytes charsmap)
{
	pretty_key(w, bytes_of("precompiled_charsmap"));
	buffer_put_text(w->out, "\"");
	base64_put(w->out, charsmap);
	buffer_put_text(w->out, "\"");
}

static void put_normalizer(struct json_pretty *w, const void *item)
{
	static const char *const types[] = {
		"NFC",	       "NFD",	       "NFKC",		 "NFKD",
		"Lowercase",   "StripAccents", "BertNormalizer", "Nmt",
		"Precompiled", "Replace",      "Prepend",	 "Strip",
		"ByteLevel"
	};
	const struct normalizer_spec *n = item;

	pretty_type(w, types[n->kind]);
	switch (n->kind) {
	case NORMALIZER_BERT: put_bert(w, n); break;
	case NORMALIZER_PRECOMPILED: put_charsmap(w, n->charsmap); break;
	case NORMALIZER_REPLACE:
		tokenizer_put_pattern(w, &n->replace.pattern);
		pretty_text(w, "content", n->replace.content);
		break;
	case NORMALIZER_PREPEND: pretty_text(w, "prepend", n->prepend); break;
	case NORMALIZER_STRIP:
		pretty_bool(w, "strip_left", n->strip.left);
		pretty_bool(w, "strip_right", n->strip.right);
		break;
	default: break;
	}
	pretty_close(w, '}');
}

void tokenizer_put_normalizers(struct json_pretty *w, const struct tokenizer_spec *spec)
{
	tokenizer_put_family(w, "normalizer", "normalizers", spec->n_normalizers, spec->normalizers,
			     sizeof(*spec->normalizers), put_normalizer);
}

static void put_metaspace(struct json_pretty *w, uint32_t replacement, enum prepend_scheme scheme,
			  bool split)
{
	pretty_char(w, "replacement", replacement);
	pretty_text(w, "prepend_scheme", bytes_of(tokenizer_json_schemes[scheme]));
	pretty_bool(w, "split", split);
}

static void put_byte_level(struct json_pretty *w, bool prefix, bool trim, bool regex)
{
	pretty_bool(w, "add_prefix_space", prefix);
	pretty_bool(w, "trim_offsets", trim);
	pretty_bool(w, "use_regex", regex);
}

static void put_behavior(struct json_pretty *w, enum split_behavior behavior)
{
	pretty_text(w, "behavior", bytes_of(tokenizer_json_behaviors[behavior]));
}

static void put_pretokenizer(struct json_pretty *w, const void *item)
{
	static const char *const types[] = {
		"ByteLevel",	      "Split",	     "Digits",		"Punctuation",
		"Metaspace",	      "Whitespace",  "WhitespaceSplit", "BertPreTokenizer",
		"CharDelimiterSplit", "FixedLength", "UnicodeScripts"
	};
	const struct pretokenizer_spec *s = item;

	pretty_type(w, types[s->kind]);
	switch (s->kind) {
	case PRETOKENIZER_BYTE_LEVEL:
		put_byte_level(w, s->byte_level.add_prefix_space, s->byte_level.trim_offsets,
			       s->byte_level.use_regex);
		break;
	case PRETOKENIZER_SPLIT:
		tokenizer_put_pattern(w, &s->split.pattern);
		put_behavior(w, s->split.behavior);
		pretty_bool(w, "invert", s->split.invert);
		break;
	case PRETOKENIZER_DIGITS: pretty_bool(w, "individual_digits", s->digits.individual); break;
	case PRETOKENIZER_PUNCTUATION: put_behavior(w, s->punctuation.behavior); break;
	case PRETOKENIZER_METASPACE:
		put_metaspace(w, s->metaspace.replacement, s->metaspace.scheme, s->metaspace.split);
		break;
	case PRETOKENIZER_CHAR_DELIMITER: pretty_char(w, "delimiter", s->delimiter); break;
	case PRETOKENIZER_FIXED_LENGTH: pretty_u32(w, "length", s->length); break;
	default: break;
	}
	pretty_close(w, '}');
}

void tokenizer_put_pretokenizers(struct json_pretty *w, const struct tokenizer_spec *spec)
{
	tokenizer_put_family(w, "pre_tokenizer", "pretokenizers", spec->n_pretokenizers,
			     spec->pretokenizers, sizeof(*spec->pretokenizers), put_pretokenizer);
}

static void put_decoder(struct json_pretty *w, const void *item)
{
	static const char *const types[] = { "ByteLevel",  "Metaspace",	   "WordPiece",
					     "BPEDecoder", "ByteFallback", "Fuse",
					     "Replace",	   "Strip",	   "CTC" };
	const struct decoder_spec *d = item;

	pretty_type(w, types[d->kind]);
	switch (d->kind) {
	case DECODER_BYTE_LEVEL: put_byte_level(w, true, true, true); break;
	case DECODER_METASPACE:
		put_metaspace(w, d->metaspace.replacement, d->metaspace.scheme, true);
		break;
	case DECODER_WORDPIECE:
		pretty_text(w, "prefix", d->wordpiece.prefix);
		pretty_bool(w, "cleanup", d->wordpiece.cleanup);
		break;
	case DECODER_BPE: pretty_text(w, "suffix", d->suffix); break;
	case DECODER_REPLACE:
		tokenizer_put_pattern(w, &d->replace.pattern);
		pretty_text(w, "content", d->replace.content);
		break;
	case DECODER_STRIP:
		pretty_char(w, "content", d->strip.content);
		pretty_u32(w, "start", d->strip.start);
		pretty_u32(w, "stop", d->strip.stop);
		break;
	case DECODER_CTC:
		pretty_text(w, "pad_token", d->ctc.pad);
		pretty_text(w, "word_delimiter_token", d->ctc.word_delimiter);
		pretty_bool(w, "cleanup", d->ctc.cleanup);
		break;
	default: break;
	}
	pretty_close(w, '}');
}

void tokenizer_put_decoders(struct json_pretty *w, const struct tokenizer_spec *spec)
{
	tokenizer_put_family(w, "decoder", "decoders", spec->n_decoders, spec->decoders,
			     sizeof(*spec->decoders), put_decoder);
}

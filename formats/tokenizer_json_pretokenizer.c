/* formats/tokenizer_json_pretokenizer.c - the pre-tokenizers of a tokenizer.json */

#include "formats/tokenizer_json_parts.h"

static int read_byte_level(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;

	s->byte_level.use_regex = true; /* files older than the field */
	if (json_tree_bool(p->tree, at, "use_regex", &s->byte_level.use_regex) < 0)
		return -1;
	return tokenizer_json_bool(p, at, "add_prefix_space", &s->byte_level.add_prefix_space) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "trim_offsets", &s->byte_level.trim_offsets);
}

static int read_split(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;
	unsigned behavior;

	if (tokenizer_json_pattern(p, at, &s->split.pattern) < 0 ||
	    tokenizer_json_word(p, at, "behavior", tokenizer_json_behaviors, &behavior) < 0)
		return -1;
	s->split.behavior = (enum split_behavior)behavior;
	return tokenizer_json_bool(p, at, "invert", &s->split.invert);
}

static int read_digits(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;

	return tokenizer_json_bool(p, at, "individual_digits", &s->digits.individual);
}

static int read_punctuation(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;
	unsigned behavior = SPLIT_ISOLATED;

	if (json_tree_find(p->tree, at, "behavior") &&
	    tokenizer_json_word(p, at, "behavior", tokenizer_json_behaviors, &behavior) < 0)
		return -1;
	s->punctuation.behavior = (enum split_behavior)behavior;
	return 0;
}

static int read_metaspace(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;

	s->metaspace.split = true;
	if (json_tree_bool(p->tree, at, "split", &s->metaspace.split) < 0)
		return -1;
	return tokenizer_json_metaspace(p, at, &s->metaspace.replacement, &s->metaspace.scheme);
}

static int read_delimiter(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;

	return tokenizer_json_char(p, at, "delimiter", &s->delimiter);
}

static int read_length(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct pretokenizer_spec *s = spec;

	s->length = 5; /* the default of tokenizers */
	if (json_tree_find(p->tree, at, "length") &&
	    tokenizer_json_u32(p, at, "length", &s->length) < 0)
		return -1;
	if (!s->length)
		return json_tree_fail(p->tree, json_tree_find(p->tree, at, "length"), ERR_FORMAT,
				      "is 0");
	return 0;
}

static const char *const split_fields[] = { "pattern", "behavior", "invert", NULL };
static const char *const digits_fields[] = { "individual_digits", NULL };
static const char *const punctuation_fields[] = { "behavior", NULL };
static const char *const delimiter_fields[] = { "delimiter", NULL };
static const char *const length_fields[] = { "length", NULL };

static const struct json_part table[] = {
	{ "ByteLevel", PRETOKENIZER_BYTE_LEVEL, tokenizer_json_byte_level, read_byte_level },
	{ "Split", PRETOKENIZER_SPLIT, split_fields, read_split },
	{ "Digits", PRETOKENIZER_DIGITS, digits_fields, read_digits },
	{ "Punctuation", PRETOKENIZER_PUNCTUATION, punctuation_fields, read_punctuation },
	{ "Metaspace", PRETOKENIZER_METASPACE, tokenizer_json_metaspace_fields, read_metaspace },
	{ "Whitespace", PRETOKENIZER_WHITESPACE, NULL, NULL },
	{ "WhitespaceSplit", PRETOKENIZER_WHITESPACE_SPLIT, NULL, NULL },
	{ "BertPreTokenizer", PRETOKENIZER_BERT, NULL, NULL },
	{ "CharDelimiterSplit", PRETOKENIZER_CHAR_DELIMITER, delimiter_fields, read_delimiter },
	{ "FixedLength", PRETOKENIZER_FIXED_LENGTH, length_fields, read_length },
	{ "UnicodeScripts", PRETOKENIZER_UNICODE_SCRIPTS, NULL, NULL },
};

static void set_kind(void *item, int kind)
{
	((struct pretokenizer_spec *)item)->kind = (enum pretokenizer_kind)kind;
}

int tokenizer_json_pretokenizers(struct tokenizer_json *p)
{
	static const struct json_family family = { "pre_tokenizer",
						   "pretokenizers",
						   table,
						   sizeof(table) / sizeof(table[0]),
						   sizeof(struct pretokenizer_spec),
						   set_kind };

	p->out->pretokenizers = tokenizer_json_family(p, &family, &p->out->n_pretokenizers);
	return p->out->pretokenizers ? 0 : -1;
}

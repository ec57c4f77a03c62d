/* formats/tokenizer_json_normalizer.c - the normalizers of a tokenizer.json */

#include "formats/tokenizer_base64.h"
#include "formats/tokenizer_json_parts.h"

static int read_bert(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct normalizer_spec *n = spec;
	bool strip;
	int got = json_tree_bool(p->tree, at, "strip_accents", &strip);

	if (got < 0)
		return -1;
	n->bert.strip_accents = !got ? STATE_NULL : strip ? STATE_TRUE : STATE_FALSE;
	return tokenizer_json_bool(p, at, "clean_text", &n->bert.clean_text) < 0 ||
			       tokenizer_json_bool(p, at, "handle_chinese_chars",
						   &n->bert.handle_chinese_chars) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "lowercase", &n->bert.lowercase);
}

static int read_precompiled(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct normalizer_spec *n = spec;
	struct bytes text;

	if (tokenizer_json_text(p, at, "precompiled_charsmap", &text) < 0)
		return -1;
	if (base64_decode(p->arena, text, &n->charsmap) < 0)
		return json_tree_fail(p->tree, json_tree_find(p->tree, at, "precompiled_charsmap"),
				      ERR_FORMAT, "is not base64");
	return 0;
}

static int read_replace(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct normalizer_spec *n = spec;

	return tokenizer_json_pattern(p, at, &n->replace.pattern) < 0
		       ? -1
		       : tokenizer_json_text(p, at, "content", &n->replace.content);
}

static int read_prepend(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct normalizer_spec *n = spec;

	return tokenizer_json_text(p, at, "prepend", &n->prepend);
}

static int read_strip(struct tokenizer_json *p, const cJSON *at, void *spec)
{
	struct normalizer_spec *n = spec;

	return tokenizer_json_bool(p, at, "strip_left", &n->strip.left) < 0
		       ? -1
		       : tokenizer_json_bool(p, at, "strip_right", &n->strip.right);
}

static const char *const bert_fields[] = { "clean_text", "handle_chinese_chars", "strip_accents",
					   "lowercase", NULL };
static const char *const precompiled_fields[] = { "precompiled_charsmap", NULL };
static const char *const replace_fields[] = { "pattern", "content", NULL };
static const char *const prepend_fields[] = { "prepend", NULL };
static const char *const strip_fields[] = { "strip_left", "strip_right", NULL };

static const struct json_part table[] = {
	{ "NFC", NORMALIZER_NFC, NULL, NULL },
	{ "NFD", NORMALIZER_NFD, NULL, NULL },
	{ "NFKC", NORMALIZER_NFKC, NULL, NULL },
	{ "NFKD", NORMALIZER_NFKD, NULL, NULL },
	{ "Lowercase", NORMALIZER_LOWERCASE, NULL, NULL },
	{ "StripAccents", NORMALIZER_STRIP_ACCENTS, NULL, NULL },
	{ "BertNormalizer", NORMALIZER_BERT, bert_fields, read_bert },
	{ "Nmt", NORMALIZER_NMT, NULL, NULL },
	{ "Precompiled", NORMALIZER_PRECOMPILED, precompiled_fields, read_precompiled },
	{ "Replace", NORMALIZER_REPLACE, replace_fields, read_replace },
	{ "Prepend", NORMALIZER_PREPEND, prepend_fields, read_prepend },
	{ "Strip", NORMALIZER_STRIP, strip_fields, read_strip },
	{ "ByteLevel", NORMALIZER_BYTE_LEVEL, NULL, NULL },
};

static void set_kind(void *item, int kind)
{
	((struct normalizer_spec *)item)->kind = (enum normalizer_kind)kind;
}

int tokenizer_json_normalizers(struct tokenizer_json *p)
{
	static const struct json_family family = { "normalizer",
						   "normalizers",
						   table,
						   sizeof(table) / sizeof(table[0]),
						   sizeof(struct normalizer_spec),
						   set_kind };

	p->out->normalizers = tokenizer_json_family(p, &family, &p->out->n_normalizers);
	return p->out->normalizers ? 0 : -1;
}

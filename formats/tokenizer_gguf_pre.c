/* formats/tokenizer_gguf_pre.c - what the `pre` names of GGUF mean */

#include "formats/tokenizer_gguf_pre.h"

#include "lib/base/err.h"
#include "lib/text/scanner.h"

/* clang-format off */

/* English contractions, whatever their case. */
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS	     "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SPACES	     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SIGNS	     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define UPPER	     "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER	     "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
/* Words cut where small letters end; END is what may follow one. */
#define CASED(end)   "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" end

#define LLAMA3	     CONTRACTIONS "|" WORDS "|\\p{N}{1,3}|" SIGNS "|" SPACES
#define QWEN2	     CONTRACTIONS "|" WORDS "|\\p{N}|" SIGNS "|" SPACES
#define QWEN35	     CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES
#define UFAKZEKA     WORDS "|\\p{N}|" SIGNS "|" SPACES
#define MINICPM5     CONTRACTIONS "|" WORDS "|\\p{N}+|" SIGNS "|" SPACES
#define TEKKEN	     CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES
#define O200K	     CASED(CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES
#define YOUTU	     CASED(CONTRACTIONS "?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES
#define BAILING	     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define SEED_CODER   CONTRACTIONS "|" WORDS "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES
#define EXAONE_MOE   CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define JAIS2	     CONTRACTIONS "|" WORDS "|\\p{N}{1,3}|" SIGNS "|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"
#define BLOOM	     " ?[^(\\s|.,!?…。，、।۔،)]+"
#define ASIAN	     "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+"
#define CJK	     "[一-龥぀-ゟ゠-ヿ]+"
#define DEEPSEEK3    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

/* clang-format on */

#define STEPS_MAX 5
#define DIGITS	  "\1" /* not a pattern: the component Digits, one by one */
#define GPT2	  "\2" /* not a pattern: ByteLevel's own */

/* Steps one after the other; the last ends in ByteLevel. */
static const struct way {
	const char *steps[STEPS_MAX + 1];
	struct gguf_pre flags;
	const char *names; /* with spaces around each; the first one is written */
} ways[] = {
	{ { GPT2 },
	  { 0 },
	  " gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert "
	  "exaone4 "
	  "mpt olmo jais trillion granite-docling " },
	{ { GPT2 }, { .add_sep = true }, " roberta-bpe jina-v1-en jina-v2-code " },
	{ { DIGITS, GPT2 },
	  { 0 },
	  " smollm starcoder refact command-r codeshell exaone minerva-7b mellum2 " },
	{ { LLAMA3 },
	  { .ignore_merges = true, .add_bos = true },
	  " llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano " },
	{ { LLAMA3 }, { 0 }, " dbrx smaug-bpe glm4 chatglm-bpe " },
	{ { QWEN2 },
	  { 0 },
	  " qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2 " },
	{ { QWEN35 }, { 0 }, " qwen35 " },
	{ { UFAKZEKA }, { 0 }, " ufakzeka " },
	{ { "\\p{N}{1,3}", MINICPM5 }, { .ignore_merges = true }, " minicpm5 " },
	{ { TEKKEN }, { .ignore_merges = true, .add_bos = true }, " tekken " },
	{ { O200K }, { 0 }, " gpt-4o llama4 kanana2 talkie minimax-m2 " },
	{ { "\\d{1,3}(?=(?:\\d{3})*\\b)", O200K }, { 0 }, " tiny_aya cohere2moe " },
	{ { ASIAN, YOUTU }, { .ignore_merges = true }, " youtu " },
	{ { BAILING }, { 0 }, " bailingmoe bailingmoe2 llada-moe " },
	{ { SEED_CODER }, { 0 }, " seed-coder " },
	{ { EXAONE_MOE }, { 0 }, " exaone-moe " },
	{ { JAIS2 }, { 0 }, " jais-2 " },
	{ { "[^\\n]+|[\\n]+", QWEN2 }, { 0 }, " laguna " },
	{ { BLOOM }, { 0 }, " bloom poro-chat gpt3-finnish " },
	{ { BLOOM, DIGITS }, { 0 }, " viking " },
	{ { "\\p{N}{1,3}", CJK, DEEPSEEK3 }, { 0 }, " deepseek-v3 hunyuan-dense joyai-llm hy_v4 " },
	{ { "[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", DIGITS },
	  { 0 },
	  " deepseek-coder " },
};

/* Whether NAME stands in the list NAMES, between spaces. */
static bool names_it(const char *names, struct bytes name)
{
	const char *at = names + 1;

	if (!name.size || memchr(name.data, ' ', name.size))
		return false;
	while (*at) {
		size_t n = strcspn(at, " ");

		if (n == name.size && memcmp(at, name.data, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

static struct pretokenizer_spec byte_level(bool use_regex)
{
	struct pretokenizer_spec s = { .kind = PRETOKENIZER_BYTE_LEVEL };

	s.byte_level.trim_offsets = true;
	s.byte_level.use_regex = use_regex;
	return s;
}

static struct pretokenizer_spec step(const char *text)
{
	struct pretokenizer_spec s = { 0 };

	if (strcmp(text, GPT2) == 0)
		return byte_level(true);
	if (strcmp(text, DIGITS) == 0) {
		s.kind = PRETOKENIZER_DIGITS;
		s.digits.individual = true;
		return s;
	}
	s.kind = PRETOKENIZER_SPLIT;
	s.split.pattern = (struct pattern_spec){ .is_regex = true,
						 .dialect = REGEX_ONIGURUMA,
						 .text = bytes_of(text) };
	s.split.behavior = SPLIT_ISOLATED;
	return s;
}

static const struct way *find(struct bytes name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (names_it(ways[i].names, name))
			return &ways[i];
	return NULL;
}

int gguf_pre_find(const struct pretokenizer_spec **out, size_t *n, struct gguf_pre *flags,
		  struct arena *arena, struct bytes name, const char *file)
{
	const struct way *way = find(name);
	struct pretokenizer_spec *list;

	if (!way)
		return err_set(
			ERR_UNSUPPORTED,
			"%s: key tokenizer.ggml.pre: no split pattern is known for \"" BYTES_FMT
			"\"",
			file, BYTES_ARG(name));
	list = arena_alloc(arena, STEPS_MAX + 1, sizeof(*list));
	if (!list)
		return -1;
	*out = list;
	*flags = way->flags;
	for (*n = 0; way->steps[*n]; ++*n)
		list[*n] = step(way->steps[*n]);
	if (list[*n - 1].kind != PRETOKENIZER_BYTE_LEVEL)
		list[(*n)++] = byte_level(false);
	return 0;
}

/* --- from the pre-tokenizers to a name --- */

/* Whether A cuts as the step TEXT does. */
static bool is_step(const struct pretokenizer_spec *a, const char *text)
{
	enum scanner scanner;

	if (strcmp(text, DIGITS) == 0)
		return a->kind == PRETOKENIZER_DIGITS && a->digits.individual;
	if (a->kind != PRETOKENIZER_SPLIT || !a->split.pattern.is_regex)
		return false;
	/* Those that scanners know leave nothing between matches. */
	scanner = scanner_find(a->split.pattern.text, a->split.pattern.dialect);
	if (a->split.invert ? a->split.behavior != SPLIT_REMOVED || scanner == SCANNER_NONE
			    : a->split.behavior != SPLIT_ISOLATED)
		return false;
	if (strcmp(text, GPT2) == 0)
		return scanner == SCANNER_GPT2;
	if (scanner != SCANNER_NONE)
		return scanner == scanner_find(bytes_of(text), REGEX_ONIGURUMA);
	return a->split.pattern.dialect == REGEX_ONIGURUMA &&
	       bytes_are(a->split.pattern.text, text);
}

/* Whether the pre-tokenizers of S, which end in a ByteLevel, are the steps of WAY. */
static bool is_way(const struct tokenizer_spec *s, const struct way *way)
{
	size_t n = s->n_pretokenizers - 1, i = 0;

	for (; i < n; i++)
		if (!way->steps[i] || !is_step(&s->pretokenizers[i], way->steps[i]))
			return false;
	if (s->pretokenizers[n].byte_level.use_regex)
		return way->steps[i] && strcmp(way->steps[i], GPT2) == 0 && !way->steps[i + 1];
	return !way->steps[i];
}

struct bytes gguf_pre_name(const struct tokenizer_spec *s, bool ignore_merges,
			   struct gguf_pre *flags)
{
	const struct way *found = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!ways[i].flags.add_sep && is_way(s, &ways[i]) &&
		    (!found || (ways[i].flags.ignore_merges == ignore_merges &&
				found->flags.ignore_merges != ignore_merges)))
			found = &ways[i];
	if (!found)
		return (struct bytes){ 0 };
	*flags = found->flags;
	return (struct bytes){ found->names + 1, strcspn(found->names + 1, " ") };
}

bool gguf_pre_is(const struct tokenizer_spec *s, struct bytes name)
{
	const struct way *way = find(name);

	return way && is_way(s, way);
}

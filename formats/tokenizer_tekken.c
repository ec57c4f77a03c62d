/*
 * formats/tokenizer_tekken.c - tekken.json, the tokenizers of Mistral
 *
 * A list of pieces in the order of their ranks, of which the first ones count, behind the special tokens: an id is a
 * rank and the number of special tokens. tiktoken does the rest.
 */
#include "formats/tokenizer_tekken.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json.h"
#include "formats/tokenizer_base64.h"
#include "formats/tokenizer_pieces.h"
#include "formats/tokenizer_ranks.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/scanner.h"

#define SPECIAL_MAX \
 65536 /* special tokens, each of which takes memory without a line in the file */

struct tekken {
	const char *file;
	struct arena *arena;
	struct bytes config, vocab, special; /* raw; empty: not there */
	struct bytes pattern, version;
	uint64_t vocab_size, n_special; /* default_vocab_size, default_num_special_tokens */
	struct added_spec *added;
	size_t n_added; /* that the file names */
};

/* Of files without a list, which are of version 7 at most. */
static const char *const first_special[] = {
	"<unk>",
	"<s>",
	"</s>",
	"[INST]",
	"[/INST]",
	"[AVAILABLE_TOOLS]",
	"[/AVAILABLE_TOOLS]",
	"[TOOL_RESULTS]",
	"[/TOOL_RESULTS]",
	"[TOOL_CALLS]",
	"[IMG]",
	"<pad>",
	"[IMG_BREAK]",
	"[IMG_END]",
	"[PREFIX]",
	"[MIDDLE]",
	"[SUFFIX]",
	"[SYSTEM_PROMPT]",
	"[/SYSTEM_PROMPT]",
	"[TOOL_CONTENT]",
};
#define N_FIRST (sizeof(first_special) / sizeof(*first_special))

static const struct {
	const char *name;
	bool lists_special; /* must have the list */
} versions[] = {
	{ "v1", false }, { "v2", false }, { "v3", false }, { "v7", false },
	{ "v11", true }, { "v13", true }, { "v15", true },
};

/* --- the parts of the file --- */

static int read_top(struct tekken *t, struct json *j)
{
	struct bytes key, raw;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		struct bytes *part = bytes_are(key, "config")		? &t->config
				     : bytes_are(key, "vocab")		? &t->vocab
				     : bytes_are(key, "special_tokens") ? &t->special
									: &raw;

		if (json_skip(j, part) < 0)
			return -1;
	}
	return got < 0 ? -1 : json_end(j);
}

/* Runs READ over RAW, WHAT by name. */
static int read_part(struct tekken *t, struct json *j, struct bytes raw, const char *what,
		     int (*read)(struct tekken *t, struct json *j, void *arg), void *arg)
{
	char *name;
	int result;

	if (!raw.size)
		return err_set(ERR_MISSING, "%s: %s is missing", t->file, what);
	name = mem_format("%s: %s", t->file, what);
	if (!name)
		return -1;
	json_init(j, raw.data, raw.size, name, NULL);
	result = read(t, j, arg) < 0 || json_end(j) < 0 ? -1 : 0;
	free(name);
	return result;
}

static int copy_string(struct tekken *t, struct json *j, struct bytes *out)
{
	if (json_string(j, out) < 0)
		return -1;
	*out = tokenizer_copy(t->arena, *out);
	return out->data ? 0 : -1;
}

static int read_config(struct tekken *t, struct json *j, void *arg)
{
	struct bytes key;
	uint64_t ignored;
	int got, result;

	(void)arg;
	t->vocab_size = t->n_special = UINT64_MAX;
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "pattern"))
			result = copy_string(t, j, &t->pattern);
		else if (bytes_are(key, "version"))
			result = copy_string(t, j, &t->version);
		else if (bytes_are(key, "default_vocab_size"))
			result = json_u64(j, &t->vocab_size);
		else if (bytes_are(key, "default_num_special_tokens"))
			result = json_u64(j, &t->n_special);
		else if (bytes_are(key, "num_vocab_tokens"))
			result =
				json_u64(j, &ignored); /* of the list, of which not all may count */
		else
			return json_fail(j, "unknown field \"" BYTES_FMT "\"", BYTES_ARG(key));
		if (result < 0)
			return -1;
	}
	return got;
}

static int check_config(const struct tekken *t)
{
	size_t i = 0;

	if (!t->version.data)
		return err_set(ERR_MISSING, "%s: config.version is missing", t->file);
	while (i < sizeof(versions) / sizeof(*versions) && !bytes_are(t->version, versions[i].name))
		i++;
	if (i == sizeof(versions) / sizeof(*versions))
		return err_set(ERR_UNSUPPORTED,
			       "%s: config.version: unknown version \"" BYTES_FMT "\"", t->file,
			       BYTES_ARG(t->version));
	if (!t->pattern.size)
		return err_set(ERR_MISSING, "%s: config.pattern is missing", t->file);
	if (t->vocab_size == UINT64_MAX || t->n_special == UINT64_MAX)
		return err_set(ERR_MISSING,
			       "%s: config.default_vocab_size or default_num_special_tokens is "
			       "missing",
			       t->file);
	if (t->n_special > SPECIAL_MAX || t->vocab_size > TOKENIZER_ID_MAX)
		return err_set(ERR_LIMIT,
			       "%s: config: %" PRIu64 " ids, %" PRIu64
			       " of them special tokens, of which there are %d at most",
			       t->file, t->vocab_size, t->n_special, SPECIAL_MAX);
	if (t->vocab_size < t->n_special)
		return err_set(ERR_FORMAT,
			       "%s: config: %" PRIu64 " special tokens of %" PRIu64 " ids", t->file,
			       t->n_special, t->vocab_size);
	if (versions[i].lists_special && !t->special.size)
		return err_set(ERR_MISSING,
			       "%s: special_tokens is missing, and version " BYTES_FMT
			       " must have it",
			       t->file, BYTES_ARG(t->version));
	return 0;
}

/* --- entries of the lists --- */

struct entry {
	uint64_t rank; /* UINT64_MAX: not given */
	struct bytes text;
};

/* An object of a rank, a text under TEXT_KEY, and what says nothing here under IGNORED. */
static int read_entry(struct tekken *t, struct json *j, const char *text_key, const char *ignored,
		      struct entry *out)
{
	struct bytes key;
	int got, result;

	*out = (struct entry){ .rank = UINT64_MAX };
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "rank"))
			result = json_u64(j, &out->rank);
		else if (bytes_are(key, text_key))
			result = copy_string(t, j, &out->text);
		else if (bytes_are(key, ignored))
			result = json_skip(j, NULL);
		else
			return json_fail(j, "unknown field \"" BYTES_FMT "\"", BYTES_ARG(key));
		if (result < 0)
			return -1;
	}
	return got;
}

/* --- special tokens --- */

static int add_special(struct tekken *t, struct bytes text)
{
	if (t->n_added >= t->n_special)
		return err_set(ERR_FORMAT, "%s: special_tokens: more than %" PRIu64, t->file,
			       t->n_special);
	t->added[t->n_added] =
		(struct added_spec){ .id = (uint32_t)t->n_added, .text = text, .special = true };
	t->n_added++;
	return 0;
}

static int read_special_token(struct tekken *t, struct json *j)
{
	struct entry e;

	/* Text makes neither kind, whatever is_control says. */
	if (read_entry(t, j, "token_str", "is_control", &e) < 0)
		return -1;
	if (e.rank != t->n_added || !e.text.size)
		return json_fail(j, "special token %zu: not its rank and its text", t->n_added);
	return add_special(t, e.text);
}

static int read_special(struct tekken *t, struct json *j, void *arg)
{
	int got;

	(void)arg;
	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0)
		if (read_special_token(t, j) < 0)
			return -1;
	return got;
}

/* Ids without a token of their own are named by their number. */
static int fill_special(struct tekken *t)
{
	char name[40];

	while (t->n_added < t->n_special) {
		struct bytes text;

		snprintf(name, sizeof(name), "<SPECIAL_%zu>", t->n_added);
		text = tokenizer_copy(t->arena, bytes_of(name));
		if (!text.data || add_special(t, text) < 0)
			return -1;
	}
	return 0;
}

static int check_twice(const struct tekken *t)
{
	struct names *texts;
	int got = 1;

	if (names_new(&texts) < 0)
		return -1;
	for (size_t i = 0; i < t->n_added && got > 0; i++) {
		got = names_add(texts, t->added[i].text, 0, NULL);
		if (got == 0)
			err_set(ERR_FORMAT, "%s: special_tokens: \"" BYTES_FMT "\" is there twice",
				t->file, BYTES_ARG(t->added[i].text));
	}
	names_free(texts);
	return got > 0 ? 0 : -1;
}

static int add_all_special(struct tekken *t, struct json *j)
{
	bool listed = t->special.size && !bytes_are(t->special, "null");

	t->added = arena_alloc(t->arena, (size_t)t->n_special + 1, sizeof(*t->added));
	if (!t->added)
		return -1;
	if (listed && read_part(t, j, t->special, "special_tokens", read_special, NULL) < 0)
		return -1;
	for (size_t i = 0; !listed && i < N_FIRST; i++)
		if (add_special(t, bytes_of(first_special[i])) < 0)
			return -1;
	return fill_special(t) < 0 ? -1 : check_twice(t);
}

/* --- pieces --- */

static int read_piece(struct tekken *t, struct json *j, struct tokenizer_ranks *r)
{
	struct bytes raw;
	struct entry e;

	/* token_str is the same for people. */
	if (read_entry(t, j, "token_bytes", "token_str", &e) < 0)
		return -1;
	if (e.rank != r->n || !e.text.data)
		return json_fail(j, "piece %zu: not its rank and its bytes", r->n);
	if (base64_decode(t->arena, e.text, &raw) < 0 ||
	    tokenizer_ranks_add(r, raw, (uint32_t)(e.rank + t->n_special)) < 0)
		return err_prefix("%s: vocab: piece %zu", t->file, r->n);
	return 0;
}

static int read_vocab(struct tekken *t, struct json *j, void *arg)
{
	struct tokenizer_ranks *r = arg;
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0)
		if ((r->n < t->vocab_size - t->n_special ? read_piece(t, j, r)
							 : json_skip(j, NULL)) < 0)
			return -1;
	if (got == 0 && r->n < t->vocab_size - t->n_special)
		return json_fail(j, "%zu pieces of %" PRIu64, r->n, t->vocab_size - t->n_special);
	return got;
}

/* --- the whole --- */

static int add_steps(struct tokenizer_spec *out, const struct tekken *t)
{
	struct pretokenizer_spec *list = arena_alloc(t->arena, 2, sizeof(*list));
	struct decoder_spec *decoder = arena_alloc(t->arena, 1, sizeof(*decoder));

	if (!list || !decoder)
		return -1;
	list[0].kind = PRETOKENIZER_SPLIT;
	list[0].split.pattern = (struct pattern_spec){ .is_regex = true,
						       .dialect = REGEX_FANCY,
						       .text = t->pattern };
	list[0].split.behavior = SPLIT_ISOLATED;
	/* tiktoken passes over what no pattern matches; those that scanners know match everything. */
	if (scanner_find(t->pattern, REGEX_FANCY) == SCANNER_NONE) {
		list[0].split.behavior = SPLIT_REMOVED;
		list[0].split.invert = true;
	}
	list[1].kind = PRETOKENIZER_BYTE_LEVEL;
	list[1].byte_level.trim_offsets = true;
	decoder->kind = DECODER_BYTE_LEVEL;
	out->pretokenizers = list;
	out->n_pretokenizers = 2;
	out->decoders = decoder;
	out->n_decoders = 1;
	return 0;
}

static uint32_t role(const struct tekken *t, const char *text)
{
	for (size_t i = 0; i < t->n_added; i++)
		if (bytes_are(t->added[i].text, text))
			return t->added[i].id;
	return TOKEN_NONE;
}

static int build(struct tokenizer_spec *out, struct tekken *t, struct json *j)
{
	struct tokenizer_ranks ranks = { 0 };
	int result = -1;

	if (read_part(t, j, t->config, "config", read_config, NULL) < 0 || check_config(t) < 0 ||
	    add_all_special(t, j) < 0 || tokenizer_ranks_new(&ranks, t->arena, t->file) < 0)
		return -1;
	if (read_part(t, j, t->vocab, "vocab", read_vocab, &ranks) == 0 &&
	    tokenizer_ranks_model(out, &ranks) == 0)
		result = add_steps(out, t);
	tokenizer_ranks_free(&ranks);
	out->added = t->added;
	out->n_added = t->n_added;
	out->bos = role(t, "<s>");
	out->eos = role(t, "</s>");
	out->pad = role(t, "<pad>");
	out->unk = role(t, "<unk>");
	return result;
}

int tokenizer_tekken_parse(struct tokenizer_spec *out, struct arena *arena, struct bytes text,
			   const char *name)
{
	struct tekken t = { .file = name, .arena = arena };
	struct json *j;
	int result = -1;

	*out = (struct tokenizer_spec){
		.bos = TOKEN_NONE, .eos = TOKEN_NONE, .pad = TOKEN_NONE, .unk = TOKEN_NONE
	};
	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, name, NULL);
	if (read_top(&t, j) == 0)
		result = build(out, &t, j);
	json_free(j);
	return result;
}

bool tokenizer_is_tekken(struct bytes text)
{
	struct bytes key;
	struct json *j;
	bool found = false;

	if (json_new(&j) < 0)
		return false;
	json_init(j, text.data, text.size, "", NULL);
	if (json_object(j) == 0)
		while (!found && json_key(j, &key) > 0) {
			found = bytes_are(key, "config");
			if (bytes_are(key, "version") || bytes_are(key, "model") ||
			    bytes_are(key, "added_tokens"))
				break;
			json_skip(j, NULL);
		}
	json_free(j);
	return found;
}

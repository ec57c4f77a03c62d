/* formats/tokenizer_json_vocab.c - vocabularies and merges as JSON spells them */

#include "formats/tokenizer_json_vocab.h"

#include <math.h>

#include "formats/tokenizer_json_score.h"

/* Runs READ over RAW with a reader of its own. */
static int with_reader(struct tokenizer_pieces *p, struct bytes raw, const char *name, size_t skip,
		       int (*read)(struct tokenizer_pieces *p, struct json *j, size_t skip))
{
	struct json *j;
	int result;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, raw.data, raw.size, name, NULL);
	result = read(p, j, skip) < 0 || json_end(j) < 0 ? -1 : 0;
	json_free(j);
	return result;
}

static int read_object(struct tokenizer_pieces *p, struct json *j, size_t skip)
{
	struct bytes key;
	uint64_t id;
	int got;

	(void)skip;
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (json_u64(j, &id) < 0)
			return -1;
		key = tokenizer_copy(p->arena, key);
		if (!key.data || tokenizer_pieces_add(p, key, id, 0) < 0)
			return -1;
	}
	return got;
}

int tokenizer_vocab_object(struct tokenizer_pieces *p, struct bytes raw, const char *name)
{
	return with_reader(p, raw, name, 0, read_object);
}

static int read_scored(struct tokenizer_pieces *p, struct json *j)
{
	struct bytes text, number;
	double score;

	if (json_array(j) < 0 || json_item(j) < 0 || json_string(j, &text) < 0)
		return -1;
	text = tokenizer_copy(p->arena, text);
	if (!text.data || json_item(j) < 0 || json_number(j, &number) < 0)
		return -1;
	score = tokenizer_json_score(number);
	if (!isfinite(score))
		return json_fail(j, "a score past the range of a double");
	if (json_item(j) != 0)
		return json_fail(j, "more than a piece and its score");
	return tokenizer_pieces_add(p, text, p->n, score);
}

static int read_scores(struct tokenizer_pieces *p, struct json *j, size_t skip)
{
	int got;

	(void)skip;
	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0)
		if (read_scored(p, j) < 0)
			return -1;
	return got;
}

int tokenizer_vocab_scores(struct tokenizer_pieces *p, struct bytes raw, const char *name)
{
	return with_reader(p, raw, name, 0, read_scores);
}

static int read_merge_pair(struct tokenizer_pieces *p, struct json *j, size_t skip)
{
	struct bytes left, right;

	if (json_array(j) < 0 || json_item(j) < 0 || json_string(j, &left) < 0 ||
	    json_item(j) < 0 || json_string(j, &right) < 0)
		return -1;
	if (json_item(j) != 0)
		return json_fail(j, "a merge of more than two pieces");
	return tokenizer_pieces_merge(p, left, right, skip);
}

static int read_merge_line(struct tokenizer_pieces *p, struct json *j, size_t skip)
{
	struct bytes line;

	if (json_string(j, &line) < 0)
		return -1;
	return bytes_start_with(line, "#version") ? 0 : tokenizer_pieces_merge_line(p, line, skip);
}

static int read_merges(struct tokenizer_pieces *p, struct json *j, size_t skip)
{
	int got;

	if (json_array(j) < 0)
		return -1;
	while ((got = json_item(j)) > 0)
		if ((json_peek(j) == JSON_ARRAY ? read_merge_pair(p, j, skip)
						: read_merge_line(p, j, skip)) < 0)
			return -1;
	return got;
}

int tokenizer_vocab_merges(struct tokenizer_pieces *p, struct bytes raw, const char *name,
			   size_t skip)
{
	return with_reader(p, raw, name, skip, read_merges);
}

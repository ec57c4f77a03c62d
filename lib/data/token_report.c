/* lib/data/token_report.c - the statistics of tokens, written out */

#include "lib/data/token_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/json.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/data/token_bytes.h"

#define BAR_WIDTH 40

static const struct {
	const char *name;
	double share;
} quantiles[] = {
	{ "min", 0 },	  { "10 %", 0.1 }, { "25 %", 0.25 }, { "50 %", 0.5 },
	{ "75 %", 0.75 }, { "90 %", 0.9 }, { "99 %", 0.99 }, { "max", 1 },
};

#define N_QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* The TOP ids; the caller frees. */
static int top_ids(const struct token_stats *s, size_t top, uint32_t **ids, size_t *n)
{
	int64_t got;

	*ids = mem_new(top, sizeof(**ids));
	if (!*ids)
		return -1;
	got = token_stats_top(s, *ids, top);
	if (got < 0) {
		free(*ids);
		return -1;
	}
	*n = (size_t)got;
	return 0;
}

/* --- for people ------------------------------------------------------------------------------------ */

static void line_count(struct buffer *b, const char *name, uint64_t n, uint64_t all)
{
	buffer_format(b, "%-20s%" PRIu64 " (%.4g %%)\n", name, n, 100 * ratio(n, all));
}

static void put_ratios(struct buffer *b, const struct token_totals *t)
{
	buffer_format(b, "%-20s%.4g\n", "bytes a token", ratio(t->bytes, t->tokens));
	buffer_format(b, "%-20s%.4g\n", "characters a token", ratio(t->characters, t->tokens));
	buffer_format(b, "%-20s%.4g\n", "words a token", ratio(t->words, t->tokens));
}

static void put_kinds(struct buffer *b, const struct token_totals *t)
{
	line_count(b, "unknown", t->kinds[TOKEN_KIND_UNKNOWN], t->tokens);
	line_count(b, "byte tokens", t->kinds[TOKEN_KIND_BYTE], t->tokens);
	line_count(b, "broken characters", t->partial, t->tokens);
	line_count(b, "special", t->kinds[TOKEN_KIND_SPECIAL], t->tokens);
	line_count(b, "added", t->kinds[TOKEN_KIND_ADDED], t->tokens);
	if (t->kinds[TOKEN_KIND_NONE])
		line_count(b, "no such id", t->kinds[TOKEN_KIND_NONE], t->tokens);
	line_count(b, "vocabulary used", t->used, t->vocabulary);
	buffer_format(b, "%-20s%" PRIu64 "\n", "never used", t->vocabulary - t->used);
}

static void put_documents(struct buffer *b, const struct token_stats *s,
			  const struct token_totals *t)
{
	buffer_format(b, "%-20smean %.4g", "tokens a document", ratio(t->tokens, t->documents));
	for (size_t i = 0; i < N_QUANTILES; i++)
		buffer_format(b, ", %s %" PRIu64, quantiles[i].name,
			      token_stats_quantile(s, quantiles[i].share));
	buffer_put_u8(b, '\n');
}

static void put_roles(struct buffer *b, const struct token_totals *t)
{
	for (int r = 0; r < N_ROLES; r++)
		if (t->roles[r] && t->roles[ROLE_TEXT] < t->tokens)
			line_count(b, token_role_name((enum token_role)r), t->roles[r], t->tokens);
}

static void put_lengths(struct buffer *b, const struct token_totals *t)
{
	uint64_t most = 1;

	for (int i = 0; i < TOKEN_LENGTHS; i++)
		most = t->lengths[i] > most ? t->lengths[i] : most;
	buffer_put_text(b, "\ntokens by their bytes\n");
	for (int i = 0; i < TOKEN_LENGTHS; i++) {
		int bar = (int)(ratio(t->lengths[i], most) * BAR_WIDTH + 0.5);

		if (t->lengths[i] == 0)
			continue;
		bar = bar ? bar : 1;
		buffer_format(b, "%4d%c %6.2f %%  %.*s\n", i, i == TOKEN_LENGTHS - 1 ? '+' : ' ',
			      100 * ratio(t->lengths[i], t->tokens), bar,
			      "########################################");
	}
}

static void put_top(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		    const uint32_t *ids, size_t n, uint64_t tokens)
{
	if (n)
		buffer_put_text(b, "\nmost used\n");
	for (size_t i = 0; i < n; i++) {
		uint64_t count = token_stats_count(s, ids[i]);

		buffer_format(b, "%4zu %10" PRIu64 " %6.2f %% %8" PRIu32 "  ", i + 1, count,
			      100 * ratio(count, tokens), ids[i]);
		quote_text(b, tokenizer_piece(t, ids[i]));
		buffer_put_u8(b, '\n');
	}
}

int token_report_text(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		      size_t top)
{
	struct token_totals all;
	uint32_t *ids;
	size_t n;

	if (top_ids(s, top, &ids, &n) < 0)
		return -1;
	token_stats_totals(s, &all);
	buffer_format(b, "%-20s%" PRIu64 "\n", "documents", all.documents);
	buffer_format(b, "%-20s%" PRIu64 "\n", "tokens", all.tokens);
	buffer_format(b, "%-20s%" PRIu64 "\n", "bytes", all.bytes);
	buffer_format(b, "%-20s%" PRIu64 "\n", "characters", all.characters);
	buffer_format(b, "%-20s%" PRIu64 "\n", "words", all.words);
	put_ratios(b, &all);
	put_kinds(b, &all);
	put_roles(b, &all);
	put_documents(b, s, &all);
	put_lengths(b, &all);
	put_top(b, s, t, ids, n, all.tokens);
	free(ids);
	return buffer_check(b);
}

/* --- for programs ------------------------------------------------------------------------------------ */

static void put_totals_json(struct buffer *b, const struct token_totals *t)
{
	json_put_u64_member(b, "documents", t->documents);
	json_put_u64_member(b, "tokens", t->tokens);
	json_put_u64_member(b, "bytes", t->bytes);
	json_put_u64_member(b, "characters", t->characters);
	json_put_u64_member(b, "words", t->words);
	json_put_f64_member(b, "bytes_per_token", ratio(t->bytes, t->tokens));
	json_put_f64_member(b, "characters_per_token", ratio(t->characters, t->tokens));
	json_put_f64_member(b, "words_per_token", ratio(t->words, t->tokens));
	json_put_key(b, "kinds");
	buffer_put_u8(b, '{');
	for (int k = 0; k < N_TOKEN_KINDS; k++)
		json_put_u64_member(b, token_kind_name((enum token_kind)k), t->kinds[k]);
	buffer_put_u8(b, '}');
	json_put_u64_member(b, "broken_characters", t->partial);
	json_put_key(b, "roles");
	buffer_put_u8(b, '{');
	for (int r = 0; r < N_ROLES; r++)
		json_put_u64_member(b, token_role_name((enum token_role)r), t->roles[r]);
	buffer_put_u8(b, '}');
	json_put_u64_member(b, "vocabulary", t->vocabulary);
	json_put_u64_member(b, "used", t->used);
	json_put_u64_member(b, "never_used", t->vocabulary - t->used);
}

/* `[[share, tokens], ...]` */
static void put_quantiles_json(struct buffer *b, const struct token_stats *s)
{
	json_put_key(b, "tokens_per_document");
	buffer_put_u8(b, '[');
	for (size_t i = 0; i < N_QUANTILES; i++) {
		json_put_comma(b);
		buffer_put_u8(b, '[');
		json_put_f64(b, quantiles[i].share);
		buffer_format(b, ",%" PRIu64 "]", token_stats_quantile(s, quantiles[i].share));
	}
	buffer_put_u8(b, ']');
}

static void put_top_json(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
			 const uint32_t *ids, size_t n)
{
	json_put_key(b, "most_used");
	buffer_put_u8(b, '[');
	for (size_t i = 0; i < n; i++) {
		json_put_comma(b);
		buffer_put_u8(b, '{');
		json_put_u64_member(b, "id", ids[i]);
		json_put_u64_member(b, "count", token_stats_count(s, ids[i]));
		token_bytes_json(b, "piece", tokenizer_piece(t, ids[i]));
		buffer_put_u8(b, '}');
	}
	buffer_put_u8(b, ']');
}

int token_report_json(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		      size_t top)
{
	struct token_totals all;
	uint32_t *ids;
	size_t n;

	if (top_ids(s, top, &ids, &n) < 0)
		return -1;
	token_stats_totals(s, &all);
	buffer_put_u8(b, '{');
	put_totals_json(b, &all);
	put_quantiles_json(b, s);
	json_put_key(b, "lengths");
	buffer_put_u8(b, '[');
	for (int i = 0; i < TOKEN_LENGTHS; i++)
		buffer_format(b, "%s%" PRIu64, i ? "," : "", all.lengths[i]);
	buffer_put_u8(b, ']');
	put_top_json(b, s, t, ids, n);
	buffer_put_text(b, "}\n");
	free(ids);
	return buffer_check(b);
}

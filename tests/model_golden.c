/* tests/model_golden.c - models and what a peer says that they make of texts */
#include "tests/model_golden.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/text/model.h"
#include "tests/tap.h"

#define FIELDS	   7
#define PIECES_MAX 2000

struct golden {
	struct arena *arena;
	struct piece_spec pieces[PIECES_MAX];
	struct model_spec spec;
	struct text_model *model;
	struct model_scratch *scratch;
	struct model_tokens tokens;
	size_t models, texts, wrong;
	int no_unk;
};

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct bytes unhex(struct golden *g, const char *hex)
{
	size_t n = strcmp(hex, "-") ? strlen(hex) / 2 : 0;
	char *out = arena_alloc(g->arena, n + 1, 1);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return (struct bytes){ out, n };
}

static void end_model(struct golden *g)
{
	if (g->models)
		tap_is_u64(g->wrong, 0, "model %zu: all texts as the peer has them", g->models);
	model_scratch_free(g->scratch);
	text_model_free(g->model);
	g->scratch = NULL;
	g->model = NULL;
	g->wrong = 0;
}

static void begin_model(struct golden *g, char **field)
{
	end_model(g);
	g->models++;
	g->spec = (struct model_spec){ .pieces = g->pieces, .unk = TOKEN_NONE };
	g->spec.kind = !strcmp(field[1], "unigram")	? MODEL_UNIGRAM
		       : !strcmp(field[1], "wordpiece") ? MODEL_WORDPIECE
							: MODEL_WORDLEVEL;
	if (strcmp(field[2], "-") && !g->no_unk)
		g->spec.unk = (uint32_t)strtoul(field[2], NULL, 10);
	g->spec.byte_fallback = field[3][0] == '1';
	g->spec.max_word_chars = (uint32_t)strtoul(field[4], NULL, 10);
	g->spec.continuing_prefix = unhex(g, field[5]);
	g->spec.unk_text = unhex(g, field[6]);
	g->spec.has_unk_text = g->spec.unk_text.size > 0;
}

static void add_piece(struct golden *g, char **field)
{
	if (g->spec.n_pieces == PIECES_MAX)
		abort();
	g->pieces[g->spec.n_pieces++] =
		(struct piece_spec){ .id = (uint32_t)strtoul(field[1], NULL, 10),
				     .score = strtod(field[2], NULL),
				     .text = unhex(g, field[3]) };
}

static bool tokens_are(const struct model_tokens *t, const char *want)
{
	for (size_t i = 0; i < t->n; i++) {
		char *at;

		if (strtoul(want, &at, 10) != t->items[i].id ||
		    strtoul(at + 1, &at, 10) != t->items[i].from ||
		    strtoul(at + 1, &at, 10) != t->items[i].to)
			return false;
		want = at;
	}
	return *want == '\0';
}

static void check_text(struct golden *g, char **field)
{
	bool right;
	int result;

	if (!g->model && (text_model_new(&g->model, &g->spec, false) < 0 ||
			  model_scratch_new(&g->scratch, g->model) < 0)) {
		tap_note("%s", err_text());
		abort();
	}
	g->tokens.n = 0;
	g->texts++;
	result = text_model_encode(g->model, g->scratch, unhex(g, field[1]), &g->tokens);
	right = !strcmp(field[2], "error") ? result < 0
					   : result == 0 && tokens_are(&g->tokens, field[2]);
	if (right)
		return;
	g->wrong++;
	tap_note("text %s: not %s", field[1], field[2]);
}

static void take_line(struct golden *g, char *line)
{
	char *field[FIELDS] = { line };
	size_t n = 1;

	for (char *c = line; *c && n < FIELDS; c++) {
		if (*c == '\t') {
			*c = '\0';
			field[n++] = c + 1;
		}
	}
	if (!strcmp(line, "model") && n == 7)
		begin_model(g, field);
	else if (!strcmp(line, "piece") && n == 4)
		add_piece(g, field);
	else if (!strcmp(line, "text") && n == 3)
		check_text(g, field);
	else
		abort();
}

size_t model_golden_check(const char *path, int no_unk)
{
	struct golden *g = calloc(1, sizeof(*g));
	char *data, *line, *end;
	size_t size, texts;

	g->no_unk = no_unk;
	if (arena_new(&g->arena) < 0)
		abort();
	data = tap_fixture(path, &size);
	for (line = data; line < data + size; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			abort();
		*end = '\0';
		take_line(g, line);
	}
	end_model(g);
	texts = g->texts;
	free(g->tokens.items);
	arena_free(g->arena);
	free(data);
	free(g);
	return texts;
}

/* detokenize - turn a stream of token ids back into text */

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "formats/json.h"
#include "formats/jsonl.h"
#include "formats/token_stream.h"
#include "formats/tokenizer_open.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/base/base64.h"
#include "lib/text/decode.h"
#include "lib/text/joiner.h"
#include "lib/text/tokenizer.h"

static const char *tokenizer_path, *split_name;
static bool raw, ids_input, skip_special;

static const struct cmd_option options[] = {
	CMD_PATH('t', "tokenizer", &tokenizer_path, "FILE", "the tokenizer, as for tokenize"),
	CMD_TEXT(0, "split", &split_name, "NAME", "how a rank file splits text, as for tokenize"),
	CMD_FLAG(0, "raw", &raw, "the bytes alone, documents one after the other"),
	CMD_FLAG(0, "ids", &ids_input, "the input is text: the ids of a document a line"),
	CMD_FLAG(0, "skip-special", &skip_special, "leave special tokens out"),
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "detokenize",
	.operands = "[file]",
	.summary = "turn a stream of token ids back into text",
	.options = options,
	.notes =
		"Documents come out as JSON lines with a field `text`, or `text_base64` where the\n"
		"bytes are not UTF-8.",
	.max_operands = 1,
};

static struct tokenizer *tokenizer;
static struct text_decoder *decoder;
static struct joiner *joiner; /* where the decoder only joins bytes; else NULL */
static uint32_t to_strip;     /* by the joiner, at the start of a document */
static struct buffer text, record;
static uint64_t n_documents, n_tokens;

static void open_tokenizer(struct arena *arena)
{
	const struct tokenizer_spec *s;

	cmd_check(tokenizer_open(&tokenizer, arena, tokenizer_path, split_name));
	s = tokenizer_spec(tokenizer);
	cmd_check(text_decoder_new(&decoder, s->decoders, s->n_decoders,
				   tokenizer_is_byte_level(tokenizer), true));
	if (!skip_special)
		cmd_check(joiner_new(&joiner, tokenizer));
	if (joiner)
		to_strip = joiner_strips(joiner);
}

/* --- documents --- */

static void add_token(uint32_t id)
{
	const struct added_spec *added = tokenizer_added(tokenizer, id);

	n_tokens++;
	if (added && added->special && skip_special)
		return;
	cmd_check(text_decoder_add(decoder, tokenizer_piece(tokenizer, id), added != NULL, &text));
}

static void add_tokens(const uint32_t *ids, size_t n)
{
	if (joiner) {
		n_tokens += n;
		cmd_check(joiner_put(joiner, &to_strip, ids, n, &text));
		return;
	}
	for (size_t i = 0; i < n; i++)
		add_token(ids[i]);
}

static void put_json(void)
{
	struct bytes all = buffer_bytes(&text);
	bool valid = utf8_valid_prefix(all.data, all.size) == all.size;

	buffer_clear(&record);
	buffer_put_u8(&record, '{');
	json_put_key(&record, valid ? "text" : "text_base64");
	buffer_put_u8(&record, '"');
	if (valid)
		json_put_escaped(&record, all, 0);
	else
		base64_put(&record, all);
	buffer_put_text(&record, "\"}\n");
	cmd_check(buffer_check(&record));
	cmd_print_bytes(buffer_bytes(&record));
}

/* Raw bytes need not wait for the end of the document. */
static void pass_on(void)
{
	if (!raw || text.size == 0)
		return;
	cmd_print_bytes(buffer_bytes(&text));
	buffer_clear(&text);
}

static void end_document(void)
{
	cmd_check(text_decoder_end(decoder, &text));
	pass_on();
	if (!raw)
		put_json();
	buffer_clear(&text);
	if (joiner)
		to_strip = joiner_strips(joiner);
	n_documents++;
}

/* --- inputs --- */

/* What came before the trouble is written, and then the trouble told. */
static _Noreturn void give_up(void)
{
	char *why = mem_copy(err_text(), strlen(err_text()));

	cmd_flush();
	cmd_die("%s", why ? why : "out of memory");
}

static int check(int result)
{
	if (result < 0)
		give_up();
	return result;
}

static void read_stream(const char *path)
{
	struct token_reader *in;
	struct token_event e;

	cmd_check(token_reader_open(&in, cmd_input(path)));
	cmd_check(tokenizer_match(tokenizer, tokenizer_path, token_reader_header(in),
				  token_reader_name(in)));
	while (check(token_reader_next(in, &e)) > 0) {
		if (e.kind == TOKEN_EVENT_END)
			end_document();
		if (e.kind == TOKEN_EVENT_IDS)
			add_tokens(e.ids, e.n);
		pass_on();
	}
	token_reader_close(in);
}

static uint32_t read_id(struct bytes word, const char *name, uint64_t number)
{
	uint32_t n = tokenizer_vocab_size(tokenizer);
	uint64_t id = 0;

	for (size_t i = 0; i < word.size; i++) {
		id = word.data[i] >= '0' && word.data[i] <= '9' ? 10 * id + word.data[i] - '0' : n;
		if (id >= n)
			check(err_set(ERR_ARGUMENT,
				      "%s:%" PRIu64 ": '" BYTES_FMT
				      "' is not an id of the vocabulary, 0 to %" PRIu32,
				      name, number, BYTES_ARG(word), n - 1));
	}
	return (uint32_t)id;
}

static void read_ids_line(struct bytes line, const char *name, uint64_t number)
{
	for (size_t i = 0; i < line.size;) {
		size_t n = 0;

		while (i < line.size && strchr(" \t,", line.data[i]))
			i++;
		while (i + n < line.size && !strchr(" \t,", line.data[i + n]))
			n++;
		if (n == 0)
			break;
		add_token(read_id((struct bytes){ line.data + i, n }, name, number));
		i += n;
	}
}

static void read_ids(const char *path)
{
	struct jsonl *in;
	struct bytes line;

	cmd_check(jsonl_open(&in, cmd_input(path), NULL));
	while (check(jsonl_next(in, &line)) > 0) {
		read_ids_line(line, cmd_input(path), jsonl_line(in));
		end_document();
	}
	jsonl_close(in);
}

int main(int argc, char **argv)
{
	char documents[NUMBER_TEXT], tokens[NUMBER_TEXT];
	const char *path;
	struct arena *arena;

	cmd_begin(&spec, &argc, &argv);
	if (!tokenizer_path)
		cmd_misuse("-t FILE is needed: the tokenizer");
	path = argc ? argv[0] : "-";
	cmd_check(arena_new(&arena));
	open_tokenizer(arena);
	if (ids_input)
		read_ids(path);
	else
		read_stream(path);
	cmd_note("%s, %s", number_things(n_documents, "document", documents),
		 number_things(n_tokens, "token", tokens));
	joiner_free(joiner);
	text_decoder_free(decoder);
	tokenizer_free(tokenizer);
	arena_free(arena);
	buffer_free(&text);
	buffer_free(&record);
	return cmd_end();
}

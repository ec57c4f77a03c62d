/* show-model - show what a model file holds */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "formats/json.h"
#include "formats/metadata.h"
#include "formats/model_summary.h"
#include "formats/shape_text.h"
#include "formats/tokenizer_kind.h"
#include "lib/base/hash.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/eval/tensor_summary.h"

static bool show_tensors, show_metadata, show_stats, show_hash, as_json;
static uint64_t max_items = 6;

static const struct cmd_option options[] = {
	CMD_FLAG('t', "tensors", &show_tensors, "a line a tensor: shape, type, bytes, offset"),
	CMD_FLAG('m', "metadata", &show_metadata, "every metadata key with its value"),
	CMD_FLAG('s', "stats", &show_stats,
		 "read every tensor: min, max, mean, rms, zeros, NaN, inf"),
	CMD_FLAG(0, "hash", &show_hash,
		 "the 128-bit hash of each file, and of each tensor with -t"),
	CMD_SIZE('n', "items", &max_items, 0, UINT64_MAX,
		 "items shown of a metadata array (default 6; 0 for all)"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "show-model",
	.operands = "model ...",
	.summary = "show what a model file holds",
	.options = options,
	.notes = "A model is a .gguf file (any part of a split one), a .safetensors file, a shard\n"
		 "index (.index.json) or a Hugging Face folder.",
	.min_operands = 1,
	.max_operands = -1,
};

static void print_json(struct buffer *b)
{
	buffer_put_text(b, "}\n");
	cmd_check(buffer_check(b));
	cmd_print_bytes(buffer_bytes(b));
	buffer_clear(b);
}

/* --- the summary --- */

/* `GGUF 3`, with the number of files when there are several. */
static void format_text(const struct model *m, struct buffer *b)
{
	static const char *const names[] = {
		[MODEL_GGUF] = "GGUF",
		[MODEL_SAFETENSORS] = "safetensors",
		[MODEL_FOLDER] = "Hugging Face folder",
	};

	buffer_put_text(b, names[model_kind(m)]);
	if (model_gguf(m))
		buffer_format(b, " %" PRIu32, gguf_version(model_gguf(m)));
	if (model_n_files(m) > 1)
		buffer_format(b, ", %zu files", model_n_files(m));
}

/* The architecture as the model itself names it; empty when it does not. */
static struct bytes architecture(const struct model *m, const struct hf_config *c)
{
	struct bytes name = { "", 0 };

	if (c)
		return c->model_type;
	if (model_gguf(m) && gguf_get_string(model_gguf(m), "general.architecture", &name) < 0)
		name.size = 0;
	return name;
}

static void line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cmd_printf("%-14s%s\n", label, text);
}

static void line_bytes(const char *label, struct bytes value)
{
	cmd_printf("%-14s", label);
	cmd_print_bytes(value);
	cmd_print_char('\n');
}

static void print_config(const struct hf_config *c)
{
	line("context", "%" PRIu64, c->context);
	line("layers", "%" PRIu32, c->n_layers);
	line("width", "%" PRIu64 ", feed-forward %" PRIu64, c->hidden_size, c->ffn_size);
	line("heads", "%" PRIu32 ", key-value %" PRIu32 ", dimension %" PRIu32, c->n_heads,
	     c->n_kv_heads, c->head_dim);
	line("vocabulary", "%" PRIu64 "%s", c->vocab_size,
	     c->tie_word_embeddings ? ", embedding and head tied" : "");
}

static void print_types(const struct model_summary *s)
{
	struct buffer b = { 0 };

	for (size_t i = 0; i < DTYPE_COUNT; i++) {
		char bytes[NUMBER_TEXT];

		if (s->types[i].n_tensors)
			buffer_format(&b, "%s%s %" PRIu64 " (%s)", b.size ? ", " : "",
				      dtype_name((enum dtype)i), s->types[i].n_tensors,
				      number_bytes(s->types[i].bytes, bytes));
	}
	cmd_check(buffer_check(&b));
	line_bytes("types", buffer_bytes(&b));
	buffer_free(&b);
}

static void print_summary(struct model *m, const struct model_summary *s, const struct hf_config *c,
			  const char *config_error)
{
	char bytes[NUMBER_TEXT], count[NUMBER_TEXT];
	struct bytes name = architecture(m, c);
	struct buffer b = { 0 };

	cmd_printf("%-14s", "model");
	cmd_print_name(bytes_of(model_path(m)));
	format_text(m, &b);
	cmd_printf("\n%-14s" BYTES_FMT ", %s\n", "format", BYTES_ARG(buffer_bytes(&b)),
		   number_bytes(s->file_bytes, bytes));
	if (name.size) {
		cmd_printf("%-14s", "architecture");
		cmd_print_name(name);
		cmd_print_char('\n');
	}
	line("parameters", "%" PRIu64 " (%s)", s->n_elements, number_count(s->n_elements, count));
	line("tensors", "%" PRIu64 ", %" PRIu64 " bytes, %.4g bits a weight", s->n_tensors,
	     s->tensor_bytes, model_bits_per_weight(s));
	print_types(s);
	if (c)
		print_config(c);
	else if (config_error)
		cmd_printf("configuration not understood: %s\n", config_error);
	buffer_clear(&b);
	if (tokenizer_kind(m, &b) < 0)
		cmd_printf("tokenizer     not understood: %s\n", err_text());
	else if (b.size)
		line_bytes("tokenizer", buffer_bytes(&b));
	buffer_free(&b);
}

static void put_config(struct buffer *b, const struct hf_config *c)
{
	json_put_u64_member(b, "context", c->context);
	json_put_u64_member(b, "n_layers", c->n_layers);
	json_put_u64_member(b, "hidden_size", c->hidden_size);
	json_put_u64_member(b, "ffn_size", c->ffn_size);
	json_put_u64_member(b, "n_heads", c->n_heads);
	json_put_u64_member(b, "n_kv_heads", c->n_kv_heads);
	json_put_u64_member(b, "head_dim", c->head_dim);
	json_put_u64_member(b, "vocab_size", c->vocab_size);
	json_put_key(b, "tie_word_embeddings");
	buffer_put_text(b, c->tie_word_embeddings ? "true" : "false");
}

static void put_types(struct buffer *b, const struct model_summary *s)
{
	json_put_key(b, "types");
	buffer_put_u8(b, '{');
	for (size_t i = 0; i < DTYPE_COUNT; i++)
		if (s->types[i].n_tensors)
			json_put_u64_member(b, dtype_name((enum dtype)i), s->types[i].n_tensors);
	buffer_put_u8(b, '}');
}

static void put_summary(struct buffer *b, struct model *m, const struct model_summary *s,
			const struct hf_config *c, const char *config_error)
{
	struct bytes name = architecture(m, c);
	struct buffer kind = { 0 };

	buffer_put_u8(b, '{');
	json_put_text_member(b, "model", bytes_of(model_path(m)));
	json_put_text_member(b, "format", bytes_of(model_kind_name(model_kind(m))));
	json_put_u64_member(b, "files", model_n_files(m));
	if (name.size)
		json_put_text_member(b, "architecture", name);
	json_put_u64_member(b, "parameters", s->n_elements);
	json_put_u64_member(b, "tensors", s->n_tensors);
	json_put_u64_member(b, "tensor_bytes", s->tensor_bytes);
	json_put_u64_member(b, "file_bytes", s->file_bytes);
	json_put_f64_member(b, "bits_per_weight", model_bits_per_weight(s));
	put_types(b, s);
	if (c)
		put_config(b, c);
	else if (config_error)
		json_put_text_member(b, "config_error", bytes_of(config_error));
	if (tokenizer_kind(m, &kind) < 0)
		json_put_text_member(b, "tokenizer_error", bytes_of(err_text()));
	else if (kind.size)
		json_put_text_member(b, "tokenizer", buffer_bytes(&kind));
	buffer_free(&kind);
}

static void show_summary(struct model *m)
{
	char *config_error = NULL;
	const struct hf_config *config;
	struct model_summary s;
	struct buffer b = { 0 };

	model_summarise(m, &s);
	if (model_config(m, &config) < 0)
		config_error = mem_copy(err_text(), strlen(err_text()));
	if (as_json) {
		put_summary(&b, m, &s, config, config_error);
		print_json(&b);
	} else {
		print_summary(m, &s, config, config_error);
	}
	buffer_free(&b);
	free(config_error);
}

/* --- hashes of whole files --- */

static struct hash128 hash_file(struct model *m, size_t i)
{
	struct hash128 hash;
	struct mapfile *map;
	struct bytes data;

	cmd_check(mapfile_open(&map, model_file_path(m, i)));
	data = mapfile_bytes(map);
	cmd_check(hash_memory(cmd_team(), data.data, data.size, &hash));
	mapfile_close(map);
	return hash;
}

static void show_hashes(struct model *m)
{
	struct buffer b = { 0 };

	for (size_t i = 0; i < model_n_files(m); i++) {
		struct hash128 hash = hash_file(m, i);
		char hex[HASH_HEX];

		hash_hex(&hash, hex);
		if (as_json) {
			buffer_put_u8(&b, '{');
			json_put_text_member(&b, "file", bytes_of(model_file_path(m, i)));
			json_put_text_member(&b, "hash", bytes_of(hex));
			print_json(&b);
		} else {
			cmd_printf("%-14s%s  ", "hash", hex);
			cmd_print_name(bytes_of(model_file_path(m, i)));
			cmd_print_char('\n');
		}
	}
	buffer_free(&b);
}

/* --- metadata --- */

static void print_entry(const struct metadata_entry *e, struct cmd_table *table, struct buffer *b)
{
	if (as_json) {
		buffer_put_u8(b, '{');
		json_put_text_member(b, "key", e->key);
		json_put_text_member(b, "type", bytes_of(e->type));
		json_put_key(b, "value");
		metadata_put_json(b, e);
		print_json(b);
		return;
	}
	buffer_clear(b);
	metadata_put_text(b, e, max_items);
	cmd_check(buffer_check(b));
	cmd_table_name(table, e->key);
	cmd_table_cell(table, "%s", e->type);
	cmd_table_bytes(table, buffer_bytes(b));
}

static void show_keys(struct model *m)
{
	static const char *const headings[] = { "key", "type", "value", NULL };
	struct cmd_table *table = as_json ? NULL : cmd_table_new(headings);
	struct metadata *meta;
	struct buffer b = { 0 };

	cmd_check(metadata_open(&meta, m));
	for (size_t i = 0; i < metadata_n(meta); i++)
		print_entry(metadata_entry(meta, i), table, &b);
	metadata_close(meta);
	if (table)
		cmd_table_end(table);
	buffer_free(&b);
}

/* --- tensors --- */

/* False for a type whose values cannot be had: its columns stay empty. */
static bool stats_of(const struct tensor_info *t, struct tensor_summary *s, struct progress *p)
{
	if (t->dtype == DTYPE_UNKNOWN || !dtype_decodes(t->dtype)) {
		progress_add(p, t->n_bytes);
		return false;
	}
	cmd_check(tensor_summarise(cmd_team(), t, s, p));
	return true;
}

static void tensor_hash(const struct tensor_info *t, char hex[HASH_HEX])
{
	struct hash128 hash;

	cmd_check(hash_memory(cmd_team(), t->data, t->n_bytes, &hash));
	hash_hex(&hash, hex);
}

static void put_tensor(struct buffer *b, const struct model *m, const struct tensor_info *t)
{
	buffer_put_u8(b, '{');
	json_put_text_member(b, "tensor", t->name);
	json_put_text_member(b, "dtype", t->dtype ? bytes_of(dtype_name(t->dtype)) : t->dtype_name);
	json_put_key(b, "shape");
	buffer_put_u8(b, '[');
	for (uint32_t i = 0; i < t->n_dims; i++) {
		json_put_comma(b);
		json_put_u64(b, t->shape[i]);
	}
	buffer_put_u8(b, ']');
	json_put_u64_member(b, "elements", t->n_elements);
	json_put_u64_member(b, "bytes", t->n_bytes);
	json_put_u64_member(b, "offset", t->offset);
	if (model_n_files(m) > 1)
		json_put_text_member(b, "file", bytes_of(model_file_path(m, t->file)));
}

static void put_stats(struct buffer *b, const struct tensor_summary *s)
{
	json_put_f64_member(b, "min", s->min);
	json_put_f64_member(b, "max", s->max);
	json_put_f64_member(b, "mean", s->mean);
	json_put_f64_member(b, "rms", s->rms);
	json_put_u64_member(b, "zeros", s->zeros);
	json_put_u64_member(b, "nan", s->nans);
	json_put_u64_member(b, "inf", s->infinities);
}

static void json_tensor(const struct model *m, const struct tensor_info *t, struct progress *p,
			struct buffer *b)
{
	struct tensor_summary stats;
	char hex[HASH_HEX];

	put_tensor(b, m, t);
	if (show_stats && stats_of(t, &stats, p))
		put_stats(b, &stats);
	if (show_hash) {
		tensor_hash(t, hex);
		json_put_text_member(b, "hash", bytes_of(hex));
	}
	print_json(b);
}

static void table_stats(struct cmd_table *table, const struct tensor_summary *s)
{
	cmd_table_cell(table, "%.6g", s->min);
	cmd_table_cell(table, "%.6g", s->max);
	cmd_table_cell(table, "%.6g", s->mean);
	cmd_table_cell(table, "%.6g", s->rms);
	cmd_table_cell(table, "%" PRIu64, s->zeros);
	cmd_table_cell(table, "%" PRIu64, s->nans);
	cmd_table_cell(table, "%" PRIu64, s->infinities);
}

static void table_tensor(const struct model *m, const struct tensor_info *t, struct progress *p,
			 struct cmd_table *table)
{
	struct tensor_summary stats;
	char text[SHAPE_TEXT];

	cmd_table_name(table, t->name);
	if (t->dtype)
		cmd_table_cell(table, "%s", dtype_name(t->dtype));
	else
		cmd_table_name(table, t->dtype_name);
	cmd_table_cell(table, "%s", shape_text(t, text));
	cmd_table_cell(table, "%" PRIu64, t->n_bytes);
	cmd_table_cell(table, "%" PRIu64, t->offset);
	if (show_stats && stats_of(t, &stats, p))
		table_stats(table, &stats);
	else if (show_stats)
		for (int i = 0; i < 7; i++)
			cmd_table_cell(table, "-");
	if (show_hash) {
		tensor_hash(t, text);
		cmd_table_cell(table, "%s", text);
	}
	if (model_n_files(m) > 1)
		cmd_table_name(table, bytes_of(model_file_path(m, t->file)));
}

static struct cmd_table *tensor_table(const struct model *m)
{
	static const char *headings[16];
	size_t n = 0;

	headings[n++] = "name";
	headings[n++] = "dtype";
	headings[n++] = "shape";
	headings[n++] = ">bytes";
	headings[n++] = ">offset";
	if (show_stats) {
		static const char *const more[] = { ">min",   ">max", ">mean", ">rms",
						    ">zeros", ">nan", ">inf" };

		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			headings[n++] = more[i];
	}
	if (show_hash)
		headings[n++] = "hash";
	if (model_n_files(m) > 1)
		headings[n++] = "file";
	headings[n] = NULL;
	return cmd_table_new(headings);
}

static void list_tensors(struct model *m)
{
	struct cmd_table *table = as_json ? NULL : tensor_table(m);
	struct progress *p = NULL;
	struct model_summary s;
	struct buffer b = { 0 };

	model_summarise(m, &s);
	if (show_stats)
		p = cmd_progress(model_path(m), "B", s.tensor_bytes);
	for (size_t i = 0; i < s.n_tensors; i++) {
		const struct tensor_info *t = model_tensor(m, i);

		if (as_json)
			json_tensor(m, t, p, &b);
		else
			table_tensor(m, t, p, table);
	}
	progress_end(p);
	if (table)
		cmd_table_end(table);
	buffer_free(&b);
}

static void show(const char *path)
{
	bool tensors = show_tensors || show_stats;
	struct model *m;

	cmd_check(model_open(&m, path));
	if (!tensors && !show_metadata)
		show_summary(m);
	if (show_metadata)
		show_keys(m);
	if (tensors)
		list_tensors(m);
	else if (show_hash)
		show_hashes(m);
	model_close(m);
}

int main(int argc, char **argv)
{
	cmd_begin(&spec, &argc, &argv);
	for (int i = 0; i < argc; i++) {
		if (i && !as_json)
			cmd_print_char('\n');
		show(argv[i]);
	}
	return cmd_end();
}

/* show-device - show what this machine has and what this build does on it */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_graph.h"
#include "cmd/cmd_table.h"
#include "lib/base/cpus.h"
#include "lib/base/machine.h"
#include "lib/base/number.h"
#include "lib/base/system.h"
#include "lib/eval/support.h"
#include "lib/graph/op_table.h"
#include "lib/model/lm_request.h"
#include "lib/train/trainer.h"

#define CACHES 8

static bool as_json, show_ops, show_models;

static const struct cmd_option options[] = {
	CMD_FLAG('o', "ops", &show_ops, "a line an op: which kernels serve it, type by type"),
	CMD_FLAG('m', "models", &show_models,
		 "a line a kind of language model: its class, how it looks and learns, its files"),
	CMD_ENUM(0, "device", &cmd_graph.device, cmd_devices, "NAME",
		 "whose kernels: ref, cpu or cuda (default cpu)"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "show-device",
	.operands = "",
	.summary = "show what this machine has and what this build does on it",
	.options = options,
};

struct machine {
	char name[MACHINE_NAME], huge[SYSTEM_WORD];
	struct system_cache caches[CACHES];
	size_t n_caches, huge_size;
	struct cpus mask;
	int quota;
	enum level level;
};

static void look(struct machine *m)
{
	const char *word;

	machine_name(m->name);
	m->n_caches = system_caches("", m->caches, CACHES);
	system_huge_pages("", m->huge, &m->huge_size);
	cpus_mask(&m->mask);
	m->quota = cpus_quota("");
	if (level_choose(&m->level, &word) < 0)
		cmd_die("NNUTILS_ISA=%s: not one of %s that this machine has", word, level_names());
}

/* --- the machine, for people --- */

static void line(const char *label, struct buffer *b)
{
	cmd_check(buffer_check(b));
	cmd_printf("%-12s", label);
	cmd_print_bytes(buffer_bytes(b));
	cmd_print_char('\n');
	buffer_clear(b);
}

/* `512 KiB`, `32 MiB`: what is stated in powers of two. */
static void put_binary(struct buffer *b, size_t size)
{
	bool mega = size >= 1024 * 1024 && size % (1024 * 1024) == 0;

	buffer_format(b, "%zu %s", mega ? size >> 20 : size >> 10, mega ? "MiB" : "KiB");
}

static void put_caches(const struct machine *m, struct buffer *b)
{
	static const char *const kinds[] = { " data", " instructions", "" };

	for (size_t i = 0; i < m->n_caches; i++) {
		const struct system_cache *c = &m->caches[i];

		buffer_format(b, "%sL%d%s ", i ? ", " : "", c->level, kinds[c->kind]);
		put_binary(b, c->size);
		if (c->sharers > 1)
			buffer_format(b, " shared by %zu", c->sharers);
	}
	if (m->n_caches == 0)
		buffer_put_text(b, "unknown");
}

static void put_levels(const struct machine *m, struct buffer *b)
{
	buffer_format(b, "%s; this machine has", level_name(m->level));
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (level_available((enum level)i))
			buffer_format(b, " %s", level_name((enum level)i));
	buffer_format(b, ", this build %s", level_names());
}

static void put_processors(const struct machine *m, struct buffer *b)
{
	buffer_format(b, "%d online, %zu allowed, ", cpus_online(), m->mask.n);
	if (m->quota)
		buffer_format(b, "a quota of %d", m->quota);
	else
		buffer_put_text(b, "no quota");
	buffer_format(b, "; %d threads", team_default_size());
}

static void put_memory(const struct machine *m, struct buffer *b)
{
	char bytes[NUMBER_TEXT];

	buffer_format(b, "%s; huge pages: %s", number_bytes(system_memory(), bytes), m->huge);
	if (m->huge_size) {
		buffer_put_text(b, ", of ");
		put_binary(b, m->huge_size);
	}
}

/* Words of a list: BETWEEN between them, and BEFORE on both sides of each. */
static void put_word(struct buffer *b, size_t *n, const char *word, const char *before,
		     const char *between)
{
	buffer_format(b, "%s%s%s%s", (*n)++ ? between : "", before, word, before);
}

/* What training updates parameters by. */
static void put_optimizers(struct buffer *b, const char *before, const char *between)
{
	size_t n = 0;

	for (int i = 0; i < TRAINER_OPTIMIZER_COUNT; i++)
		put_word(b, &n, trainer_optimizer_name((enum trainer_optimizer)i), before, between);
}

/* What language models are built of their folders. */
static void put_models(struct buffer *b, const char *before, const char *between)
{
	size_t n = 0;

	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++)
		put_word(b, &n, hf_architecture_name((enum hf_architecture)a), before, between);
}

/* Those that this build has. */
static void put_devices(struct buffer *b, const char *before, const char *between)
{
	size_t n = 0;

	for (int i = 0; cmd_devices[i]; i++)
		if (backend_find(cmd_devices[i]))
			put_word(b, &n, cmd_devices[i], before, between);
}

static void print_machine(const struct machine *m)
{
	struct buffer b = { 0 };

	put_devices(&b, "", ", ");
	line("devices", &b);
	buffer_put_text(&b, m->name);
	line("processor", &b);
	put_levels(m, &b);
	line("level", &b);
	put_processors(m, &b);
	line("processors", &b);
	put_caches(m, &b);
	line("caches", &b);
	put_memory(m, &b);
	line("memory", &b);
	put_models(&b, "", ", ");
	line("models", &b);
	put_optimizers(&b, "", ", ");
	line("optimizers", &b);
	buffer_free(&b);
}

/* --- and as JSON --- */

static void put_json_caches(const struct machine *m, struct buffer *b)
{
	static const char *const kinds[] = { "data", "instruction", "unified" };

	for (size_t i = 0; i < m->n_caches; i++) {
		const struct system_cache *c = &m->caches[i];

		buffer_format(b,
			      "%s{\"level\":%d,\"kind\":\"%s\",\"bytes\":%zu,\"line\":%zu,"
			      "\"sharers\":%zu}",
			      i ? "," : "", c->level, kinds[c->kind], c->size, c->line, c->sharers);
	}
}

static void put_json_levels(struct buffer *b)
{
	size_t n = 0;

	for (int i = 0; i < LEVEL_COUNT; i++)
		if (level_available((enum level)i))
			buffer_format(b, "%s\"%s\"", n++ ? "," : "", level_name((enum level)i));
}

/* The processor's name holds neither quotes nor backslashes that would matter: they become spaces. */
static const char *plain(char *name)
{
	for (char *c = name; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = ' ';
	return name;
}

static void print_json(struct machine *m)
{
	struct buffer b = { 0 };

	buffer_put_text(&b, "{\"devices\":[");
	put_devices(&b, "\"", ",");
	buffer_format(&b, "],\"processor\":\"%s\",\"level\":\"%s\",\"levels\":[", plain(m->name),
		      level_name(m->level));
	put_json_levels(&b);
	buffer_format(&b,
		      "],\"processors\":{\"online\":%d,\"allowed\":%zu,\"quota\":%d,\"threads\":%d}"
		      ",\"caches\":[",
		      cpus_online(), m->mask.n, m->quota, team_default_size());
	put_json_caches(m, &b);
	buffer_format(&b,
		      "],\"memory\":%" PRIu64
		      ",\"huge_pages\":{\"when\":\"%s\",\"bytes\":%zu},\"models\":[",
		      system_memory(), m->huge, m->huge_size);
	put_models(&b, "\"", ",");
	buffer_put_text(&b, "],\"optimizers\":[");
	put_optimizers(&b, "\"", ",");
	buffer_put_text(&b, "]}\n");
	cmd_check(buffer_check(&b));
	cmd_print_bytes(buffer_bytes(&b));
	buffer_free(&b);
}

/* --- ops --- */

static const enum dtype floats[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
#define FLOATS (sizeof(floats) / sizeof(*floats))

/* A cell for each type of floats, and one for blocks, which names the types. */
struct op_cells {
	struct buffer text[FLOATS + 1];
	enum support support[FLOATS + 1];
};

static void ask(const struct backend *b, enum op op, struct op_cells *c)
{
	for (size_t i = 0; i <= FLOATS; i++) {
		struct buffer *t = &c->text[i];

		cmd_check(i < FLOATS ? support_of(b, op, floats[i], &c->support[i], t)
				     : support_blocks(b, op, &c->support[i], t));
		if (t->size == 0)
			buffer_put_text(t, c->support[i] == SUPPORT_NONE ? "-" : "ref");
		buffer_put_u8(t, 0);
		cmd_check(buffer_check(t));
	}
}

static void print_op_json(enum op op, const struct op_cells *c)
{
	cmd_printf("{\"op\":\"%s\"", op_info(op)->name);
	for (size_t i = 0; i <= FLOATS; i++)
		cmd_printf(",\"%s\":\"%s\"", i < FLOATS ? dtype_name(floats[i]) : "blocks",
			   c->support[i] == SUPPORT_NONE ? "" : c->text[i].data);
	cmd_printf("}\n");
}

static void print_ops(const struct backend *b)
{
	static const char *const headings[] = { "op", "f32", "bf16", "f16", "blocks", NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (int op = 0; op < OP_COUNT; op++) {
		struct op_cells c = { 0 };

		if (op_info((enum op)op)->flags & OP_VIEW)
			continue;
		ask(b, (enum op)op, &c);
		if (as_json)
			print_op_json((enum op)op, &c);
		else
			cmd_table_cell(t, "%s", op_info((enum op)op)->name);
		for (size_t i = 0; i <= FLOATS; i++) {
			if (!as_json)
				cmd_table_cell(t, "%s", c.text[i].data);
			buffer_free(&c.text[i]);
		}
	}
	if (t)
		cmd_table_end(t);
}

/* --- language models --- */

/* A small model of the kind, declared: the builder and the names are asked, there is no list. */
struct model_kind_cells {
	const char *class_name, *looks, *objective;
	bool builds, folder, gguf;
};

static void ask_model(enum hf_architecture a, struct model_kind_cells *c)
{
	struct lm_request r = { .architecture = a, .shape = { .layers = 2, .width = 64 } };
	struct bind_rules rules;
	struct hf_config config;
	struct arena *arena;
	struct store *s;

	cmd_check(arena_new(&arena));
	cmd_check(store_new(&s));
	cmd_check(lm_request_config(&config, arena, &r));
	*c = (struct model_kind_cells){ .class_name = hf_language_class(a) };
	c->looks = config.window ? "sliding" : config.bidirectional ? "both ways" : "back";
	c->objective = config.bidirectional ? "mlm" : "next";
	c->builds = lm_declare(s, &config) == 0;
	c->folder = lm_rules(&rules, arena, &config, MODEL_FOLDER, false) == 0;
	c->gguf = lm_rules(&rules, arena, &config, MODEL_GGUF, false) == 0;
	store_free(s);
	arena_free(arena);
}

static void print_model_json(enum hf_architecture a, const struct model_kind_cells *c)
{
	cmd_printf("{\"model\":\"%s\",\"class\":\"%s\",\"objective\":\"%s\",\"looks\":\"%s\","
		   "\"folder\":%s,\"gguf\":%s}\n",
		   hf_architecture_name(a), c->class_name, c->objective, c->looks,
		   c->builds && c->folder ? "true" : "false",
		   c->builds && c->gguf ? "true" : "false");
}

static void print_models(void)
{
	static const char *const headings[] = { "model", "class", "objective",
						"looks", "files", NULL };
	struct cmd_table *t = as_json ? NULL : cmd_table_new(headings);

	for (int a = HF_UNKNOWN + 1; a < HF_ARCHITECTURE_COUNT; a++) {
		struct model_kind_cells c;

		ask_model((enum hf_architecture)a, &c);
		if (as_json) {
			print_model_json((enum hf_architecture)a, &c);
			continue;
		}
		cmd_table_cell(t, "%s", hf_architecture_name((enum hf_architecture)a));
		cmd_table_cell(t, "%s", c.class_name);
		cmd_table_cell(t, "%s", c.objective);
		cmd_table_cell(t, "%s", c.looks);
		cmd_table_cell(t, "%s",
			       !c.builds	    ? "-"
			       : c.folder && c.gguf ? "folder, gguf"
			       : c.folder	    ? "folder"
			       : c.gguf		    ? "gguf"
						    : "-");
	}
	if (t)
		cmd_table_end(t);
}

int main(int argc, char **argv)
{
	struct machine m = { 0 };

	cmd_begin(&spec, &argc, &argv);
	if (show_models && show_ops)
		cmd_misuse("--models and --ops");
	look(&m);
	if (show_models)
		print_models();
	else if (show_ops)
		print_ops(cmd_device());
	else if (as_json)
		print_json(&m);
	else
		print_machine(&m);
	return cmd_end();
}

/* lib/model/gguf_import_config.c - config.json and generation_config.json of a GGUF: those that it kept, or what its keys say */

#include "lib/model/gguf_import_parts.h"

#include "formats/gguf_config_write.h"
#include "lib/base/err.h"
#include "lib/model/gguf_source_parts.h"

/* Whether the config.json that was kept, KEPT, says the same as OURS: then it is written as it was. */
static int same_as_kept(const struct gguf_import *i, const struct hf_config *ours,
			struct bytes *kept)
{
	struct hf_config c, again = *ours;
	struct buffer text = { 0 };
	struct arena *arena = NULL;
	struct buffer b = { 0 };
	int got = gguf_import_kept(i, "config.json", kept);

	if (got <= 0)
		return got;
	if (arena_new(&arena) < 0)
		return -1;
	got = hf_config_parse(&c, arena, *kept, GGUF_SOURCE_FILE "config.json") == 0;
	/* Ours has generation_config.json's ends too, which come back in that file. */
	if (got && c.eos.n < ours->eos.n)
		again.eos = c.eos;
	got = got && hf_config_put(&b, &c) == 0 && hf_config_put(&text, &again) == 0 &&
	      bytes_equal(buffer_bytes(&b), buffer_bytes(&text));
	arena_free(arena);
	buffer_free(&text);
	buffer_free(&b);
	return got;
}

/* TEXT is what is to be written of C. A GGUF may have biases here and there; config.json has a word for all of attention's together. */
static int check_words(const struct gguf_import *i, const struct hf_config *c, struct bytes text)
{
	struct hf_config again;
	struct arena *arena = NULL;
	int result = -1;

	if (arena_new(&arena) == 0)
		result = hf_config_parse(&again, arena, text, "config.json");
	if (result == 0 && (again.qkv_bias != c->qkv_bias || again.out_bias != c->out_bias ||
			    again.mlp_bias != c->mlp_bias))
		result = err_set(ERR_UNSUPPORTED,
				 "%s: its biases are not those that a config.json of %s can say",
				 model_path(i->model), hf_architecture_name(c->architecture));
	arena_free(arena);
	return result;
}

static int write_config(struct gguf_import *i, struct outdir *d)
{
	struct hf_config c = *i->config;
	struct buffer b = { 0 };
	struct bytes kept;
	int result;

	c.dtype = gguf_import_dtype(i);
	result = hf_config_put(&b, &c);
	if (result == 0)
		result = check_words(i, &c, buffer_bytes(&b));
	if (result == 0)
		result = same_as_kept(i, &c, &kept);
	if (result >= 0)
		result = outdir_text(d, "config.json", result ? kept : buffer_bytes(&b));
	buffer_free(&b);
	if (!gguf_get(model_gguf(i->model), GGUF_CONFIG_REST) &&
	    !gguf_get(model_gguf(i->model), GGUF_SOURCE_FILE "config.json"))
		buffer_format(
			&i->notes,
			"config.json: what GGUF has no key for (initializer_range, dropout) is "
			"transformers' default\n");
	return result;
}

static int write_generation(struct gguf_import *i, struct outdir *d)
{
	struct buffer b = { 0 };
	struct bytes text;
	int got = gguf_import_kept(i, "generation_config.json", &text), result = 0;

	if (got < 0)
		return -1;
	if (got == 0 && i->config->architecture == HF_BERT)
		return 0;
	if (got == 0)
		result = hf_generation_put(&b, i->config);
	if (result == 0)
		result = outdir_text(d, "generation_config.json", got ? text : buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

int gguf_import_config(struct gguf_import *i, struct outdir *d)
{
	return write_config(i, d) < 0 ? -1 : write_generation(i, d);
}

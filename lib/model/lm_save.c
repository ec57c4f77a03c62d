/* lib/model/lm_save.c - a language model as a Hugging Face folder */

#include "lib/model/lm_save.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

/* --- configurations --- */

static enum dtype most_common_dtype(const struct store *s)
{
	size_t bytes[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_F32;

	for (size_t i = 0; i < store_n(s); i++)
		if (store_at(s, i)->kind == STORE_PARAMETER)
			bytes[store_at(s, i)->dtype] += store_at(s, i)->size;
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (bytes[t] > bytes[most])
			most = (enum dtype)t;
	return most;
}

/* What PUT makes of C, as the file NAME. */
static int save_put(struct outdir *d, const char *name, const struct hf_config *c,
		    int (*put)(struct buffer *b, const struct hf_config *c))
{
	struct buffer b = { 0 };
	int result = put(&b, c);

	if (result == 0)
		result = outdir_text(d, name, buffer_bytes(&b));
	buffer_free(&b);
	return result;
}

int lm_save_config(struct outdir *d, const struct hf_config *c, const struct store *s)
{
	struct hf_config config = *c;

	config.dtype = most_common_dtype(s);
	return save_put(d, "config.json", &config, hf_config_put);
}

int lm_save_generation(struct outdir *d, const struct hf_config *c)
{
	if (c->architecture == HF_BERT)
		return 0;
	return save_put(d, "generation_config.json", c, hf_generation_put);
}

/* --- weights --- */

/* Of those that are made. */
static size_t largest(const struct bind_saver *saver)
{
	size_t most = 1;

	for (size_t i = 0; i < bind_saver_n(saver); i++)
		if (!bind_saver_data(saver, i) && bind_saver_tensor(saver, i)->n_bytes > most)
			most = bind_saver_tensor(saver, i)->n_bytes;
	return most;
}

static int write_tensors(struct safetensors_writer *w, struct outfile *f,
			 const struct bind_saver *saver)
{
	size_t n = bind_saver_n(saver);
	void *values = NULL;
	int result;

	safetensors_put_pair(w, bytes_of("format"), bytes_of("pt"));
	for (size_t i = 0; i < n; i++)
		safetensors_put_tensor(w, bind_saver_tensor(saver, i));
	result = safetensors_writer_begin(w, f);
	if (result == 0)
		values = mem_pages(largest(saver));
	if (!values)
		return -1;
	for (size_t i = 0; i < n && result == 0; i++) {
		size_t place = safetensors_writer_order(w, i);
		const void *data = bind_saver_data(saver, place);

		if (!data && (result = bind_saver_values(saver, place, values, NULL)) == 0)
			data = values;
		if (result == 0)
			result = safetensors_writer_data(w, data,
							 bind_saver_tensor(saver, place)->n_bytes);
	}
	free(values);
	return result < 0 ? -1 : safetensors_writer_end(w);
}

int lm_save_weights(struct outdir *d, const struct store *s, const struct bind_rules *rules)
{
	struct safetensors_writer *w = NULL;
	struct bind_saver *saver = NULL;
	struct outfile *f = NULL;
	int result = -1;

	if (bind_saver_new(&saver, s, rules) == 0 && safetensors_writer_new(&w, false) == 0 &&
	    outdir_file(d, LM_WEIGHTS, &f) == 0)
		result = write_tensors(w, f, saver);
	if (result == 0)
		result = outfile_commit(f);
	else
		outfile_discard(f);
	safetensors_writer_free(w);
	bind_saver_free(saver);
	return result;
}

/* --- what goes with it --- */

static const char *const companions[] = {
	"generation_config.json",
	"tokenizer.json",
	"tokenizer_config.json",
	"special_tokens_map.json",
	"added_tokens.json",
	"vocab.json",
	"merges.txt",
	"vocab.txt",
	"tokenizer.model",
	"tekken.json",
	"chat_template.jinja",
	"chat_template.json",
};

static int copy_companion(struct outdir *d, const char *from, const char *name)
{
	struct mapfile *map;
	struct outfile *f = NULL;
	int result;

	if (mapfile_open(&map, from) < 0)
		return -1;
	result = outdir_file(d, name, &f);
	if (result == 0)
		result = outfile_copy(f, mapfile_fd(map), 0, mapfile_bytes(map).size);
	mapfile_close(map);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

int lm_save_companions(struct outdir *d, const char *folder)
{
	struct stat st;
	int result = 0;

	if (stat(folder, &st) != 0)
		return err_system("%s", folder);
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions) && result == 0; i++) {
		char *from = mem_format("%s/%s", folder, companions[i]);

		if (!from)
			return -1;
		if (stat(from, &st) == 0)
			result = copy_companion(d, from, companions[i]);
		else if (errno != ENOENT)
			result = err_system("%s", from);
		free(from);
	}
	return result;
}

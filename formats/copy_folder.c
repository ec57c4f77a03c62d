/* formats/copy_folder.c - a Hugging Face folder written again: weights, index, and all that lies beside */

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/copy_plan.h"
#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

#define WEIGHTS "model.safetensors"
#define INDEX	"model.safetensors.index.json"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The shards of a plan that keeps them have the source's names. */
static char *shard_name(const struct copy_plan *p, const struct model *m, uint32_t shard)
{
	bool kept = !p->options->shard_bytes && !p->options->join;
	const char *name;

	if (p->n_shards == 1 && (!kept || model_n_files(m) == 1))
		return mem_copy(WEIGHTS, strlen(WEIGHTS));
	if (kept) {
		name = base_name(model_file_path(m, shard));
		return mem_copy(name, strlen(name));
	}
	return mem_format("model-%05" PRIu32 "-of-%05" PRIu32 ".safetensors", shard + 1,
			  p->n_shards);
}

/* Every file goes over byte for byte. */
static bool is_whole(const struct copy_options *o)
{
	return copy_is_plain(o) && !o->join;
}

static int write_shard(const struct copy_plan *p, const struct model *m, uint32_t shard,
		       struct outdir *d, const char *name)
{
	struct outfile *f;
	int result;

	if (outdir_file(d, name, &f) < 0)
		return -1;
	if (is_whole(p->options))
		result = copy_file(f, model_file_fd(m, shard), model_file_size(m, shard),
				   p->progress);
	else
		result = copy_write_shard(p, m, shard, f);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

static int write_index(const struct copy_plan *p, struct outdir *d, char *const *shard_names)
{
	struct bytes *names = mem_new(p->n, sizeof(*names));
	struct bytes *files = mem_new(p->n, sizeof(*files));
	struct outfile *f = NULL;
	int result = -1;

	if (!names || !files || outdir_file(d, INDEX, &f) < 0)
		goto out;
	for (size_t i = 0; i < p->n; i++) {
		names[i] = p->items[i].to.name;
		files[i] = bytes_of(shard_names[p->items[i].shard]);
	}
	result = safetensors_write_index(f, names, files, p->n, p->report->bytes);
	if (result == 0)
		result = outfile_commit(f);
	else
		outfile_discard(f);
out:
	free(names);
	free(files);
	return result;
}

static int write_weights(const struct copy_plan *p, const struct model *m, struct outdir *d)
{
	char **names = mem_new(p->n_shards, sizeof(*names));
	int result = names ? 0 : -1;
	bool index = false;

	for (uint32_t i = 0; i < p->n_shards && result == 0; i++) {
		names[i] = shard_name(p, m, i);
		index = index || (names[i] && strcmp(names[i], WEIGHTS) != 0);
		result = names[i] ? write_shard(p, m, i, d, names[i]) : -1;
	}
	if (result == 0 && index && !(is_whole(p->options) && model_kind(m) == MODEL_FOLDER))
		result = write_index(p, d, names);
	for (uint32_t i = 0; names && i < p->n_shards; i++)
		free(names[i]);
	free(names);
	return result;
}

/* --- what lies beside the weights --- */

/* What transformers calls the type in `dtype` and `torch_dtype`. */
static const char *torch_name(enum dtype t)
{
	switch (t) {
	case DTYPE_F64: return "float64";
	case DTYPE_F32: return "float32";
	case DTYPE_F16: return "float16";
	case DTYPE_BF16: return "bfloat16";
	default: return NULL;
	}
}

/* config.json with the values of its two spellings of the type replaced, and no other byte touched. */
static int put_config(struct buffer *b, struct bytes text, const char *path, const char *type)
{
	const char *from = text.data;
	struct bytes key, value;
	struct json *j;
	int got;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, path, NULL);
	json_object(j);
	while ((got = json_key(j, &key)) > 0) {
		if (json_skip(j, &value) < 0)
			break;
		if (!bytes_are(key, "dtype") && !bytes_are(key, "torch_dtype"))
			continue;
		buffer_put(b, from, (size_t)(value.data - from));
		buffer_format(b, "\"%s\"", type);
		from = value.data + value.size;
	}
	got = json_end(j);
	json_free(j);
	buffer_put(b, from, (size_t)(text.data + text.size - from));
	return got < 0 ? -1 : buffer_check(b);
}

static int copy_config(const char *path, struct outfile *f, enum dtype dtype)
{
	const char *type = torch_name(dtype);
	struct buffer b = { 0 };
	size_t size;
	char *text;
	int result;

	if (!type)
		return err_set(ERR_UNSUPPORTED, "%s: has no name for %s", path, dtype_name(dtype));
	if (file_read(path, HF_CONFIG_BYTES_MAX, &text, &size) < 0)
		return -1;
	result = put_config(&b, (struct bytes){ text, size }, path, type);
	if (result == 0)
		result = outfile_write(f, b.data, b.size);
	buffer_free(&b);
	free(text);
	return result;
}

static int copy_beside(const char *path, const char *name, struct outdir *d,
		       const struct copy_options *o)
{
	struct mapfile *map = NULL;
	struct outfile *f;
	int result;

	if (outdir_file(d, name, &f) < 0)
		return -1;
	if (o->dtype && strcmp(name, "config.json") == 0) {
		result = copy_config(path, f, o->dtype);
	} else {
		result = mapfile_open(&map, path);
		if (result == 0)
			result = outfile_copy(f, mapfile_fd(map), 0, mapfile_bytes(map).size);
		mapfile_close(map);
	}
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

/* The source's weight files, and its index where the copy writes it anew. */
static bool is_weights(const struct model *m, const struct copy_options *o, const char *name)
{
	if (strcmp(name, INDEX) == 0)
		return !is_whole(o);
	for (size_t i = 0; i < model_n_files(m); i++)
		if (strcmp(name, base_name(model_file_path(m, i))) == 0)
			return true;
	return false;
}

static int copy_entry(const struct model *m, const char *name, struct outdir *d,
		      const struct copy_options *o)
{
	char *path = mem_format("%s/%s", model_path(m), name);
	struct stat st;
	int result = -1;

	if (!path)
		return -1;
	if (stat(path, &st) != 0)
		err_system("%s", path);
	else
		result = S_ISREG(st.st_mode) ? copy_beside(path, name, d, o) : 0;
	free(path);
	return result;
}

/* Regular files only; folders inside a model folder are left where they are. */
static int copy_others(const struct model *m, struct outdir *d, const struct copy_options *o)
{
	struct dirent *entry;
	int result = 0;
	DIR *folder = opendir(model_path(m));

	if (!folder)
		return err_system("%s", model_path(m));
	while (result == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && !is_weights(m, o, entry->d_name))
			result = copy_entry(m, entry->d_name, d, o);
	closedir(folder);
	return result;
}

int copy_folder(const struct model *m, const char *target, const struct copy_options *o,
		struct copy_report *report, struct progress *progress)
{
	enum copy_sharding how = o->shard_bytes ? COPY_BY_SIZE : o->join ? COPY_JOIN : COPY_KEEP;
	struct copy_plan *p;
	struct outdir *d = NULL;
	int result;

	if (copy_plan_new(&p, m, o, how, report, progress) < 0)
		return -1;
	result = outdir_new(&d, target);
	if (result == 0)
		result = write_weights(p, m, d);
	if (result == 0 && model_kind(m) == MODEL_FOLDER)
		result = copy_others(m, d, o);
	if (result == 0)
		result = outdir_commit(d);
	else
		outdir_discard(d);
	copy_plan_free(p);
	return result;
}

/* formats/model.c - a model on disk, whatever its format */

#include "formats/model.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/gguf_config.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define WEIGHTS "model.safetensors"
#define INDEX	"model.safetensors.index.json"

struct model {
	enum model_kind kind;
	char *path;
	struct gguf *gguf; /* one of the two */
	struct safetensors *safetensors;
	struct arena *arena; /* of the configuration */
	struct hf_config config;
	int config_state; /* as model_config returns it; 2: not looked at yet */
};

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int open_folder(struct model *m)
{
	char *weights = mem_format("%s/" WEIGHTS, m->path);
	char *index = mem_format("%s/" INDEX, m->path);
	int result = -1;

	m->kind = MODEL_FOLDER;
	if (!weights || !index)
		goto out;
	if (file_exists(weights) && file_exists(index))
		err_set(ERR_FORMAT, "%s: holds both " WEIGHTS " and " INDEX, m->path);
	else if (file_exists(weights))
		result = safetensors_open(&m->safetensors, weights);
	else if (file_exists(index))
		result = safetensors_open(&m->safetensors, index);
	else
		err_set(ERR_MISSING, "%s: holds neither " WEIGHTS " nor " INDEX, m->path);
out:
	free(weights);
	free(index);
	return result;
}

/* 1 when the file starts as GGUF does, in either byte order; 0 when not; -1. */
static int is_gguf(const char *path)
{
	char magic[4] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return err_system("%s", path);
	do
		got = read(fd, magic, sizeof(magic));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		err_system("%s", path);
	close(fd);
	return got < 0 ? -1 : memcmp(magic, "GGUF", 4) == 0 || memcmp(magic, "FUGG", 4) == 0;
}

static int open_file(struct model *m)
{
	int gguf = is_gguf(m->path);

	if (gguf < 0)
		return -1;
	m->kind = gguf ? MODEL_GGUF : MODEL_SAFETENSORS;
	return gguf ? gguf_open(&m->gguf, m->path) : safetensors_open(&m->safetensors, m->path);
}

static int new_model(struct model **out, const char *path)
{
	struct model *m = mem_new(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return -1;
	m->config_state = 2;
	m->path = mem_copy(path, strlen(path));
	if (!m->path || arena_new(&m->arena) < 0) {
		model_close(m);
		return -1;
	}
	*out = m;
	return 0;
}

int model_open(struct model **out, const char *path)
{
	struct stat st;
	struct model *m;
	int result;

	*out = NULL;
	if (stat(path, &st) != 0)
		return err_system("%s", path);
	if (new_model(&m, path) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		result = open_folder(m);
	else if (S_ISREG(st.st_mode))
		result = open_file(m);
	else
		result = err_set(ERR_ARGUMENT, "%s: a model must be a file or a folder", path);
	if (result < 0)
		model_close(m);
	else
		*out = m;
	return result;
}

int model_open_parts(struct model **out, const char *const *paths, size_t n)
{
	struct model *m;

	if (n == 1)
		return model_open(out, paths[0]);
	*out = NULL;
	if (n == 0)
		return err_set(ERR_ARGUMENT, "no model is given");
	if (new_model(&m, paths[0]) < 0)
		return -1;
	m->kind = MODEL_GGUF;
	if (gguf_open_parts(&m->gguf, paths, n) < 0) {
		model_close(m);
		return -1;
	}
	*out = m;
	return 0;
}

int model_open_memory(struct model **out, const void *data, size_t size, const char *name)
{
	struct model *m;

	if (new_model(&m, name) < 0)
		return -1;
	m->kind = MODEL_GGUF;
	if (gguf_open_memory(&m->gguf, data, size, name) < 0) {
		model_close(m);
		return -1;
	}
	*out = m;
	return 0;
}

void model_close(struct model *m)
{
	if (!m)
		return;
	gguf_close(m->gguf);
	safetensors_close(m->safetensors);
	arena_free(m->arena);
	free(m->path);
	free(m);
}

enum model_kind model_kind(const struct model *m)
{
	return m->kind;
}

const char *model_path(const struct model *m)
{
	return m->path;
}

const char *model_kind_name(enum model_kind k)
{
	static const char *const names[] = {
		[MODEL_GGUF] = "gguf",
		[MODEL_SAFETENSORS] = "safetensors",
		[MODEL_FOLDER] = "folder",
	};

	return names[k];
}

struct gguf *model_gguf(const struct model *m)
{
	return m->gguf;
}

struct safetensors *model_safetensors(const struct model *m)
{
	return m->safetensors;
}

size_t model_n_tensors(const struct model *m)
{
	return m->gguf ? gguf_n_tensors(m->gguf) : safetensors_n_tensors(m->safetensors);
}

const struct tensor_info *model_tensor(const struct model *m, size_t i)
{
	return m->gguf ? gguf_tensor(m->gguf, i) : safetensors_tensor(m->safetensors, i);
}

const struct tensor_info *model_find(const struct model *m, struct bytes name)
{
	return m->gguf ? gguf_find(m->gguf, name) : safetensors_find(m->safetensors, name);
}

size_t model_n_files(const struct model *m)
{
	return m->gguf ? gguf_n_files(m->gguf) : safetensors_n_files(m->safetensors);
}

const char *model_file_path(const struct model *m, size_t i)
{
	return m->gguf ? gguf_file_path(m->gguf, i) : safetensors_file_path(m->safetensors, i);
}

int model_file_fd(const struct model *m, size_t i)
{
	return m->gguf ? gguf_file_fd(m->gguf, i) : safetensors_file_fd(m->safetensors, i);
}

uint64_t model_file_size(const struct model *m, size_t i)
{
	return m->gguf ? gguf_file_size(m->gguf, i) : safetensors_file_size(m->safetensors, i);
}

static bool same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

bool model_reads(const struct model *m, const char *path)
{
	struct stat s;

	if (stat(path, &s) != 0)
		return false;
	for (size_t i = 0; i < model_n_files(m); i++)
		if (same_file(&s, model_file_path(m, i)))
			return true;
	return same_file(&s, model_path(m));
}

static int read_config(struct model *m)
{
	char *path;
	int result;

	if (m->kind == MODEL_SAFETENSORS)
		return 0;
	if (m->kind == MODEL_GGUF)
		return gguf_config(m->gguf, &m->config, m->arena) < 0 ? -1 : 1;
	path = mem_format("%s/config.json", m->path);
	if (!path)
		return -1;
	result = hf_config_read(&m->config, m->arena, path) < 0 ? -1 : 1;
	free(path);
	return result;
}

int model_config(struct model *m, const struct hf_config **out)
{
	/* A failure is found anew each time, so that its message is there to be read. */
	if (m->config_state == 2 || m->config_state < 0)
		m->config_state = read_config(m);
	*out = m->config_state > 0 ? &m->config : NULL;
	return m->config_state;
}

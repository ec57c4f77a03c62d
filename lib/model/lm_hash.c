/* lib/model/lm_hash.c - what tells one language model on disk from another */

#include "formats/hf_config.h"
#include "lib/base/hash.h"
#include "lib/base/mapfile.h"
#include "lib/model/lm.h"

static int hash_file(const char *path, struct team *team, struct hash128 *out)
{
	struct mapfile *map;
	struct bytes b;
	int result;

	if (mapfile_open(&map, path) < 0)
		return -1;
	b = mapfile_bytes(map);
	result = hash_memory(team, b.data, b.size, out);
	mapfile_close(map);
	return result;
}

int lm_hash(const struct lm *m, struct team *team, struct hash128 *out)
{
	struct buffer b = { 0 };
	int result = hf_config_put(&b, m->config);

	for (size_t i = 0; i < model_n_files(m->model) && result == 0; i++) {
		struct hash128 h;

		result = hash_file(model_file_path(m->model, i), team, &h);
		if (result == 0)
			buffer_put(&b, h.digest, sizeof(h.digest));
	}
	if (result == 0)
		result = buffer_check(&b);
	if (result == 0)
		result = hash_memory(NULL, b.data, b.size, out);
	buffer_free(&b);
	return result;
}

/* lib/infer/prompt_cache.c - what a prompt left in the cache of keys and values, in a file */

#include "lib/infer/prompt_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/safetensors.h"
#include "kernels/cpu/level.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FORMAT	"nnutils-prompt-cache"
#define VERSION "1"
#define NAME	64

const char *prompt_cache_level(const struct backend *b)
{
	b = b ? b : backend_cpu();
	return strcmp(b->name, "cpu") == 0 ? level_name(b->level) : b->name;
}

/* --- what it belongs to --- */

/* Keys of the metadata, and what they are called in a message. */
enum { VERSION_PAIR, MODEL, KERNELS, COMPUTE, CACHE, ROPE, PAIRS };
static const char *const pair_keys[PAIRS] = { "version", "model", "kernels",
					      "compute", "cache", "rope" };
static const char *const pair_names[PAIRS] = { "of version",  "of the model", "for the kernels",
					       "computed in", "of the type",  "of a rope" };

struct identity {
	char text[PAIRS][HASH_HEX];
};

/* Frequencies and factors of both kinds of attention. */
static int rope_hash(const struct prompt_cache_of *of, char out[HASH_HEX])
{
	struct hasher *h;
	struct hash128 value;

	if (hasher_new(&h) < 0)
		return -1;
	for (int i = 0; i < HF_ATTENTION_COUNT; i++) {
		float frequencies[LM_PAIRS_MAX];
		double scale = 1;
		size_t n = 0;

		if (of->config->position == HF_POSITION_ROPE)
			n = lm_rope(&of->config->rope[i], of->config->head_dim, of->config->context,
				    of->context, frequencies, &scale);
		hasher_add(h, frequencies, n * sizeof(*frequencies));
		hasher_add(h, &scale, sizeof(scale));
	}
	value = hasher_value(h);
	hasher_free(h);
	hash_hex(&value, out);
	return 0;
}

static int identify(const struct prompt_cache_of *of, struct identity *out)
{
	snprintf(out->text[VERSION_PAIR], HASH_HEX, "%s", VERSION);
	hash_hex(&of->model, out->text[MODEL]);
	snprintf(out->text[KERNELS], HASH_HEX, "%s", of->level);
	snprintf(out->text[COMPUTE], HASH_HEX, "%s", of->compute);
	snprintf(out->text[CACHE], HASH_HEX, "%s", dtype_name(of->cache));
	return rope_hash(of, out->text[ROPE]);
}

static struct bytes find_pair(const struct safetensors *f, const char *key)
{
	for (size_t i = 0; i < safetensors_n_pairs(f); i++)
		if (bytes_are(safetensors_pair(f, i)->key, key))
			return safetensors_pair(f, i)->value;
	return (struct bytes){ NULL, 0 };
}

static int check_identity(const char *path, const struct safetensors *f, const struct identity *id)
{
	if (!bytes_are(find_pair(f, "format"), FORMAT))
		return err_set(ERR_FORMAT, "%s: is no prompt cache", path);
	for (int i = 0; i < PAIRS; i++) {
		struct bytes has = find_pair(f, pair_keys[i]);

		if (!bytes_are(has, id->text[i]))
			return err_set(ERR_MISMATCH, "%s: a prompt cache %s %.*s, not %s", path,
				       pair_names[i], (int)has.size, has.data, id->text[i]);
	}
	return 0;
}

/* --- its tensors --- */

/* Rows of a type that safetensors does not have are bytes. */
static void describe(struct tensor_info *t, char name[NAME], const struct prompt_cache_of *of,
		     uint32_t layer, int values, size_t n, size_t row)
{
	const struct hf_config *c = of->config;
	bool blocks = dtype_info(of->cache)->block > 1;

	snprintf(name, NAME, "layers.%" PRIu32 ".%s", layer, values ? "v" : "k");
	*t = (struct tensor_info){ .name = bytes_of(name),
				   .dtype = blocks ? DTYPE_U8 : of->cache,
				   .n_dims = blocks ? 2 : 3,
				   .shape = { n, blocks ? row : c->n_kv_heads, c->head_dim },
				   .n_bytes = n * row };
}

static struct tensor_info tokens_info(size_t n)
{
	return (struct tensor_info){ .name = bytes_of("tokens"),
				     .dtype = DTYPE_I32,
				     .n_dims = 1,
				     .shape = { n },
				     .n_bytes = n * sizeof(int32_t) };
}

/* Calls TAKE with each page of the first N tokens' keys, or VALUES, of a layer. */
typedef int take_page(void *to, const void *data, size_t size);
static int walk(struct session *s, size_t n, uint32_t layer, bool values, take_page *take_it,
		void *to)
{
	for (size_t i = 0; i < n / ENGINE_PAGE; i++) {
		size_t row;
		const void *page =
			engine_page(session_engine(s), session_sequence(s), layer, values, i, &row);

		if (!page || take_it(to, page, ENGINE_PAGE * row) < 0)
			return -1;
	}
	return 0;
}

static int add_to_hash(void *to, const void *data, size_t size)
{
	hasher_add(to, data, size);
	return 0;
}

static int hash_contents(struct session *s, const struct hf_config *c, size_t n, char out[HASH_HEX])
{
	struct hash128 value;
	struct hasher *h;
	int result = 0;

	if (hasher_new(&h) < 0)
		return -1;
	hasher_add(h, engine_ids(session_engine(s), session_sequence(s)), n * sizeof(int32_t));
	for (uint32_t i = 0; i < 2 * c->n_layers && result == 0; i++)
		result = walk(s, n, i / 2, i % 2, add_to_hash, h);
	value = hasher_value(h);
	hasher_free(h);
	hash_hex(&value, out);
	return result;
}

/* --- writing --- */

static size_t row_bytes(const struct prompt_cache_of *of)
{
	size_t bytes = 0;

	/* The engine has such rows: it fits. */
	dtype_size(of->cache, (uint64_t)of->config->n_kv_heads * of->config->head_dim, &bytes);
	return bytes;
}

static int add_data(void *to, const void *data, size_t size)
{
	return safetensors_writer_data(to, data, size);
}

/* Declared are the tokens, then keys and values of each layer. */
static int write_tensor(struct safetensors_writer *w, size_t declared, struct session *s, size_t n)
{
	size_t i = declared - 1;

	if (declared == 0)
		return safetensors_writer_data(
			w, engine_ids(session_engine(s), session_sequence(s)), n * sizeof(int32_t));
	return walk(s, n, (uint32_t)(i / 2), i % 2, add_data, w);
}

static int declare(struct safetensors_writer *w, struct session *s,
		   const struct prompt_cache_of *of, size_t n)
{
	const struct tensor_info tokens = tokens_info(n);
	char hash[HASH_HEX], name[NAME];
	struct identity id;

	if (identify(of, &id) < 0 || hash_contents(s, of->config, n, hash) < 0)
		return -1;
	safetensors_put_pair(w, bytes_of("format"), bytes_of(FORMAT));
	for (int i = 0; i < PAIRS; i++)
		safetensors_put_pair(w, bytes_of(pair_keys[i]), bytes_of(id.text[i]));
	safetensors_put_pair(w, bytes_of("hash"), bytes_of(hash));
	safetensors_put_tensor(w, &tokens);
	for (uint32_t i = 0; i < 2 * of->config->n_layers; i++) {
		struct tensor_info t;

		describe(&t, name, of, i / 2, i % 2, n, row_bytes(of));
		safetensors_put_tensor(w, &t);
	}
	return 0;
}

static int write_all(struct safetensors_writer *w, struct outfile *f, struct session *s,
		     const struct prompt_cache_of *of, size_t n)
{
	if (declare(w, s, of, n) < 0 || safetensors_writer_begin(w, f) < 0)
		return -1;
	for (size_t i = 0; i < 1 + 2 * (size_t)of->config->n_layers; i++)
		if (write_tensor(w, safetensors_writer_order(w, i), s, n) < 0)
			return -1;
	return safetensors_writer_end(w);
}

int prompt_cache_save(const char *path, struct session *s, const struct prompt_cache_of *of,
		      size_t n)
{
	struct safetensors_writer *w = NULL;
	struct outfile *f;
	int result;

	n = (n < session_length(s) ? n : session_length(s)) / ENGINE_PAGE * ENGINE_PAGE;
	if (outfile_new(&f, path) < 0)
		return -1;
	result = safetensors_writer_new(&w, true);
	if (result == 0)
		result = write_all(w, f, s, of, n);
	safetensors_writer_free(w);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

/* --- reading --- */

static const struct tensor_info *find_tensor(const char *path, const struct safetensors *f,
					     const struct tensor_info *want)
{
	const struct tensor_info *t = safetensors_find(f, want->name);
	bool same = t && t->dtype == want->dtype && t->n_dims == want->n_dims;

	for (uint32_t i = 0; same && i < t->n_dims; i++)
		same = t->shape[i] == want->shape[i];
	if (same)
		return t;
	err_set(ERR_FORMAT, "%s: tensor %.*s: %s", path, (int)want->name.size, want->name.data,
		t ? "not of the shape and type that the model's cache has" : "is missing");
	return NULL;
}

/* The tokens; *N of them. NULL with the error set. */
static const struct tensor_info *find_tokens(const char *path, const struct safetensors *f,
					     size_t *n)
{
	const struct tensor_info *t = safetensors_find(f, bytes_of("tokens"));

	*n = t && t->n_dims == 1 ? (size_t)t->shape[0] : 0;
	if (t && t->dtype == DTYPE_I32 && t->n_dims == 1 && *n % ENGINE_PAGE == 0)
		return t;
	err_set(ERR_FORMAT, "%s: tensor tokens: not whole pages of %d ids", path, ENGINE_PAGE);
	return NULL;
}

static int check_hash(const char *path, const struct safetensors *f,
		      const struct prompt_cache_of *of, size_t n)
{
	const struct tensor_info tokens = tokens_info(n), *t = find_tensor(path, f, &tokens);
	char name[NAME], hex[HASH_HEX];
	struct hash128 value;
	struct hasher *h;
	bool found = t != NULL;

	if (!found || hasher_new(&h) < 0)
		return -1;
	hasher_add(h, t->data, (size_t)t->n_bytes);
	for (uint32_t i = 0; i < 2 * of->config->n_layers && found; i++) {
		struct tensor_info want;

		describe(&want, name, of, i / 2, i % 2, n, row_bytes(of));
		t = find_tensor(path, f, &want);
		found = t != NULL;
		if (found)
			hasher_add(h, t->data, (size_t)t->n_bytes);
	}
	value = hasher_value(h);
	hasher_free(h);
	hash_hex(&value, hex);
	if (found && !bytes_are(find_pair(f, "hash"), hex))
		return err_set(ERR_FORMAT, "%s: damaged: its hash is not that of its contents",
			       path);
	return found ? 0 : -1;
}

/* The pages that hold the first N tokens of the session. */
static int fill(struct session *s, const struct safetensors *f, const struct prompt_cache_of *of,
		size_t n)
{
	struct engine *e = session_engine(s);
	char name[NAME];

	for (uint32_t layer = 0; layer < 2 * of->config->n_layers; layer++)
		for (size_t i = 0; i < n / ENGINE_PAGE; i++) {
			const struct tensor_info *t;
			struct tensor_info want;
			size_t row;
			char *page =
				engine_page(e, session_sequence(s), layer / 2, layer % 2, i, &row);

			if (!page)
				return -1;
			describe(&want, name, of, layer / 2, layer % 2, n, row);
			t = safetensors_find(f, want.name);
			memcpy(page, t->data + i * ENGINE_PAGE * row, ENGINE_PAGE * row);
		}
	engine_filled(e);
	return 0;
}

/* Tokens at the start of both. */
static size_t common(const struct tensor_info *t, size_t held, const int32_t *ids, size_t n)
{
	size_t same = 0;
	int32_t id;

	for (; same < held && same < n; same++) {
		memcpy(&id, t->data + same * sizeof(id), sizeof(id));
		if (id != ids[same])
			break;
	}
	return same;
}

static int take(const char *path, struct session *s, const struct safetensors *f,
		const struct prompt_cache_of *of, const int32_t *ids, size_t n, size_t *kept,
		bool *whole)
{
	const struct tensor_info *t;
	struct identity id;
	size_t held, same;

	if (identify(of, &id) < 0 || check_identity(path, f, &id) < 0)
		return -1;
	t = find_tokens(path, f, &held);
	if (!t || check_hash(path, f, of, held) < 0)
		return -1;
	same = common(t, held, ids, n);
	if (held && n >= ENGINE_PAGE && same < ENGINE_PAGE)
		return err_set(ERR_MISMATCH,
			       "%s: a prompt cache of another prompt, which differs at token %zu",
			       path, same);
	*kept = same / ENGINE_PAGE * ENGINE_PAGE;
	*whole = same < held || n / ENGINE_PAGE * ENGINE_PAGE <= held;
	if (*kept == 0)
		return 0;
	return engine_claim(session_engine(s), session_sequence(s), ids, *kept) < 0
		       ? -1
		       : fill(s, f, of, *kept);
}

int prompt_cache_load(const char *path, struct session *s, const struct prompt_cache_of *of,
		      const int32_t *ids, size_t n, size_t *kept, bool *whole)
{
	struct safetensors *f;
	struct stat st;
	int result;

	*kept = 0;
	*whole = n < ENGINE_PAGE;
	if (stat(path, &st) < 0 && errno == ENOENT)
		return 0;
	if (safetensors_open(&f, path) < 0)
		return -1;
	result = take(path, s, f, of, ids, n, kept, whole);
	safetensors_close(f);
	return result;
}

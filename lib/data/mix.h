/*
 * lib/data/mix.h - windows of several packed token files, in given proportions
 *
 * man/man5/token-mix.5 describes the file and the order. A packed token file by itself is a mix of one part
 * with weight 1, whose order is then that of windows_at, epoch after epoch.
 */
#ifndef LIB_DATA_MIX_H
#define LIB_DATA_MIX_H

#include "lib/base/outfile.h"
#include "lib/data/windows.h"

#define MIX_PARTS_MAX  1024
#define MIX_WEIGHT_MAX 1000000

struct mix;

/* PATH is a mix, or a packed token file. O is that of every part. */
int mix_open(struct mix **out, const char *path, const struct windows_options *o);
void mix_close(struct mix *m); /* NULL is allowed */

size_t mix_n_parts(const struct mix *m);
/* Of part I, valid until mix_close. */
const struct token_pack *mix_pack(const struct mix *m, size_t i);
const struct windows *mix_windows(const struct mix *m, size_t i);
uint32_t mix_weight(const struct mix *m, size_t i);

struct mix_place {
	size_t part;
	uint64_t epoch;	 /* of the part */
	uint64_t window; /* of the part, for windows_get */
};

/* What stands at place T of the endless order. */
struct mix_place mix_at(const struct mix *m, uint64_t t);

/*
 * Writes a mix to F, which will lie at PATH (it tells the folder). NAMES are the files as they are to stand
 * there; each is opened for its hash. All must be of one tokenizer.
 */
int mix_write(struct outfile *f, const char *path, const char *const *names,
	      const uint32_t *weights, size_t n);

#endif

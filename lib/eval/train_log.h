/*
 * lib/eval/train_log.h - the log of a training run as series of numbers
 *
 * man/man5/nnutils-run.5 tells where a log lies. Lines are JSON objects; what is read of them: `step`, `tokens`, `loss`, `val_loss`, `lr`,
 * `grad_norm` and `perf.tok_s`. Lines without a step are passed over, as are keys that are not known, null, and numbers that are not
 * finite. Where steps begin again (a run that went back), what was there of them before is dropped. A last line that is cut (the
 * run goes on) is passed over.
 */
#ifndef LIB_EVAL_TRAIN_LOG_H
#define LIB_EVAL_TRAIN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum train_metric {
	TRAIN_LOSS,
	TRAIN_VAL_LOSS,
	TRAIN_RATE,
	TRAIN_NORM,
	TRAIN_SPEED, /* tokens a second */
	TRAIN_METRICS
};

struct train_series {
	double *x, *y; /* owned; x ascends */
	size_t n, x_capacity, y_capacity;
};

struct train_log {
	char *name; /* owned; for a legend */
	struct train_series series[TRAIN_METRICS];
};

enum train_x { TRAIN_BY_STEP, TRAIN_BY_TOKENS };

/* PATH: a run's folder, or a log; `-` and pipes too. -1 with the error set: also when nothing of the kind is in it. */
int train_log_read(struct train_log *out, const char *path, enum train_x x);
void train_log_free(struct train_log *l);

/* S into OUT (of S->n), each value the mean of those before it, the weight of one falling by SHARE a step; the weights sum to 1 from the first on. */
void train_smooth(const struct train_series *s, double share, double *out);

#endif

/* lib/eval/plot_log.h - runs side by side: a picture of their losses, rates, norms and speeds, or a plot of characters */
#ifndef LIB_EVAL_PLOT_LOG_H
#define LIB_EVAL_PLOT_LOG_H

#include "lib/base/buffer.h"
#include "lib/eval/train_log.h"

#define PLOT_RUNS_MAX 8 /* as many colors as people tell apart */

struct plot_options {
	const char *title; /* or NULL */
	double smooth;	   /* of train_smooth, in [0, 1); 0: none */
	bool log_x, log_y; /* y: of the losses */
	enum train_x x;
};

/* A PNG or an SVG by the end of PATH. 0, or -1 with the error set: values that a logarithmic axis cannot have. */
int plot_log_picture(const struct train_log *runs, size_t n, const struct plot_options *o,
		     const char *path);

/* One plot of the losses a run, all with the same axes, WIDTH x HEIGHT characters each; UTF-8 block characters. */
int plot_log_text(const struct train_log *runs, size_t n, const struct plot_options *o,
		  size_t width, size_t height, struct buffer *out);

/* What the axes of metrics M (a bit each) span over all runs. False: nothing is there that can be drawn. */
bool plot_range(const struct train_log *runs, size_t n, unsigned metrics, bool of_x,
		bool logarithmic, double *from, double *to);

#endif

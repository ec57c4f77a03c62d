/* cmd/cmd_compare.h - compare-logits: its limits, its nodes on the way, and what it prints */
#ifndef CMD_CMD_COMPARE_H
#define CMD_CMD_COMPARE_H

#include "formats/logits_file.h"
#include "kernels/tensor_compare.h"
#include "lib/eval/logits.h"
#include "lib/eval/logits_compare.h"

/* Below 0: not given. */
struct compare_limits {
	double diff, kl, top1, perplexity, tap;
};

/* Nodes that both models have, by name, in the order of the first. */
struct compare_tap {
	const char *name;
	size_t a, b; /* of logits_tap */
	struct tensor_compare sum;
};
struct compare_taps {
	struct logits *a, *b;
	struct compare_tap *items; /* owned */
	size_t n;
};
/* Ends the tool where no node is common. */
void compare_taps_start(struct compare_taps *t, struct logits *a, struct logits *b);
void compare_taps_free(struct compare_taps *t);
/* The first N tokens of what both read last. */
void compare_taps_window(struct compare_taps *t, size_t n);
/* How far the node is off: the length of the difference by that of the first model's values. */
double compare_tap_distance(const struct compare_tap *t);

void compare_print_positions(const struct logits_position *p, const uint32_t *ids, size_t n,
			     bool json);
void compare_print_taps(const struct compare_taps *t, bool json);
void compare_print_summary(const struct logits_summary *s, uint32_t top, bool json);

/*
 * Says on stderr what is past a limit. Where none was given: a NaN is past every limit; models of one type of weights are held to 1e-3 of the
 * largest logit when both were computed in f32 and without a narrower cache, else to a mean divergence of 1e-2; others are not judged.
 */
bool compare_judge(const struct logits_summary *s, const struct compare_limits *limits,
		   const struct logits_origin *a, const struct logits_origin *b,
		   const struct compare_taps *taps);

#endif

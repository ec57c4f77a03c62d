/*
 * tests/unit/test_masking.c - the masked objective: shares by count, special tokens left alone, draws by place
 *
 * The shares are those of Devlin et al. 2018, section 3.1; bounds are five deviations of the binomial.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/train/masking.h"
#include "tests/tap.h"

enum { ROWS = 200000, VOCABULARY = 1000, MASK = 4 };

static const uint32_t special[] = { 0, 1, 2, 3, 4, 500 };

static struct masking masking(void)
{
	return (struct masking){ .share = 0.15,
				 .mask = MASK,
				 .vocabulary = VOCABULARY,
				 .special = special,
				 .n_special = sizeof(special) / sizeof(*special),
				 .seed = 7 };
}

struct rows {
	int32_t *before, *ids, *targets;
};

static struct rows rows_new(void)
{
	struct rows r = { malloc(ROWS * sizeof(int32_t)), malloc(ROWS * sizeof(int32_t)),
			  malloc(ROWS * sizeof(int32_t)) };

	for (size_t i = 0; r.before && r.ids && i < ROWS; i++)
		r.before[i] = r.ids[i] = (int32_t)(i * 7919 % VOCABULARY);
	return r;
}

static void rows_free(struct rows *r)
{
	free(r->before);
	free(r->ids);
	free(r->targets);
}

static uint64_t apply(struct rows *r, const struct masking *m, size_t n, uint64_t step,
		      uint64_t first, size_t at)
{
	struct trainer_batch b = { .ids = r->ids + at, .targets = r->targets + at };

	return masking_apply(m, &b, n, step, first);
}

static void near(size_t got, size_t of, double share, const char *what)
{
	double mean = (double)of * share, bound = 5 * sqrt(mean * (1 - share));

	tap_ok(fabs((double)got - mean) <= bound, "%s: %zu of %zu, %.4f wanted", what, got, of,
	       share);
}

static void test_shares(void)
{
	struct masking m = masking();
	struct rows r = rows_new();
	size_t chosen = 0, masks = 0, kept = 0, others = 0, ordinary = 0, wrong = 0;
	uint64_t n = apply(&r, &m, ROWS, 3, 0, 0);

	for (size_t i = 0; i < ROWS; i++) {
		bool is_special = r.before[i] <= 4 || r.before[i] == 500;

		ordinary += !is_special;
		if (r.targets[i] < 0) {
			wrong += r.ids[i] != r.before[i];
			continue;
		}
		chosen++;
		wrong += is_special || r.targets[i] != r.before[i];
		masks += r.ids[i] == MASK;
		kept += r.ids[i] == r.before[i];
		others += r.ids[i] != MASK && r.ids[i] != r.before[i];
		/* What is drawn is never special but for the mask itself. */
		wrong += r.ids[i] != MASK &&
			 (r.ids[i] <= 4 || r.ids[i] == 500 || r.ids[i] >= VOCABULARY);
	}
	tap_is_u64(n, chosen, "the count that is returned");
	tap_is_u64(wrong, 0, "targets are what stood there; special tokens stay");
	near(chosen, ordinary, 0.15, "chosen");
	near(masks, chosen, 0.8, "shown as the mask");
	near(kept, chosen, 0.1 + 0.1 / (VOCABULARY - 6), "shown as they are");
	near(others, chosen, 0.1 - 0.1 / (VOCABULARY - 6), "shown as another token");
	rows_free(&r);
}

/* Every ordinary token is drawn about as often as every other. */
static void test_drawn(void)
{
	struct masking m = masking();
	struct rows r = rows_new();
	size_t low = 0, others = 0;

	m.share = 1;
	apply(&r, &m, ROWS, 1, 0, 0);
	for (size_t i = 0; i < ROWS; i++) {
		bool other = r.targets[i] >= 0 && r.ids[i] != MASK && r.ids[i] != r.before[i];

		others += other;
		low += other && r.ids[i] < 503;
	}
	near(low, others, 497.0 / 994, "ids 5 to 502 but 500");
	rows_free(&r);
}

static void test_place(void)
{
	struct masking m = masking();
	struct rows whole = rows_new(), parts = rows_new(), other = rows_new();
	uint64_t n = masking_count(&m, whole.ids, ROWS, 9, 0), made = 0;

	tap_is_u64(apply(&whole, &m, ROWS, 9, 0, 0), n, "as many as were counted before");
	for (size_t at = 0; at < ROWS; at += ROWS / 4)
		made += apply(&parts, &m, ROWS / 4, 9, at, at);
	tap_is_u64(made, n, "in four parts");
	tap_ok(memcmp(whole.ids, parts.ids, ROWS * sizeof(int32_t)) == 0, "the same ids");
	tap_ok(memcmp(whole.targets, parts.targets, ROWS * sizeof(int32_t)) == 0, "and targets");
	apply(&other, &m, ROWS, 10, 0, 0);
	tap_ok(memcmp(whole.ids, other.ids, ROWS * sizeof(int32_t)) != 0, "another step differs");
	rows_free(&whole);
	rows_free(&parts);
	rows_free(&other);
}

static void test_padding(void)
{
	struct masking m = masking();
	int32_t ids[4] = { -1, 7, -1, 8 }, targets[4] = { 0 };
	struct trainer_batch b = { .ids = ids, .targets = targets };

	m.share = 1;
	tap_is_u64(masking_count(&m, ids, 4, 1, 0), 2, "two rows are tokens");
	tap_is_u64(masking_apply(&m, &b, 4, 1, 0), 2, "two are chosen");
	tap_ok(targets[0] == -1 && targets[1] == 7 && targets[2] == -1 && targets[3] == 8,
	       "padding has no target");
	tap_ok(ids[0] == -1 && ids[2] == -1, "and stays");
}

int main(void)
{
	tap_run(test_shares);
	tap_run(test_drawn);
	tap_run(test_place);
	tap_run(test_padding);
	return tap_done();
}

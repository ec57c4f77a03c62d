/* cmd/cmd_compare.c - compare-logits: nodes on the way, limits, output */

#include "cmd/cmd_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "formats/json.h"
#include "lib/base/memory.h"
#include "lib/eval/tensor_diff.h"

#define TAP_LIMIT_F32	 1e-5
#define TAP_LIMIT_NARROW 5e-2
#define DIFF_LIMIT_F32	 1e-3
#define KL_LIMIT_NARROW	 1e-2

/* --- nodes on the way --- */

static struct logits_tap tap_of(struct logits *l, size_t i)
{
	struct logits_tap tap;

	cmd_check(logits_tap(l, i, &tap) ? 0 : -1);
	return tap;
}

/* The node of L with the name and the row of TAP, or SIZE_MAX. */
static size_t find_tap(struct logits *l, const struct logits_tap *tap)
{
	for (size_t i = 0; i < logits_n_taps(l); i++) {
		struct logits_tap other = tap_of(l, i);

		if (strcmp(other.name, tap->name) == 0 && other.row == tap->row)
			return i;
	}
	return SIZE_MAX;
}

void compare_taps_start(struct compare_taps *t, struct logits *a, struct logits *b)
{
	const size_t n = logits_n_taps(a);

	*t = (struct compare_taps){ a, b, mem_new(n + 1, sizeof(*t->items)), 0 };
	cmd_check(t->items ? 0 : -1);
	for (size_t i = 0; i < n; i++) {
		struct logits_tap tap = tap_of(a, i);
		struct compare_tap *item = &t->items[t->n];

		*item = (struct compare_tap){ .name = tap.name, .a = i, .b = find_tap(b, &tap) };
		tensor_compare_start(&item->sum);
		if (item->b == SIZE_MAX)
			cmd_warn("%s: the second model has no such node", tap.name);
		else
			t->n++;
	}
	if (t->n == 0)
		cmd_die("--taps: no node that both models have; show-graph lists their names");
}

void compare_taps_free(struct compare_taps *t)
{
	free(t->items);
}

static struct tensor_info info_of(const struct logits_tap *tap, size_t n)
{
	struct tensor_info t = { .name = bytes_of(tap->name), .dtype = tap->dtype, .n_dims = 2 };

	t.shape[0] = n;
	t.shape[1] = tap->row;
	t.n_elements = n * tap->row;
	t.data = tap->data;
	t.n_bytes = t.n_elements * dtype_info(tap->dtype)->bytes;
	return t;
}

void compare_taps_window(struct compare_taps *t, size_t n)
{
	for (size_t i = 0; i < t->n; i++) {
		struct compare_tap *item = &t->items[i];
		struct logits_tap taps[2] = { tap_of(t->a, item->a), tap_of(t->b, item->b) };
		struct tensor_info a = info_of(&taps[0], n), b = info_of(&taps[1], n);
		struct tensor_diff d;

		cmd_check(
			tensor_diff(cmd_team(), &a, &b, (struct tensor_tolerance){ 0 }, &d, NULL));
		tensor_compare_add(&item->sum, &d.values);
	}
}

double compare_tap_distance(const struct compare_tap *t)
{
	const struct tensor_compare *c = &t->sum;
	double squares = c->a_squares + c->b_squares - 2 * c->dot;

	if (c->nan_one || c->nan_both)
		return NAN;
	if (c->n_differ == 0)
		return 0;
	return sqrt(fmax(0, squares) / c->a_squares);
}

/* --- output --- */

static void put_number(struct buffer *b, const char *key, double value)
{
	json_put_key(b, key);
	if (isfinite(value))
		json_put_f64(b, value);
	else
		buffer_put_text(b, "null");
}

static void flush(struct buffer *b)
{
	cmd_check(buffer_check(b));
	cmd_print_bytes(buffer_bytes(b));
	buffer_clear(b);
}

static void put_position(struct buffer *b, const struct logits_position *p, uint32_t id, size_t i)
{
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "position", i);
	json_put_u64_member(b, "id", id);
	put_number(b, "max_abs", p->nan_a || p->nan_b ? NAN : p->max_abs);
	put_number(b, "kl", p->nan_a || p->nan_b ? NAN : p->kl);
	put_number(b, "variation", p->nan_a || p->nan_b ? NAN : p->variation);
	json_put_u64_member(b, "top_1", p->top_a);
	json_put_u64_member(b, "top_2", p->top_b);
	json_put_u64_member(b, "overlap", p->overlap);
	put_number(b, "loss_1", p->loss_a);
	put_number(b, "loss_2", p->loss_b);
	buffer_put_text(b, "}\n");
}

static void tell_position(struct cmd_table *t, const struct logits_position *p, uint32_t id,
			  size_t i)
{
	bool nan = p->nan_a || p->nan_b;

	cmd_table_cell(t, "%zu", i);
	cmd_table_cell(t, "%" PRIu32, id);
	cmd_table_cell(t, "%.3g", nan ? NAN : p->max_abs);
	cmd_table_cell(t, "%.3g", nan ? NAN : p->kl);
	cmd_table_cell(t, "%.3g", nan ? NAN : p->variation);
	cmd_table_cell(t, "%" PRIu32, p->top_a);
	cmd_table_cell(t, "%" PRIu32, p->top_b);
	cmd_table_cell(t, "%" PRIu32, p->overlap);
	cmd_table_cell(t, "%.4f", p->loss_a);
	cmd_table_cell(t, "%.4f", p->loss_b);
}

void compare_print_positions(const struct logits_position *p, const uint32_t *ids, size_t n,
			     bool json)
{
	static const char *const headings[] = { ">position",  ">id",	 ">max_abs", ">kl",
						">variation", ">top_1",	 ">top_2",   ">overlap",
						">loss_1",    ">loss_2", NULL };
	struct cmd_table *t = json ? NULL : cmd_table_new(headings);
	struct buffer b = { 0 };

	for (size_t i = 0; i < n; i++)
		if (json) {
			put_position(&b, &p[i], ids[i], i);
			flush(&b);
		} else {
			tell_position(t, &p[i], ids[i], i);
		}
	if (t)
		cmd_table_end(t);
	buffer_free(&b);
}

static void put_tap(struct buffer *b, const struct compare_tap *t)
{
	buffer_put_u8(b, '{');
	json_put_key(b, "node");
	json_put_string(b, bytes_of(t->name));
	json_put_u64_member(b, "values", t->sum.n);
	put_number(b, "max_abs", t->sum.max_abs);
	put_number(b, "distance", compare_tap_distance(t));
	put_number(b, "cosine", tensor_compare_cosine(&t->sum));
	buffer_put_text(b, "}\n");
}

void compare_print_taps(const struct compare_taps *t, bool json)
{
	static const char *const headings[] = { "node",	     ">values", ">max_abs",
						">distance", ">cosine", NULL };
	struct cmd_table *table = json ? NULL : cmd_table_new(headings);
	struct buffer b = { 0 };

	for (size_t i = 0; i < t->n; i++) {
		const struct compare_tap *tap = &t->items[i];

		if (json) {
			put_tap(&b, tap);
			flush(&b);
			continue;
		}
		cmd_table_cell(table, "%s", tap->name);
		cmd_table_cell(table, "%" PRIu64, tap->sum.n);
		cmd_table_cell(table, "%.3g", tap->sum.max_abs);
		cmd_table_cell(table, "%.3g", compare_tap_distance(tap));
		cmd_table_cell(table, "%.9f", tensor_compare_cosine(&tap->sum));
	}
	if (table)
		cmd_table_end(table);
	buffer_free(&b);
}

static void put_summary(struct buffer *b, const struct logits_summary *s, uint32_t top)
{
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "positions", s->positions);
	json_put_u64_member(b, "nan", s->nan);
	put_number(b, "max_abs", s->max_abs);
	put_number(b, "max_relative", s->max_relative);
	put_number(b, "mean_abs", s->mean_abs);
	put_number(b, "kl", s->kl);
	put_number(b, "kl_median", s->kl_median);
	put_number(b, "kl_90", s->kl_90);
	put_number(b, "kl_99", s->kl_99);
	put_number(b, "kl_999", s->kl_999);
	put_number(b, "kl_max", s->kl_max);
	put_number(b, "variation", s->variation);
	put_number(b, "variation_max", s->variation_max);
	put_number(b, "top1", s->top1);
	json_put_u64_member(b, "top", top);
	put_number(b, "overlap", s->overlap);
	json_put_u64_member(b, "scored", s->scored);
	put_number(b, "perplexity_1", exp(s->loss_a));
	put_number(b, "perplexity_2", exp(s->loss_b));
	buffer_put_text(b, "}\n");
}

static void put_text(struct buffer *b, const struct logits_summary *s, uint32_t top)
{
	buffer_format(b, "positions        %" PRIu64 "\n", s->positions);
	if (s->nan)
		buffer_format(b, "NaN              %" PRIu64 ", the first at %" PRIu64 "\n", s->nan,
			      s->first_nan);
	buffer_format(b,
		      "logits           max %.4g (position %" PRIu64
		      "), %.3g of the largest, mean %.4g\n",
		      s->max_abs, s->max_at, s->max_relative, s->mean_abs);
	buffer_format(b,
		      "divergence       mean %.4g, median %.3g, 90%% %.3g, 99%% %.3g, 99.9%% %.3g, "
		      "max %.4g (position %" PRIu64 ")\n",
		      s->kl, s->kl_median, s->kl_90, s->kl_99, s->kl_999, s->kl_max, s->kl_max_at);
	buffer_format(b, "total variation  mean %.4g, max %.4g\n", s->variation, s->variation_max);
	buffer_format(b, "likeliest token  the same in %.3f %%\n", 100 * s->top1);
	buffer_format(b, "likeliest %-6" PRIu32 " %.3f %% in common\n", top, 100 * s->overlap);
	if (s->scored)
		buffer_format(b, "perplexity       %.4f and %.4f, %+.4f %%\n", exp(s->loss_a),
			      exp(s->loss_b), 100 * (exp(s->loss_b - s->loss_a) - 1));
}

void compare_print_summary(const struct logits_summary *s, uint32_t top, bool json)
{
	struct buffer b = { 0 };

	if (json)
		put_summary(&b, s, top);
	else
		put_text(&b, s, top);
	flush(&b);
	buffer_free(&b);
}

/* --- limits --- */

static bool is_exact(const struct logits_origin *o)
{
	return strcmp(o->compute, "f32") == 0 &&
	       (strcmp(o->cache, "none") == 0 || strcmp(o->cache, "f32") == 0);
}

/* Those that the types set, where none was given. */
static struct compare_limits choose_limits(const struct compare_limits *given, bool exact,
					   bool same_weights)
{
	struct compare_limits l = *given;

	if (l.tap < 0)
		l.tap = exact ? TAP_LIMIT_F32 : TAP_LIMIT_NARROW;
	if (l.diff >= 0 || l.kl >= 0 || l.top1 >= 0 || l.perplexity >= 0 || !same_weights)
		return l;
	if (exact)
		l.diff = DIFF_LIMIT_F32;
	else
		l.kl = KL_LIMIT_NARROW;
	return l;
}

/* A value that is no number is past every limit. */
static bool within(const char *what, double value, double limit)
{
	if (limit < 0 || value <= limit)
		return true;
	cmd_warn("%s: %.4g, past the limit of %.4g", what, value, limit);
	return false;
}

static bool taps_within(const struct compare_taps *t, double limit)
{
	for (size_t i = 0; i < t->n; i++)
		if (!(compare_tap_distance(&t->items[i]) <= limit)) {
			cmd_warn("%s: the first node past the limit of %.4g: %.4g",
				 t->items[i].name, limit, compare_tap_distance(&t->items[i]));
			return false;
		}
	return true;
}

bool compare_judge(const struct logits_summary *s, const struct compare_limits *given,
		   const struct logits_origin *a, const struct logits_origin *b,
		   const struct compare_taps *taps)
{
	bool same_weights = strcmp(a->weights, b->weights) == 0;
	struct compare_limits l = choose_limits(given, is_exact(a) && is_exact(b), same_weights);
	bool good = true;

	if (s->nan) {
		cmd_warn("position %" PRIu64 ": the logits are no numbers", s->first_nan);
		good = false;
	}
	good &= within("largest difference, by the largest logit", s->max_relative, l.diff);
	good &= within("mean divergence", s->kl, l.kl);
	if (l.top1 >= 0 && !(s->top1 >= l.top1)) {
		cmd_warn("likeliest token the same: %.4g, below the limit of %.4g", s->top1,
			 l.top1);
		good = false;
	}
	good &= within("difference of perplexities", fabs(exp(s->loss_b - s->loss_a) - 1),
		       l.perplexity);
	if (taps)
		good &= taps_within(taps, l.tap);
	if (l.diff < 0 && l.kl < 0 && l.top1 < 0 && l.perplexity < 0)
		cmd_note("weights of %s and %s: not judged; --max-kl and others set limits",
			 a->weights, b->weights);
	return good;
}

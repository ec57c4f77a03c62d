/* diff-model - compare two models: tensors, shapes, types, values, metadata */

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/cmd_table.h"
#include "formats/json.h"
#include "formats/metadata.h"
#include "formats/model_summary.h"
#include "formats/shape_text.h"
#include "lib/data/elements.h"
#include "lib/eval/tensor_diff.h"

static double atol_value, rtol_value;
static bool show_all, no_metadata, ignore_dtype, as_json;
static struct cmd_list only, except;

static const struct cmd_option options[] = {
	CMD_REAL(0, "atol", &atol_value, 0, DBL_MAX, "absolute tolerance (default 0)"),
	CMD_REAL(0, "rtol", &rtol_value, 0, DBL_MAX,
		 "relative tolerance, of the second model's value (default 0)"),
	CMD_FLAG('a', "all", &show_all, "a line for the tensors that are alike too"),
	CMD_FLAG(0, "ignore-dtype", &ignore_dtype, "compare values whatever the types are"),
	CMD_FLAG(0, "no-metadata", &no_metadata, "compare tensors alone"),
	CMD_LIST(0, "only", &only, "PATTERNS", "compare tensors that match one of these alone"),
	CMD_LIST(0, "except", &except, "PATTERNS", "leave out tensors that match one of these"),
	CMD_FLAG(0, "json", &as_json, "JSON, one object a line"),
	CMD_THREADS,
	CMD_QUIET,
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "diff-model",
	.operands = "model model",
	.summary = "compare two models: tensors, shapes, types, values, metadata",
	.options = options,
	.notes = "Exit status: 0 alike, 1 different, 2 trouble.",
	.min_operands = 2,
	.max_operands = 2,
};

static const char *const headings[] = { "what",	    "name",	"first",   ">second", ">differing",
					">max_abs", ">max_rel", ">cosine", NULL };

/* What is printed of one difference; texts are NULL and numbers absent where they do not apply. */
struct row {
	const char *what;
	struct bytes name;
	const char *first, *second;
	const struct tensor_diff *diff;
};

static struct cmd_table *table;
static uint64_t n_differences, n_compared;

static void put_diff(struct buffer *b, const struct tensor_diff *d)
{
	const struct tensor_compare *c = &d->values;

	json_put_u64_member(b, d->bytes_only ? "bytes" : "elements", c->n);
	json_put_u64_member(b, "differing", c->n_differ);
	if (c->n_differ)
		json_put_u64_member(b, "first_index", c->first_differ);
	if (d->bytes_only)
		return;
	json_put_u64_member(b, "nan", c->nan_one);
	json_put_f64_member(b, "max_abs", c->max_abs);
	if (c->max_abs_at != TENSOR_NOWHERE)
		json_put_u64_member(b, "max_abs_index", c->max_abs_at);
	json_put_f64_member(b, "max_rel", c->max_rel);
	json_put_f64_member(b, "cosine", tensor_compare_cosine(c));
}

static void print_json(const struct row *r)
{
	struct buffer b = { 0 };

	buffer_put_u8(&b, '{');
	json_put_text_member(&b, "what", bytes_of(r->what));
	json_put_text_member(&b, "name", r->name);
	if (r->first)
		json_put_text_member(&b, "first", bytes_of(r->first));
	if (r->second)
		json_put_text_member(&b, "second", bytes_of(r->second));
	if (r->diff)
		put_diff(&b, r->diff);
	buffer_put_text(&b, "}\n");
	cmd_check(buffer_check(&b));
	cmd_print_bytes(buffer_bytes(&b));
	buffer_free(&b);
}

static void print_row(const struct row *r)
{
	if (as_json) {
		print_json(r);
		return;
	}
	cmd_table_cell(table, "%s", r->what);
	cmd_table_name(table, r->name);
	cmd_table_bytes(table, bytes_of(r->first ? r->first : "-"));
	cmd_table_bytes(table, bytes_of(r->second ? r->second : "-"));
	if (r->diff)
		cmd_table_cell(table, "%" PRIu64 "/%" PRIu64, r->diff->values.n_differ,
			       r->diff->values.n);
	else
		cmd_table_cell(table, "-");
	if (r->diff && !r->diff->bytes_only) {
		cmd_table_cell(table, "%.6g", r->diff->values.max_abs);
		cmd_table_cell(table, "%.6g", r->diff->values.max_rel);
		cmd_table_cell(table, "%.9g", tensor_compare_cosine(&r->diff->values));
	} else {
		for (int i = 0; i < 3; i++)
			cmd_table_cell(table, "-");
	}
}

static void report(const struct row *r)
{
	n_differences++;
	print_row(r);
}

/* --- metadata --- */

static char *value_text(const struct metadata_entry *e)
{
	struct buffer b = { 0 };

	metadata_put_text(&b, e, 3);
	buffer_put_u8(&b, 0);
	cmd_check(buffer_check(&b));
	return b.data;
}

static void compare_entry(const struct metadata_entry *a, const struct metadata_entry *b)
{
	struct row row = { .what = "metadata", .name = a ? a->key : b->key };
	char *first, *second;

	if (a && b && strcmp(a->type, b->type) == 0 && bytes_equal(a->raw, b->raw))
		return;
	first = a ? value_text(a) : NULL;
	second = b ? value_text(b) : NULL;
	row.first = first;
	row.second = second;
	report(&row);
	free(first);
	free(second);
}

static void compare_metadata(const struct model *a, const struct model *b)
{
	struct metadata *in_a, *in_b;

	cmd_check(metadata_open(&in_a, a));
	cmd_check(metadata_open(&in_b, b));
	for (size_t i = 0; i < metadata_n(in_a); i++) {
		const struct metadata_entry *e = metadata_entry(in_a, i);

		compare_entry(e, metadata_find(in_b, e->key));
	}
	for (size_t i = 0; i < metadata_n(in_b); i++) {
		const struct metadata_entry *e = metadata_entry(in_b, i);

		if (!metadata_find(in_a, e->key))
			compare_entry(NULL, e);
	}
	metadata_close(in_a);
	metadata_close(in_b);
}

/* --- tensors --- */

static bool matches(struct bytes name, const struct cmd_list *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (bytes_match(name, patterns->items[i]))
			return true;
	return false;
}

static bool wanted(struct bytes name)
{
	return (only.n == 0 || matches(name, &only)) && !matches(name, &except);
}

static bool same_shape(const struct tensor_info *a, const struct tensor_info *b)
{
	return a->n_dims == b->n_dims &&
	       memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static const char *type_of(const struct tensor_info *t, char *copy, size_t size)
{
	if (t->dtype)
		return dtype_name(t->dtype);
	snprintf(copy, size, BYTES_FMT, BYTES_ARG(t->dtype_name));
	return copy;
}

static bool same_type(const struct tensor_info *a, const struct tensor_info *b)
{
	return a->dtype == b->dtype && (a->dtype || bytes_equal(a->dtype_name, b->dtype_name));
}

/* The two values that lie furthest apart stand in the row: at max_abs, else at the first difference. */
static void compare_values(const struct tensor_info *a, const struct tensor_info *b,
			   struct progress *p)
{
	char first[NUMBER_TEXT], second[NUMBER_TEXT];
	struct row row = { .what = "values", .name = a->name };
	struct tensor_diff diff;
	uint64_t at;

	cmd_check(tensor_diff(cmd_team(), a, b, (struct tensor_tolerance){ atol_value, rtol_value },
			      &diff, p));
	row.diff = &diff;
	at = diff.values.max_abs > 0 ? diff.values.max_abs_at : diff.values.first_differ;
	if (diff.values.n_differ && !diff.bytes_only) {
		row.first = tensor_element_text(a, at, first);
		row.second = tensor_element_text(b, at, second);
	}
	if (diff.values.n_differ) {
		report(&row);
	} else if (show_all) {
		row.what = "alike";
		print_row(&row);
	}
}

static void compare_tensor(const struct tensor_info *a, const struct tensor_info *b,
			   struct progress *p)
{
	char first[SHAPE_TEXT], second[SHAPE_TEXT];
	bool same = same_type(a, b);

	n_compared++;
	if (!same && !ignore_dtype)
		report(&(struct row){ "dtype", a->name, type_of(a, first, sizeof(first)),
				      type_of(b, second, sizeof(second)), NULL });
	if (!same_shape(a, b)) {
		report(&(struct row){ "shape", a->name, shape_text(a, first), shape_text(b, second),
				      NULL });
		return;
	}
	/* Types that cannot be decoded are compared as bytes, which needs them to be the same. */
	if (same || (dtype_decodes(a->dtype) && dtype_decodes(b->dtype)))
		compare_values(a, b, p);
	else if (ignore_dtype)
		report(&(struct row){ "dtype", a->name, type_of(a, first, sizeof(first)),
				      type_of(b, second, sizeof(second)), NULL });
}

static void compare_tensors(const struct model *a, const struct model *b)
{
	struct model_summary in_a, in_b;
	struct progress *p;

	model_summarise(a, &in_a);
	model_summarise(b, &in_b);
	p = cmd_progress("compare", "B", in_a.tensor_bytes + in_b.tensor_bytes);
	for (size_t i = 0; i < in_a.n_tensors; i++) {
		const struct tensor_info *t = model_tensor(a, i);
		const struct tensor_info *other = model_find(b, t->name);

		if (!wanted(t->name))
			continue;
		if (other)
			compare_tensor(t, other, p);
		else
			report(&(struct row){ "missing", t->name, "there", NULL, NULL });
	}
	for (size_t i = 0; i < in_b.n_tensors; i++) {
		const struct tensor_info *t = model_tensor(b, i);

		if (wanted(t->name) && !model_find(a, t->name))
			report(&(struct row){ "missing", t->name, NULL, "there", NULL });
	}
	progress_end(p);
}

int main(int argc, char **argv)
{
	struct model *a, *b;

	cmd_begin(&spec, &argc, &argv);
	cmd_check(model_open(&a, argv[0]));
	cmd_check(model_open(&b, argv[1]));
	if ((model_kind(a) == MODEL_GGUF) != (model_kind(b) == MODEL_GGUF))
		cmd_die("%s is %s and %s is %s: models of two formats cannot be compared yet",
			argv[0], model_kind_name(model_kind(a)), argv[1],
			model_kind_name(model_kind(b)));
	if (!as_json)
		table = cmd_table_new(headings);
	if (!no_metadata && model_kind(a) == model_kind(b))
		compare_metadata(a, b);
	compare_tensors(a, b);
	if (table)
		cmd_table_end(table);
	if (n_differences)
		cmd_answer_no();
	cmd_note("%" PRIu64 " tensors compared, %" PRIu64 " differences", n_compared,
		 n_differences);
	model_close(a);
	model_close(b);
	return cmd_end();
}

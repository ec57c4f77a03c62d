/* tests/op_cases_simple.c - cases of elementwise ops, of reductions, by index, of layout */

#include "tests/op_cases.h"

static void one(struct op_cases *c, struct shape s, enum operand_fill fill, const void *attributes)
{
	case_floats(case_new(c, attributes), s, fill);
}

static void two(struct op_cases *c, struct shape a, struct shape b, enum operand_fill fa,
		enum operand_fill fb, const void *attributes)
{
	struct op_case *x = case_new(c, attributes);

	case_floats(x, a, fa);
	case_floats(x, b, fb);
}

/* Lengths around the widths of vectors; a scalar; nothing. */
static void shapes_of_one(struct op_cases *c, enum operand_fill fill, const void *attributes)
{
	one(c, SHAPE(5, 7), fill, attributes);
	one(c, SHAPE(1), fill, attributes);
	one(c, SHAPE(3, 33), fill, attributes);
	one(c, SHAPE(2, 3, 16), fill, attributes);
	one(c, SHAPE(0, 4), fill, attributes);
}

static void shapes_of_two(struct op_cases *c, enum operand_fill a, enum operand_fill b,
			  const void *attributes)
{
	two(c, SHAPE(5, 7), SHAPE(5, 7), a, b, attributes);
	two(c, SHAPE(4, 17), SHAPE(17), a, b, attributes);
	two(c, SHAPE(4, 1, 5), SHAPE(3, 1), a, b, attributes);
	two(c, SHAPE(1), SHAPE(2, 33), a, b, attributes);
	two(c, SHAPE(0, 3), SHAPE(3), a, b, attributes);
}

void cases_unary(struct op_cases *c)
{
	shapes_of_one(c, FILL_NORMAL, NULL);
	if (c->op != OP_COPY)
		return;
	case_fixed(case_new(c, NULL), SHAPE(3, 35, 20), FILL_NORMAL); /* several tiles */
	case_fixed(case_new(c, NULL), SHAPE(2, 530), FILL_NORMAL);
	case_exact(case_new(c, NULL), DTYPE_I32, SHAPE(5, 7), FILL_IDS, -99, 99);
	case_exact(case_new(c, NULL), DTYPE_BOOL, SHAPE(5, 7), FILL_BOOL, 0, 0);
}

/* As unary, and several pieces of a sum. */
void cases_total(struct op_cases *c)
{
	shapes_of_one(c, FILL_NORMAL, NULL);
	one(c, SHAPE(3, 3001), FILL_NORMAL, NULL);
}

void cases_positive(struct op_cases *c)
{
	shapes_of_one(c, FILL_POSITIVE, NULL);
}

void cases_binary(struct op_cases *c)
{
	struct gated_attributes gated = { .tanh = 1 };

	shapes_of_two(c, FILL_NORMAL, FILL_NORMAL, &(struct gated_attributes){ 0 });
	if (c->op == OP_GEGLU)
		shapes_of_two(c, FILL_NORMAL, FILL_NORMAL, &gated);
	if (c->op == OP_GEGLU || c->op == OP_SWIGLU) /* their operands have one shape */
		for (size_t i = 0; i < c->n; i++)
			c->items[i].in[1].shape = c->items[i].in[0].shape;
}

void cases_divide(struct op_cases *c)
{
	shapes_of_two(c, FILL_NORMAL, FILL_POSITIVE, NULL);
}

void cases_power(struct op_cases *c)
{
	shapes_of_two(c, FILL_POSITIVE, FILL_NORMAL, NULL);
}

void cases_compare(struct op_cases *c)
{
	for (uint32_t kind = COMPARE_EQ; kind <= COMPARE_GE; kind++)
		shapes_of_two(c, FILL_NORMAL, FILL_NORMAL, &(struct kind_attributes){ kind });
	for (uint32_t kind = COMPARE_EQ; kind <= COMPARE_GE; kind++) {
		struct op_case *x = case_new(c, &(struct kind_attributes){ kind });

		case_exact(x, DTYPE_I32, SHAPE(2, 530), FILL_IDS, -2, 3);
		case_exact(x, DTYPE_I32, SHAPE(2, 1), FILL_IDS, -2, 3);
	}
}

void cases_where(struct op_cases *c)
{
	struct op_case *last;
	const struct shape shapes[2][3] = { { SHAPE(5, 7), SHAPE(5, 7), SHAPE(5, 7) },
					    { SHAPE(4, 1), SHAPE(17), SHAPE(4, 17) } };

	for (int i = 0; i < 2; i++) {
		struct op_case *x = case_new(c, NULL);

		case_exact(x, DTYPE_BOOL, shapes[i][0], FILL_BOOL, 0, 0);
		case_floats(x, shapes[i][1], FILL_NORMAL);
		case_floats(x, shapes[i][2], FILL_NORMAL);
	}
	last = case_new(c, NULL);
	case_exact(last, DTYPE_BOOL, SHAPE(2, 530), FILL_BOOL, 0, 0);
	case_exact(last, DTYPE_I32, SHAPE(530), FILL_IDS, -99, 99);
	case_exact(last, DTYPE_I32, SHAPE(1), FILL_IDS, -99, 99);
	last = case_new(c, NULL); /* of two types, but for f32 */
	case_exact(last, DTYPE_BOOL, SHAPE(2, 33), FILL_BOOL, 0, 0);
	case_fixed(last, SHAPE(2, 33), FILL_NORMAL);
	case_exact(last, DTYPE_F32, SHAPE(1), FILL_NORMAL, 0, 0);
}

void cases_unary_grad(struct op_cases *c)
{
	for (uint32_t kind = UNARY_SIGMOID; kind <= UNARY_SOFTPLUS; kind++)
		two(c, SHAPE(3, 33), SHAPE(3, 33), FILL_NORMAL, FILL_NORMAL,
		    &(struct kind_attributes){ kind });
}

void cases_gated_grad(struct op_cases *c)
{
	for (uint32_t tanh = 0; tanh < 2; tanh++) {
		struct op_case *x = case_new(c, &(struct gated_attributes){ .tanh = tanh });

		for (int i = 0; i < 3; i++)
			case_floats(x, SHAPE(3, 33), FILL_NORMAL);
	}
}

void cases_scale(struct op_cases *c)
{
	shapes_of_one(c, FILL_NORMAL, &(struct scalars_attributes){ -1.5, 0.25 });
}

void cases_clamp(struct op_cases *c)
{
	shapes_of_one(c, FILL_NORMAL, &(struct scalars_attributes){ -0.5, 0.7 });
}

static void cast(struct op_cases *c, enum dtype from, enum dtype to, enum operand_fill fill)
{
	case_exact(case_new(c, &(struct kind_attributes){ to }), from, SHAPE(3, 700), fill, -999,
		   999);
}

void cases_cast(struct op_cases *c)
{
	const enum dtype to[] = { DTYPE_F64, DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_I32 };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		case_fixed(case_new(c, &(struct kind_attributes){ to[i] }), SHAPE(3, 33),
			   FILL_NORMAL);
	/* Halves, and past both ends. */
	cast(c, DTYPE_F64, DTYPE_I8, FILL_APART);
	cast(c, DTYPE_F64, DTYPE_U8, FILL_APART);
	cast(c, DTYPE_F64, DTYPE_BOOL, FILL_APART);
	cast(c, DTYPE_F64, DTYPE_BF16, FILL_NORMAL);
	cast(c, DTYPE_I32, DTYPE_F32, FILL_IDS);
	cast(c, DTYPE_BOOL, DTYPE_F16, FILL_BOOL);
}

void cases_dropout(struct op_cases *c)
{
	struct dropout_attributes a = { .scope = 99, .p = 0.3 };

	shapes_of_one(c, FILL_NORMAL, &a);
	one(c, SHAPE(2, 3, 33), FILL_NORMAL, &a);
	case_fixed(case_new(c, &a), SHAPE(600), FILL_NORMAL);
	case_fixed(case_new(c, &a), SHAPE(2, 1030), FILL_NORMAL);
}

/* --- over axes --- */

/* Too large for differences. */
static void pieces(struct op_cases *c, struct shape s, uint32_t axes)
{
	case_fixed(case_new(c, &(struct axes_attributes){ .axes = axes }), s, FILL_APART);
}

void cases_reduce(struct op_cases *c)
{
	const uint32_t axes[] = { 1, 2, 4, 5, 6, 7 };

	for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
		one(c, SHAPE(3, 4, 17), FILL_APART,
		    &(struct axes_attributes){ .axes = axes[i], .keep = i % 2 });
	one(c, SHAPE(70), FILL_APART, &(struct axes_attributes){ .axes = 1 });
	one(c, SHAPE(0, 3), FILL_APART, &(struct axes_attributes){ .axes = 2 });
	/* Several pieces: of one run, of many short ones, of rows; more columns than are taken at a time. */
	pieces(c, SHAPE(2, 4133), 2);
	pieces(c, SHAPE(300, 2, 17), 5);
	pieces(c, SHAPE(2, 135, 5), 2);
	pieces(c, SHAPE(3, 530), 1);
}

void cases_last_axis(struct op_cases *c)
{
	for (uint32_t k = 1; k <= 5; k += 4) {
		struct axis_attributes a = { .n = k, .reverse = k == 1 };

		one(c, SHAPE(3, 5), FILL_APART, &a);
		one(c, SHAPE(2, 3, 33), FILL_APART, &a);
		one(c, SHAPE(17), FILL_APART, &a);
	}
	if (c->op == OP_ARGMAX || c->op == OP_ARGSORT || c->op == OP_TOP_K) /* equal ones */
		for (uint32_t k = 1; k <= 9; k += 8)
			case_exact(
				case_new(c, &(struct axis_attributes){ .n = k, .reverse = k == 1 }),
				DTYPE_F32, SHAPE(3, 70), FILL_IDS, -5, 5);
}

void cases_along_axis(struct op_cases *c)
{
	for (uint32_t axis = 0; axis < 3; axis++)
		for (uint32_t how = 0; how < 4; how++)
			one(c, SHAPE(3, 4, 17), FILL_NORMAL,
			    &(struct axis_attributes){
				    .axis = axis, .reverse = how & 1, .exclusive = how >> 1 });
	one(c, SHAPE(3, 70), FILL_NORMAL, &(struct axis_attributes){ 0 });
}

void cases_softmax_grad(struct op_cases *c)
{
	two(c, SHAPE(3, 33), SHAPE(3, 33), FILL_POSITIVE, FILL_NORMAL, NULL);
}

void cases_histogram(struct op_cases *c)
{
	struct op_case *x = case_new(c, &(struct axis_attributes){ .n = 6 });

	case_exact(x, DTYPE_I32, SHAPE(40), FILL_IDS, -1, 7);
}

/* --- by index --- */

void cases_gather_rows(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(9, 17), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(5), FILL_IDS, 0, 9);
	x = case_new(c, NULL);
	case_floats(x, SHAPE(6, 2, 3), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(2, 4), FILL_IDS, 0, 6);
	x = case_new(c, NULL);
	case_fixed(x, SHAPE(9, 17), FILL_NORMAL);
	case_given(x, DTYPE_I32, 5, (double[]){ 8, -1, 0, 9, -3 }); /* no row, and past the table */
}

void cases_scatter_add_rows(struct op_cases *c)
{
	struct op_case *x = case_new(c, &(struct axis_attributes){ .n = 6 });

	case_floats(x, SHAPE(11, 17), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(11), FILL_IDS, 0, 6);
	x = case_new(c, &(struct axis_attributes){ .n = 3 });
	case_floats(x, SHAPE(8, 2, 3), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(8), FILL_IDS, -1, 3); /* some stand for no row */
	/* Several strips of columns, several ranges of ids, some ids without rows. */
	x = case_new(c, &(struct axis_attributes){ .n = 35 });
	case_fixed(x, SHAPE(40, 270), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(40), FILL_IDS, -1, 36);
}

void cases_scatter_acc(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(6, 17), FILL_NORMAL);
	case_floats(x, SHAPE(11, 17), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(11), FILL_IDS, 0, 6);
	x = case_new(c, NULL);
	case_fixed(x, SHAPE(35, 270), FILL_NORMAL);
	case_fixed(x, SHAPE(40, 270), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(40), FILL_IDS, -1, 36);
}

void cases_take_along(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(4, 9), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(4, 3), FILL_IDS, 0, 9);
	x = case_new(c, NULL);
	case_floats(x, SHAPE(2, 3, 9), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(2, 3, 4), FILL_IDS, 0, 9);
}

void cases_put_along(struct op_cases *c)
{
	struct op_case *x = case_new(c, &(struct axis_attributes){ .n = 9 });

	case_floats(x, SHAPE(4, 3), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(4, 3), FILL_IDS, 0, 9);
	x = case_new(c, &(struct axis_attributes){ .n = 5 });
	case_floats(x, SHAPE(2, 3, 9), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(2, 3, 9), FILL_IDS, 0, 5);
}

/* --- layout --- */

void cases_concat(struct op_cases *c)
{
	struct op_case *x = case_new(c, &(struct axis_attributes){ .axis = 1 });

	case_floats(x, SHAPE(3, 4, 5), FILL_NORMAL);
	case_floats(x, SHAPE(3, 1, 5), FILL_NORMAL);
	case_floats(x, SHAPE(3, 7, 5), FILL_NORMAL);
	x = case_new(c, &(struct axis_attributes){ .axis = 0 });
	case_floats(x, SHAPE(2, 33), FILL_NORMAL);
	case_floats(x, SHAPE(0, 33), FILL_NORMAL);
	case_floats(x, SHAPE(3, 33), FILL_NORMAL);
	x = case_new(c, &(struct axis_attributes){ .axis = 1 }); /* several stretches */
	case_fixed(x, SHAPE(2, 8200), FILL_NORMAL);
	case_fixed(x, SHAPE(2, 3), FILL_NORMAL);
	x = case_new(c, &(struct axis_attributes){ .axis = 1 });
	case_floats(x, SHAPE(5, 1), FILL_NORMAL);
	case_floats(x, SHAPE(5, 2), FILL_NORMAL);
	x = case_new(c, &(struct axis_attributes){ .axis = 0 });
	case_exact(x, DTYPE_I32, SHAPE(7), FILL_IDS, -99, 99);
	case_exact(x, DTYPE_I32, SHAPE(4), FILL_IDS, -99, 99);
}

void cases_pad(struct op_cases *c)
{
	one(c, SHAPE(3, 5), FILL_NORMAL,
	    &(struct pad_attributes){ .value = 0.5, .before = { 1, 2 }, .after = { 0, 3 } });
	one(c, SHAPE(2, 3, 4), FILL_NORMAL, &(struct pad_attributes){ .before = { 0, 1, 0 } });
	one(c, SHAPE(2, 3), FILL_NORMAL,
	    &(struct pad_attributes){ .before = { 1 }, .after = { 2, 1 } });
	case_exact(case_new(c, &(struct pad_attributes){ .value = -1, .after = { 2 } }), DTYPE_I32,
		   SHAPE(7), FILL_IDS, -99, 99);
}

void cases_fill(struct op_cases *c)
{
	struct {
		double a, b;
		struct shape shape;
		uint64_t dtype;
	} fill = { 1.5, 0.25, SHAPE(3, 11), DTYPE_F32 };

	case_new(c, &fill);
	fill.a = -7;
	fill.b = 3;
	fill.shape = SHAPE(3, 500); /* several chunks */
	fill.dtype = DTYPE_I32;
	case_new(c, &fill);
}

/* tests/unit/test_op_shapes.c - operands as people write them; every op has a shape, and every shape makes a node */
#include "lib/eval/op_shapes.h"

#include <string.h>

#include "lib/base/err.h"
#include "tests/tap.h"

static void test_parse(void)
{
	struct op_operands o;

	tap_works(
		op_operands_parse("4096x768 768x2048TW  - q8_0:64x32T i32:9^4096 i32:7<100 f32:4+ "
				  "i32:5x1#",
				  &o),
		"a line");
	tap_is_u64((uint64_t)o.n, 8, "operands");
	tap_ok(o.at[0].there && o.at[0].dtype == DTYPE_UNKNOWN && !o.at[0].transposed &&
		       shape_equal(&o.at[0].shape, &SHAPE(4096, 768)),
	       "axes");
	tap_ok(o.at[1].transposed && o.at[1].weight && !o.at[0].weight &&
		       shape_equal(&o.at[1].shape, &SHAPE(768, 2048)),
	       "transposed");
	tap_ok(!o.at[2].there, "not there");
	tap_ok(o.at[3].dtype == DTYPE_Q8_0 && o.at[3].transposed, "a dtype");
	tap_ok(o.at[4].fill == '^' && o.at[4].limit == 4096, "offsets");
	tap_ok(o.at[5].fill == '<' && o.at[5].limit == 100, "ids");
	tap_ok(o.at[6].fill == '+' && o.at[7].fill == '#', "above 0; counting");
	tap_works(op_operands_parse("", &o), "none");
	tap_is_u64((uint64_t)o.n, 0, "no operands");
}

static void test_refuses(void)
{
	static const char *const bad[] = {
		"x",	    "4x",  "x4", "4x5y",	"nope:4", "4T",	   "4<",
		"4<0",	    "4+#", "--", "1x1x1x1x1x1", "i32:",	  "4 5 !", "99999999999999",
		"q8_0:4x31"
	};
	struct op_operands o;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_fails(op_operands_parse(bad[i], &o), ERR_ARGUMENT, "operand '", "%s", bad[i]);
	tap_fails(op_operands_parse("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", &o), ERR_ARGUMENT, "more than",
		  "fifteen");
}

static struct tensor *operand(struct graph *g, const struct op_operand_shape *o, int i)
{
	char name[2] = { (char)('a' + i), '\0' };

	return o->there ? graph_input(g, name, o->dtype ? o->dtype : DTYPE_F32, o->shape) : NULL;
}

/* Without memory: it is only built. */
static void builds(const struct op_shape *s)
{
	struct tensor *in[KERNEL_TENSORS];
	struct op_operands o;
	struct graph *g;

	tap_works(op_operands_parse(s->operands, &o), "%s/%s", op_info(s->op)->name, s->name);
	tap_works(graph_new(&g, NULL, NULL), "a graph");
	for (int i = 0; i < o.n; i++)
		in[i] = operand(g, &o.at[i], i);
	/* What it is filled with takes the dtype that is asked for. */
	if (s->op != OP_FILL && s->op != OP_ARANGE) {
		graph_append(g, s->op, in, o.n, s->attributes);
		tap_works(graph_check(g), "%s/%s", op_info(s->op)->name, s->name);
	}
	tap_ok((op_info(s->op)->attributes != 0) == (s->attributes != NULL),
	       "%s/%s: attributes when the op has any", op_info(s->op)->name, s->name);
	graph_free(g);
}

static void test_table(void)
{
	bool seen[OP_COUNT] = { false };

	for (size_t i = 0; i < n_op_shapes; i++) {
		const struct op_shape *s = &op_shapes[i];

		builds(s);
		tap_ok(!seen[s->op] || op_shapes[i - 1].op == s->op, "%s: side by side",
		       op_info(s->op)->name);
		for (size_t j = 0; j < i; j++)
			if (op_shapes[j].op == s->op && strcmp(op_shapes[j].name, s->name) == 0)
				tap_ok(false, "%s/%s: twice", op_info(s->op)->name, s->name);
		seen[s->op] = true;
	}
	for (int op = 0; op < OP_COUNT; op++)
		if (!(op_info((enum op)op)->flags & OP_VIEW))
			tap_ok(seen[op], "%s has a shape", op_info((enum op)op)->name);
}

int main(void)
{
	tap_run(test_parse);
	tap_run(test_refuses);
	tap_run(test_table);
	return tap_done();
}

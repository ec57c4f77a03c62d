/* tests/unit/test_bench_rows.c - lines of measurements, written and read back; what an op is counted to do */
#include "lib/eval/bench_rows.h"

#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/op_bench.h"
#include "tests/tap.h"

static const struct bench_row row = {
	.op = "matmul",
	.name = "a",
	.dtype = "f32",
	.operands = "2x3 3x4",
	.device = "cpu",
	.level = "avx2",
	.variant = "tiles",
	.cache = "warm",
	.threads = 2,
	.seconds = { 0.002, 0.001, 0.004, 7 },
	.operations = 4e6,
	.moved = 6e6,
	.scratch = 512,
	.bound = "fma",
	.roof = 0.001,
};

static void put_line(const struct bench_row *r, struct buffer *b)
{
	for (size_t c = 0; bench_headings[c]; c++) {
		if (c)
			buffer_put_u8(b, '\t');
		bench_cell(r, c, b);
	}
	buffer_put_u8(b, '\n');
}

static void test_written(void)
{
	struct buffer b = { 0 };
	struct bench_row none = { .op = "peak", .threads = 1, .note = "not on this machine" };

	put_line(&row, &b);
	put_line(&none, &b);
	tap_is_bytes(
		buffer_bytes(&b),
		bytes_of("matmul\ta\tf32\t2x3 "
			 "3x4\tcpu\tavx2\ttiles\t2\twarm\t7\t2000\t1000\t4000\t2\t3\tfma\t"
			 "0.5\t512\t-\n"
			 "peak\t-\t-\t-\t-\t-\t-\t1\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\tnot on this "
			 "machine\n"),
		"two lines");
	buffer_clear(&b);
	bench_json(&row, &b);
	bench_json(&none, &b);
	tap_is_bytes(
		buffer_bytes(&b),
		bytes_of(
			"{\"op\":\"matmul\",\"case\":\"a\",\"dtype\":\"f32\",\"operands\":\"2x3 "
			"3x4\","
			"\"device\":\"cpu\",\"level\":\"avx2\",\"variant\":\"tiles\",\"threads\":2,"
			"\"cache\":\"warm\",\"runs\":7,\"us\":2000,\"low\":1000,\"high\":4000,"
			"\"gflops\":2,\"gbytes\":3,\"bound\":\"fma\",\"share\":0.5,\"scratch\":512}"
			"\n"
			"{\"op\":\"peak\",\"threads\":1,\"note\":\"not on this machine\"}\n"),
		"and as JSON");
	buffer_free(&b);
}

static int read_text(struct bench_times *t, const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int result = bench_times_read(t, f, "x.tsv");

	fclose(f);
	return result;
}

static void test_read(void)
{
	struct bench_times t = { 0 };
	struct buffer b = { 0 };
	const struct bench_time *got;

	buffer_put_text(&b, "# a remark\n\n");
	for (size_t c = 0; bench_headings[c]; c++)
		buffer_format(&b, "%s%s", c ? "\t" : "",
			      bench_headings[c] + (bench_headings[c][0] == '>'));
	buffer_put_u8(&b, '\n');
	put_line(&row, &b);
	buffer_put_u8(&b, '\0');
	tap_works(read_text(&t, b.data), "what was written");
	tap_is_u64(t.n, 1, "one row");
	got = bench_times_find(&t, "matmul\ta\tf32\t2x3 3x4\tcpu\tavx2\ttiles\t2\twarm");
	tap_ok(got && got->seconds.median == 2000 * 1e-6 && got->seconds.low == 1000 * 1e-6 &&
		       got->seconds.high == 4000 * 1e-6 && got->seconds.n == 7,
	       "with its times");
	tap_ok(!bench_times_find(&t, "matmul"), "found by the whole key alone");
	bench_times_free(&t);
	buffer_free(&b);
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"one\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\t3\t2\t4\t-\t-\t-\t-\t-\t-\tmore\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\tx\t3\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t0\t3\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\t-3\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\tnan\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\t1\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\t5\t2\t4\t-\t-\t-\t-\t-\t-\n",
		"a\ta\ta\ta\ta\ta\ta\t1\ta\t5\t0\t0\t4\t-\t-\t-\t-\t-\t-\n",
	};
	struct bench_times t = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buffer b = { 0 };

		buffer_format(&b, "# first\n%s", bad[i]);
		buffer_put_u8(&b, '\0');
		tap_ok(read_text(&t, b.data) < 0 && strncmp(err_text(), "x.tsv:2: ", 9) == 0,
		       "line %zu: %s", i, err_text());
		buffer_free(&b);
	}
	tap_is_u64(t.n, 0, "no rows of those");
	bench_times_free(&t);
}

/* --- counting --- */

static struct team *team;
static struct roof *roof;

static const struct op_shape *row_named(enum op op, const char *name)
{
	for (size_t i = 0; i < n_op_shapes; i++)
		if (op_shapes[i].op == op && (!name || strcmp(op_shapes[i].name, name) == 0))
			return &op_shapes[i];
	return NULL;
}

static const struct op_shape *first_of(enum op op)
{
	return row_named(op, NULL);
}

static int open_op(struct op_bench **b, enum op op, const char *operands, enum dtype floats,
		   const char *variant)
{
	struct op_shape s = *first_of(op);
	struct op_bench_options o = {
		.backend = backend_cpu(), .variant = variant, .roof = roof, .team = team
	};

	s.operands = operands;
	return op_bench_new(b, &s, floats, &o);
}

static void counts(enum op op, const char *operands, enum dtype floats, double operations,
		   double read, double updated, double written)
{
	struct op_bench_facts f;
	struct op_bench *b;

	if (!tap_works(open_op(&b, op, operands, floats, NULL), "%s %s", op_info(op)->name,
		       operands))
		return;
	f = op_bench_facts(b);
	tap_ok(f.operations == operations && f.bytes.read == read && f.bytes.updated == updated &&
		       f.bytes.written == written,
	       "%s %s: %g operations, %g read, %g updated, %g written", op_info(op)->name, operands,
	       f.operations, f.bytes.read, f.bytes.updated, f.bytes.written);
	tap_ok(op_bench_run(b) >= 0, "it runs");
	op_bench_free(b);
}

static void test_counts(void)
{
	counts(OP_MATMUL, "4x5 5x6T", DTYPE_F32, 240, 200, 0, 96);
	counts(OP_MATMUL, "4x5 5x6T", DTYPE_BF16, 240, 100, 0, 48);
	counts(OP_MATMUL, "4x32 q8_0:32x6TW", DTYPE_F32, 1536, 512 + 6 * 34, 0, 96);
	counts(OP_ADD, "8x5 5", DTYPE_F32, 40, 180, 0, 160);
	counts(OP_ADAMW, "10 f32:10 f32:10+ f32:10 f32:4+", DTYPE_F32, 120, 56, 120, 0);
	counts(OP_GATHER_ROWS, "100x8 i32:3<100", DTYPE_F32, 24, 108, 0, 96);
	counts(OP_KV_WRITE, "100x2x8 3x2x8 i32:3#", DTYPE_F32, 48, 204, 0, 192);
	counts(OP_SCATTER_ACC, "100x8 3x8 i32:3<100", DTYPE_F32, 800, 108, 96, 0);
	counts(OP_FILL, "", DTYPE_BF16, 4194304, 0, 0, 2 * 4194304);
	/* 3 queries over 5 keys see 3, 4 and 5 of them. */
	counts(OP_ATTENTION, "3x2x4 5x1x4 5x1x4", DTYPE_F32, 2 * 12 * 2 * 8, 256, 0, 96 + 24);
}

/* A window of 512: 1 to 512 keys, then 512 for each of the other 88 queries. */
static void test_window(void)
{
	struct op_shape s = *row_named(OP_ATTENTION, "Gemma.1024");
	struct op_bench_options o = { .backend = backend_cpu(), .roof = roof, .team = team };
	struct op_bench *b;

	s.operands = "600x1x4 600x1x4 600x1x4";
	tap_works(op_bench_new(&b, &s, DTYPE_F32, &o), "attention in a window");
	tap_is_u64((uint64_t)op_bench_facts(b).operations, 2 * 8 * (512 * 513 / 2 + 88 * 512),
		   "its operations");
	op_bench_free(b);
}

static void test_variants(void)
{
	const struct backend *cpu = backend_cpu();
	const char *name = op_bench_variant(cpu, OP_ADD, 0);
	struct op_bench *b;

	tap_ok(name && !op_bench_variant(cpu, OP_ADD, 1000), "add has variants: %s",
	       name ? name : "none");
	tap_works(open_op(&b, OP_ADD, "4 4", DTYPE_F32, name), "by its name");
	tap_is_text(op_bench_facts(b).variant, name, "it is the one that runs");
	op_bench_free(b);
	tap_fails(open_op(&b, OP_ADD, "4 4", DTYPE_F32, "no-such"), ERR_ARGUMENT,
		  "add has no variant 'no-such'", "one that is not there");
	tap_fails(open_op(&b, OP_ADD, "4 4 4", DTYPE_F32, NULL), ERR_ARGUMENT,
		  "add takes 2 to 2 operands, not 3", "too many operands");
	tap_fails(open_op(&b, OP_ADD, "4 5", DTYPE_F32, NULL), ERR_ARGUMENT, "do not broadcast",
		  "their shapes");
	tap_ok(op_bench_takes_dtype(first_of(OP_ADD)) &&
		       !op_bench_takes_dtype(first_of(OP_HISTOGRAM)),
	       "whether there are operands whose type is open");
}

/* Streams in the proportion of what an op moves. */
static void test_floor(void)
{
	static const struct {
		struct roof_bytes bytes;
		int counts[3];
	} mixes[] = {
		{ { 4e4, 0, 4e4 }, { 1, 0, 1 } },  { { 8e4, 0, 4e4 }, { 2, 0, 1 } },
		{ { 4e4, 12e4, 0 }, { 1, 3, 0 } }, { { 4e4, 4e4, 0 }, { 1, 1, 0 } },
		{ { 4e4, 0, 10 }, { 1, 0, 0 } },   { { 0, 0, 4e4 }, { 0, 0, 1 } },
		{ { 12e4, 0, 8e4 }, { 3, 0, 2 } }, { { 4e4, 0, 2e4 }, { 2, 0, 1 } },
	};

	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
		struct roof_floor f;

		tap_works(roof_floor(roof, &mixes[i].bytes, false, false, &f), "a floor");
		tap_ok(f.move.reads == mixes[i].counts[0] && f.move.updates == mixes[i].counts[1] &&
			       f.move.writes == mixes[i].counts[2],
		       "mix %zu: %d read, %d updated, %d written", i, f.move.reads, f.move.updates,
		       f.move.writes);
		tap_ok(roof_floor_run(&f) >= 0 && f.moved > 0, "it runs");
	}
	tap_is_u64((uint64_t)roof_moved(&mixes[2].bytes), 280000, "an update is read and written");
}

int main(void)
{
	tap_run(test_written);
	tap_run(test_read);
	tap_run(test_refused);
	tap_works(team_new(&team, 2), "a team");
	tap_works(roof_new(&roof, level_best(), team), "a roof");
	tap_run(test_counts);
	tap_run(test_window);
	tap_run(test_variants);
	tap_run(test_floor);
	roof_free(roof);
	team_free(team);
	return tap_done();
}

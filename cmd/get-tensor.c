/* get-tensor - write one tensor of a model, or a part of it, as npy, text or raw bytes */

#include <stdlib.h>

#include "cmd/cmd.h"
#include "formats/model.h"
#include "formats/npy.h"
#include "lib/base/memory.h"
#include "lib/data/elements.h"
#include "lib/data/slice.h"

enum format { FORMAT_NPY, FORMAT_TEXT, FORMAT_RAW };

static const char *const formats[] = { "npy", "text", "raw", NULL };

static int format = FORMAT_NPY;
static const char *slice_text;
static int dtype_word = -1;

static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", NULL };

static const struct cmd_option options[] = {
	CMD_ENUM('f', "format", &format, formats, "FORMAT",
		 "npy (default), text (a row a line) or raw (the bytes alone)"),
	CMD_TEXT('s', "slice", &slice_text, "SLICE",
		 "the part to write, as in NumPy: 0:10,5,:,::2"),
	CMD_ENUM('d', "dtype", &dtype_word, dtypes, "TYPE",
		 "convert the values to f64, f32, f16 or bf16"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "get-tensor",
	.operands = "model tensor",
	.summary = "write one tensor of a model, or a part of it, as npy, text or raw bytes",
	.options = options,
	.min_operands = 2,
	.max_operands = 2,
};

/* What comes out: what was asked for, else the tensor's own type where the format can hold it. */
static enum dtype output_dtype(const struct tensor_info *t)
{
	if (dtype_word >= 0)
		return dtype_by_name(dtypes[dtype_word]);
	if (format == FORMAT_NPY && !npy_descr(t->dtype))
		return DTYPE_F32;
	if (format == FORMAT_TEXT && dtype_info(t->dtype)->block > 1)
		return DTYPE_F32;
	return t->dtype;
}

static void print_row(enum dtype dtype, const void *row, uint64_t n)
{
	char text[NUMBER_TEXT];

	for (uint64_t i = 0; i < n; i++)
		cmd_printf("%s%s", i ? "\t" : "", element_text(dtype, row, i, text));
	cmd_print_char('\n');
}

static void write_rows(const struct tensor_info *t, const struct slice *s, enum dtype out)
{
	uint64_t n_rows = slice_n_rows(s);
	uint64_t n = s->n_axes ? s->axis[s->n_axes - 1].n : 1;
	struct row_reader *reader;
	const void *row;
	size_t size;

	cmd_check(row_reader_new(&reader, t, s, out));
	for (uint64_t r = 0; r < n_rows; r++) {
		row_reader_get(reader, r, &row, &size);
		if (format == FORMAT_TEXT)
			print_row(out, row, n);
		else
			cmd_write(row, size);
	}
	row_reader_free(reader);
}

static void write_npy_header(const struct slice *s, enum dtype dtype)
{
	uint64_t shape[TENSOR_DIMS_MAX];
	uint32_t n_dims = slice_shape(s, shape);
	struct buffer header = { 0 };

	cmd_check(npy_put_header(&header, dtype, false, shape, n_dims));
	cmd_print_bytes(buffer_bytes(&header));
	buffer_free(&header);
}

static const struct tensor_info *find(const struct model *m, const char *name)
{
	const struct tensor_info *t = model_find(m, bytes_of(name));

	if (!t)
		cmd_die("%s: has no tensor %s (show-model -t lists them)", model_path(m), name);
	if (t->dtype == DTYPE_UNKNOWN)
		cmd_die("%s: tensor %s: unknown dtype " BYTES_FMT, model_path(m), name,
			BYTES_ARG(t->dtype_name));
	return t;
}

int main(int argc, char **argv)
{
	const struct tensor_info *t;
	struct slice slice;
	struct model *m;
	enum dtype out;

	cmd_begin(&spec, &argc, &argv);
	cmd_check(model_open(&m, argv[0]));
	t = find(m, argv[1]);
	if (slice_parse(&slice, slice_text, t->shape, t->n_dims) < 0)
		cmd_die("--%s", err_text());
	out = output_dtype(t);
	if (format == FORMAT_NPY)
		write_npy_header(&slice, out);
	if (slice_n_elements(&slice) > 0)
		write_rows(t, &slice, out);
	model_close(m);
	return cmd_end();
}

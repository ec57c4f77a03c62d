/* lib/eval/bench_rows.c - measurements as lines of cells, and back */

#include "lib/eval/bench_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

enum column {
	COLUMN_OP,
	COLUMN_NAME,
	COLUMN_DTYPE,
	COLUMN_OPERANDS,
	COLUMN_DEVICE,
	COLUMN_LEVEL,
	COLUMN_VARIANT,
	COLUMN_THREADS,
	COLUMN_CACHE,
	COLUMN_RUNS,
	COLUMN_US,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_GFLOPS,
	COLUMN_GBS,
	COLUMN_BOUND,
	COLUMN_SHARE,
	COLUMN_SCRATCH,
	COLUMN_NOTE,
	COLUMNS
};

const char *const bench_headings[] = {
	"op",	    "case",  "dtype",  "operands", "device", "level", "variant",
	">threads", "cache", ">runs",  ">us",	   ">low",   ">high", ">gflops",
	">gbytes",  "bound", ">share", ">scratch", "note",   NULL,
};

static const char *word_of(const struct bench_row *r, enum column c)
{
	switch (c) {
	case COLUMN_OP: return r->op;
	case COLUMN_NAME: return r->name;
	case COLUMN_DTYPE: return r->dtype;
	case COLUMN_OPERANDS: return r->operands;
	case COLUMN_DEVICE: return r->device;
	case COLUMN_LEVEL: return r->level;
	case COLUMN_VARIANT: return r->variant;
	case COLUMN_CACHE: return r->cache;
	case COLUMN_BOUND: return r->bound;
	case COLUMN_NOTE: return r->note;
	default: return NULL;
	}
}

/* NaN when there is none. */
static double number_of(const struct bench_row *r, enum column c)
{
	const struct spread *s = &r->seconds;

	if (c == COLUMN_THREADS)
		return r->threads;
	if (s->n == 0)
		return NAN;
	switch (c) {
	case COLUMN_RUNS: return (double)s->n;
	case COLUMN_US: return 1e6 * s->median;
	case COLUMN_LOW: return 1e6 * s->low;
	case COLUMN_HIGH: return 1e6 * s->high;
	case COLUMN_GFLOPS: return r->operations > 0 ? 1e-9 * r->operations / s->median : NAN;
	case COLUMN_GBS: return r->moved > 0 ? 1e-9 * r->moved / s->median : NAN;
	case COLUMN_SCRATCH: return r->scratch > 0 ? r->scratch : NAN;
	case COLUMN_SHARE: return r->roof > 0 ? r->roof / s->median : NAN;
	default: return NAN;
	}
}

void bench_cell(const struct bench_row *r, size_t column, struct buffer *out)
{
	const char *word = word_of(r, (enum column)column);
	double number = number_of(r, (enum column)column);

	if (!isnan(number))
		buffer_format(out, "%.5g", number);
	else
		buffer_put_text(out, word && *word ? word : "-");
}

void bench_json(const struct bench_row *r, struct buffer *out)
{
	buffer_put_u8(out, '{');
	for (size_t c = 0; c < COLUMNS; c++) {
		const char *key = bench_headings[c] + (bench_headings[c][0] == '>');
		const char *word = word_of(r, (enum column)c);
		double number = number_of(r, (enum column)c);

		if (!isnan(number))
			json_put_f64_member(out, key, number);
		else if (word)
			json_put_text_member(out, key, bytes_of(word));
	}
	buffer_put_text(out, "}\n");
}

/* --- reading --- */

/* Cells of LINE, which is cut up. Their number, or -1 when there are more than MOST. */
static int split(char *line, char **cells, int most)
{
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	for (;;) {
		size_t length = strcspn(line, "\t");
		bool last = line[length] == '\0';

		if (n == most)
			return -1;
		cells[n++] = line;
		line[length] = '\0';
		if (last)
			return n;
		line += length + 1;
	}
}

static char *key_of(char *const *cells)
{
	struct buffer b = { 0 };
	char *key = NULL;

	for (int c = 0; c < COLUMN_RUNS; c++)
		buffer_format(&b, "%s%s", c ? "\t" : "", cells[c]);
	if (buffer_check(&b) == 0)
		key = mem_copy(b.data, b.size);
	buffer_free(&b);
	return key;
}

static int read_spread(char *const *cells, struct spread *s)
{
	uint64_t n;

	if (number_u64(cells[COLUMN_RUNS], 1, UINT32_MAX, &n) < 0 ||
	    number_real(cells[COLUMN_US], 0, 1e15, &s->median) < 0 ||
	    number_real(cells[COLUMN_LOW], 0, 1e15, &s->low) < 0 ||
	    number_real(cells[COLUMN_HIGH], 0, 1e15, &s->high) < 0)
		return -1;
	s->n = (size_t)n;
	s->median *= 1e-6;
	s->low *= 1e-6;
	s->high *= 1e-6;
	if (s->low > 0 && s->low <= s->median && s->median <= s->high)
		return 0;
	return err_set(ERR_FORMAT, "low, us and high are not in order");
}

/* 1: a row, 0: nothing to compare. */
static int read_line(char *line, struct bench_time *out)
{
	char *cells[COLUMNS];
	int n;

	if (line[0] == '#' || line[0] == '\n')
		return 0;
	n = split(line, cells, COLUMNS);
	if (n != COLUMNS)
		return err_set(ERR_FORMAT, "not the %d columns that bench writes", COLUMNS);
	if (strcmp(cells[COLUMN_RUNS], "runs") == 0 || strcmp(cells[COLUMN_RUNS], "-") == 0)
		return 0;
	if (read_spread(cells, &out->seconds) < 0)
		return -1;
	out->key = key_of(cells);
	return out->key ? 1 : -1;
}

int bench_times_read(struct bench_times *t, FILE *f, const char *name)
{
	char *line = NULL;
	size_t room = 0, number = 0;
	int result = 0;

	while (result >= 0 && getline(&line, &room, f) >= 0) {
		struct bench_time row;

		number++;
		result = read_line(line, &row);
		if (result < 0)
			err_prefix("%s:%zu", name, number);
		if (result <= 0)
			continue;
		if (mem_grow(&t->items, &t->capacity, t->n + 1, sizeof(*t->items)) < 0) {
			free(row.key);
			result = -1;
			break;
		}
		t->items[t->n++] = row;
	}
	if (result >= 0 && ferror(f))
		result = err_system("%s", name);
	free(line);
	return result < 0 ? -1 : 0;
}

void bench_times_free(struct bench_times *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->items[i].key);
	free(t->items);
	*t = (struct bench_times){ 0 };
}

const struct bench_time *bench_times_find(const struct bench_times *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->items[i].key, key) == 0)
			return &t->items[i];
	return NULL;
}

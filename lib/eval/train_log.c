/* lib/eval/train_log.c - the log of a training run as series of numbers */

#include "lib/eval/train_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"

#define NAME_BYTES 60 /* of a path in a legend */

/* What one line tells; NaN: nothing. */
struct line {
	double step, tokens, values[TRAIN_METRICS];
};

static const char *const keys[TRAIN_METRICS] = { "loss", "val_loss", "lr", "grad_norm", "tok_s" };

/* A number; whatever else stands there is passed over. */
static int read_number(struct json *j, double *out)
{
	struct bytes raw;
	double v;

	if (json_peek(j) != JSON_NUMBER)
		return json_skip(j, &raw);
	if (json_f64(j, &v) < 0)
		return -1;
	*out = v;
	return 0;
}

static int read_value(struct json *j, struct bytes key, bool inside, struct line *out)
{
	for (int m = 0; m < TRAIN_METRICS; m++)
		if (bytes_are(key, keys[m]) && (m == TRAIN_SPEED) == inside)
			return read_number(j, &out->values[m]);
	if (!inside && bytes_are(key, "step"))
		return read_number(j, &out->step);
	if (!inside && bytes_are(key, "tokens"))
		return read_number(j, &out->tokens);
	return json_skip(j, NULL);
}

static int read_perf(struct json *j, struct line *out)
{
	struct bytes key;
	int got;

	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0)
		if (read_value(j, key, true, out) < 0)
			return -1;
	return got;
}

static int read_line(struct json *j, struct line *out)
{
	struct bytes key;
	int got;

	*out = (struct line){ NAN, NAN, { NAN, NAN, NAN, NAN, NAN } };
	if (json_object(j) < 0)
		return -1;
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "perf") && json_peek(j) == JSON_OBJECT)
			got = read_perf(j, out);
		else
			got = read_value(j, key, false, out);
		if (got < 0)
			return -1;
	}
	return json_end(j);
}

static int add_point(struct train_series *s, double x, double y)
{
	if (!isfinite(x) || !isfinite(y))
		return 0;
	while (s->n && s->x[s->n - 1] >= x)
		s->n--;
	if (mem_grow(&s->x, &s->x_capacity, s->n + 1, sizeof(double)) < 0 ||
	    mem_grow(&s->y, &s->y_capacity, s->n + 1, sizeof(double)) < 0)
		return -1;
	s->x[s->n] = x;
	s->y[s->n++] = y;
	return 0;
}

static int add_line(struct train_log *out, const struct line *l, enum train_x x)
{
	if (isnan(l->step))
		return 0;
	for (int m = 0; m < TRAIN_METRICS; m++)
		if (add_point(&out->series[m], x == TRAIN_BY_TOKENS ? l->tokens : l->step,
			      l->values[m]) < 0)
			return -1;
	return 0;
}

/* After a line that cannot be read: whether it is the last one, which may be cut. */
static bool was_last(struct jsonl *in)
{
	struct err_saved error;
	struct bytes record;
	bool last;

	err_save(&error);
	last = jsonl_next(in, &record) == 0;
	err_restore(&error);
	return last;
}

static int read_lines(struct train_log *out, struct jsonl *in, struct json *j, enum train_x x)
{
	struct bytes record;
	struct line line;
	int got;

	while ((got = jsonl_next(in, &record)) > 0) {
		struct json_limits limits = { .line = jsonl_line(in) };

		json_init(j, record.data, record.size, jsonl_name(in), &limits);
		if (read_line(j, &line) < 0)
			return was_last(in) ? 0 : -1;
		if (add_line(out, &line, x) < 0)
			return -1;
	}
	return got;
}

static int check_some(const struct train_log *l, const char *path, enum train_x x)
{
	for (int m = 0; m < TRAIN_METRICS; m++)
		if (l->series[m].n)
			return 0;
	return err_set(ERR_MISSING, "%s: no line has a step%s and a loss", path,
		       x == TRAIN_BY_TOKENS ? ", tokens" : "");
}

/* The log of a folder, or PATH itself; the caller frees. */
static char *log_path(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		path = "/dev/stdin";
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return mem_format("%s/log.jsonl", path);
	return mem_copy(path, strlen(path));
}

/* PATH without slashes at its end, printable, and its end alone when it is long. */
static char *name_of(const char *path)
{
	size_t n = strlen(path), from = 0;
	struct buffer b = { 0 };
	char *name = NULL;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n > NAME_BYTES)
		from = n - NAME_BYTES;
	while (from && ((unsigned char)path[from] & 0xc0) == 0x80)
		from++;
	quote_name(&b, (struct bytes){ path + from, n - from });
	if (buffer_check(&b) == 0)
		name = mem_format("%s%.*s", from ? "..." : "", (int)b.size, b.data);
	buffer_free(&b);
	return name;
}

int train_log_read(struct train_log *out, const char *path, enum train_x x)
{
	char *file = log_path(path);
	struct jsonl *in = NULL;
	struct json *j = NULL;
	int result = -1;

	*out = (struct train_log){ .name = name_of(path) };
	if (file && out->name && json_new(&j) == 0 && jsonl_open(&in, file, NULL) == 0)
		result = read_lines(out, in, j, x);
	if (result == 0)
		result = check_some(out, file, x);
	jsonl_close(in);
	json_free(j);
	free(file);
	if (result < 0)
		train_log_free(out);
	return result;
}

void train_log_free(struct train_log *l)
{
	free(l->name);
	for (int m = 0; m < TRAIN_METRICS; m++) {
		free(l->series[m].x);
		free(l->series[m].y);
	}
	*l = (struct train_log){ 0 };
}

void train_smooth(const struct train_series *s, double share, double *out)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < s->n; i++) {
		sum = share * sum + (1 - share) * s->y[i];
		weight = share * weight + (1 - share);
		out[i] = sum / weight;
	}
}

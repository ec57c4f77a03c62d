/* formats/copy_plan.c - which tensors a copy writes, under what name and type, into which file */

#include "formats/copy_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"

/* Elements converted at a time: both tiles stay in the cache. A multiple of every block. */
#define TILE 65536

static bool matches_any(struct bytes name, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes_match(name, patterns[i]))
			return true;
	return false;
}

static bool wanted(const struct copy_options *o, struct bytes name)
{
	if (o->n_only && !matches_any(name, o->only, o->n_only))
		return false;
	return !matches_any(name, o->except, o->n_except);
}

int copy_rename_parse(struct copy_rename *out, char *text)
{
	char *equals = strchr(text, '=');
	char *star_from, *star_to;

	if (!equals || equals == text || equals[1] == '\0')
		return err_set(ERR_ARGUMENT, "'%s' is not FROM=TO", text);
	*equals = '\0';
	*out = (struct copy_rename){ text, equals + 1 };
	star_from = strchr(out->from, '*');
	star_to = strchr(out->to, '*');
	if ((star_from && strchr(star_from + 1, '*')) || (star_to && strchr(star_to + 1, '*')))
		return err_set(ERR_ARGUMENT, "'%s=%s': more than one * on a side", out->from,
			       out->to);
	if (star_to && !star_from)
		return err_set(ERR_ARGUMENT, "'%s=%s': a * on the right needs one on the left",
			       out->from, out->to);
	return 0;
}

/* Whether NAME is FROM, whose `*` stands for any run of bytes, which goes to *MIDDLE. */
static bool rule_matches(const struct copy_rename *rule, struct bytes name, struct bytes *middle)
{
	const char *star = strchr(rule->from, '*');
	size_t before, after;

	if (!star)
		return bytes_are(name, rule->from);
	before = (size_t)(star - rule->from);
	after = strlen(star + 1);
	if (name.size < before + after || memcmp(name.data, rule->from, before) != 0 ||
	    !bytes_end_with(name, star + 1))
		return false;
	*middle = (struct bytes){ name.data + before, name.size - before - after };
	return true;
}

static int renamed(const struct copy_plan *p, struct bytes name, struct bytes *out)
{
	struct bytes middle = { "", 0 };
	struct buffer b = { 0 };
	const char *to, *star;
	char *copy = NULL;
	size_t i = 0;

	while (i < p->options->n_renames && !rule_matches(&p->options->renames[i], name, &middle))
		i++;
	*out = name;
	if (i == p->options->n_renames)
		return 0;
	to = p->options->renames[i].to;
	star = strchr(to, '*');
	buffer_put(&b, to, star ? (size_t)(star - to) : strlen(to));
	if (star) {
		buffer_put(&b, middle.data, middle.size);
		buffer_put_text(&b, star + 1);
	}
	if (buffer_check(&b) == 0)
		copy = arena_copy(p->arena, buffer_bytes(&b));
	*out = (struct bytes){ copy, b.size };
	buffer_free(&b);
	return copy ? 0 : -1;
}

/* Floating-point: integers, truth values, complex numbers and MX scales keep their type. */
static bool is_float(enum dtype t)
{
	switch (t) {
	case DTYPE_F64:
	case DTYPE_F32:
	case DTYPE_F16:
	case DTYPE_BF16:
	case DTYPE_F8_E4M3:
	case DTYPE_F8_E5M2:
	case DTYPE_F8_E4M3FNUZ:
	case DTYPE_F8_E5M2FNUZ: return true;
	default: return dtype_info(t)->block > 1;
	}
}

static int convert_item(const struct copy_plan *p, struct copy_item *item)
{
	enum dtype from = item->from->dtype, to = p->options->dtype;
	size_t size;

	if (to == DTYPE_UNKNOWN || to == from || !is_float(from))
		return 0;
	if (!dtype_decodes(from) || !dtype_encodes(to))
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": no conversion from %s to %s",
			       BYTES_ARG(item->from->name), dtype_name(from), dtype_name(to));
	if (!dtype_size(to, item->from->n_elements, &size))
		return err_set(ERR_LIMIT, "tensor " BYTES_FMT ": too large as %s",
			       BYTES_ARG(item->from->name), dtype_name(to));
	item->to.dtype = to;
	item->to.dtype_name = (struct bytes){ "", 0 };
	item->to.n_bytes = size;
	p->report->n_converted++;
	return 0;
}

static int add_item(struct copy_plan *p, struct names *names, const struct tensor_info *t)
{
	struct copy_item *item = &p->items[p->n];
	int added;

	*item = (struct copy_item){ .from = t, .to = *t };
	if (renamed(p, t->name, &item->to.name) < 0 || convert_item(p, item) < 0)
		return -1;
	added = names_add(names, item->to.name, (uint32_t)p->n, NULL);
	if (added == 0)
		return err_set(ERR_ARGUMENT, "two tensors would be named " BYTES_FMT,
			       BYTES_ARG(item->to.name));
	p->n++;
	p->report->bytes += item->to.n_bytes;
	return added < 0 ? -1 : 0;
}

static void shard_items(struct copy_plan *p, enum copy_sharding sharding)
{
	uint64_t held = 0;
	uint32_t shard = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct copy_item *item = &p->items[i];

		if (sharding == COPY_BY_SIZE) {
			if (held && item->to.n_bytes > p->options->shard_bytes - held) {
				shard++;
				held = 0;
			}
			held += item->to.n_bytes;
			if (held > p->options->shard_bytes)
				held = p->options->shard_bytes;
		} else if (sharding == COPY_KEEP) {
			shard = item->from->file;
		}
		item->shard = shard;
		if (shard >= p->n_shards)
			p->n_shards = shard + 1;
	}
	if (p->n_shards == 0)
		p->n_shards = 1;
}

static int choose(struct copy_plan *p, const struct model *m)
{
	size_t n = model_n_tensors(m);
	struct names *names;
	int result = 0;

	p->items = mem_new(n, sizeof(*p->items));
	if (!p->items || names_new(&names) < 0)
		return -1;
	for (size_t i = 0; i < n && result == 0; i++) {
		if (wanted(p->options, model_tensor(m, i)->name))
			result = add_item(p, names, model_tensor(m, i));
		else
			p->report->n_left_out++;
	}
	names_free(names);
	if (result == 0 && n > 0 && p->n == 0)
		return err_set(ERR_ARGUMENT, "%s: no tensor is left to copy", model_path(m));
	p->report->n_tensors = p->n;
	return result;
}

int copy_plan_new(struct copy_plan **out, const struct model *m, const struct copy_options *o,
		  enum copy_sharding sharding, struct copy_report *report,
		  struct progress *progress)
{
	struct copy_plan *p = mem_new(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -1;
	p->options = o;
	p->report = report;
	p->progress = progress;
	*report = (struct copy_report){ 0 };
	if (arena_new(&p->arena) < 0 || choose(p, m) < 0) {
		copy_plan_free(p);
		return -1;
	}
	shard_items(p, sharding);
	report->n_files = p->n_shards;
	*out = p;
	return 0;
}

void copy_plan_free(struct copy_plan *p)
{
	if (!p)
		return;
	arena_free(p->arena);
	free(p->items);
	free(p);
}

/* Finite values that became infinite on the way: from f64 to f32, and from f32 to the target. */
static uint64_t count_overflows(const struct copy_item *item, const unsigned char *source,
				const float *values, const char *converted, float *back, size_t n)
{
	uint64_t overflows = 0;

	if (item->from->dtype == DTYPE_F64) {
		for (size_t i = 0; i < n; i++) {
			double wide;

			memcpy(&wide, source + i * sizeof(wide), sizeof(wide));
			overflows += isfinite(wide) && !isfinite(values[i]);
		}
	}
	if (item->to.dtype == DTYPE_F32 || item->to.dtype == DTYPE_F64)
		return overflows;
	dtype_to_f32(item->to.dtype, converted, back, n);
	for (size_t i = 0; i < n; i++)
		overflows += isfinite(values[i]) && !isfinite(back[i]);
	return overflows;
}

static int check_overflows(const struct copy_plan *p, const struct copy_item *item,
			   uint64_t overflows)
{
	p->report->n_overflows += overflows;
	if (overflows == 0 || p->options->allow_overflow)
		return 0;
	return err_set(ERR_ARGUMENT,
		       "tensor " BYTES_FMT ": %" PRIu64 " values are past the range of %s",
		       BYTES_ARG(item->from->name), overflows, dtype_name(item->to.dtype));
}

static int convert(const struct copy_plan *p, const struct copy_item *item,
		   const struct copy_sink *sink)
{
	const struct dtype_info *from = dtype_info(item->from->dtype);
	size_t to_bytes = dtype_info(item->to.dtype)->bytes;
	float *values = mem_new(TILE, 2 * sizeof(*values));
	char *converted = mem_new(TILE, to_bytes);
	uint64_t overflows = 0;
	int result = values && converted ? 0 : -1;

	for (uint64_t at = 0; at < item->from->n_elements && result == 0; at += TILE) {
		const unsigned char *source = item->from->data + at / from->block * from->bytes;
		uint64_t left = item->from->n_elements - at;
		size_t n = left < TILE ? left : TILE;

		dtype_to_f32(item->from->dtype, source, values, n);
		dtype_from_f32(item->to.dtype, values, converted, n);
		overflows += count_overflows(item, source, values, converted, values + TILE, n);
		result = sink->data(sink->writer, converted, n * to_bytes);
		progress_add(p->progress, n / from->block * from->bytes);
	}
	free(values);
	free(converted);
	return result < 0 ? -1 : check_overflows(p, item, overflows);
}

/* A piece at a time, so that progress shows within a tensor. */
static int copy_bytes(const struct copy_plan *p, const struct copy_item *item,
		      const struct model *m, const struct copy_sink *sink)
{
	const uint64_t piece = UINT64_C(64) << 20;
	int fd = model_file_fd(m, item->from->file);

	for (uint64_t at = 0; at < item->from->n_bytes; at += piece) {
		uint64_t left = item->from->n_bytes - at;
		uint64_t n = left < piece ? left : piece;

		if (sink->copy(sink->writer, fd, item->from->offset + at, n) < 0)
			return -1;
		progress_add(p->progress, n);
	}
	return 0;
}

int copy_item_write(const struct copy_plan *p, const struct copy_item *item, const struct model *m,
		    const struct copy_sink *sink)
{
	if (item->to.dtype != item->from->dtype)
		return convert(p, item, sink);
	return copy_bytes(p, item, m, sink);
}

/*
 * lib/model/quantize_write.c - tensors in new types, written while the next rows are worked on
 *
 * A tensor is worked on in stretches of rows, these in tiles; a tile's size depends on the row's alone, and what is measured is added up
 * tile by tile in their order, so nothing depends on how many threads there are. While one stretch is worked on, one of the
 * team first writes the stretch before it.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/quantize_tile.h"

#define STRETCH ((uint64_t)4 << 20) /* bytes of output, where memory allows */

/* Rows FIRST to FIRST + ROWS - 1 of a tensor, and what becomes of them. */
struct stretch {
	const struct quantize_job *job;
	uint64_t first, rows;
	size_t tiles;
	unsigned char *out;
	size_t size;
};

struct part {
	struct quantize_scratch scratch;
	size_t failed; /* the tile that it failed at, SIZE_MAX for none */
	struct err_saved error;
};

struct writing {
	struct quantize *q;
	struct team *team;
	enum level level;
	struct gguf_writer *writer;
	struct progress *progress;
	struct part *parts;
	size_t n_parts;
	struct quantize_tile_result *results; /* of the tiles of a stretch */
	size_t results_capacity;
	unsigned char *buffers[2];
	uint64_t capacity; /* of each */
	int turn;	   /* which one is next */

	/* Of a run. */
	struct stretch now, before; /* before: done, not yet written; size 0: nothing */
	atomic_size_t next;
	atomic_bool failed;
	int written;
	struct err_saved write_error;
};

/* --- a stretch --- */

static void write_before(struct writing *w)
{
	if (w->before.size == 0)
		return;
	w->written = gguf_writer_data(w->writer, w->before.out, w->before.size);
	if (w->written < 0) {
		err_save(&w->write_error);
		atomic_store(&w->failed, true);
	}
	progress_add(w->progress, w->before.size);
}

static void do_tile(struct writing *w, struct part *p, size_t tile)
{
	const struct quantize_job *j = w->now.job;
	uint64_t first = w->now.first + tile * j->tile_rows;
	uint64_t end = w->now.first + w->now.rows;
	uint64_t rows = end - first < j->tile_rows ? end - first : j->tile_rows;

	if (quantize_tile(j, &p->scratch, first, rows,
			  w->now.out + (first - w->now.first) * j->row_bytes,
			  &w->results[tile]) == 0)
		return;
	p->failed = tile;
	err_save(&p->error);
	atomic_store(&w->failed, true);
}

/* Tiles are given out in order, so that those before one that fails are all looked at. */
static void run_part(void *arg, int part, int parts)
{
	struct writing *w = arg;
	struct part *p = &w->parts[part];

	p->failed = SIZE_MAX;
	if (part == parts - 1)
		write_before(w);
	while (!atomic_load(&w->failed)) {
		size_t tile = atomic_fetch_add(&w->next, 1);

		if (tile >= w->now.tiles)
			break;
		do_tile(w, p, tile);
	}
}

static int first_error(const struct writing *w)
{
	const struct part *first = &w->parts[0];

	if (w->written < 0)
		return err_restore(&w->write_error);
	for (size_t i = 1; i < w->n_parts; i++)
		if (w->parts[i].failed < first->failed)
			first = &w->parts[i];
	return first->failed == SIZE_MAX ? 0 : err_restore(&first->error);
}

static int run_stretch(struct writing *w, struct quantize_sum *sum)
{
	atomic_store(&w->next, 0);
	atomic_store(&w->failed, false);
	w->written = 0;
	team_run(w->team, run_part, w);
	if (first_error(w) < 0)
		return -1;
	for (size_t i = 0; i < w->now.tiles; i++)
		quantize_sum_add(sum, &w->results[i]);
	w->before = w->now;
	w->turn = !w->turn;
	return 0;
}

static int write_pending(struct writing *w)
{
	w->written = 0;
	write_before(w);
	w->before.size = 0;
	return w->written < 0 ? err_restore(&w->write_error) : 0;
}

/* --- a tensor --- */

/* As many rows as the buffers hold, at least a tile, none past END. */
static uint64_t stretch_rows(const struct writing *w, const struct quantize_job *j, uint64_t first,
			     uint64_t end)
{
	uint64_t tiles = w->capacity / (j->row_bytes * j->tile_rows);
	uint64_t rows = (tiles ? tiles : 1) * j->tile_rows;

	return end - first < rows ? end - first : rows;
}

static int convert_rows(struct writing *w, const struct quantize_job *j, uint64_t first,
			uint64_t end, struct quantize_sum *sum)
{
	while (first < end) {
		uint64_t rows = stretch_rows(w, j, first, end);

		w->now = (struct stretch){ .job = j,
					   .first = first,
					   .rows = rows,
					   .tiles = (size_t)((rows - 1) / j->tile_rows + 1),
					   .out = w->buffers[w->turn],
					   .size = (size_t)(rows * j->row_bytes) };
		if (mem_grow(&w->results, &w->results_capacity, w->now.tiles, sizeof(*w->results)) <
			    0 ||
		    run_stretch(w, sum) < 0)
			return -1;
		first += rows;
	}
	return 0;
}

/* Every matrix has weights of its own. */
static int convert(struct writing *w, size_t i)
{
	struct quantize_tensor *t = &w->q->tensors[i];
	struct quantize_sum sum;
	struct quantize_job j;
	float *weights = NULL;
	int result = 0;

	quantize_job_init(&j, w->q, i, w->level);
	quantize_sum_start(&sum);
	if (t->weighted) {
		weights = mem_new((size_t)j.columns, sizeof(*weights));
		if (!weights)
			return -1;
	}
	for (uint64_t m = 0; m < j.matrices && result >= 0; m++) {
		if (weights)
			result = importance_weights(w->q->options.importance, t->from->name,
						    j.matrices, m, j.columns, weights);
		j.weights = result > 0 ? weights : NULL;
		if (result >= 0)
			result = convert_rows(w, &j, m * j.matrix_rows, (m + 1) * j.matrix_rows,
					      &sum);
	}
	free(weights);
	quantize_sum_end(&sum, t);
	w->q->clamped += sum.clamped;
	return result < 0 ? -1 : 0;
}

static int copy(struct writing *w, size_t i)
{
	const struct tensor_info *t = w->q->tensors[i].from;
	int fd = model_file_fd(gguf_source_model(w->q->source), t->file);
	const uint64_t piece = (uint64_t)64 << 20;

	if (write_pending(w) < 0)
		return -1;
	if (!t->offset)
		return gguf_writer_data(w->writer, t->data, t->n_bytes);
	for (uint64_t at = 0; at < t->n_bytes; at += piece) {
		uint64_t n = t->n_bytes - at < piece ? t->n_bytes - at : piece;

		if (gguf_writer_copy(w->writer, fd, t->offset + at, n) < 0)
			return -1;
		progress_add(w->progress, n);
	}
	return 0;
}

static int write_tensor(struct writing *w, size_t i)
{
	struct quantize_tensor *t = &w->q->tensors[i];

	if (t->from->n_elements == 0)
		return 0;
	if (t->to == t->from->dtype && t->from->data) {
		t->error = (struct quantize_error){ .cosine = 1 };
		return copy(w, i);
	}
	return convert(w, i);
}

/* --- the file --- */

static void put_importance_keys(const struct quantize_options *o, struct gguf_writer *w)
{
	struct importance_about about = importance_about(o->importance);

	gguf_put_string(w, "quantize.imatrix.file", bytes_of(o->importance_path));
	if (about.dataset.size)
		gguf_put_string(w, "quantize.imatrix.dataset", about.dataset);
	gguf_put_u32(w, "quantize.imatrix.entries_count", (uint32_t)importance_n(o->importance));
	gguf_put_u32(w, "quantize.imatrix.chunks_count", about.chunks);
}

static int declare(const struct quantize *q, struct gguf_writer *w)
{
	static const char *const own[] = {
		"general.quantization_version",	 "quantize.imatrix.file",
		"quantize.imatrix.dataset",	 "quantize.imatrix.entries_count",
		"quantize.imatrix.chunks_count", "general.file_type"
	};
	const struct quantize_options *o = &q->options;
	bool blocks = o->mix != QUANTIZE_MIX_NONE;

	if (gguf_source_put_keys(q->source, w, own, o->mix ? 6 : 5) < 0)
		return -1;
	if (o->mix)
		gguf_put_u32(w, "general.file_type", quantize_mix_number(o->mix));
	for (size_t i = 0; i < q->n; i++)
		blocks |= dtype_info(q->tensors[i].to)->block > 1;
	if (blocks)
		gguf_put_u32(w, "general.quantization_version", 2);
	if (o->importance)
		put_importance_keys(o, w);
	for (size_t i = 0; i < q->n; i++) {
		struct tensor_info t = *q->tensors[i].from;

		t.dtype = q->tensors[i].to;
		t.n_bytes = q->tensors[i].bytes;
		gguf_put_tensor(w, &t);
	}
	return 0;
}

static int write_all(struct writing *w, struct outfile *f)
{
	if (declare(w->q, w->writer) < 0 || gguf_writer_begin(w->writer, f) < 0)
		return -1;
	for (size_t i = 0; i < w->q->n; i++)
		if (write_tensor(w, i) < 0)
			return err_prefix("%s", model_path(gguf_source_model(w->q->source)));
	if (write_pending(w) < 0)
		return -1;
	return gguf_writer_end(w->writer);
}

/* Buffers for the largest tile, and as much more as is of use. */
static int allocate(struct writing *w)
{
	struct quantize_room room = quantize_room(w->q, w->n_parts);
	uint64_t most = w->q->options.memory, each = STRETCH;

	if (most && most < room.scratch + 2 * room.tile_bytes)
		return err_set(ERR_LIMIT,
			       "--memory: %zu threads need at least %" PRIu64
			       " bytes for this model",
			       w->n_parts, room.scratch + 2 * room.tile_bytes);
	if (most && (most - room.scratch) / 2 < each)
		each = (most - room.scratch) / 2;
	w->capacity = each > room.tile_bytes ? each : room.tile_bytes;
	for (int i = 0; i < 2; i++) {
		w->buffers[i] = mem_pages((size_t)w->capacity);
		if (!w->buffers[i])
			return -1;
	}
	w->parts = mem_new(w->n_parts, sizeof(*w->parts));
	if (!w->parts)
		return -1;
	for (size_t i = 0; i < w->n_parts; i++)
		if (quantize_scratch_new(&w->parts[i].scratch, &room) < 0)
			return -1;
	return 0;
}

static void release(struct writing *w)
{
	for (size_t i = 0; w->parts && i < w->n_parts; i++)
		quantize_scratch_free(&w->parts[i].scratch);
	free(w->parts);
	free(w->results);
	free(w->buffers[0]);
	free(w->buffers[1]);
	gguf_writer_free(w->writer);
}

int quantize_write(struct quantize *q, const char *target, struct team *team, enum level level,
		   struct progress *p)
{
	struct writing w = { .q = q,
			     .team = team,
			     .level = level,
			     .progress = p,
			     .n_parts = (size_t)team_size(team) };
	struct outfile *f = NULL;
	int result = -1;

	if (model_reads(gguf_source_model(q->source), target))
		return err_set(ERR_ARGUMENT, "%s: is the source too", target);
	q->clamped = 0;
	if (allocate(&w) == 0 && gguf_writer_new(&w.writer, 32) == 0 &&
	    outfile_new(&f, target) == 0)
		result = write_all(&w, f);
	release(&w);
	if (result == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

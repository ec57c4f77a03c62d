/* lib/eval/roof.c - peaks, measured */

#include "lib/eval/roof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/spin_barrier.h"

#define STEP_BYTES	  (PEAK_STEP * sizeof(float))
#define UNIT_ROUNDS	  9	/* measurements of a peak */
#define UNIT_SECONDS	  2e-3	/* each */
#define SHORT		  20e-6 /* what takes less is repeated within one run */
#define EVICT_BYTES_LEAST ((size_t)64 << 20)

struct roof {
	enum level level;
	struct team *team;
	struct machine_caches caches;
	struct spread units[PEAK_UNITS];
	bool measured[PEAK_UNITS];
	struct spin_barrier barrier;
	char *memory; /* mapped */
	size_t memory_size;
	char *other; /* mapped: what the caches are filled with */
	size_t other_size;
	/* Of the present run: */
	enum peak_unit unit;
	size_t rounds;
	const struct peak_move *move;
	double seconds;
	float sink; /* of part 0 */
};

int roof_new(struct roof **out, enum level level, struct team *team)
{
	struct roof *r = mem_new(1, sizeof(*r));

	if (!r)
		return -1;
	r->level = level;
	r->team = team;
	r->caches = machine_caches();
	spin_barrier_init(&r->barrier);
	*out = r;
	return 0;
}

static void unmap(char *p, size_t size)
{
	if (p)
		munmap(p, size);
}

void roof_free(struct roof *r)
{
	if (!r)
		return;
	unmap(r->memory, r->memory_size);
	unmap(r->other, r->other_size);
	free(r);
}

/* SIZE bytes of zeros that are really there, in huge pages where the system gives them. */
static int map(char **p, size_t *size, size_t want)
{
	void *made;

	if (*size >= want)
		return 0;
	unmap(*p, *size);
	*p = NULL;
	*size = 0;
	made = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return err_memory(want);
	madvise(made, want, MADV_HUGEPAGE);
	memset(made, 0, want);
	*p = made;
	*size = want;
	return 0;
}

/* --- multiply-adds --- */

static void run_unit(void *arg, int part, int parts)
{
	struct roof *r = arg;
	float x[64];
	uint64_t start;

	for (int i = 0; i < 64; i++)
		x[i] = i < 16 ? 0.5f : 1; /* a sum tends to 2 */
	spin_barrier_wait(&r->barrier, parts);
	start = clock_ns();
	peak_multiply(r->level, r->unit, r->rounds, x);
	spin_barrier_wait(&r->barrier, parts);
	if (part == 0) {
		r->seconds = clock_seconds(start, clock_ns());
		r->sink += x[32];
	}
}

static double unit_seconds(struct roof *r)
{
	team_run(r->team, run_unit, r);
	return r->seconds;
}

/* The quickest of a few: one that was interrupted would end the search for enough rounds at too few. */
static double unit_quickest(struct roof *r)
{
	double least = unit_seconds(r);

	for (int i = 1; i < 3; i++)
		least = fmin(least, unit_seconds(r));
	return least;
}

struct spread roof_operations(struct roof *r, enum peak_unit unit)
{
	double rates[UNIT_ROUNDS], each = peak_operations(r->level, unit) * team_size(r->team);

	if (r->measured[unit] || each == 0)
		return r->units[unit];
	r->unit = unit;
	for (r->rounds = 1024; unit_quickest(r) < UNIT_SECONDS; r->rounds *= 2)
		;
	for (int i = 0; i < UNIT_ROUNDS; i++)
		rates[i] = each * (double)r->rounds / unit_seconds(r);
	r->units[unit] = timing_spread(rates, UNIT_ROUNDS);
	r->measured[unit] = true;
	return r->units[unit];
}

/* --- bytes --- */

static void run_move(void *arg, int part, int parts)
{
	struct roof *r = arg;
	struct peak_move m = *r->move;
	size_t steps = m.to / PEAK_STEP;
	uint64_t start;

	m.from = steps * (size_t)part / (size_t)parts * PEAK_STEP;
	m.to = steps * ((size_t)part + 1) / (size_t)parts * PEAK_STEP;
	spin_barrier_wait(&r->barrier, parts);
	start = clock_ns();
	for (size_t i = 0; i < r->rounds; i++) {
		float got = peak_move(r->level, &m);

		if (part == 0)
			r->sink += got;
	}
	spin_barrier_wait(&r->barrier, parts);
	if (part == 0)
		r->seconds = clock_seconds(start, clock_ns());
}

static double move_seconds(struct roof *r, const struct peak_move *m, size_t times)
{
	r->move = m;
	r->rounds = times;
	team_run(r->team, run_move, r);
	return r->seconds / (double)times;
}

double roof_moved(const struct roof_bytes *b)
{
	return b->read + 2 * b->updated + b->written;
}

size_t roof_cached(const struct roof *r)
{
	return r->caches.l3 ? r->caches.l3 : r->caches.l2;
}

int roof_evict(struct roof *r)
{
	size_t n = 2 * roof_cached(r);
	struct peak_move m = { .reads = 1 };

	if (n < EVICT_BYTES_LEAST)
		n = EVICT_BYTES_LEAST;
	if (map(&r->other, &r->other_size, n) < 0)
		return -1;
	m.read[0] = (const float *)(const void *)r->other;
	m.to = r->other_size / STEP_BYTES * PEAK_STEP;
	move_seconds(r, &m, 1);
	return 0;
}

int roof_streams(struct roof *r, const int counts[3], size_t bytes, bool stream,
		 struct roof_floor *out)
{
	size_t n = (size_t)(counts[0] + counts[1] + counts[2]);
	/* A page and two lines between streams, so that they do not fall on the same sets of the caches. */
	size_t steps = bytes / n / STEP_BYTES, gap = 4096 + 128, each;
	char *at;

	steps = steps ? steps : 1;
	each = steps * STEP_BYTES;
	if (map(&r->memory, &r->memory_size, n * (each + gap)) < 0)
		return -1;
	at = r->memory;
	*out = (struct roof_floor){ .roof = r, .times = 1 };
	out->move = (struct peak_move){ .reads = counts[0],
					.updates = counts[1],
					.writes = counts[2],
					.to = steps * PEAK_STEP,
					.stream = stream };
	for (int k = 0; k < counts[0]; k++, at += each + gap)
		out->move.read[k] = (const float *)(const void *)at;
	for (int k = 0; k < counts[1]; k++, at += each + gap)
		out->move.update[k] = (float *)(void *)at;
	for (int k = 0; k < counts[2]; k++, at += each + gap)
		out->move.write[k] = (float *)(void *)at;
	out->moved = (double)each * (counts[0] + 2.0 * counts[1] + counts[2]);
	out->warm = n * each <= roof_cached(r);
	return 0;
}

/* The counts whose shares are nearest to those of B; of equal ones the fewest. */
static void nearest_counts(const struct roof_bytes *b, int best[3])
{
	double total = b->read + b->updated + b->written, least = INFINITY;

	for (int i = 1; i < (PEAK_READS + 1) * (PEAK_UPDATES + 1) * (PEAK_WRITES + 1); i++) {
		int reads = i % (PEAK_READS + 1), rest = i / (PEAK_READS + 1);
		int updates = rest % (PEAK_UPDATES + 1), writes = rest / (PEAK_UPDATES + 1);
		double n = reads + updates + writes;
		double far = fabs(reads / n - b->read / total) +
			     fabs(updates / n - b->updated / total) +
			     fabs(writes / n - b->written / total) + 1e-3 * n;

		if (far < least) {
			least = far;
			best[0] = reads;
			best[1] = updates;
			best[2] = writes;
		}
	}
}

int roof_floor(struct roof *r, const struct roof_bytes *b, bool stream, bool cold,
	       struct roof_floor *out)
{
	double total = b->read + b->updated + b->written;
	int counts[3] = { 1, 0, 0 };

	if (total > 0)
		nearest_counts(b, counts);
	if (roof_streams(r, counts, (size_t)total, stream, out) < 0)
		return -1;
	out->cold = cold;
	return cold ? roof_evict(r) : 0;
}

double roof_floor_run(void *arg)
{
	struct roof_floor *f = arg;
	double seconds;

	if (f->cold)
		roof_evict(f->roof);
	else if (f->warm)
		move_seconds(f->roof, &f->move, 1);
	seconds = move_seconds(f->roof, &f->move, f->times);
	if (!f->cold && f->times == 1 && seconds < SHORT)
		f->times = 1 + (size_t)(SHORT / (seconds + 1e-9));
	return seconds;
}

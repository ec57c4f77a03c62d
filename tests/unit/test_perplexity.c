/*
 * tests/unit/test_perplexity.c - losses of windows beside those that transformers' float64 logits give, and beside a session that reads each
 * window by itself
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/eval/perplexity.h"
#include "lib/infer/session.h"
#include "tests/tap.h"

static double loss_of(const float *logits, size_t n, uint32_t target)
{
	double top = -INFINITY, sum = 0;

	for (size_t i = 0; i < n; i++)
		top = fmax(top, (double)logits[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp((double)logits[i] - top);
	return top + log(sum) - (double)logits[target];
}

struct fixture {
	struct lm m;
	struct safetensors *golden;
	uint32_t ids[512];
	size_t n, vocab;
	const double *logits;
};

static bool begin(struct fixture *f, const char *family)
{
	const struct tensor_info *ids, *logits;
	char path[128];

	*f = (struct fixture){ 0 };
	snprintf(path, sizeof(path), "fixtures/good/lm/%s", family);
	if (!tap_works(lm_open(&f->m, path, NULL), "%s", path))
		return false;
	snprintf(path, sizeof(path), "fixtures/golden/lm/%s.safetensors", family);
	if (!tap_works(safetensors_open(&f->golden, path), "%s", path))
		return false;
	ids = safetensors_find(f->golden, bytes_of("long/ids"));
	logits = safetensors_find(f->golden, bytes_of("long/result"));
	f->n = ids->n_elements;
	memcpy(f->ids, ids->data, f->n * sizeof(*f->ids));
	f->vocab = f->m.config->vocab_size;
	f->logits = (const double *)(const void *)logits->data;
	return true;
}

static void end(struct fixture *f)
{
	safetensors_close(f->golden);
	lm_close(&f->m);
}

static struct perplexity *make(struct fixture *f, uint32_t context, uint32_t stride, size_t rows)
{
	struct perplexity *p = NULL;

	tap_works(perplexity_new(&p, f->m.config, f->m.store,
				 &(struct perplexity_options){ .compute = DTYPE_F32,
							       .context = context,
							       .stride = stride,
							       .rows = rows,
							       .rope_paired = f->m.rope_paired }),
		  "a context of %u every %u", context, stride);
	return p;
}

/* --- the whole text in one window --- */

static void check_golden(const char *family)
{
	struct fixture f;
	struct perplexity *p;
	struct perplexity_result r;
	double want = 0;

	if (begin(&f, family)) {
		p = make(&f, (uint32_t)f.n, (uint32_t)f.n, 0);
		for (size_t i = 0; i + 1 < f.n; i++) {
			float row[64];

			for (size_t k = 0; k < f.vocab; k++)
				row[k] = (float)f.logits[i * f.vocab + k];
			want += loss_of(row, f.vocab, f.ids[i + 1]);
		}
		want /= (double)(f.n - 1);
		tap_works(perplexity_add(p, f.ids, f.n), "the text");
		tap_works(perplexity_end(p), "the end");
		r = perplexity_result(p);
		tap_is_u64(r.scored, f.n - 1, "all but the first are scored");
		tap_ok(fabs(r.loss - want) <= 1e-5, "%s: %.7f, transformers %.7f", family, r.loss,
		       want);
		tap_ok(r.error > 0 && r.error < 1, "with an error of %g", r.error);
		perplexity_free(p);
	}
	end(&f);
}

static void test_golden(void)
{
	static const char *const families[] = { "llama", "mistral", "smollm3", "qwen2",
						"qwen3", "gemma3",  "gpt2" };

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		check_golden(families[i]);
}

/* --- windows --- */

/*
 * The sum over a text as the head comment of perplexity.h has it, by a session that reads each window alone. BOS: what each begins with, or -1.
 */
static double by_session(struct fixture *f, size_t n, uint32_t context, uint32_t stride,
			 int32_t bos)
{
	struct session *s;
	double sum = 0;
	size_t reached = 0;

	if (!tap_works(session_new(&s, f->m.config, f->m.store,
				   &(struct session_options){ .compute = DTYPE_F32,
							      .cache = DTYPE_F32,
							      .context = context }),
		       "a session"))
		return NAN;
	for (size_t from = 0; reached + 1 < n; from += stride) {
		session_rewind(s, 0);
		for (size_t i = from; i < from + context && i + 1 < n; i++) {
			int32_t id = i == from && bos >= 0 ? bos : (int32_t)f->ids[i];

			session_append(s, &id, 1);
			if (i < reached)
				continue;
			sum += loss_of(session_logits(s), f->vocab, f->ids[i + 1]);
			reached = i + 1;
		}
	}
	session_free(s);
	return sum;
}

static void test_windows(void)
{
	static const uint32_t cuts[][2] = { { 8, 8 }, { 8, 3 }, { 8, 1 }, { 7, 5 }, { 1, 1 } };
	struct fixture f;

	if (!begin(&f, "gemma3"))
		return;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		uint32_t context = cuts[i][0], stride = cuts[i][1];
		struct perplexity *p = make(&f, context, stride, 24);
		size_t sizes[] = { f.n, 1, 9, 0, 2, f.n - 3 };
		struct perplexity_result r;
		uint64_t scored = 0;

		for (size_t k = 0; k < 6; k++)
			tap_works(perplexity_add(p, f.ids, sizes[k]), "a text of %zu", sizes[k]);
		tap_works(perplexity_end(p), "the end");
		for (size_t k = 0; k < 6; k++) {
			struct perplexity_sum got = perplexity_text(p, k);
			size_t want = sizes[k] ? sizes[k] - 1 : 0;
			double sum = by_session(&f, sizes[k], context, stride, -1);

			scored += want;
			if (got.scored != want || got.tokens != sizes[k])
				tap_is_u64(got.scored, want, "scored of %zu", sizes[k]);
			tap_ok(fabs(got.loss - sum) <= 1e-5 * (1 + sum),
			       "%u every %u, text %zu: %.6f, alone %.6f", context, stride, k,
			       got.loss, sum);
		}
		r = perplexity_result(p);
		tap_is_u64(r.scored, scored, "in all");
		tap_is_u64(perplexity_scored(p), scored, "as progress has it");
		perplexity_free(p);
	}
	end(&f);
}

/* A text without the token that texts begin with, and the same with it: the same sum, of windows that all begin with it. */
static void test_bos(void)
{
	enum { BOS = 3, N = 40 };
	static const uint32_t cuts[][2] = { { 64, 64 }, { 8, 8 }, { 8, 3 }, { 1, 1 } };
	struct fixture f;

	if (!begin(&f, "llama"))
		return;
	memmove(f.ids + 1, f.ids, N * sizeof(*f.ids));
	f.ids[0] = BOS;
	f.ids[1] = 5;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		uint32_t context = cuts[i][0], stride = cuts[i][1];
		double want = by_session(&f, N + 1, context, stride, BOS);
		struct perplexity_options o = { .compute = DTYPE_F32,
						.context = context,
						.stride = stride,
						.has_bos = true,
						.bos = BOS,
						.rope_paired = f.m.rope_paired };
		struct perplexity *p;

		if (!tap_works(perplexity_new(&p, f.m.config, f.m.store, &o), "%u every %u",
			       context, stride))
			continue;
		tap_works(perplexity_add(p, f.ids + 1, N), "without");
		tap_works(perplexity_add(p, f.ids, N + 1), "with");
		tap_works(perplexity_add(p, f.ids, 1), "nothing else");
		tap_works(perplexity_add(p, f.ids, 0), "nothing");
		tap_works(perplexity_end(p), "the end");
		for (size_t k = 0; k < 2; k++) {
			struct perplexity_sum got = perplexity_text(p, k);

			tap_is_u64(got.scored, N, "every token of the text");
			tap_is_u64(got.tokens, N + k, "tokens that were given");
			tap_ok(fabs(got.loss - want) <= 1e-5 * (1 + want), "%.6f, alone %.6f",
			       got.loss, want);
		}
		tap_is_u64(perplexity_text(p, 2).scored + perplexity_text(p, 3).scored, 0,
			   "nothing to score");
		perplexity_free(p);
	}
	end(&f);
}

/* Three texts whose sums are known: the error of a ratio, worked out by hand. */
static void test_error(void)
{
	struct fixture f;
	struct perplexity *p;
	struct perplexity_result r;
	double mean, off = 0, total = 0, n = 0;

	if (!begin(&f, "llama"))
		return;
	p = make(&f, 16, 16, 0);
	for (size_t k = 4; k <= 12; k += 4)
		tap_works(perplexity_add(p, f.ids + k, k), "a text of %zu", k);
	tap_works(perplexity_end(p), "the end");
	for (size_t k = 0; k < 3; k++) {
		total += perplexity_text(p, k).loss;
		n += (double)perplexity_text(p, k).scored;
	}
	mean = total / n;
	for (size_t k = 0; k < 3; k++)
		off += pow(perplexity_text(p, k).loss - mean * (double)perplexity_text(p, k).scored,
			   2);
	r = perplexity_result(p);
	tap_ok(fabs(r.loss - mean) < 1e-12, "the mean: %g", r.loss);
	tap_ok(fabs(r.error - sqrt(off * 3 / 2) / n) < 1e-12, "its error: %g", r.error);
	perplexity_free(p);
	p = make(&f, 16, 16, 0);
	tap_works(perplexity_add(p, f.ids, 1), "one token");
	tap_works(perplexity_end(p), "the end");
	tap_ok(isnan(perplexity_result(p).loss), "nothing is scored: no loss");
	perplexity_free(p);
	end(&f);
}

static void test_refused(void)
{
	struct perplexity_options o = { .compute = DTYPE_F32, .context = 8, .stride = 9 };
	struct fixture f;
	struct perplexity *p;
	struct lm bert;

	if (!begin(&f, "gpt2"))
		return;
	tap_fails(perplexity_new(&p, f.m.config, f.m.store, &o), ERR_ARGUMENT, "every 9",
		  "a stride longer than the context");
	o.context = o.stride = 10000;
	tap_fails(perplexity_new(&p, f.m.config, f.m.store, &o), ERR_ARGUMENT, "the model has",
		  "more positions than there are");
	o.context = o.stride = 8;
	o.memory = 100;
	tap_ok(perplexity_new(&p, f.m.config, f.m.store, &o) < 0 && err_last() == ERR_LIMIT,
	       "no memory: %s", err_text());
	p = make(&f, 8, 8, 0);
	tap_fails(perplexity_add(p, (const uint32_t[]){ 1, 1000 }, 2), ERR_ARGUMENT,
		  "text 0, token 1: the id 1000", "no such id");
	perplexity_free(p);
	end(&f);
	if (tap_works(lm_open(&bert, "fixtures/good/lm/bert", NULL), "bert")) {
		o.memory = 0;
		tap_fails(perplexity_new(&p, bert.config, bert.store, &o), ERR_UNSUPPORTED,
			  "does not continue text", "bert");
		lm_close(&bert);
	}
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_windows);
	tap_run(test_bos);
	tap_run(test_error);
	tap_run(test_refused);
	return tap_done();
}

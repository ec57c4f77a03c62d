/*
 * lib/infer/sampler.h - a token from logits
 *
 * In this order: temperature, top-k, top-p, min-p, the draw. Temperature 0 is the largest logit, of equal ones the first. The draw is keyed by
 * (seed, place of the token), so that the same text comes out whatever was drawn before (Philox).
 */
#ifndef LIB_INFER_SAMPLER_H
#define LIB_INFER_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

struct sampler_options {
	double temperature; /* 0: greedy */
	size_t top_k;	    /* 0: all */
	double top_p;	    /* 1: all */
	double min_p;	    /* 0: all; of the largest probability */
	uint64_t seed;
};

struct sampler;

/* -1 with the error set: a value out of its range, or no memory. */
int sampler_new(struct sampler **out, const struct sampler_options *o, size_t vocabulary);
void sampler_free(struct sampler *s); /* NULL is allowed */
/* The token at PLACE. -1 with the error set: a logit is NaN, or none is finite. */
int32_t sampler_pick(struct sampler *s, const float *logits, uint64_t place);

#endif

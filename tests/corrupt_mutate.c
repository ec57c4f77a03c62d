/* tests/corrupt_mutate.c - damage to a file, drawn from a seed and a number */

#include <stdio.h>
#include <string.h>

#include "tests/corrupt_mutate.h"

#define GROWTH	 4096 /* bytes that repeated runs may add */
#define HEAD	 256  /* half of all places lie in the first bytes: that is where lengths are */
#define MOST_RUN 64

struct mutant {
	unsigned char *data;
	size_t size, capacity;
	struct bytes second;
	uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(struct mutant *m)
{
	uint64_t z = m->state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* 0 .. n - 1, and 0 for n = 0. */
static size_t below(struct mutant *m, size_t n)
{
	return n ? (size_t)(draw(m) % n) : 0;
}

/* A place from which at least one byte is there; M is not empty. */
static size_t place(struct mutant *m)
{
	if (draw(m) & 1)
		return below(m, m->size);
	return below(m, m->size < HEAD ? m->size : HEAD);
}

/* A length of at least 1 that fits at AT; short ones more often. */
static size_t run(struct mutant *m, size_t at)
{
	size_t left = m->size - at;
	size_t n = 1 + below(m, draw(m) % 8 ? MOST_RUN : left);

	return n < left ? n : left;
}

static void flip_bits(struct mutant *m)
{
	size_t n = 1 + below(m, 4);

	for (size_t i = 0; i < n; i++)
		m->data[place(m)] ^= (unsigned char)(1u << below(m, 8));
}

static void set_bytes(struct mutant *m)
{
	static const unsigned char values[] = { 0, 0x7F, 0x80, 0xFF };
	size_t at = place(m), n = draw(m) & 1 ? 1 : run(m, at);

	memset(m->data + at, values[below(m, sizeof(values))], n);
}

static void cut_end(struct mutant *m)
{
	m->size = draw(m) & 1 ? below(m, m->size) : m->size - run(m, 0);
}

static void cut_middle(struct mutant *m)
{
	size_t at = place(m), n = run(m, at);

	memmove(m->data + at, m->data + at + n, m->size - at - n);
	m->size -= n;
}

/* Puts N bytes of FROM (not part of M) in at AT, as far as there is room. */
static void insert(struct mutant *m, size_t at, const void *from, size_t n)
{
	if (n > m->capacity - m->size)
		n = m->capacity - m->size;
	memmove(m->data + at + n, m->data + at, m->size - at);
	memcpy(m->data + at, from, n);
	m->size += n;
}

static void repeat_run(struct mutant *m)
{
	unsigned char copy[MOST_RUN];
	size_t at = place(m), n = run(m, at), times = 1 + below(m, 8);

	if (n > sizeof(copy))
		n = sizeof(copy);
	memcpy(copy, m->data + at, n);
	for (size_t i = 0; i < times; i++)
		insert(m, at, copy, n);
}

static void swap_runs(struct mutant *m)
{
	size_t a = place(m), b = place(m), n;

	if (a > b) {
		n = a;
		a = b;
		b = n;
	}
	n = run(m, b);
	if (n > b - a)
		n = b - a;
	for (size_t i = 0; i < n; i++) {
		unsigned char keep = m->data[a + i];

		m->data[a + i] = m->data[b + i];
		m->data[b + i] = keep;
	}
}

/* The start of this file, then the other one from somewhere on; or a run of it laid over or put in. */
static void splice(struct mutant *m)
{
	size_t at = place(m), from, n;

	if (!m->second.size)
		return;
	from = below(m, m->second.size);
	n = m->second.size - from;
	switch (draw(m) % 3) {
	case 0:
		m->size = at;
		insert(m, at, m->second.data + from, n);
		break;
	case 1:
		n = n < MOST_RUN ? n : MOST_RUN;
		insert(m, at, m->second.data + from, 1 + below(m, n));
		break;
	default:
		n = n < m->size - at ? n : m->size - at;
		memcpy(m->data + at, m->second.data + from, n);
	}
}

/* A value that length fields fall for. */
static uint64_t bad_length(struct mutant *m)
{
	static const uint64_t fixed[] = {
		0,
		1,
		0x7F,
		0x80,
		0xFF,
		0x7FFF,
		0xFFFF,
		0x7FFFFFFF,
		0x80000000,
		0xFFFFFFFF,
		(uint64_t)1 << 32,
		(uint64_t)1 << 61,
		(uint64_t)1 << 62,
		((uint64_t)1 << 62) + 1,
		INT64_MAX,
		(uint64_t)1 << 63,
		UINT64_MAX - 7,
		UINT64_MAX,
	};
	size_t kinds = sizeof(fixed) / sizeof(fixed[0]), k = below(m, kinds + 6);

	if (k < kinds)
		return fixed[k];
	return m->size + below(m, 17) - 8;
}

static void overwrite_integer(struct mutant *m)
{
	size_t bytes = (size_t)1 << below(m, 4), at = place(m);
	uint64_t value = bad_length(m);

	/* Fields mostly stand at multiples of their size from the start. */
	if (draw(m) & 1)
		at -= at % bytes;
	for (size_t i = 0; i < bytes && at + i < m->size; i++)
		m->data[at + i] = (unsigned char)(value >> (8 * i));
}

/* The same attack on lengths that are written in digits; on nothing when there is no digit ahead. */
static void overwrite_digits(struct mutant *m)
{
	static const char *const odd[] = {
		"-1", "1e999", "-0", "0.5", "1e18", "00", "99999999999999999999"
	};
	size_t at = place(m), end, kinds = sizeof(odd) / sizeof(odd[0]), k;
	char text[32];

	while (at < m->size && (m->data[at] < '0' || m->data[at] > '9'))
		at++;
	if (at == m->size)
		return;
	for (end = at; end < m->size && m->data[end] >= '0' && m->data[end] <= '9';)
		end++;
	k = below(m, 2 * kinds);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bad_length(m));
	memmove(m->data + at, m->data + end, m->size - end);
	m->size -= end - at;
	insert(m, at, k < kinds ? odd[k] : text, strlen(k < kinds ? odd[k] : text));
}

size_t corrupt_capacity(const struct corrupt_source *s)
{
	return s->good.size + s->second.size + GROWTH;
}

size_t corrupt_mutate(const struct corrupt_source *s, uint64_t number, unsigned char *out)
{
	static void (*const kinds[])(struct mutant *) = {
		flip_bits, set_bytes, cut_end,		 cut_middle,	    repeat_run,
		swap_runs, splice,    overwrite_integer, overwrite_integer, overwrite_digits,
	};
	struct mutant m = { out, s->good.size, corrupt_capacity(s), s->second, 0 };
	size_t times;

	if (s->good.size)
		memcpy(out, s->good.data, s->good.size);
	if (!number)
		return m.size;
	m.state = s->seed * 0xD1342543DE82EF95u + number;
	/* Mostly one blow: two hide each other. */
	times = draw(&m) % 4 ? 1 : 2 + below(&m, 3);
	for (size_t i = 0; i < times && m.size; i++)
		kinds[below(&m, sizeof(kinds) / sizeof(kinds[0]))](&m);
	return m.size;
}

/*
 * lib/graph/plan_device.c - a plan's steps on a device's queue, those that it does not do on the host between
 *
 * The host runs ahead of the queue and waits only for what it reads: outputs, operands of its own steps, lengths and
 * counts. What lies between the inputs' moves and the outputs' is captured in its second run, when it is launches alone, and
 * replayed from then on; what a run may change (keys of draws, inputs) is read from the device's memory, and lengths and
 * counts choose among the captures.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

#define CONSTANT_ALIGN 256

static struct device *device_of(const struct plan *p)
{
	return p->options.backend->device;
}

/* --- what lies in its memory for good --- */

/* Constants that a step of the device reads: their places. */
static void find_constants(struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		for (int j = 0; p->steps[i].where == PLAN_DEVICE && j < p->steps[i].node->n_in;
		     j++) {
			const struct tensor *t = p->steps[i].node->in[j];
			const struct constant_attributes *a;

			if (!t || t->base->node->op != OP_CONSTANT ||
			    p->constant_at[t->base->id] != UINT64_MAX)
				continue;
			a = t->base->node->attributes;
			p->constant_at[t->base->id] = p->constants_size;
			p->constants_size +=
				(a->size + CONSTANT_ALIGN - 1) / CONSTANT_ALIGN * CONSTANT_ALIGN;
		}
}

static int upload_constants(struct plan *p)
{
	struct device *d = device_of(p);

	p->constants = d->allocate(d, p->constants_size);
	if (!p->constants)
		return -1;
	for (size_t i = 0; i < p->g->n_nodes; i++) {
		const struct node *n = p->g->nodes[i];
		const struct constant_attributes *a = n->attributes;

		if (n->op == OP_CONSTANT && p->constant_at[n->out[0]->id] != UINT64_MAX)
			d->upload(d, p->constants + p->constant_at[n->out[0]->id], a->data,
				  a->size);
	}
	return 0;
}

static int allocate_constants(struct plan *p)
{
	if (p->constant_at)
		return 0;
	p->constant_at = mem_new(p->g->n_tensors + 1, sizeof(*p->constant_at));
	if (!p->constant_at)
		return -1;
	memset(p->constant_at, 0xff, (p->g->n_tensors + 1) * sizeof(*p->constant_at));
	find_constants(p);
	return p->constants_size ? upload_constants(p) : 0;
}

static int allocate_keys(struct plan *p)
{
	struct device *d = device_of(p);

	if (p->keys || p->n_draws == 0)
		return 0;
	p->keys = mem_new(p->n_draws, 2 * sizeof(*p->keys));
	p->keys_at = p->keys ? d->allocate(d, p->n_draws * 2 * sizeof(*p->keys)) : NULL;
	return p->keys_at ? 0 : -1;
}

static void drop_captures(struct plan *p)
{
	for (int i = 0; i < PLAN_CAPTURES; i++) {
		if (p->captures[i].captured)
			device_of(p)->capture_free(device_of(p), p->captures[i].captured);
		p->captures[i] = (struct plan_capture){ 0 };
	}
}

int plan_device_allocate(struct plan *p)
{
	if (!device_of(p))
		return 0;
	/* What was captured points into memory that becomes another. */
	drop_captures(p);
	p->n_runs = 0;
	return allocate_constants(p) < 0 || allocate_keys(p) < 0 ? -1 : 0;
}

void plan_device_free(struct plan *p)
{
	struct device *d = p->options.backend ? device_of(p) : NULL;

	if (!d)
		return;
	d->wait(d);
	drop_captures(p);
	d->release(d, p->constants);
	d->release(d, p->keys_at);
	free(p->constant_at);
	free(p->keys);
}

/* --- steps --- */

void plan_launch(struct plan *p, const struct plan_step *s, enum plan_phases which)
{
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call c = s->call;
	int phases;

	if (s->node->count && s->node->iteration >= plan_scalar(p, s->node->count))
		return;
	if (s->dynamic)
		plan_cut_operands(p, s, &c, in, out);
	if (op_info(s->node->op)->flags & OP_RANDOM)
		c.key_at = p->keys_at + 2 * (size_t)s->draw;
	phases = which == PLAN_PHASES_KEPT ? 1 : kernel_phases(s->kernel, &c);
	c.phase = which == PLAN_PHASES_ALL && s->form ? 1 : 0;
	for (; c.phase < phases; c.phase++)
		device_of(p)->launch(device_of(p), s->kernel, &c);
}

static void move(struct plan *p, const struct plan_step *s)
{
	struct device *d = device_of(p);
	void *host = plan_pointer(p, s->moved, PLAN_HOST);
	void *device = plan_pointer(p, s->moved, PLAN_DEVICE);
	uint64_t size = (uint64_t)s->bytes;

	if (s->where == PLAN_DEVICE) {
		d->upload(d, device, host, size);
	} else {
		d->download(d, host, device, size);
		p->downloads = true;
	}
}

static int wait_downloads(struct plan *p)
{
	if (!p->downloads)
		return 0;
	p->downloads = false;
	return device_of(p)->wait(device_of(p));
}

/* A step by itself; when measured, with the queue empty before and after. */
static int run_one(struct plan *p, struct plan_step *s)
{
	uint64_t start = clock_ns();

	if ((s->dynamic || (s->moved && s->where == PLAN_DEVICE)) && wait_downloads(p) < 0)
		return -1;
	if (s->moved)
		move(p, s);
	else
		plan_launch(p, s, PLAN_PHASES_ALL);
	if (!p->measuring)
		return 0;
	if (device_of(p)->wait(device_of(p)) < 0)
		return -1;
	p->downloads = false;
	s->seconds += clock_seconds(start, clock_ns());
	s->runs++;
	return 0;
}

static bool on_host(const struct plan_step *s)
{
	return s->where == PLAN_HOST && !s->moved;
}

static int run_steps(struct plan *p, size_t from, size_t to)
{
	for (size_t i = from; i < to;) {
		size_t end = i;

		while (end < to && on_host(&p->steps[end]))
			end++;
		if (end > i) {
			if (wait_downloads(p) < 0)
				return -1;
			plan_run_host(p, i, end);
			i = end;
		} else if (run_one(p, &p->steps[i++]) < 0) {
			return -1;
		}
	}
	return 0;
}

/* --- captures --- */

/* Of every length and count that a run may change. */
static uint64_t shape_key(const struct plan *p)
{
	uint64_t key = 1;

	for (size_t i = p->device_from; i < p->device_to; i++) {
		const struct node *n = p->steps[i].node;
		int32_t value;

		if (!p->steps[i].dynamic)
			continue;
		for (int j = 0; j < n->n_in + n->n_out + 1; j++) {
			const struct tensor *t = j < n->n_in		  ? n->in[j]
						 : j < n->n_in + n->n_out ? n->out[j - n->n_in]
									  : NULL;
			const struct tensor *r = j == n->n_in + n->n_out ? n->count
						 : t			 ? t->rows
									 : NULL;

			if (!r)
				continue;
			value = plan_scalar(p, r);
			key = hash_short(&value, sizeof(value), key);
		}
	}
	return key;
}

static struct plan_capture *find_capture(struct plan *p, uint64_t key)
{
	struct plan_capture *oldest = &p->captures[0];

	for (int i = 0; i < PLAN_CAPTURES; i++) {
		if (p->captures[i].captured && p->captures[i].key == key)
			return &p->captures[i];
		if (p->captures[i].used < oldest->used)
			oldest = &p->captures[i];
	}
	if (oldest->captured)
		device_of(p)->capture_free(device_of(p), oldest->captured);
	*oldest = (struct plan_capture){ .key = key };
	return oldest;
}

static int run_captured(struct plan *p)
{
	struct device *d = device_of(p);
	struct plan_capture *c = find_capture(p, shape_key(p));

	c->used = p->n_runs;
	if (!c->captured) {
		if (d->capture_begin(d) < 0 || run_steps(p, p->device_from, p->device_to) < 0)
			return -1;
		c->captured = d->capture_end(d);
		if (!c->captured)
			return -1;
	}
	d->replay(d, c->captured);
	return 0;
}

static int run_middle(struct plan *p)
{
	struct device *d = device_of(p);

	if (d->replay && !p->measuring && p->n_runs > 1 && p->device_to > p->device_from)
		return run_captured(p);
	return run_steps(p, p->device_from, p->device_to);
}

static void touch(struct plan *p)
{
	for (size_t i = 0; i < p->g->n_parameters; i++) {
		const struct tensor *t = p->g->parameters[i];
		struct store_entry *e = t ? tensor_entry(t) : NULL;

		if (!e || (!p->updated[PLAN_HOST][t->id] && !p->updated[PLAN_DEVICE][t->id]))
			continue;
		e->version++;
		if (p->updated[PLAN_HOST][t->id])
			e->host_version = e->version;
		if (p->updated[PLAN_DEVICE][t->id])
			e->device_version = e->version;
	}
}

static void upload_keys(struct plan *p)
{
	struct device *d = device_of(p);

	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].where == PLAN_DEVICE && !p->steps[i].moved)
			plan_set_key(p, p->steps[i].node, p->keys + 2 * (size_t)p->steps[i].draw);
	d->upload(d, p->keys_at, p->keys, p->n_draws * 2 * sizeof(*p->keys));
}

int plan_run_device(struct plan *p)
{
	p->n_runs++;
	if (p->n_draws)
		upload_keys(p);
	if (run_steps(p, 0, p->device_from) < 0 || run_middle(p) < 0)
		return -1;
	if (run_steps(p, p->device_to, p->n_steps) < 0)
		return -1;
	p->downloads = false;
	if (device_of(p)->wait(device_of(p)) < 0)
		return -1;
	touch(p);
	return 0;
}

/*
 * lib/graph/store.c - entries by name, and their memory
 */
#include "lib/graph/store.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/copies.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"
#include "lib/base/pages.h"
#include "lib/graph/backend.h"

struct adapter_row {
	const char *name;
	struct store_adapter adapter;
};

struct store {
	struct arena *arena;
	struct names *names;
	struct pages pages;
	struct store_entry **entries; /* owned */
	size_t n, capacity;
	struct adapter_row *adapters; /* owned */
	size_t n_adapters, adapters_capacity;
	bool declaring;
	uint64_t generation;
	struct device *device; /* that copies are on, or NULL */
};

int store_new(struct store **out)
{
	struct store *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	if (arena_new(&s->arena) < 0 || names_new(&s->names) < 0) {
		store_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static void release(struct store_entry *e)
{
	if (e->owned && e->data)
		pages_give(e->data, e->size);
	e->data = NULL;
	e->owned = false;
}

static void release_device(struct store *s, struct store_entry *e)
{
	if (e->device_data)
		s->device->release(s->device, e->device_data);
	e->device_data = NULL;
}

void store_release(struct store *s, struct store_entry *e)
{
	release(e);
	release_device(s, e);
	s->generation++;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		release(s->entries[i]);
		release_device(s, s->entries[i]);
	}
	pages_end(&s->pages);
	free(s->entries);
	free(s->adapters);
	names_free(s->names);
	arena_free(s->arena);
	free(s);
}

void store_declaring(struct store *s, bool on)
{
	s->declaring = on;
}

bool store_is_declaring(const struct store *s)
{
	return s->declaring;
}

uint64_t store_generation(const struct store *s)
{
	return s->generation;
}

size_t store_n(const struct store *s)
{
	return s->n;
}

struct store_entry *store_at(const struct store *s, size_t i)
{
	return s->entries[i];
}

struct store_entry *store_find(const struct store *s, const char *name)
{
	uint32_t place;

	if (!names_find(s->names, (struct bytes){ name, strlen(name) }, &place))
		return NULL;
	return s->entries[place];
}

struct store_entry *store_add(struct store *s, const char *name, enum store_kind kind,
			      enum dtype dtype, const struct shape *shape)
{
	struct store_entry *e = arena_alloc(s->arena, 1, sizeof(*e));
	struct bytes key = { name, strlen(name) };

	if (!e || !(key.data = arena_copy(s->arena, key)))
		return NULL;
	*e = (struct store_entry){
		.name = key.data,
		.place = s->n,
		.kind = kind,
		.dtype = dtype,
		.shape = *shape,
		.trainable = kind == STORE_PARAMETER && dtype_info(dtype)->block == 1,
		.version = 1,
		.host_version = 1,
	};
	if (!dtype_size(dtype, shape_elements(shape), &e->size)) {
		err_set(ERR_ARGUMENT, "%s: shape %s of %s has no size", name, shape_string(shape),
			dtype_name(dtype));
		return NULL;
	}
	if (s->n > UINT32_MAX - 1 ||
	    mem_grow(&s->entries, &s->capacity, s->n + 1, sizeof(*s->entries)) < 0)
		return NULL;
	switch (names_add(s->names, key, (uint32_t)s->n, NULL)) {
	case 1: s->entries[s->n++] = e; return e;
	case 0: err_set(ERR_ARGUMENT, "two entries named %s", name);
	}
	return NULL;
}

int store_borrow(struct store *s, struct store_entry *e, const void *data, size_t size)
{
	if (size != e->size)
		return err_set(ERR_ARGUMENT, "%s: %zu bytes, not the %zu of shape %s of %s",
			       e->name, size, e->size, shape_string(&e->shape),
			       dtype_name(e->dtype));
	release(e);
	e->data = (void *)data;
	store_touch(e);
	s->generation++;
	return 0;
}

/* Its own memory, and in *C what is to be copied there. */
static int own(struct store *s, struct store_entry *e, struct copy *c)
{
	void *data = pages_take(&s->pages, e->size);

	if (!data)
		return err_prefix("%s", e->name);
	*c = (struct copy){ data, e->data, e->data ? e->size : 0 };
	e->data = data;
	e->owned = true;
	s->generation++;
	return 0;
}

int store_allocate(struct store *s, struct store_entry *e)
{
	return store_allocate_all(s, &e, 1, NULL);
}

int store_allocate_all(struct store *s, struct store_entry **all, size_t n, struct team *team)
{
	struct copy one = { 0 }, *copies = n > 1 ? mem_new(n, sizeof(*copies)) : &one;
	size_t made = 0;
	int result = copies ? 0 : -1;

	for (size_t i = 0; i < n && result == 0; i++)
		if (!all[i]->owned && (result = own(s, all[i], &copies[made])) == 0)
			made++;
	/* Also after a failure: what has memory of its own has its values. */
	copies_run(team, copies, made);
	if (copies != &one)
		free(copies);
	return result;
}

struct store_entry *store_beside(struct store *s, struct store_entry *e, const char *suffix,
				 enum dtype dtype)
{
	char name[512];
	struct store_entry *made;

	if ((size_t)snprintf(name, sizeof(name), "%s.%s", e->name, suffix) >= sizeof(name)) {
		err_set(ERR_LIMIT, "%s: a name of more than 511 bytes", e->name);
		return NULL;
	}
	made = store_find(s, name);
	if (made && (made->dtype != dtype || !shape_equal(&made->shape, &e->shape))) {
		err_set(ERR_ARGUMENT, "%s: is %s %s", name, dtype_name(made->dtype),
			shape_string(&made->shape));
		return NULL;
	}
	return made ? made : store_add(s, name, STORE_STATE, dtype, &e->shape);
}

struct store_entry *store_cast(struct store *s, struct store_entry *e, enum dtype dtype)
{
	char suffix[32];

	if (e->cast && e->cast->dtype == dtype)
		return e->cast;
	snprintf(suffix, sizeof(suffix), "as-%s", dtype_name(dtype));
	e->cast = store_beside(s, e, suffix, dtype);
	if (!e->cast)
		return NULL;
	e->cast->kind = STORE_DERIVED;
	e->cast->source = e;
	e->cast->trainable = e->trainable;
	return e->cast;
}

struct store_entry *store_form(struct store *s, struct store_entry *e, uint64_t key, size_t bytes)
{
	char name[512];
	struct store_entry *made;

	if ((size_t)snprintf(name, sizeof(name), "%s.form-%016" PRIx64, e->name, key) >=
	    sizeof(name)) {
		err_set(ERR_LIMIT, "%s: a name of more than 511 bytes", e->name);
		return NULL;
	}
	made = store_find(s, name);
	if (!made && (made = store_add(s, name, STORE_DERIVED, DTYPE_U8, &SHAPE(bytes))))
		made->source = e;
	return made;
}

struct store_entry *store_sum(struct store *s, struct store_entry *e)
{
	if (!e->sum && (e->sum = store_beside(s, e, "gradient", DTYPE_F32)))
		e->sum->kind = STORE_GRADIENT;
	return e->sum;
}

void store_touch(struct store_entry *e)
{
	e->host_version = ++e->version;
}

/* --- a device's copies --- */

bool store_has_device(const struct store *s)
{
	return s->device != NULL;
}

void store_touch_device(struct store_entry *e)
{
	e->device_version = ++e->version;
}

int store_to_host(struct store *s, struct store_entry *e)
{
	if (e->host_version == e->version)
		return 0;
	if (store_allocate(s, e) < 0)
		return -1;
	s->device->download(s->device, e->data, e->device_data, e->size);
	if (s->device->wait(s->device) < 0)
		return -1;
	e->host_version = e->version;
	return 0;
}

int store_to_device(struct store *s, struct store_entry *e, struct device *d)
{
	if (s->device && s->device != d)
		return err_set(ERR_UNSUPPORTED, "%s: a store on two devices, %s and %s", e->name,
			       s->device->name, d->name);
	s->device = d;
	if (!e->device_data) {
		e->device_data = d->allocate(d, e->size ? e->size : 1);
		if (!e->device_data)
			return -1;
		s->generation++;
		e->device_version = 0;
	}
	if (e->device_version == e->version || !e->data)
		return 0;
	d->upload(d, e->device_data, e->data, e->size);
	e->device_version = e->version;
	return 0;
}

size_t store_set_trainable(struct store *s, const char *pattern, bool trainable)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct store_entry *e = s->entries[i];

		if (e->kind != STORE_PARAMETER || fnmatch(pattern, e->name, 0) != 0)
			continue;
		e->trainable = trainable && dtype_info(e->dtype)->block == 1;
		if (e->cast)
			e->cast->trainable = e->trainable;
		n++;
	}
	return n;
}

/* --- adapters --- */

static struct store_entry *adapter_part(struct store *s, const char *name, const char *part,
					struct shape shape)
{
	char whole[512];

	if ((size_t)snprintf(whole, sizeof(whole), "%s.%s", name, part) >= sizeof(whole)) {
		err_set(ERR_LIMIT, "%s: a name of more than 511 bytes", name);
		return NULL;
	}
	return store_add(s, whole, STORE_PARAMETER, DTYPE_F32, &shape);
}

int store_add_adapter(struct store *s, const char *name, size_t rank, size_t in, size_t out,
		      struct store_adapter *made)
{
	struct store_adapter a = {
		.a = adapter_part(s, name, "lora_A.weight", SHAPE(rank, in)),
		.b = adapter_part(s, name, "lora_B.weight", SHAPE(out, rank)),
		.scale = adapter_part(s, name, "lora_scale", SHAPE(1)),
	};
	struct bytes copy = { name, strlen(name) };

	if (!a.a || !a.b || !a.scale || !(copy.data = arena_copy(s->arena, copy)) ||
	    mem_grow(&s->adapters, &s->adapters_capacity, s->n_adapters + 1, sizeof(*s->adapters)) <
		    0)
		return -1;
	a.scale->trainable = false;
	s->adapters[s->n_adapters++] = (struct adapter_row){ copy.data, a };
	if (made)
		*made = a;
	return 0;
}

const struct store_adapter *store_adapter(const struct store *s, const char *name)
{
	for (size_t i = 0; i < s->n_adapters; i++)
		if (strcmp(s->adapters[i].name, name) == 0)
			return &s->adapters[i].adapter;
	return NULL;
}

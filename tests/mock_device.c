/* tests/mock_device.c - a queue of copies of calls, run at the wait, on memory that is closed otherwise */

#include "tests/mock_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/graph/op_table.h"

enum job_kind { JOB_LAUNCH, JOB_UPLOAD, JOB_DOWNLOAD, JOB_REPLAY };

struct job {
	enum job_kind kind;
	const struct kernel *kernel;
	struct kernel_call call;
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	void *to;
	const void *from;
	uint64_t size;
	void *staged; /* owned: what is uploaded */
	struct jobs *captured;
};

struct jobs {
	struct job *items;
	size_t n, capacity;
};

struct block {
	void *data;
	size_t size;
};

struct mock_device {
	struct device device; /* first: the functions are given its address */
	struct backend backend;
	const struct kernel **kernels;
	struct jobs queue, *capture;
	struct block *blocks;
	size_t n_blocks;
	uint64_t limit;
	struct mock_counts counts;
	bool fail, failed;
};

static void *must(void *p)
{
	if (!p) {
		fputs("mock device: no memory\n", stderr);
		exit(2);
	}
	return p;
}

/* --- memory --- */

static size_t whole_pages(uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return ((size_t)size + page - 1) / page * page;
}

static void *allocate(struct device *d, uint64_t size)
{
	struct mock_device *m = (struct mock_device *)d;
	void *data;

	if (size > m->limit - m->counts.allocated) {
		err_set(ERR_MEMORY, "mock: no memory for %llu bytes", (unsigned long long)size);
		return NULL;
	}
	data = mmap(NULL, whole_pages(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		must(NULL);
	m->blocks = must(realloc(m->blocks, (m->n_blocks + 1) * sizeof(*m->blocks)));
	m->blocks[m->n_blocks++] = (struct block){ data, (size_t)size };
	m->counts.allocated += size;
	return data;
}

static void release(struct device *d, void *data)
{
	struct mock_device *m = (struct mock_device *)d;

	for (size_t i = 0; data && i < m->n_blocks; i++) {
		if (m->blocks[i].data != data)
			continue;
		munmap(data, whole_pages(m->blocks[i].size));
		m->counts.allocated -= m->blocks[i].size;
		m->blocks[i] = m->blocks[--m->n_blocks];
		return;
	}
	if (data) {
		fputs("mock device: release of what is not its own\n", stderr);
		exit(2);
	}
}

static uint64_t available(struct device *d)
{
	struct mock_device *m = (struct mock_device *)d;

	return m->limit - m->counts.allocated;
}

static void open_memory(struct mock_device *m, int how)
{
	for (size_t i = 0; i < m->n_blocks; i++)
		mprotect(m->blocks[i].data, whole_pages(m->blocks[i].size), how);
}

/* --- the queue --- */

static struct job *append(struct jobs *q)
{
	if (q->n == q->capacity) {
		q->capacity = 2 * q->capacity + 16;
		q->items = must(realloc(q->items, q->capacity * sizeof(*q->items)));
	}
	q->items[q->n] = (struct job){ 0 };
	return &q->items[q->n++];
}

static void launch(struct device *d, const struct kernel *k, const struct kernel_call *c)
{
	struct mock_device *m = (struct mock_device *)d;
	struct job *j = append(m->capture ? m->capture : &m->queue);

	j->kind = JOB_LAUNCH;
	j->kernel = k;
	j->call = *c;
	memcpy(j->in, c->in, (size_t)c->n_in * sizeof(*c->in));
	memcpy(j->out, c->out, (size_t)c->n_out * sizeof(*c->out));
	m->failed |= m->fail;
	m->fail = false;
}

static void upload(struct device *d, void *to, const void *from, uint64_t size)
{
	struct mock_device *m = (struct mock_device *)d;
	struct job *j = append(&m->queue);

	m->counts.uploads++;
	*j = (struct job){ .kind = JOB_UPLOAD, .to = to, .size = size };
	j->staged = must(malloc(size ? size : 1));
	memcpy(j->staged, from, size);
}

static void download(struct device *d, void *to, const void *from, uint64_t size)
{
	struct mock_device *m = (struct mock_device *)d;

	m->counts.downloads++;
	*append(&m->queue) =
		(struct job){ .kind = JOB_DOWNLOAD, .to = to, .from = from, .size = size };
}

static void run_launch(struct mock_device *m, const struct job *j)
{
	struct kernel_call c = j->call;

	c.in = j->in;
	c.out = j->out;
	if (c.key_at)
		memcpy(c.key, c.key_at, sizeof(c.key));
	j->kernel->run(&c);
	m->counts.launches++;
}

static void run_job(struct mock_device *m, struct job *j)
{
	switch (j->kind) {
	case JOB_LAUNCH: run_launch(m, j); break;
	case JOB_UPLOAD:
		memcpy(j->to, j->staged, j->size);
		free(j->staged);
		break;
	case JOB_DOWNLOAD: memcpy(j->to, j->from, j->size); break;
	case JOB_REPLAY:
		for (size_t i = 0; i < j->captured->n; i++)
			run_launch(m, &j->captured->items[i]);
		break;
	}
}

static int wait_all(struct device *d)
{
	struct mock_device *m = (struct mock_device *)d;
	bool failed = m->failed;

	m->counts.waits++;
	m->failed = false;
	open_memory(m, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < m->queue.n; i++)
		run_job(m, &m->queue.items[i]);
	open_memory(m, PROT_NONE);
	m->queue.n = 0;
	return failed ? err_set(ERR_IO, "mock: a launch failed") : 0;
}

/* --- captures --- */

static int capture_begin(struct device *d)
{
	struct mock_device *m = (struct mock_device *)d;

	m->capture = must(calloc(1, sizeof(*m->capture)));
	return 0;
}

static void *capture_end(struct device *d)
{
	struct mock_device *m = (struct mock_device *)d;
	struct jobs *made = m->capture;

	m->capture = NULL;
	m->counts.captures++;
	return made;
}

static void replay(struct device *d, void *captured)
{
	struct mock_device *m = (struct mock_device *)d;

	m->counts.replays++;
	*append(&m->queue) = (struct job){ .kind = JOB_REPLAY, .captured = captured };
}

static void capture_free(struct device *d, void *captured)
{
	struct jobs *q = captured;

	free(q->items);
	free(q);
}

/* --- the whole --- */

static bool is_out(const struct kernel *k, const enum op *without, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(k->op, op_info(without[i])->name) == 0)
			return true;
	return false;
}

static void take_kernels(struct mock_device *m, const struct backend *from, const enum op *without,
			 size_t n)
{
	size_t all = 0, taken = 0;

	while (from->kernels[all])
		all++;
	m->kernels = must(calloc(all + 1, sizeof(*m->kernels)));
	for (size_t i = 0; i < all; i++)
		if (!is_out(from->kernels[i], without, n))
			m->kernels[taken++] = from->kernels[i];
}

struct mock_device *mock_device_new(const struct backend *from, const enum op *without, size_t n,
				    uint64_t limit)
{
	struct mock_device *m = must(calloc(1, sizeof(*m)));

	m->device = (struct device){
		.name = "mock",
		.allocate = allocate,
		.release = release,
		.available = available,
		.launch = launch,
		.upload = upload,
		.download = download,
		.wait = wait_all,
		.capture_begin = capture_begin,
		.capture_end = capture_end,
		.replay = replay,
		.capture_free = capture_free,
	};
	m->limit = limit;
	take_kernels(m, from, without, n);
	m->backend =
		(struct backend){ .name = "mock", .kernels = m->kernels, .device = &m->device };
	return m;
}

void mock_device_free(struct mock_device *m)
{
	if (!m)
		return;
	wait_all(&m->device);
	for (size_t i = 0; i < m->n_blocks; i++)
		munmap(m->blocks[i].data, whole_pages(m->blocks[i].size));
	free(m->blocks);
	free(m->queue.items);
	free(m->kernels);
	free(m);
}

const struct backend *mock_device_backend(struct mock_device *m)
{
	return &m->backend;
}

struct mock_counts mock_device_counts(const struct mock_device *m)
{
	return m->counts;
}

void mock_device_fail(struct mock_device *m)
{
	m->fail = true;
}

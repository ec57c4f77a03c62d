/*
 * tests/shim/faults.c - makes the operating system say no, at a chosen call (LD_PRELOAD)
 *
 *	FAULT='write:3:ENOSPC' LD_PRELOAD=faults.so TOOL …
 *
 * FAULT is rules with commas between; a rule is CALL:WHEN:WHAT.
 * CALL  read write pread pwrite mmap fsync fdatasync rename open close copy_file_range sendfile malloc
 *       (each stands for its relatives too: readv, openat, renameat2, calloc, ftruncate as write, …)
 * WHEN  N: the Nth call only; N+: that and all later ones; Nb: once N bytes have passed through
 *       CALL, the call that crosses N being cut short there
 * WHAT  an errno's name; or short or shortN: the call does half, or at most N bytes, of what it is
 *       asked; or stop: the process stops itself (SIGSTOP) before the call, until a test goes on with it
 *
 * FAULT_PATH=PART counts only calls on paths (or descriptors of paths) that hold PART; malloc has
 * none. FAULT_LOG=FILE gets a line for each fault, so that a test can tell that one came. A rule that
 * cannot be read ends the process with 99.
 *
 * Counted are calls from the program and from libraries, but not from the C library, its loader, the
 * OpenMP or a sanitizer's runtime, and none on stderr. So stdio's own writes are out of reach:
 * /dev/full does for those.
 */
/* Each 64-bit name is defined beside the plain one, so neither may be turned into the other. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

#define CALLS(X)    \
 X(read)            \
 X(write)           \
 X(pread)           \
 X(pwrite)          \
 X(mmap)            \
 X(fsync)           \
 X(fdatasync)       \
 X(rename)          \
 X(open)            \
 X(close)           \
 X(copy_file_range) \
 X(sendfile)        \
 X(malloc)

enum call {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
};

static const char *const call_names[] = {
#define X(name) #name,
	CALLS(X)
#undef X
};

struct rule {
	enum call call;
	uint64_t at; /* which call, from 1, or how many bytes */
	bool onward, by_bytes, stops;
	int error;   /* 0: make it short */
	size_t most; /* of a short call; 0: half */
	_Atomic uint64_t calls, bytes;
};

static struct rule rules[16];
static size_t n_rules;
static const char *path_part, *log_path;

/* --- reading FAULT --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EIO", EIO },
	{ "ENOSPC", ENOSPC },
	{ "EINTR", EINTR },
	{ "EAGAIN", EAGAIN },
	{ "EACCES", EACCES },
	{ "ENOMEM", ENOMEM },
	{ "EDQUOT", EDQUOT },
	{ "EROFS", EROFS },
	{ "EMFILE", EMFILE },
	{ "ENFILE", ENFILE },
	{ "EXDEV", EXDEV },
	{ "EINVAL", EINVAL },
	{ "EPIPE", EPIPE },
	{ "EBADF", EBADF },
	{ "ENOENT", ENOENT },
	{ "EFBIG", EFBIG },
	{ "ENOSYS", ENOSYS },
	{ "EPERM", EPERM },
	{ "EOPNOTSUPP", EOPNOTSUPP },
};

static _Noreturn void bad_rule(const char *text)
{
	fprintf(stderr, "faults: cannot read FAULT at: %s\n", text);
	_exit(99);
}

static void read_call(struct rule *r, const char *text, size_t n)
{
	size_t kinds = sizeof(call_names) / sizeof(call_names[0]);

	for (size_t i = 0; i < kinds; i++)
		if (strlen(call_names[i]) == n && memcmp(call_names[i], text, n) == 0) {
			r->call = (enum call)i;
			return;
		}
	bad_rule(text);
}

static void read_when(struct rule *r, const char *text, const char *end)
{
	char *after;

	r->at = strtoull(text, &after, 10);
	r->onward = after + 1 == end && *after == '+';
	r->by_bytes = after + 1 == end && *after == 'b';
	if (after == text || (after != end && !r->onward && !r->by_bytes))
		bad_rule(text);
}

static void read_what(struct rule *r, const char *text, size_t n)
{
	char *after;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strlen(errors[i].name) == n && memcmp(errors[i].name, text, n) == 0)
			r->error = errors[i].number;
	r->stops = n == 4 && memcmp(text, "stop", 4) == 0;
	if (r->error || r->stops)
		return;
	if (n < 5 || memcmp(text, "short", 5) != 0 || r->by_bytes)
		bad_rule(text);
	r->most = strtoull(text + 5, &after, 10);
	if (after != text + n)
		bad_rule(text);
}

static void read_rules(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		const char *when = memchr(text, ':', n);
		const char *what =
			when ? memchr(when + 1, ':', n - (size_t)(when + 1 - text)) : NULL;
		struct rule *r = &rules[n_rules];

		if (!what || n_rules == sizeof(rules) / sizeof(rules[0]))
			bad_rule(text);
		read_call(r, text, (size_t)(when - text));
		read_when(r, when + 1, what);
		read_what(r, what + 1, (size_t)(text + n - what - 1));
		n_rules++;
		text += n + (text[n] == ',');
	}
}

/* --- whose calls count ----------------------------------------------------------------------- */

static struct {
	uintptr_t from, past;
} left_alone[64];
static size_t n_left_alone;

static int leave_alone(struct dl_phdr_info *info, size_t size, void *ignored)
{
	static const char *const names[] = { "/libc.so",    "/ld-",	  "/libgomp.so",
					     "/libasan.so", "/libomp.so", "/libtsan.so",
					     "/libubsan.so" };

	(void)size;
	(void)ignored;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strstr(info->dlpi_name, names[i]))
			continue;
		for (int p = 0; p < info->dlpi_phnum; p++) {
			const ElfW(Phdr) *h = &info->dlpi_phdr[p];

			if (h->p_type != PT_LOAD || n_left_alone == 64)
				continue;
			left_alone[n_left_alone].from = info->dlpi_addr + h->p_vaddr;
			left_alone[n_left_alone++].past = info->dlpi_addr + h->p_vaddr + h->p_memsz;
		}
	}
	return 0;
}

static bool counts(const void *caller)
{
	for (size_t i = 0; i < n_left_alone; i++)
		if ((uintptr_t)caller >= left_alone[i].from &&
		    (uintptr_t)caller < left_alone[i].past)
			return false;
	return true;
}

/* Until this has run there are no rules, and every call passes. */
__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAULT");

	path_part = getenv("FAULT_PATH");
	log_path = getenv("FAULT_LOG");
	dl_iterate_phdr(leave_alone, NULL);
	if (text)
		read_rules(text);
}

/* --- deciding ---------------------------------------------------------------------------------- */

/* What a call works on: a path, or a descriptor, or neither (-1). */
struct object {
	int fd;
	const char *path;
};

static bool matches(struct object o)
{
	char link[64], target[4096];
	ssize_t n;

	if (!o.path && o.fd == STDERR_FILENO)
		return false;
	if (!path_part)
		return true;
	if (o.path)
		return strstr(o.path, path_part) != NULL;
	if (o.fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", o.fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return strstr(target, path_part) != NULL;
}

static void log_fault(const struct rule *r, const char *what)
{
	char line[128];
	int fd, n;

	if (!log_path)
		return;
	n = snprintf(line, sizeof(line), "%s %llu %s\n", call_names[r->call],
		     (unsigned long long)r->calls, what);
	fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
		_exit(99);
	syscall(SYS_close, fd);
}

/* One rule's word on a call that asks for *N bytes: an errno, or 0 with *N perhaps less. */
static int apply(struct rule *r, size_t *n)
{
	uint64_t call = ++r->calls;

	if (r->by_bytes && *n && r->bytes < r->at) {
		if (*n > r->at - r->bytes)
			*n = r->at - r->bytes;
		return 0;
	}
	if (!r->by_bytes && (r->onward ? call < r->at : call != r->at))
		return 0;
	if (r->stops) {
		log_fault(r, "stop");
		raise(SIGSTOP);
		return 0;
	}
	if (r->error) {
		log_fault(r, strerror(r->error));
		return r->error;
	}
	if (*n > 1) {
		size_t most = r->most ? r->most : *n / 2;

		*n = *n < most ? *n : most;
		log_fault(r, "short");
	}
	return 0;
}

static int verdict(enum call call, struct object o, const void *caller, size_t *n)
{
	int error = 0;

	if (n_rules == 0 || !counts(caller))
		return 0;
	for (size_t i = 0; i < n_rules && !error; i++) {
		int keep = errno;

		if (rules[i].call == call && (call == CALL_malloc || matches(o)))
			error = apply(&rules[i], n);
		errno = keep;
	}
	return error;
}

/* Tells the byte rules how much a call did; returns GOT. */
static ssize_t passed(enum call call, struct object o, const void *caller, ssize_t got)
{
	int keep = errno;

	for (size_t i = 0; got > 0 && i < n_rules; i++)
		if (rules[i].by_bytes && rules[i].call == call && counts(caller) && matches(o))
			rules[i].bytes += (uint64_t)got;
	errno = keep;
	return got;
}

/* The next definition of NAME, looked up once. */
#define REAL(name)                                          \
 static __typeof__(&name) real;                             \
 if (!real && !(*(void **)&real = dlsym(RTLD_NEXT, #name))) \
 _exit(99)

/* Returns from the calling function with -1 when a rule says so. */
#define FAIL_IF_TOLD(call, object, n, failure) \
 do {                                          \
  int told = verdict(call, object, CALLER, n); \
  if (told) {                                  \
   errno = told;                               \
   return failure;                             \
  }                                            \
 } while (0)

/* --- reads and writes ---------------------------------------------------------------------------- */

#define TRANSFER(name, kind, parameters, fd, arguments)  \
 ssize_t name parameters                                 \
 {                                                       \
  struct object o = { fd, NULL };                        \
  REAL(name);                                            \
  FAIL_IF_TOLD(CALL_##kind, o, &n, -1);                  \
  return passed(CALL_##kind, o, CALLER, real arguments); \
 }

TRANSFER(read, read, (int fd, void *data, size_t n), fd, (fd, data, n))
TRANSFER(write, write, (int fd, const void *data, size_t n), fd, (fd, data, n))
TRANSFER(pread, pread, (int fd, void *data, size_t n, off_t at), fd, (fd, data, n, at))
TRANSFER(pwrite, pwrite, (int fd, const void *data, size_t n, off_t at), fd, (fd, data, n, at))
TRANSFER(pread64, pread, (int fd, void *data, size_t n, off64_t at), fd, (fd, data, n, at))
TRANSFER(pwrite64, pwrite, (int fd, const void *data, size_t n, off64_t at), fd, (fd, data, n, at))
TRANSFER(copy_file_range, copy_file_range,
	 (int from, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags), to,
	 (from, at, to, to_at, n, flags))
TRANSFER(sendfile, sendfile, (int to, int from, off_t *at, size_t n), to, (to, from, at, n))
TRANSFER(sendfile64, sendfile, (int to, int from, off64_t *at, size_t n), to, (to, from, at, n))

static size_t vector_size(const struct iovec *v, int count)
{
	size_t n = 0;

	for (int i = 0; i < count; i++)
		n += v[i].iov_len;
	return n;
}

/* A vector is cut by doing its first piece alone. */
#define VECTOR(name, kind)                                   \
 ssize_t name(int fd, const struct iovec *v, int count)      \
 {                                                           \
  struct object o = { fd, NULL };                            \
  struct iovec first;                                        \
  size_t whole = vector_size(v, count), n = whole;           \
  REAL(name);                                                \
  FAIL_IF_TOLD(CALL_##kind, o, &n, -1);                      \
  if (n < whole) {                                           \
   first = v[0];                                             \
   first.iov_len = first.iov_len < n ? first.iov_len : n;    \
   v = &first;                                               \
   count = 1;                                                \
  }                                                          \
  return passed(CALL_##kind, o, CALLER, real(fd, v, count)); \
 }

VECTOR(readv, read)
VECTOR(writev, write)

/* --- files ------------------------------------------------------------------------------------------ */

#define ON_DESCRIPTOR(name, kind, parameters, arguments)               \
 int name parameters                                                   \
 {                                                                     \
  size_t none = 0;                                                     \
  REAL(name);                                                          \
  FAIL_IF_TOLD(CALL_##kind, ((struct object){ fd, NULL }), &none, -1); \
  return real arguments;                                               \
 }

ON_DESCRIPTOR(fsync, fsync, (int fd), (fd))
ON_DESCRIPTOR(fdatasync, fdatasync, (int fd), (fd))
ON_DESCRIPTOR(ftruncate, write, (int fd, off_t n), (fd, n))
ON_DESCRIPTOR(ftruncate64, write, (int fd, off64_t n), (fd, n))

/* close(2) gives the descriptor back even when it fails. */
int close(int fd)
{
	size_t none = 0;
	int told;

	REAL(close);
	told = verdict(CALL_close, (struct object){ fd, NULL }, CALLER, &none);
	if (!told)
		return real(fd);
	real(fd);
	errno = told;
	return -1;
}

#define RENAME(name, parameters, arguments)                          \
 int name parameters                                                 \
 {                                                                   \
  size_t none = 0;                                                   \
  REAL(name);                                                        \
  FAIL_IF_TOLD(CALL_rename, ((struct object){ -1, to }), &none, -1); \
  return real arguments;                                             \
 }

RENAME(rename, (const char *from, const char *to), (from, to))
RENAME(renameat, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to))
RENAME(renameat2, (int fd, const char *from, int to_fd, const char *to, unsigned flags),
       (fd, from, to_fd, to, flags))

static mode_t mode_of(int flags, va_list rest)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name, parameters, ...)                                  \
 int name parameters                                                 \
 {                                                                   \
  size_t none = 0;                                                   \
  va_list rest;                                                      \
  mode_t mode;                                                       \
  REAL(name);                                                        \
  va_start(rest, flags);                                             \
  mode = mode_of(flags, rest);                                       \
  va_end(rest);                                                      \
  FAIL_IF_TOLD(CALL_open, ((struct object){ -1, path }), &none, -1); \
  return real(__VA_ARGS__, mode);                                    \
 }

OPEN(open, (const char *path, int flags, ...), path, flags)
OPEN(open64, (const char *path, int flags, ...), path, flags)
OPEN(openat, (int fd, const char *path, int flags, ...), fd, path, flags)
OPEN(openat64, (int fd, const char *path, int flags, ...), fd, path, flags)

/* Those that make a temporary file open it inside the C library. */
#define OPEN_TEMPORARY(name, parameters, arguments)                  \
 int name parameters                                                 \
 {                                                                   \
  size_t none = 0;                                                   \
  REAL(name);                                                        \
  FAIL_IF_TOLD(CALL_open, ((struct object){ -1, path }), &none, -1); \
  return real arguments;                                             \
 }

OPEN_TEMPORARY(mkstemp, (char *path), (path))
OPEN_TEMPORARY(mkstemp64, (char *path), (path))
OPEN_TEMPORARY(mkostemp, (char *path, int flags), (path, flags))
OPEN_TEMPORARY(mkostemp64, (char *path, int flags), (path, flags))

/* --- memory ----------------------------------------------------------------------------------------- */

#define MAP(name, offset_type)                                                        \
 void *name(void *where, size_t n, int protection, int flags, int fd, offset_type at) \
 {                                                                                    \
  size_t none = 0;                                                                    \
  REAL(name);                                                                         \
  FAIL_IF_TOLD(CALL_mmap, ((struct object){ fd, NULL }), &none, MAP_FAILED);          \
  return real(where, n, protection, flags, fd, at);                                   \
 }

MAP(mmap, off_t)
MAP(mmap64, off64_t)

/* dlsym itself allocates, so the C library's own names serve here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static const struct object no_object = { -1, NULL };

void *malloc(size_t n)
{
	size_t none = 0;

	FAIL_IF_TOLD(CALL_malloc, no_object, &none, NULL);
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	size_t none = 0;

	FAIL_IF_TOLD(CALL_malloc, no_object, &none, NULL);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	size_t none = 0;

	FAIL_IF_TOLD(CALL_malloc, no_object, &none, NULL);
	return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	size_t none = 0;

	FAIL_IF_TOLD(CALL_malloc, no_object, &none, NULL);
	return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
	size_t none = 0;
	int told = verdict(CALL_malloc, no_object, CALLER, &none);

	if (told)
		return told;
	*out = __libc_memalign(alignment, n);
	return *out ? 0 : ENOMEM;
}

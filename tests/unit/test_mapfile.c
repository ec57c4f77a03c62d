/* lib/base/mapfile: maps, refusals, the lookup of an address, and whole small files. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "tests/tap.h"

#define PAGE 4096

static void test_map(void)
{
	const char *path = tap_file("a.bin", "hello\0there", 11);
	struct mapfile *m;
	char text[4];

	if (!tap_works(mapfile_open(&m, path), "open"))
		return;
	tap_is_bytes(mapfile_bytes(m), ((struct bytes){ "hello\0there", 11 }), "its bytes");
	tap_is_text(mapfile_path(m), path, "its path");
	tap_ok(pread(mapfile_fd(m), text, 4, 1) == 4 && memcmp(text, "ello", 4) == 0,
	       "its descriptor reads");
	tap_ok(fcntl(mapfile_fd(m), F_GETFD) & FD_CLOEXEC, "and is closed by exec");
	mapfile_close(m);
	mapfile_close(NULL);
}

static void test_empty(void)
{
	struct mapfile *m;

	if (!tap_works(mapfile_open(&m, tap_file("empty", "", 0)), "open an empty file"))
		return;
	tap_is_u64(mapfile_bytes(m).size, 0, "size 0");
	tap_ok(mapfile_bytes(m).data != NULL, "and a pointer");
	mapfile_close(m);
}

/* Whether the part of the address space that P begins is marked by FLAG; -1 where the system does not tell. */
static int has_flag(const void *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512], start[32];
	int here = 0, found = -1;

	if (!f)
		return -1;
	snprintf(start, sizeof(start), "%lx-", (unsigned long)(uintptr_t)p);
	while (found < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, start, strlen(start)) == 0)
			here = 1;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, flag) != NULL;
	}
	fclose(f);
	return found;
}

static void test_expect(void)
{
	const char *path = tap_file("large.bin", "of one page", 11);
	struct mapfile *m;

	if (!tap_works(mapfile_open(&m, path), "open"))
		return;
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0 ||
	    has_flag(mapfile_bytes(m).data, " rd") < 0) {
		tap_skip("system", "huge pages are asked for: the system does not tell");
	} else {
		tap_ok(!has_flag(mapfile_bytes(m).data, " hg"), "no huge pages are asked for");
		mapfile_expect(m);
		tap_ok(has_flag(mapfile_bytes(m).data, " hg"), "until much is expected to be read");
	}
	mapfile_close(m);
}

/* A private map that the path no longer leads to. */
static void test_unlinked(void)
{
	const char *path = tap_file("gone.bin", "stays", 5);
	struct mapfile *m;

	if (!tap_works(mapfile_open(&m, path), "open"))
		return;
	unlink(path);
	tap_is_bytes(mapfile_bytes(m), bytes_of("stays"), "a removed file stays mapped");
	mapfile_close(m);
}

static void make_socket(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (bind(s, (struct sockaddr *)&name, sizeof(name)) != 0)
		tap_note("bind: %s", strerror(errno));
	close(s);
}

static void test_refusals(void)
{
	struct mapfile *m;
	const char *pipe_path = tap_path("pipe"), *socket_path = tap_path("socket");
	const char *plain = tap_file("plain", "x", 1), *below;

	mkfifo(pipe_path, 0666);
	make_socket(socket_path);
	below = tap_path("plain/below");
	tap_fails(mapfile_open(&m, tap_path("none")), ERR_MISSING, "No such file", "missing");
	tap_fails(mapfile_open(&m, ""), ERR_MISSING, "No such file", "no name");
	tap_fails(mapfile_open(&m, pipe_path), ERR_ARGUMENT, "is a pipe", "a pipe, at once");
	tap_fails(mapfile_open(&m, tap_folder()), ERR_ARGUMENT, "is a folder", "a folder");
	tap_fails(mapfile_open(&m, "/dev/null"), ERR_ARGUMENT, "is a device", "a device");
	tap_fails(mapfile_open(&m, socket_path), ERR_IO, socket_path, "a socket");
	tap_fails(mapfile_open(&m, below), ERR_IO, "Not a directory", "below %s", plain);
}

static void test_lookup(void)
{
	static char big[3 * PAGE];
	const char *a = tap_file("one", big, sizeof(big)), *b = tap_file("two", big, PAGE + 1);
	struct mapfile *m, *n;
	struct bytes am, bm;
	int local;

	if (!tap_works(mapfile_open(&m, a), "one") || !tap_works(mapfile_open(&n, b), "two"))
		return;
	am = mapfile_bytes(m);
	bm = mapfile_bytes(n);
	tap_is_text(mapfile_path_at(am.data), a, "first byte of one");
	tap_is_text(mapfile_path_at(am.data + am.size - 1), a, "last byte of one");
	tap_is_text(mapfile_path_at(bm.data + bm.size - 1), b, "last byte of two");
	tap_ok(!mapfile_path_at(bm.data + bm.size), "one past the end of two");
	tap_ok(!mapfile_path_at(NULL) && !mapfile_path_at(&local), "no map there");
	mapfile_close(m);
	tap_ok(!mapfile_path_at(am.data), "not after close");
	tap_is_text(mapfile_path_at(bm.data), b, "the other still is");
	mapfile_close(n);
}

/* Many threads open, look up and close at once. */
static void *churn(void *arg)
{
	const char *path = arg;
	long wrong = 0;

	for (int i = 0; i < 300; i++) {
		struct mapfile *m;
		const char *found;

		if (mapfile_open(&m, path) != 0)
			return (void *)1;
		found = mapfile_path_at(mapfile_bytes(m).data + 7);
		wrong += found != mapfile_path(m);
		mapfile_close(m);
	}
	return (void *)wrong;
}

static void test_threads(void)
{
	static char data[PAGE];
	pthread_t threads[4];
	char *path = mem_format("%s", tap_file("shared", data, sizeof(data)));
	bool ok = true;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, path);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		ok &= wrong == NULL;
	}
	tap_ok(ok, "lookups are right beside other threads' opens and closes");
	free(path);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	const char *path = mapfile_path_at(info->si_addr);
	size_t n = path ? strlen(path) : 0;

	_exit(n > 4 && strcmp(path + n - 4, ".cut") == 0 ? 7 : 8);
}

/* Touches a page that was cut off; the handler tells by its exit status what it found. */
static void touch_lost_page(const char *path)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	struct mapfile *m;
	volatile char c;

	sigaction(SIGBUS, &action, NULL);
	if (mapfile_open(&m, path) != 0 || truncate(path, 100) != 0)
		_exit(9);
	c = mapfile_bytes(m).data[2 * PAGE];
	_exit(c ? 10 : 11);
}

static void test_cut_file(void)
{
	static char data[3 * PAGE];
	const char *path = tap_file("x.cut", data, sizeof(data));
	int status;
	pid_t pid = fork();

	if (pid == 0)
		touch_lost_page(path);
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 7,
	       "a SIGBUS handler learns the file's name (status %d)", status);
}

static void check_read(const char *path, size_t limit, struct bytes want, const char *what)
{
	char *data;
	size_t size;

	if (!tap_works(file_read(path, limit, &data, &size), "%s", what))
		return;
	tap_is_bytes(((struct bytes){ data, size }), want, "%s: bytes", what);
	tap_ok(data[size] == 0, "%s: a NUL after them", what);
	free(data);
}

static void test_read(void)
{
	static char big[100000];
	const char *path;
	char *data;
	size_t size;

	memset(big, 'x', sizeof(big));
	check_read(tap_file("r0", "", 0), 10, bytes_of(""), "empty");
	check_read(tap_file("r1", "a\0b", 3), 10, (struct bytes){ "a\0b", 3 }, "with a NUL");
	path = tap_file("r2", big, sizeof(big));
	check_read(path, sizeof(big), (struct bytes){ big, sizeof(big) }, "exactly the limit");
	check_read(path, SIZE_MAX, (struct bytes){ big, sizeof(big) }, "no limit");
	tap_fails(file_read(path, sizeof(big) - 1, &data, &size), ERR_LIMIT, "99999 bytes",
		  "one past the limit");
	tap_fails(file_read(path, 0, &data, &size), ERR_LIMIT, "0 bytes", "a limit of 0");
	check_read(tap_file("r0", "", 0), 0, bytes_of(""), "empty, with a limit of 0");
	tap_fails(file_read("/dev/zero", 5000, &data, &size), ERR_LIMIT, "/dev/zero",
		  "a device without an end");
	tap_fails(file_read(tap_path("none"), 10, &data, &size), ERR_MISSING, "No such file",
		  "missing");
	tap_fails(file_read(tap_folder(), 10, &data, &size), ERR_IO, "Is a directory", "a folder");
}

/* /proc says that its files have no bytes. */
static void test_read_proc(void)
{
	char *data = NULL;
	size_t size = 0;

	tap_works(file_read("/proc/self/status", 1 << 20, &data, &size), "a file of /proc");
	tap_ok(size > 100, "has its bytes: %zu", size);
	free(data);
}

static void test_read_pipe(void)
{
	static char big[200000];
	const char *path = tap_path("fifo");
	pid_t pid;

	memset(big, 'y', sizeof(big));
	mkfifo(path, 0666);
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_WRONLY);
		size_t at = 0;

		while (fd >= 0 && at < sizeof(big)) {
			ssize_t put = write(fd, big + at,
					    sizeof(big) - at < 777 ? sizeof(big) - at : 777);

			if (put < 0)
				_exit(1);
			at += (size_t)put;
		}
		_exit(0);
	}
	check_read(path, sizeof(big), (struct bytes){ big, sizeof(big) }, "a pipe");
	waitpid(pid, NULL, 0);
}

int main(void)
{
	tap_run(test_map);
	tap_run(test_empty);
	tap_run(test_expect);
	tap_run(test_unlinked);
	tap_run(test_refusals);
	tap_run(test_lookup);
	tap_run(test_threads);
	tap_run(test_cut_file);
	tap_run(test_read);
	tap_run(test_read_proc);
	tap_run(test_read_pipe);
	return tap_done();
}

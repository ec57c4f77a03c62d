/*
 * lib/base/outfile: files that appear whole or not at all. Folders are in test_outdir.c.
 *
 * A folder of its own for each test, so that what is left behind is seen.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/outfile.h"
#include "lib/base/temporary.h"
#include "tests/tap.h"

#define MIB   ((size_t)1 << 20)
#define LARGE (20 * MIB + 12345)

static unsigned char *data; /* LARGE bytes without a short period */
static char root[1024];	    /* this test's folder */

static void fill_data(void)
{
	uint32_t x = 1;

	data = mem_new(LARGE, 1);
	for (size_t i = 0; i < LARGE; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24);
	}
}

static void new_root(const char *name)
{
	snprintf(root, sizeof(root), "%s", tap_path(name));
	mkdir(root, 0777);
}

/* ROOT/NAME; the last four stay valid. */
static const char *at(const char *name)
{
	static char paths[4][2048];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(at(name), "w");

	fputs(text, f);
	fclose(f);
	chmod(at(name), mode);
}

/* Names in ROOT, `.` and `..` left out. */
static int entries(void)
{
	DIR *dir = opendir(root);
	int n = -2;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void check_file(const char *name, const void *want, size_t n, const char *what)
{
	char *got = NULL;
	size_t size = 0;

	if (!tap_works(file_read(at(name), SIZE_MAX, &got, &size), "%s: is there", what))
		return;
	tap_ok(size == n && memcmp(got, want, n) == 0, "%s: %zu bytes of %zu", what, size, n);
	free(got);
}

static void check_text(const char *name, const char *want, const char *what)
{
	check_file(name, want, strlen(want), what);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(at(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

/* --- appearing ------------------------------------------------------------------------- */

static void test_new_file(void)
{
	struct outfile *f;
	mode_t mask = umask(027);

	new_root("new");
	if (!tap_works(outfile_new(&f, at("a")), "open"))
		return;
	tap_works(outfile_write(f, "hello ", 6), "write");
	tap_works(outfile_write(f, "there", 5), "write");
	tap_works(outfile_write(f, NULL, 0), "write nothing");
	tap_is_u64(outfile_offset(f), 11, "offset");
	tap_is_text(outfile_path(f), at("a"), "path");
	tap_ok(access(at("a"), F_OK) != 0, "nothing under its name yet");
	tap_is_i64(entries(), 1, "only the temporary");
	tap_works(outfile_commit(f), "commit");
	check_text("a", "hello there", "whole");
	tap_is_u64(mode_of("a"), 0640, "0666 less the umask");
	tap_is_i64(entries(), 1, "and no temporary");
	umask(mask);
}

static void test_temporary_name(void)
{
	struct outfile *f;
	struct dirent *entry;
	DIR *dir;
	bool good = false;

	new_root("name");
	tap_works(outfile_new(&f, at("model.gguf")), "open");
	dir = opendir(root);
	while ((entry = readdir(dir)))
		good |= strncmp(entry->d_name, ".model.gguf.tmp-", 16) == 0 &&
			strlen(entry->d_name) == 22;
	closedir(dir);
	tap_ok(good, ".NAME.tmp-XXXXXX, beside the target");
	outfile_discard(f);
	tap_is_i64(entries(), 0, "discard removes it");
	outfile_discard(NULL);
}

static void test_longest_name(void)
{
	char name[256];
	struct outfile *f;

	new_root("long");
	memset(name, 'n', 255);
	name[255] = 0;
	tap_works(outfile_new(&f, at(name)), "a name of 255 bytes");
	tap_works(outfile_commit(f), "commit");
	check_text(name, "", "empty");
}

static void test_existing(void)
{
	struct outfile *f;
	mode_t mask = umask(022);

	new_root("existing");
	put("a", "old", 0626);
	tap_works(outfile_new(&f, at("a")), "open");
	tap_works(outfile_write(f, "new", 3), "write");
	check_text("a", "old", "before commit");
	outfile_discard(f);
	check_text("a", "old", "after discard");
	tap_works(outfile_new(&f, at("a")), "open");
	tap_works(outfile_write(f, "new", 3), "write");
	tap_works(outfile_commit(f), "commit");
	check_text("a", "new", "after commit");
	tap_is_u64(mode_of("a"), 0626, "its mode is kept, whatever the umask");
	tap_is_i64(entries(), 1, "and no temporary");
	umask(mask);
}

static void test_relative(void)
{
	struct outfile *f;
	int here = open(".", O_RDONLY | O_DIRECTORY);

	new_root("relative");
	if (chdir(root) != 0)
		return;
	tap_works(outfile_new(&f, "plain"), "a name without a folder");
	tap_works(outfile_commit(f), "commit");
	tap_ok(access(at("plain"), F_OK) == 0, "is in the working folder");
	if (fchdir(here) != 0)
		tap_note("%s", strerror(errno));
	close(here);
}

/* --- writing --------------------------------------------------------------------------- */

/* N bytes in bites of BITE. */
static void check_write(size_t n, size_t bite)
{
	struct outfile *f;

	new_root("write");
	if (!tap_works(outfile_new(&f, at("a")), "open"))
		return;
	for (size_t i = 0; i < n; i += bite)
		if (outfile_write(f, data + i, bite < n - i ? bite : n - i) != 0)
			break;
	tap_is_u64(outfile_offset(f), n, "offset");
	tap_works(outfile_commit(f), "%zu bytes in bites of %zu", n, bite);
	check_file("a", data, n, "written");
}

static void test_sizes(void)
{
	static const size_t sizes[] = { 0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 5 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check_write(sizes[i], sizes[i] ? sizes[i] : 1);
		check_write(sizes[i], 65521);
	}
	check_write(LARGE, LARGE);
	check_write(LARGE, 1500001);
	check_write(2 * MIB, MIB);
	check_write(4 * MIB, MIB - 1);
}

/* Bites that fill the buffer to the last byte, and one more than that. */
static void test_buffer_edge(void)
{
	for (size_t last = 9; last <= 11; last++) {
		struct outfile *f;

		new_root("edge");
		if (!tap_works(outfile_new(&f, at("a")), "open"))
			continue;
		tap_works(outfile_write(f, data, MIB - 10), "all but 10");
		tap_works(outfile_write(f, data + MIB - 10, last), "%zu more", last);
		tap_works(outfile_write(f, data + MIB - 10 + last, 100000), "and more");
		tap_works(outfile_commit(f), "commit");
		check_file("a", data, MIB - 10 + last + 100000, "at the edge");
	}
}

/* A part of the source after some bytes of one's own, at a place that fits no block. */
static void check_copy(int source, size_t offset, size_t n, const char *what)
{
	unsigned char *want = mem_new(n + 20, 1);
	struct outfile *f;

	new_root("copy");
	memcpy(want, "0123456789", 10);
	memcpy(want + 10, data + offset, n);
	memcpy(want + 10 + n, "abcdefghij", 10);
	if (tap_works(outfile_new(&f, at("a")), "open")) {
		tap_works(outfile_write(f, "0123456789", 10), "before");
		tap_works(outfile_copy(f, source, offset, n), "copy %zu from %zu, %s", n, offset,
			  what);
		tap_is_u64(outfile_offset(f), n + 10, "offset");
		tap_works(outfile_write(f, "abcdefghij", 10), "after");
		tap_works(outfile_commit(f), "commit");
		check_file("a", want, n + 20, what);
	}
	free(want);
}

static void check_copies(int source, const char *what)
{
	check_copy(source, 0, 0, what);
	check_copy(source, 7, 1, what);
	check_copy(source, 4097, 100000, what);
	check_copy(source, 1, MIB - 1, what);
	check_copy(source, 0, MIB, what);
	check_copy(source, 4096, 2 * MIB, what);
	check_copy(source, 13, 17 * MIB + 3, what);
	/* Ten bytes stand before: from offset 10 on, the pages lie alike. */
	check_copy(source, 10, MIB, what);
	check_copy(source, 4106, 17 * MIB + 3, what);
	check_copy(source, 0, LARGE, what);
}

static void test_copy(void)
{
	const char *path = tap_file("source", data, LARGE);
	int disk = open(path, O_RDONLY), memory = memfd_create("source", MFD_CLOEXEC);

	check_copies(disk, "inside one file system");
	tap_ok(write(memory, data, LARGE) == (ssize_t)LARGE, "a source in memory");
	check_copies(memory, "from another file system");
	close(disk);
	close(memory);
}

static void check_short_source(int source, uint64_t offset, uint64_t n, const char *part)
{
	struct outfile *f;

	new_root("short");
	tap_works(outfile_new(&f, at("a")), "open");
	tap_fails(outfile_copy(f, source, offset, n), ERR_IO, part, "the source ends");
	tap_fails(outfile_commit(f), ERR_IO, at("a"), "commit fails too");
	tap_is_i64(entries(), 0, "and nothing is left");
}

static void test_short_source(void)
{
	int source = open(tap_file("source", data, 2 * MIB), O_RDONLY), ends[2];
	struct outfile *f;

	check_short_source(source, 0, 2 * MIB + 1, "ends 1 bytes too early");
	check_short_source(source, 2 * MIB - 5, 10, "ends 5 bytes too early");
	check_short_source(source, 5 * MIB, 3, "ends 3 bytes too early");
	check_short_source(source, 5 * MIB, 3 * MIB, "bytes too early");
	close(source);
	tap_works(pipe(ends), "a pipe");
	check_short_source(ends[0], 0, 10, "Illegal seek");
	check_short_source(ends[0], 0, 2 * MIB, "Illegal seek");
	check_short_source(ends[1], 0, 10, "the source of a copy");
	close(ends[0]);
	close(ends[1]);
	new_root("beyond");
	tap_works(outfile_new(&f, at("a")), "open");
	tap_fails(outfile_copy(f, 0, UINT64_MAX, 1), ERR_ARGUMENT, "beyond",
		  "an offset past any file");
	tap_fails(outfile_copy(f, 0, 1, UINT64_MAX), ERR_ARGUMENT, "beyond",
		  "a size past any file");
	outfile_discard(f);
}

static void test_patch(void)
{
	static unsigned char want[2 * MIB + 100];
	struct outfile *f;

	new_root("patch");
	memcpy(want, data, sizeof(want));
	tap_works(outfile_new(&f, at("a")), "open");
	tap_works(outfile_write(f, data, 100), "write 100");
	tap_works(outfile_patch(f, 10, "inside", 6), "in the buffer");
	memcpy(want + 10, "inside", 6);
	tap_works(outfile_write(f, data + 100, 2 * MIB), "write 2 MiB more");
	tap_works(outfile_patch(f, 0, "first", 5), "on the disk");
	memcpy(want, "first", 5);
	tap_works(outfile_patch(f, sizeof(want) - 4, "last", 4), "the last bytes");
	memcpy(want + sizeof(want) - 4, "last", 4);
	tap_works(outfile_patch(f, 50, data, 2 * MIB), "nearly all");
	memcpy(want + 50, data, 2 * MIB);
	tap_works(outfile_patch(f, sizeof(want), "", 0), "nothing at the end");
	tap_fails(outfile_patch(f, sizeof(want) - 3, "past", 4), ERR_ARGUMENT, "past the",
		  "one past the end");
	tap_fails(outfile_patch(f, UINT64_MAX, "past", 4), ERR_ARGUMENT, "past the", "far past it");
	tap_is_u64(outfile_offset(f), sizeof(want), "the offset is as before");
	tap_works(outfile_commit(f), "commit");
	check_file("a", want, sizeof(want), "patched");
}

/* Half of the patched bytes have left the buffer, half have not. */
static void test_patch_across(void)
{
	unsigned char *want = mem_new(MIB + 10, 1);
	struct outfile *f;

	new_root("across");
	memcpy(want, data, MIB + 10);
	memcpy(want + MIB - 20, "0123456789abcdefghijklmnopqrst", 30);
	tap_works(outfile_new(&f, at("a")), "open");
	tap_works(outfile_write(f, data, MIB), "past the buffer");
	tap_works(outfile_write(f, data + MIB, 10), "into the buffer");
	tap_works(outfile_patch(f, MIB - 20, "0123456789abcdefghijklmnopqrst", 30), "across");
	tap_works(outfile_commit(f), "commit");
	check_file("a", want, MIB + 10, "patched");
	free(want);
}

/* --- where ----------------------------------------------------------------------------- */

static void write_text(const char *name, const char *text)
{
	struct outfile *f;

	if (tap_works(outfile_new(&f, at(name)), "open %s", name)) {
		tap_works(outfile_write(f, text, strlen(text)), "write");
		tap_works(outfile_commit(f), "commit");
	}
}

static bool is_link(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0 && S_ISLNK(st.st_mode);
}

static void test_links(void)
{
	struct outfile *f;
	bool made = true;

	new_root("links");
	put("target", "old", 0600);
	made &= mkdir(at("sub"), 0777) == 0;
	made &= symlink("target", at("link")) == 0;
	made &= symlink("../link", at("sub/second")) == 0;
	made &= symlink("sub/none", at("dangling")) == 0;
	made &= symlink("loop", at("loop")) == 0;
	tap_ok(made, "links to try");

	write_text("link", "one");
	check_text("target", "one", "through a link");
	tap_is_u64(mode_of("target"), 0600, "its mode is kept");
	write_text("sub/second", "two");
	check_text("target", "two", "through two, relative to where they are");
	tap_ok(is_link("link") && is_link("sub/second"), "the links stay");
	write_text("dangling", "three");
	check_text("sub/none", "three", "a link to nothing makes it");
	tap_ok(is_link("dangling"), "and stays");
	tap_fails(outfile_new(&f, at("loop")), ERR_IO, "symbolic links", "a loop");
	tap_is_i64(entries(), 5, "nothing else here");
}

static void test_refusals(void)
{
	struct outfile *f;

	new_root("refusals");
	put("plain", "x", 0666);
	tap_fails(outfile_new(&f, root), ERR_ARGUMENT, "is a folder", "a folder");
	tap_fails(outfile_new(&f, at("new/")), ERR_ARGUMENT, "is a folder", "a slash at the end");
	tap_fails(outfile_new(&f, at("none/a")), ERR_IO, "No such file", "no such folder");
	tap_fails(outfile_new(&f, at("plain/a")), ERR_IO, "Not a directory", "below a file");
	tap_fails(outfile_new(&f, ""), ERR_IO, "No such file", "no name");
	tap_fails(outfile_new(&f, "/dev/fd/987"), ERR_IO, "Bad file descriptor",
		  "a descriptor that is not open");
	tap_is_i64(entries(), 1, "nothing was made");
}

/* Root may write anything, so this is tried as another user, who must be let into the folder. */
static void test_read_only(void)
{
	struct outfile *f;
	bool as_root = geteuid() == 0;

	new_root("read-only");
	put("a", "precious", 0444);
	chmod(root, 0777);
	chmod(tap_folder(), 0711);
	if (as_root && seteuid(65534) != 0)
		exit(EXIT_FAILURE);
	if (faccessat(AT_FDCWD, at("a"), R_OK, AT_EACCESS) == 0)
		tap_fails(outfile_new(&f, at("a")), ERR_IO, "Permission denied",
			  "a file that may not be written is not replaced");
	else
		tap_skip("user: the folder is closed to others", "a file that may not be written");
	if (as_root && seteuid(0) != 0)
		exit(EXIT_FAILURE);
	chmod(tap_folder(), 0700);
	check_text("a", "precious", "it stays");
	tap_is_i64(entries(), 1, "and nothing else came");
}

static void test_full_device(void)
{
	struct outfile *f;

	tap_works(outfile_new(&f, "/dev/full"), "open /dev/full");
	tap_works(outfile_write(f, "x", 1), "write into the buffer");
	tap_fails(outfile_commit(f), ERR_IO, "/dev/full: No space left on device", "commit");
	tap_works(outfile_new(&f, "/dev/full"), "open /dev/full");
	tap_fails(outfile_write(f, data, 2 * MIB), ERR_IO, "/dev/full: No space left on device",
		  "a large write");
	tap_fails(outfile_write(f, "x", 1), ERR_IO, "No space left", "a later write fails too");
	tap_fails(outfile_copy(f, 0, 0, 0), ERR_IO, "No space left", "and a copy");
	tap_fails(outfile_patch(f, 0, "", 0), ERR_IO, "No space left", "and a patch");
	tap_fails(outfile_commit(f), ERR_IO, "No space left", "and commit");
	tap_works(outfile_new(&f, "/dev/null"), "open /dev/null");
	tap_works(outfile_write(f, data, 2 * MIB), "write");
	tap_works(outfile_commit(f), "commit");
}

/* No file above a size: the same way as a full disk, for a regular file. */
static void test_full_disk(void)
{
	struct rlimit before, small;
	struct outfile *f;

	new_root("full");
	put("a", "old", 0666);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ 3 * MIB + 77, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	tap_works(outfile_new(&f, at("a")), "open");
	tap_fails(outfile_write(f, data, LARGE), ERR_IO, "a: File too large", "write");
	tap_fails(outfile_commit(f), ERR_IO, "a: File too large", "commit fails too");
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	check_text("a", "old", "the target is as it was");
	tap_is_i64(entries(), 1, "the temporary is gone");
}

/* --- pipes and stdout ------------------------------------------------------------------ */

/* Reads FD to its end in a child, slowly; exits 0 when it was data[0..n-1]. */
static pid_t start_reader(int fd, int other, size_t n)
{
	pid_t pid = fork();
	size_t got = 0;
	bool same = true;

	if (pid)
		return pid;
	close(other);
	for (;;) {
		unsigned char some[5000];
		ssize_t k = read(fd, some, sizeof(some));

		if (k <= 0)
			break;
		same &= got + (size_t)k <= n && memcmp(some, data + got, (size_t)k) == 0;
		got += (size_t)k;
		if (got % 7 == 0)
			usleep(500);
	}
	_exit(same && got == n ? 0 : 1);
}

static bool reader_agrees(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void on_alarm(int number)
{
}

/* Signals all the while: short writes, EINTR, and EAGAIN if the pipe does not block. */
static void check_pipe(int flags)
{
	struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	size_t n = 3 * MIB + 7;
	int ends[2];
	char name[32];
	struct outfile *f;
	pid_t reader;

	tap_works(pipe2(ends, flags), "a pipe that %s", flags ? "does not block" : "blocks");
	fcntl(ends[0], F_SETFL, 0);
	reader = start_reader(ends[0], ends[1], n);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	tap_works(outfile_new(&f, name), "open %s", name);
	close(ends[0]);
	close(ends[1]);
	setitimer(ITIMER_REAL, &often, NULL);
	tap_works(outfile_write(f, data, n), "write more than it holds");
	setitimer(ITIMER_REAL, &never, NULL);
	tap_fails(outfile_patch(f, 0, "x", 1), ERR_UNSUPPORTED, "cannot go back", "no patch");
	tap_works(outfile_commit(f), "commit");
	tap_ok(reader_agrees(reader), "the reader got the same bytes");
}

static void test_pipe(void)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	check_pipe(0);
	check_pipe(O_NONBLOCK);
	signal(SIGALRM, SIG_DFL);
}

static void test_fifo(void)
{
	unsigned char got[1001];
	struct outfile *f;
	int fd;

	new_root("fifo");
	mkfifo(at("p"), 0600);
	fd = open(at("p"), O_RDONLY | O_NONBLOCK);
	tap_works(outfile_new(&f, at("p")), "open a named pipe");
	tap_works(outfile_write(f, data, 1000), "write");
	tap_works(outfile_commit(f), "commit");
	tap_ok(read(fd, got, sizeof(got)) == 1000 && memcmp(got, data, 1000) == 0,
	       "its reader has the bytes");
	close(fd);
	tap_is_i64(entries(), 1, "it is still the pipe");
	tap_ok(mode_of("p") == 0600, "with its mode");
}

/* The exit status of a child whose stdout is ROOT/NAME, opened with FLAGS, and that writes `<`,
   `data` to PATH, and `>`. */
static int run_with_stdout(const char *name, int flags, const char *path, bool patch)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct outfile *f;
		int fd = open(at(name), flags, 0666);

		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || write(fd, "<", 1) != 1)
			_exit(5);
		if (outfile_new(&f, path) != 0)
			_exit(1);
		if (outfile_write(f, "data", 4) != 0)
			_exit(2);
		if (patch && outfile_patch(f, 1, "X", 1) != 0)
			_exit(3);
		if (outfile_commit(f) != 0 || write(STDOUT_FILENO, ">", 1) != 1)
			_exit(4);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void test_stdout(void)
{
	int fresh = O_WRONLY | O_CREAT | O_TRUNC, more = O_WRONLY | O_APPEND;

	new_root("stdout");
	tap_is_i64(run_with_stdout("a", fresh, "-", false), 0, "to -");
	check_text("a", "<data>", "- is stdout, which stays open");
	tap_is_i64(run_with_stdout("a", more, "/dev/stdout", false), 0, "to /dev/stdout");
	check_text("a", "<data><data>",
		   "/dev/stdout is not replaced, and appends where the shell did");
	tap_is_i64(run_with_stdout("a", fresh, "/proc/self/fd/1", true), 0, "patched");
	check_text("a", "<dXta>", "a file behind stdout can be patched");
	tap_is_i64(run_with_stdout("a", more, "-", true), 3, "but not one that appends");
	tap_is_i64(run_with_stdout("a", O_WRONLY, "-", true), 0, "over the beginning");
	check_text("a", "<dXta><", "and the byte that the refused run left after it stays");
	tap_is_i64(entries(), 1, "no temporary");
}

/* --- removal --------------------------------------------------------------------------- */

static void test_remove_all(void)
{
	struct outfile *f, *g;

	new_root("remove");
	put("a", "old", 0666);
	tap_works(outfile_new(&f, at("a")), "one");
	tap_works(outfile_new(&g, at("b")), "two");
	tap_is_i64(entries(), 3, "two temporaries");
	outfile_remove_all();
	tap_is_i64(entries(), 1, "both are gone");
	tap_fails(outfile_commit(f), ERR_IO, "No such file", "commit finds that out");
	outfile_discard(g);
	check_text("a", "old", "the target is as it was");
}

static void on_term(int number)
{
	outfile_remove_all();
	_exit(5);
}

static void test_signal(void)
{
	int status, ready[2];
	char c;
	pid_t pid;

	new_root("signal");
	if (pipe(ready) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct outfile *f[20];

		signal(SIGTERM, on_term);
		for (int i = 0; i < 20; i++) {
			char name[16];

			snprintf(name, sizeof(name), "f%d", i);
			if (outfile_new(&f[i], at(name)) != 0 ||
			    outfile_write(f[i], data, MIB) != 0)
				_exit(1);
		}
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	tap_ok(read(ready[0], &c, 1) == 1, "20 files being written");
	tap_is_i64(entries(), 20, "20 temporaries");
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 5, "the handler ran");
	tap_is_i64(entries(), 0, "and left nothing");
	close(ready[0]);
	close(ready[1]);
}

/* The table is full at 4,096, and has room again after one is gone. */
static void test_table(void)
{
	static struct temporary all[TEMPORARY_FILES + 1];
	struct temporary t;
	int made = 0, fd;

	new_root("table");
	while (made < TEMPORARY_FILES) {
		char name[16];

		snprintf(name, sizeof(name), "%d", made);
		fd = temporary_file_at(&all[made], at(name), "x");
		if (fd < 0)
			break;
		close(fd);
		made++;
	}
	tap_is_i64(made, TEMPORARY_FILES, "4,096 temporaries");
	tap_fails(temporary_file_at(&t, at("more"), "shown"), ERR_LIMIT, "shown: more than 4096",
		  "one more is refused");
	tap_is_i64(entries(), TEMPORARY_FILES, "and not made");
	temporary_remove(&all[1000]);
	tap_works(fd = temporary_file_at(&all[1000], at("more"), "shown"), "there is room again");
	close(fd);
	temporary_keep(&all[7]);
	for (int i = 0; i < TEMPORARY_FILES; i++)
		temporary_remove(&all[i]);
	tap_is_i64(entries(), 1, "removed, but for the one that was kept");
	tap_fails(temporary_file_at(&t, at("7"), "shown"), ERR_IO, "File exists", "a name in use");
	tap_is_i64(entries(), 1, "is left alone");
}

/* Makes and removes one name again and again. */
static void *churn(void *arg)
{
	for (int i = 0; i < 400; i++) {
		struct temporary t;
		int fd = temporary_file_at(&t, arg, "shown");

		if (fd < 0)
			return arg;
		close(fd);
		temporary_remove(&t);
	}
	return NULL;
}

/* A path that both sides free, or neither, ends the program here, or in LeakSanitizer's report. */
static void test_threads(void)
{
	static const char *const names[] = { "a", "b", "c" };
	pthread_t threads[3];
	char *paths[3];
	bool ok = true;

	new_root("threads");
	for (int i = 0; i < 3; i++) {
		paths[i] = mem_format("%s", at(names[i]));
		pthread_create(&threads[i], NULL, churn, paths[i]);
	}
	for (int i = 0; i < 400; i++)
		outfile_remove_all();
	for (int i = 0; i < 3; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		ok &= !failed;
		free(paths[i]);
	}
	tap_ok(ok, "three threads make temporaries beside outfile_remove_all");
	tap_is_i64(entries(), 0, "and none is left");
}

int main(void)
{
	fill_data();
	tap_run(test_new_file);
	tap_run(test_temporary_name);
	tap_run(test_longest_name);
	tap_run(test_existing);
	tap_run(test_relative);
	tap_run(test_sizes);
	tap_run(test_buffer_edge);
	tap_run(test_copy);
	tap_run(test_short_source);
	tap_run(test_patch);
	tap_run(test_patch_across);
	tap_run(test_links);
	tap_run(test_refusals);
	tap_run(test_read_only);
	tap_run(test_full_device);
	tap_run(test_full_disk);
	tap_run(test_pipe);
	tap_run(test_fifo);
	tap_run(test_stdout);
	tap_run(test_remove_all);
	tap_run(test_signal);
	tap_run(test_table);
	tap_run(test_threads);
	free(data);
	return tap_done();
}

/* lib/base/outfile: folders that appear whole or not at all. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "lib/base/outfile.h"
#include "lib/base/temporary.h"
#include "tests/tap.h"

static char root[1024]; /* this test's folder */

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

/* Names in the folder ROOT/NAME, `.` and `..` left out; -1 when it is not there. */
static int entries(const char *name)
{
	DIR *dir = opendir(at(name));
	int n = -2;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool there(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(at(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

/* Adds the file NAME, holding its own name. */
static void add(struct outdir *d, const char *name)
{
	struct outfile *f;

	if (!tap_works(outdir_file(d, name, &f), "a file %s", name))
		return;
	tap_works(outfile_write(f, name, strlen(name)), "write");
	tap_works(outfile_commit(f), "commit %s", name);
}

static void check_text(const char *name, const char *want)
{
	char *got;
	size_t size;

	if (!tap_works(file_read(at(name), 1000, &got, &size), "%s is there", name))
		return;
	tap_is_bytes(((struct bytes){ got, size }), bytes_of(want), "%s", name);
	free(got);
}

static void test_new_folder(void)
{
	struct outdir *d;
	mode_t mask = umask(027);

	new_root("new");
	if (!tap_works(outdir_new(&d, at("model")), "open"))
		return;
	add(d, "config.json");
	add(d, "model.safetensors");
	tap_ok(!there("model"), "nothing under its name yet");
	tap_is_i64(entries("."), 1, "only the temporary");
	tap_works(outdir_commit(d), "commit");
	check_text("model/config.json", "config.json");
	check_text("model/model.safetensors", "model.safetensors");
	tap_is_i64(entries("model"), 2, "two files, and no temporary");
	tap_is_i64(entries("."), 1, "one folder");
	tap_is_u64(mode_of("model"), 0750, "0777 less the umask");
	tap_is_u64(mode_of("model/config.json"), 0640, "and 0666 for the files");
	umask(mask);
}

static void test_slashes_and_links(void)
{
	struct outdir *d;

	new_root("slashes");
	tap_works(outdir_new(&d, at("a//")), "slashes at the end");
	add(d, "x");
	tap_works(outdir_commit(d), "commit");
	check_text("a/x", "x");
	tap_ok(symlink("b", at("link")) == 0, "a link to nothing");
	tap_works(outdir_new(&d, at("link/")), "through it");
	add(d, "y");
	tap_works(outdir_commit(d), "commit");
	check_text("b/y", "y");
	tap_is_i64(entries("."), 3, "and nothing else");
}

static void test_empty_target(void)
{
	struct outdir *d;
	mode_t mask = umask(022);

	new_root("empty");
	tap_ok(mkdir(at("a"), 0777) == 0 && chmod(at("a"), 0727) == 0, "an empty folder");
	tap_works(outdir_new(&d, at("a")), "may be the target");
	add(d, "x");
	tap_is_i64(entries("a"), 0, "and is empty before commit");
	tap_works(outdir_commit(d), "commit");
	check_text("a/x", "x");
	tap_is_u64(mode_of("a"), 0727, "with its mode");
	tap_works(outdir_new(&d, at("b")), "a folder of no files");
	tap_works(outdir_commit(d), "commit");
	tap_is_i64(entries("b"), 0, "is made");
	umask(mask);
}

static void test_refusals(void)
{
	struct outdir *d;

	new_root("refusals");
	tap_ok(mkdir(at("full"), 0777) == 0 && mkdir(at("full/x"), 0777) == 0, "a full folder");
	fclose(fopen(at("file"), "w"));
	tap_fails(outdir_new(&d, at("full")), ERR_ARGUMENT, "full: exists, and is not empty",
		  "a folder with something in it");
	tap_fails(outdir_new(&d, at("file")), ERR_ARGUMENT, "file: exists, and is not a folder",
		  "a file");
	tap_fails(outdir_new(&d, "/dev/null"), ERR_ARGUMENT, "is not a folder", "a device");
	tap_fails(outdir_new(&d, at("none/a")), ERR_IO, "No such file", "no folder to put it in");
	tap_fails(outdir_new(&d, ""), ERR_ARGUMENT, "not a name", "no name");
	tap_fails(outdir_new(&d, at(".")), ERR_ARGUMENT, "not a name", "a dot");
	tap_fails(outdir_new(&d, at("full/..")), ERR_ARGUMENT, "not a name", "two dots");
	tap_fails(outdir_new(&d, "/"), ERR_ARGUMENT, "not a name", "the root");
	tap_is_i64(entries("."), 2, "nothing was made");
}

static void test_file_names(void)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/a", "../a" };
	struct outdir *d;
	struct outfile *f;

	new_root("names");
	tap_works(outdir_new(&d, at("a")), "open");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_fails(outdir_file(d, bad[i], &f), ERR_ARGUMENT, "not a file name", "`%s`",
			  bad[i]);
	add(d, "once");
	tap_fails(outdir_file(d, "once", &f), ERR_IO, "a/once: File exists", "a name twice");
	tap_works(outdir_commit(d), "commit");
	check_text("a/once", "once");
}

static void test_discard(void)
{
	struct outdir *d;
	struct outfile *f;

	new_root("discard");
	tap_works(outdir_new(&d, at("a")), "open");
	add(d, "one");
	tap_works(outdir_file(d, "two", &f), "a second file");
	outfile_discard(f);
	tap_works(outdir_file(d, "two", &f), "the same name again");
	tap_works(outfile_commit(f), "commit");
	outdir_discard(d);
	tap_is_i64(entries("."), 0, "nothing is left");
	outdir_discard(NULL);
}

/* Files that are open side by side, committed in another order. */
static void test_side_by_side(void)
{
	struct outdir *d;
	struct outfile *f[40];

	new_root("side");
	tap_works(outdir_new(&d, at("a")), "open");
	for (int i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		if (!tap_works(outdir_file(d, name, &f[i]), "file %d", i))
			return;
		outfile_write(f[i], name, strlen(name));
	}
	for (int i = 0; i < 40; i++)
		tap_works(outfile_commit(f[i * 7 % 40]), "commit");
	tap_works(outdir_commit(d), "commit the folder");
	tap_is_i64(entries("a"), 40, "40 files");
	check_text("a/39", "39");
}

/* The target came to be while the folder was written. */
static void test_late_target(void)
{
	struct outdir *d;

	new_root("late");
	tap_works(outdir_new(&d, at("a")), "open");
	add(d, "x");
	tap_ok(mkdir(at("a"), 0777) == 0 && mkdir(at("a/theirs"), 0777) == 0, "someone else's");
	tap_fails(outdir_commit(d), ERR_IO, "a: Directory not empty", "commit");
	tap_is_i64(entries("."), 1, "the temporary is gone");
	tap_ok(there("a/theirs"), "and theirs is left alone");
}

static void test_remove_all(void)
{
	struct outdir *d;
	struct outfile *f;

	new_root("remove");
	tap_works(outdir_new(&d, at("a")), "open");
	add(d, "done");
	tap_works(outdir_file(d, "open", &f), "a second file");
	outfile_remove_all();
	tap_is_i64(entries("."), 0, "files and folder are gone");
	tap_is_i64(outfile_commit(f), 0, "a file that nobody sees any more");
	tap_fails(outdir_commit(d), ERR_IO, "No such file", "commit of the folder fails");
	tap_is_i64(entries("."), 0, "and makes nothing");
}

static void test_table(void)
{
	struct temporary all[TEMPORARY_FOLDERS], more;
	int made = 0;

	new_root("table");
	while (made < TEMPORARY_FOLDERS &&
	       temporary_folder(&all[made], at("x"), 0777, "shown") == 0)
		made++;
	tap_is_i64(made, TEMPORARY_FOLDERS, "64 folders");
	tap_fails(temporary_folder(&more, at("x"), 0777, "shown"), ERR_LIMIT, "more than 64",
		  "one more is refused");
	for (int i = 0; i < made; i++)
		temporary_remove(&all[i]);
	tap_is_i64(entries("."), 0, "all are removed");
}

int main(void)
{
	tap_run(test_new_folder);
	tap_run(test_slashes_and_links);
	tap_run(test_empty_target);
	tap_run(test_refusals);
	tap_run(test_file_names);
	tap_run(test_discard);
	tap_run(test_side_by_side);
	tap_run(test_late_target);
	tap_run(test_remove_all);
	tap_run(test_table);
	return tap_done();
}

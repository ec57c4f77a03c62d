/*
 * lib/base/err.h - what went wrong, in one line
 *
 * A function that fails returns -1 (or NULL) and leaves here, for its thread, a code and
 * one line that names the place: `file: byte 24: what`, `file: tensor x: what`,
 * `file:12: what`. The library never prints it; the command layer does. The line holds at
 * most ERR_TEXT_MAX bytes; what is not printable UTF-8 in it is written \xNN, so that a name
 * from a hostile file can neither break the line nor drive a terminal.
 */
#ifndef LIB_BASE_ERR_H
#define LIB_BASE_ERR_H

#include <stddef.h>

enum err_code {
	ERR_NONE,
	ERR_IO,		 /* the operating system said no: open, read, write, full disk */
	ERR_FORMAT,	 /* the bytes are not what the format says */
	ERR_LIMIT,	 /* well-formed, but past a documented limit */
	ERR_UNSUPPORTED, /* well-formed, known, and not handled here */
	ERR_MISSING,	 /* a file, tensor, key or name that is not there */
	ERR_MISMATCH,	 /* two things that do not belong together */
	ERR_ARGUMENT,	 /* the caller or the user asked for what cannot be */
	ERR_MEMORY,	 /* allocation refused */
};

#define ERR_TEXT_MAX 1024

/* Sets the thread's error; always returns -1, so that `return err_set(…)` fails. */
int err_set(enum err_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As err_set with ERR_IO, then ": " and the text of errno. */
int err_system(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ERR_MEMORY for SIZE bytes. */
int err_memory(size_t size);

/* Puts the place and ": " before the present error's text, and keeps its code; returns -1. */
int err_prefix(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The thread's last error. The text is valid until the thread's next error. */
const char *err_text(void);
enum err_code err_last(void);
/* The errno that err_system put into it, for a caller that acts on a full disk; 0 for every other error. */
int err_errno(void);

/* The thread's error, kept while something is cleaned up, and put back; err_restore returns -1. */
struct err_saved {
	enum err_code code;
	int number;
	char text[ERR_TEXT_MAX + 1];
};
void err_save(struct err_saved *out);
int err_restore(const struct err_saved *saved);

#endif

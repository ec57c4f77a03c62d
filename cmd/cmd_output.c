/*
 * cmd/cmd_output.c - stdout, with every failure noticed
 *
 * A descriptor 0, 1 or 2 that the caller closed is occupied first, so that no file that the tool
 * opens can get its number and be written over by messages; using it fails as it would have.
 */
#define _GNU_SOURCE /* F_SETPIPE_SZ */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd_internal.h"
#include "lib/base/printable.h"

void cmd_output_begin(void)
{
	static char buffer[1 << 16];

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
				_exit(2);
	setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof(buffer));
}

void cmd_output_much(void)
{
#ifdef F_SETPIPE_SZ
	/* With 64 KiB, writer and reader spend more time waking each other than copying. */
	const int enough = 1 << 18;
	int kept = errno, size = fcntl(STDOUT_FILENO, F_GETPIPE_SZ);

	if (size > 0 && size < enough)
		fcntl(STDOUT_FILENO, F_SETPIPE_SZ, enough);
	errno = kept;
#endif
}

static _Noreturn void output_failed(void)
{
	cmd_die("stdout: %s", strerror(errno));
}

void cmd_output_end(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		output_failed();
	if (fclose(stdout) != 0 && errno != EBADF)
		output_failed();
}

void cmd_write(const void *data, size_t n)
{
	if (fwrite(data, 1, n, stdout) != n)
		output_failed();
}

void cmd_printf(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vprintf(format, args);
	va_end(args);
	if (n < 0)
		output_failed();
}

void cmd_print_char(int c)
{
	if (putchar(c) == EOF)
		output_failed();
}

void cmd_flush(void)
{
	if (fflush(stdout) != 0)
		output_failed();
}

void cmd_print_bytes(struct bytes b)
{
	cmd_write(b.data, b.size);
}

static void print_with(void (*quote)(struct buffer *, struct bytes), struct bytes text)
{
	struct buffer b = { 0 };

	quote(&b, text);
	cmd_check(buffer_check(&b));
	cmd_print_bytes(buffer_bytes(&b));
	buffer_free(&b);
}

void cmd_print_quoted(struct bytes b)
{
	print_with(quote_text, b);
}

void cmd_print_name(struct bytes b)
{
	print_with(quote_name, b);
}

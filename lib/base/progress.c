/*
 * lib/base/progress.c - how far, how fast, how long still
 *
 * A call adds to a counter and looks at the clock. Past the time of the next line one thread takes the
 * flag and draws it; the others go on meanwhile.
 */
#include "lib/base/progress.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"
#include "lib/base/printable.h"

#define MILLISECOND   ((uint64_t)1000000)
#define ERASE_TO_END  "\033[K"
#define USUAL_COLUMNS 80

struct progress {
	struct progress_options options;
	uint64_t start_ns;
	atomic_uint_fast64_t done, due_ns;
	atomic_flag busy;
	bool drawn; /* only for who holds BUSY */
};

/* --- what a line says ----------------------------------------------------------------------- */

/* N units, with the unit's name: `253.1 MB`, `12.6 M tokens`. */
static void put_amount(struct buffer *b, uint64_t n, const char *unit)
{
	char number[NUMBER_TEXT];

	if (strcmp(unit, "B") == 0)
		buffer_put_text(b, number_bytes(n, number));
	else
		buffer_format(b, "%s %s", number_count(n, number), unit);
}

/* Below ten a second the hundredths count: `0.31 steps/s`. */
static void put_rate(struct buffer *b, double rate, const char *unit)
{
	unsigned hundredths;

	if (rate < 9.995) {
		hundredths = (unsigned)(rate * 100 + 0.5);
		buffer_format(b, "%u.%02u %s/s", hundredths / 100, hundredths % 100, unit);
	} else {
		put_amount(b, rate < 1e18 ? (uint64_t)(rate + 0.5) : UINT64_MAX, unit);
		buffer_put_text(b, "/s");
	}
}

static void put_figures(struct buffer *b, const struct progress_options *o, uint64_t done,
			double seconds)
{
	double rate = seconds > 0 ? (double)done / seconds : 0;
	uint64_t left = done < o->total ? o->total - done : 0;
	unsigned percent = 100;
	char time[NUMBER_TEXT];

	buffer_put_text(b, ": ");
	if (o->total) {
		if (left) {
			percent = (unsigned)((double)done / (double)o->total * 100);
			percent = percent > 99 ? 99 : percent;
		}
		buffer_format(b, "%u %% of ", percent);
		put_amount(b, o->total, o->unit);
	} else {
		put_amount(b, done, o->unit);
	}
	if (rate > 0) {
		buffer_put_text(b, ", ");
		put_rate(b, rate, o->unit);
	}
	if (!o->total)
		buffer_format(b, ", %s", number_duration(seconds, time));
	else if (rate > 0)
		buffer_format(b, ", %s left", number_duration((double)left / rate, time));
}

/* A label may hold a file's name; what is not printable in it is written \xNN. */
static void put_label(struct buffer *b, const char *label)
{
	size_t left = strlen(label), n;

	for (; left; label += n, left -= n) {
		n = printable_length(label, left);
		if (n)
			buffer_put(b, label, n);
		else
			buffer_format(b, "\\x%02x", (unsigned char)*label);
		n = n ? n : 1;
	}
}

/* Bytes of the character at S, which is printable, and its columns: two where one cannot be sure. */
static size_t character(struct bytes s, size_t at, size_t *columns)
{
	size_t n = printable_length(s.data + at, s.size - at);

	n = n ? n : 1;
	*columns += n == 1 ? 1 : 2;
	return n;
}

static size_t columns_of(struct bytes s)
{
	size_t columns = 0;

	for (size_t at = 0; at < s.size;)
		at += character(s, at, &columns);
	return columns;
}

/* The end of S that fits into COLUMNS, two dots before it where it was cut. */
static void put_end(struct buffer *b, struct bytes s, size_t columns)
{
	size_t width = columns_of(s), at = 0, cut = 0;

	if (width > columns && columns >= 2) {
		buffer_put_text(b, "..");
		columns -= 2;
	}
	while (width - cut > columns)
		at += character(s, at, &cut);
	buffer_put(b, s.data + at, s.size - at);
}

/* The front of S that fits into COLUMNS. */
static void put_front(struct buffer *b, struct bytes s, size_t columns)
{
	size_t used = 0, next = 0, at = 0;

	while (at < s.size) {
		size_t n = character(s, at, &next);

		if (next > columns)
			break;
		used = at += n;
	}
	buffer_put(b, s.data, used);
}

void progress_render(struct buffer *b, const struct progress_options *o, uint64_t done,
		     double seconds, size_t columns)
{
	struct buffer label = { 0 }, figures = { 0 };
	size_t limit = columns ? columns : SIZE_MAX, width;

	put_label(&label, o->label);
	put_figures(&figures, o, done, seconds);
	width = columns_of(buffer_bytes(&figures));
	put_end(b, buffer_bytes(&label), width < limit ? limit - width : 0);
	put_front(b, buffer_bytes(&figures), limit);
	buffer_free(&label);
	buffer_free(&figures);
}

/* --- when it is said ------------------------------------------------------------------------ */

int progress_new(struct progress **out, const struct progress_options *o)
{
	struct progress *p = mem_new(1, sizeof(*p));

	if (!p)
		return -1;
	p->options = *o;
	p->start_ns = clock_ns();
	atomic_init(&p->done, 0);
	atomic_init(&p->due_ns, o->fd < 0
					? UINT64_MAX
					: p->start_ns + (o->terminal ? 500 : 10000) * MILLISECOND);
	atomic_flag_clear(&p->busy);
	*out = p;
	return 0;
}

static size_t terminal_columns(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < 2)
		return USUAL_COLUMNS;
	return size.ws_col;
}

/* One write, so that a line of another program cannot come in between. A failed one is no trouble of
   the caller's work. */
static void write_line(const struct progress *p, struct buffer *line)
{
	ssize_t written;

	if (!line->failed && line->size) {
		written = write(p->options.fd, line->data, line->size);
		(void)written;
	}
	buffer_free(line);
}

/* The last column stays free: a full line would wrap on some terminals. 0: no limit. */
static size_t columns_for(const struct progress *p)
{
	return p->options.terminal ? terminal_columns(p->options.fd) - 1 : 0;
}

/* TEXT is taken over. */
static void draw_text(struct progress *p, struct buffer *text)
{
	struct buffer line = { 0 };
	bool terminal = p->options.terminal;

	if (terminal)
		buffer_put_text(&line, "\r");
	buffer_put(&line, text->data, text->size);
	buffer_put_text(&line, terminal ? ERASE_TO_END : "\n");
	line.failed |= text->failed;
	buffer_free(text);
	write_line(p, &line);
	p->drawn = true;
}

static void draw(struct progress *p, uint64_t done, double seconds)
{
	struct buffer text = { 0 };
	int saved = errno;

	progress_render(&text, &p->options, done, seconds, columns_for(p));
	draw_text(p, &text);
	errno = saved; /* the caller's work may be in the middle of an error of its own */
}

static void set_next(struct progress *p, uint64_t now)
{
	now += (p->options.terminal ? 100 : 30000) * MILLISECOND;
	atomic_store_explicit(&p->due_ns, now, memory_order_relaxed);
}

static void draw_if_due(struct progress *p)
{
	uint64_t now = clock_ns();

	/* Another thread may have drawn since. */
	if (now < atomic_load_explicit(&p->due_ns, memory_order_relaxed))
		return;
	draw(p, atomic_load_explicit(&p->done, memory_order_relaxed),
	     clock_seconds(p->start_ns, now));
	set_next(p, now);
}

void progress_add(struct progress *p, uint64_t n)
{
	if (!p)
		return;
	atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
	if (clock_ns() < atomic_load_explicit(&p->due_ns, memory_order_relaxed))
		return;
	if (atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire))
		return;
	draw_if_due(p);
	atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

bool progress_due(struct progress *p)
{
	return p && clock_ns() >= atomic_load_explicit(&p->due_ns, memory_order_relaxed);
}

void progress_line(struct progress *p, const char *text)
{
	struct buffer line = { 0 };
	size_t columns;

	if (!p || p->options.fd < 0)
		return;
	columns = columns_for(p);
	put_front(&line, bytes_of(text), columns ? columns : SIZE_MAX);
	draw_text(p, &line);
	set_next(p, clock_ns());
}

void progress_wipe(struct progress *p)
{
	struct buffer line = { 0 };

	if (!p || !p->drawn || !p->options.terminal)
		return;
	buffer_put_text(&line, "\r" ERASE_TO_END);
	write_line(p, &line);
	p->drawn = false;
}

void progress_end(struct progress *p)
{
	progress_wipe(p);
	free(p);
}

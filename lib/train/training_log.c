/* lib/train/training_log.c - the lines of a run's log, and what is said to people */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/training_parts.h"

#define SAID_MAX 2048

/* --- to people --- */

static void say(void (*how)(void *to, const char *text), void *to, const char *format, va_list args)
{
	char text[SAID_MAX];

	vsnprintf(text, sizeof(text), format, args);
	if (how)
		how(to, text);
}

void training_warn(const struct training *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(t->setup->hooks.warn, t->setup->hooks.to, format, args);
	va_end(args);
}

void training_note(const struct training *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(t->setup->hooks.note, t->setup->hooks.to, format, args);
	va_end(args);
}

/* --- to the log --- */

/* Whole lines at the front of PENDING; what cannot be written stays. */
static int write_pending(struct training *t)
{
	size_t at = 0;
	int result = 0;

	while (at < t->pending.size && result == 0) {
		const char *line = t->pending.data + at;
		size_t n = (size_t)((const char *)memchr(line, '\n', t->pending.size - at) - line);

		result = run_folder_log(t->folder, (struct bytes){ line, n });
		if (result == 0)
			at += n + 1;
	}
	memmove(t->pending.data, t->pending.data + at, t->pending.size - at);
	t->pending.size -= at;
	return result;
}

int training_log_flush(struct training *t)
{
	bool waited = t->log_waits;

	if (!t->folder || t->pending.size == 0 || training_is_writing(t))
		return 0;
	t->log_waits = false;
	if (write_pending(t) == 0)
		return 0;
	if (!run_folder_full(t->folder))
		return -1;
	t->log_waits = true;
	if (!waited)
		training_warn(t, "%s: the log's lines are kept until there is room", err_text());
	return 0;
}

/* Takes LINE, without its end, over. */
static int put_line(struct training *t, struct buffer *line)
{
	const struct training_hooks *h = &t->setup->hooks;
	int result = buffer_check(line);

	if (result == 0 && h->log)
		result = h->log(h->to, buffer_bytes(line));
	if (result == 0 && t->folder) {
		buffer_put(&t->pending, line->data, line->size);
		buffer_put_u8(&t->pending, '\n');
		result = buffer_check(&t->pending);
	}
	buffer_free(line);
	return result < 0 ? -1 : training_log_flush(t);
}

int training_log_step(struct training *t)
{
	struct buffer line = { 0 };

	training_report_log(&line, &t->report);
	return put_line(t, &line);
}

int training_log_event(struct training *t, const char *name, const char *format, ...)
{
	struct buffer line = { 0 };
	va_list args;
	char *more = NULL;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n >= 0)
		more = mem_new((size_t)n + 1, 1);
	if (!more)
		return -1;
	va_start(args, format);
	vsnprintf(more, (size_t)n + 1, format, args);
	va_end(args);
	buffer_put_u8(&line, '{');
	json_put_text_member(&line, "event", bytes_of(name));
	json_put_u64_member(&line, "step", t->state.step);
	buffer_put_text(&line, more);
	buffer_put_u8(&line, '}');
	free(more);
	return put_line(t, &line);
}

int training_log_watched(struct training *t)
{
	struct buffer line = { 0 };

	if (trainer_n_watched(t->trainer) == 0)
		return 0;
	buffer_put_u8(&line, '{');
	json_put_text_member(&line, "event", bytes_of("watch"));
	json_put_u64_member(&line, "step", t->state.step);
	json_put_key(&line, "parameters");
	buffer_put_u8(&line, '[');
	for (size_t i = 0; i < trainer_n_watched(t->trainer); i++) {
		struct trainer_watched w = trainer_watched(t->trainer, i);

		json_put_comma(&line);
		buffer_put_u8(&line, '{');
		json_put_text_member(&line, "name", bytes_of(w.name));
		json_put_f64_member(&line, "grad_norm", w.grad_norm);
		json_put_f64_member(&line, "update_ratio", w.update_ratio);
		buffer_put_u8(&line, '}');
	}
	buffer_put_text(&line, "]}");
	return put_line(t, &line);
}

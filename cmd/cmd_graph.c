/* cmd/cmd_graph.c - the options of tools that plan and run graphs */

#include "cmd/cmd_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buffer.h"

enum { DEVICE_REF, DEVICE_CPU, DEVICE_CUDA };

const char *const cmd_devices[] = { "ref", "cpu", "cuda", NULL };

struct cmd_graph cmd_graph = { .device = DEVICE_CPU };

/* Set, and neither empty nor 0. */
static bool strict_by_environment(void)
{
	const char *value = getenv("NNUTILS_STRICT_DEVICE");

	return value && *value && strcmp(value, "0") != 0;
}

static _Noreturn void refuse_pass(const char *word)
{
	struct buffer names = { 0 };

	for (int bit = 0; plan_pass_name(bit); bit++)
		buffer_format(&names, "%s%s", bit ? ", " : "", plan_pass_name(bit));
	cmd_check(buffer_check(&names));
	buffer_put_u8(&names, 0);
	cmd_misuse("--without: '%s' is not one of %s", word, names.data);
}

static unsigned pass_of(const char *word)
{
	for (int bit = 0; plan_pass_name(bit); bit++)
		if (strcmp(plan_pass_name(bit), word) == 0)
			return 1u << bit;
	refuse_pass(word);
}

const struct backend *cmd_device(void)
{
	const struct backend *b = backend_find(cmd_devices[cmd_graph.device]);

	if (!b && cmd_graph.device == DEVICE_CUDA)
		cmd_die("--device cuda: this build has no such device, only cpu and ref");
	if (!b)
		cmd_die("%s", err_text());
	return b;
}

void cmd_plan_options(struct plan_options *o)
{
	o->backend = cmd_device();
	o->strict = cmd_graph.strict || strict_by_environment();
	o->team = cmd_team();
	o->memory = cmd_graph.memory;
	for (size_t i = 0; i < cmd_graph.without.n; i++)
		o->without |= pass_of(cmd_graph.without.items[i]);
}

static void write_all(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDERR_FILENO, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

void cmd_op_stats(const struct plan *p, const struct stats_limits *limits)
{
	struct buffer table = { 0 };

	if (!cmd_graph.op_stats)
		return;
	cmd_check(stats_print(p, limits, &table));
	write_all(table.data, table.size);
	buffer_free(&table);
}

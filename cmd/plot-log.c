/* plot-log - draw the losses, rates and speeds of training runs */

#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/eval/plot_log.h"

static const char *output, *title;
static bool text, log_x, log_y;
static double smooth = 0.9;
static int by = TRAIN_BY_STEP;
static uint64_t width, height = 20;

static const char *const axes[] = { "step", "tokens", NULL };

static const struct cmd_option options[] = {
	CMD_PATH('o', "output", &output, "FILE", "the picture: its name ends in .png or .svg"),
	CMD_FLAG('t', "text", &text, "draw the losses on stdout, in block characters"),
	CMD_ENUM('x', "by", &by, axes, "AXIS", "what goes to the right: step (default) or tokens"),
	CMD_RATIO('s', "smooth", &smooth,
		  "weight of what came before in the smoothed lines (default 0.9); 0 for none"),
	CMD_FLAG(0, "log-x", &log_x, "steps or tokens on a logarithmic axis"),
	CMD_FLAG(0, "log-y", &log_y, "losses on a logarithmic axis"),
	CMD_TEXT(0, "title", &title, "TEXT", "what stands above the picture"),
	CMD_SIZE(0, "width", &width, 20, 1000,
		 "characters a line of --text (default: the terminal's, or 80)"),
	CMD_SIZE(0, "height", &height, 8, 1000, "lines of a plot of --text (default 20)"),
	CMD_END,
};

static const struct cmd_spec spec = {
	.name = "plot-log",
	.operands = "run ...",
	.summary = "draw the losses, rates and speeds of training runs",
	.options = options,
	.min_operands = 1,
	.max_operands = PLOT_RUNS_MAX,
};

static size_t columns(void)
{
	struct winsize size;

	if (width)
		return width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

static void print_text(const struct train_log *runs, size_t n, const struct plot_options *o)
{
	struct buffer b = { 0 };

	cmd_check(plot_log_text(runs, n, o, columns(), height, &b));
	cmd_write(b.data, b.size);
	buffer_free(&b);
}

int main(int argc, char **argv)
{
	struct train_log runs[PLOT_RUNS_MAX];
	struct plot_options o;
	size_t n;

	cmd_begin(&spec, &argc, &argv);
	if (!output && !text)
		cmd_misuse("--output or --text is needed");
	if (smooth == 1)
		cmd_misuse("--smooth: below 1");
	n = (size_t)argc;
	for (size_t i = 0; i < n; i++)
		cmd_check(train_log_read(&runs[i], argv[i], (enum train_x)by));
	o = (struct plot_options){ title, smooth, log_x, log_y, (enum train_x)by };
	if (output)
		cmd_check(plot_log_picture(runs, n, &o, output));
	if (text)
		print_text(runs, n, &o);
	for (size_t i = 0; i < n; i++)
		train_log_free(&runs[i]);
	return cmd_end();
}

/* lib/train/training_report.c - what is told of a step */

#include "lib/train/training_report.h"

#include <inttypes.h>
#include <math.h>

#include "formats/json.h"
#include "lib/base/number.h"

/* Rounded: nobody needs the digits past the fourth of a rate that changes from step to step. */
static double rounded(double x)
{
	double unit;

	if (!isfinite(x) || x == 0)
		return x;
	unit = pow(10, floor(log10(fabs(x))) - 3);
	return unit < 1 ? round(x / unit) / round(1 / unit) : round(x / unit) * unit;
}

void training_report_log(struct buffer *b, const struct training_report *r)
{
	buffer_put_u8(b, '{');
	json_put_u64_member(b, "step", r->step);
	json_put_u64_member(b, "tokens", r->tokens);
	json_put_f64_member(b, "loss", r->loss);
	json_put_f64_member(b, "lr", r->rate);
	json_put_f64_member(b, "grad_norm", r->grad_norm);
	if (r->skipped) {
		json_put_key(b, "skipped");
		buffer_put_text(b, "true");
	}
	if (r->evaluated)
		json_put_f64_member(b, "val_loss", r->val_loss);
	json_put_key(b, "perf");
	buffer_put_u8(b, '{');
	json_put_f64_member(b, "tok_s", rounded(r->tokens_per_second));
	json_put_f64_member(b, "mfu", rounded(r->peak_share));
	json_put_u64_member(b, "mem", r->memory);
	json_put_f64_member(b, "time", rounded(r->seconds));
	buffer_put_text(b, "}}");
}

void training_report_progress(struct buffer *b, const struct training_report *r)
{
	char text[NUMBER_TEXT];

	buffer_format(b, "step %" PRIu64 "/%" PRIu64, r->step, r->steps);
	if (isnan(r->smoothed_loss))
		buffer_put_text(b, ", no loss yet");
	else
		buffer_format(b, ", loss %.4f", r->smoothed_loss);
	if (!isnan(r->val_loss))
		buffer_format(b, ", val %.4f", r->val_loss);
	if (r->mean_speed > 0)
		buffer_format(b, ", %s tok/s", number_count((uint64_t)(r->mean_speed + 0.5), text));
	if (!isnan(r->peak_share))
		buffer_format(b, ", %.0f %% of peak", r->peak_share * 100);
	if (!isnan(r->seconds_left))
		buffer_format(b, ", %s left", number_duration(r->seconds_left, text));
	if (r->memory)
		buffer_format(b, ", %s", number_bytes(r->memory, text));
}

/* lib/data/counted_line.c - a line that holds a word and how often it occurs */
#include "lib/data/counted_line.h"

#include <inttypes.h>

#include "lib/base/err.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* False past 64 bits. */
static bool get_digits(struct bytes digits, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < digits.size; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(digits.data[i] - '0'), &v))
			return false;
	*out = v;
	return true;
}

int counted_line(struct bytes line, struct bytes *word, uint64_t *count)
{
	size_t end = line.size, at;

	while (end && is_blank(line.data[end - 1]))
		end--;
	at = end;
	while (at && is_digit(line.data[at - 1]))
		at--;
	if (at == end || (at && !is_blank(line.data[at - 1])))
		return err_set(ERR_FORMAT, "does not end in a count");
	if (!get_digits((struct bytes){ line.data + at, end - at }, count))
		return err_set(ERR_LIMIT, "a count of more than %" PRIu64, UINT64_MAX);
	if (*count == 0)
		return err_set(ERR_FORMAT, "a count of 0");
	if (at && line.data[at - 1] == '\t')
		at--;
	else
		while (at && is_blank(line.data[at - 1]))
			at--;
	if (!at)
		return err_set(ERR_FORMAT, "has no word before the count");
	*word = (struct bytes){ line.data, at };
	return 0;
}

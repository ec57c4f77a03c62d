/*
 * Any pattern in both dialects, over a text: what follows the pattern's newline.
 *
 * A match lies within the text, at or after where it was looked for, and at characters' ends; scanners end
 * every piece likewise.
 */
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/text/regex.h"
#include "lib/text/scanner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(struct bytes text, size_t from, size_t at)
{
	if (at < from || at > text.size)
		abort();
	if (at < text.size && (text.data[at] & 0xC0) == 0x80)
		abort();
}

static void try_pattern(struct bytes pattern, enum regex_dialect dialect, struct bytes text)
{
	struct regex *r = NULL;
	struct regex_scratch *s = NULL;
	size_t from = 0, begin, end;

	if (regex_new(&r, pattern, dialect) == 0 && regex_scratch_new(&s) == 0)
		for (int i = 0; i < 100 && from < text.size; i++) {
			int got = regex_find(r, s, text, from, &begin, &end);

			if (got < 0 && err_last() != ERR_LIMIT && err_last() != ERR_MEMORY)
				abort();
			if (got <= 0)
				break;
			check_place(text, from, begin);
			check_place(text, begin, end);
			from = end > from ? end : text.size;
		}
	regex_scratch_free(s);
	regex_free(r);
}

static void try_scanners(struct bytes text)
{
	for (int s = SCANNER_NONE + 1; s < SCANNER_COUNT; s++)
		for (size_t at = 0, end; at < text.size; at = end) {
			end = scanner_next((enum scanner)s, text, at);
			check_place(text, at + 1, end);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	size_t n = line ? (size_t)(line - data) : size;
	struct bytes pattern = { (const char *)data, n };
	struct bytes text = { (const char *)data + n, size - n };

	if (size > 4096)
		return 0;
	text.size = utf8_valid_prefix(text.data, text.size);
	try_pattern(pattern, REGEX_ONIGURUMA, text);
	try_pattern(pattern, REGEX_FANCY, text);
	try_scanners(text);
	return 0;
}

/* A packed token file in memory: opened, checked, and every window of each kind taken from it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/data/windows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LENGTH 5

static void take_windows(const struct token_pack *p, enum token_fit fit, bool apart)
{
	struct windows_options o = { .length = LENGTH, .fit = fit, .apart = apart };
	uint32_t ids[LENGTH + 1], documents[LENGTH + 1];
	uint32_t vocab = token_pack_info(p)->header.vocab;
	uint8_t learnt[LENGTH];
	struct windows_counts c;
	struct windows *w;

	if (windows_new(&w, p, &o) != 0)
		return;
	for (uint64_t i = 0; i < windows_n(w); i++) {
		if (windows_get(w, i, ids, documents, learnt) != 0) {
			if (!*err_text())
				abort();
			continue;
		}
		for (int t = 0; t <= LENGTH; t++)
			if (ids[t] >= vocab || documents[t] > LENGTH + 1)
				abort();
	}
	windows_count(w, &c);
	windows_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_pack *p;

	if (token_pack_open_memory(&p, data, size, "fuzz.tok") != 0) {
		if (!*err_text())
			abort();
		return 0;
	}
	if (token_pack_check(p, NULL) != 0 && !*err_text())
		abort();
	for (int fit = FIT_CUT; fit < N_FITS; fit++) {
		take_windows(p, (enum token_fit)fit, true);
		take_windows(p, (enum token_fit)fit, false);
	}
	token_pack_close(p);
	return 0;
}

/* tests/unit/test_tokenizer_json_score.c - scores as `tokenizers` 0.23.3 reads them */

#include <math.h>
#include <string.h>

#include "formats/tokenizer_json_score.h"
#include "tests/tap.h"

/* A vocabulary with the score was loaded and saved there; the saved one is exact. */
static const struct {
	const char *text;
	double score;
} scores[] = {
	{ "-12.345678901234567", -0x1.8b0fcd32f707ap+3 },
	{ "-7.3", -0x1.d333333333333p+2 },
	{ "0.1", 0x1.999999999999ap-4 },
	{ "-9.870654321098765e-3", -0x1.43710cbfe71afp-7 }, /* not ...1b0 */
	{ "-1.7976931348623157e2", -0x1.6789e3750f790p+7 },
	{ "-0.30000000000000004", -0x1.3333333333334p-2 },
	{ "-18446744073709551615.5", -0x1.0000000000000p+64 },
	{ "-184467440737095516159", -0x1.4000000000000p+67 },
	{ "-123456789012345678901234567890.125e-20", -0x1.26580b487e6b7p+30 },
	{ "-4.9406564584124654e-324", -0x0.0000000000001p-1022 },
	{ "-1e-330", -0.0 },
	{ "-2.2250738585072011e-308", -0x1.0000000000000p-1022 }, /* not 0x0.f...fp-1022 */
	{ "-8.41e21", -0x1.c7e83209e90b2p+72 },
	{ "-3.14159265358979323846264338327950288", -0x1.921fb54442d18p+1 },
	{ "-18.359100861754378", -0x1.25bee08b93351p+4 }, /* not ...352 */
	{ "-12.539512048262601", -0x1.9143aec562bf3p+3 }, /* not ...bf4 */
	{ "-1.7343650526984367", -0x1.bbff591caa443p+0 }, /* not ...442 */
	{ "-12.117037674397597", -0x1.83bec5cafe009p+3 }, /* not ...00a */
	{ "-13.434029130329465", -0x1.ade3910f08d80p+3 }, /* not ...d81 */
	{ "-10.119075514208307", -0x1.43cf7773e8ee2p+3 }, /* not ...ee1 */
	{ "-9.471757751702903", -0x1.2f18a3b66659dp+3 },  /* not ...59c */
	{ "-0.9264399800702527", -0x1.da565750379e1p-1 }, /* not ...9e0 */
};

static void test_scores(void)
{
	for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
		double got = tokenizer_json_score(bytes_of(scores[i].text));

		tap_ok(memcmp(&got, &scores[i].score, sizeof(got)) == 0, "%s is %a, not %a",
		       scores[i].text, got, scores[i].score);
	}
	tap_ok(isinf(tokenizer_json_score(bytes_of("1e309"))), "past the range");
}

int main(void)
{
	tap_run(test_scores);
	return tap_done();
}

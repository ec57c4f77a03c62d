/* lib/text/regex_escape.c - what follows a backslash, in each dialect */
#include "lib/text/regex_parts.h"

#include <string.h>

#include "lib/base/utf8.h"

#define NAME_MAX_BYTES 64

static int hex_value(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Between LEAST and MOST hexadecimal digits. */
static int hex_digits(struct translator *t, size_t least, size_t most, uint32_t *out)
{
	size_t n = 0;

	for (*out = 0; n < most && hex_value(regex_peek(t, 0)) >= 0; n++, t->at++)
		*out = *out << 4 | (uint32_t)hex_value(regex_peek(t, 0));
	return n < least ? regex_refuse(t, ERR_FORMAT, t->at, "hexadecimal digits are missing") : 0;
}

/* \xHH \x{H..} \uHHHH, and Rust's \u{..} \UHHHHHHHH; LETTER is behind. */
static int code_point(struct translator *t, int letter, size_t from, uint32_t *out)
{
	size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
	bool fancy = t->dialect == REGEX_FANCY;
	char encoded[4];

	if ((letter == 'x' || fancy) && regex_take(t, "{")) {
		if (hex_digits(t, 1, 8, out))
			return -1;
		if (!regex_take(t, "}"))
			return regex_refuse(t, ERR_UNSUPPORTED, from,
					    "an escape in braces that is not one number");
	} else if (hex_digits(t, letter == 'x' && !fancy ? 1 : digits, digits, out)) {
		return -1;
	} else if (letter == 'x' && !fancy && *out >= 0x80) {
		return regex_refuse(t, ERR_UNSUPPORTED, from,
				    "\\x of 80 or more, a byte of a character,");
	}
	if (utf8_encode(*out, encoded) == 0)
		return regex_refuse(t, ERR_FORMAT, from, "an escape that is no code point");
	return 0;
}

/*
 * Oniguruma's \w and \p{Word} hold six superscripts and fractions (U+00B2 B3 B9 BC BD BE) that they lack between
 * brackets, where they are [:word:].
 */
static struct bytes word_set(const struct translator *t, bool in_set, struct bytes elsewhere)
{
	return in_set && t->dialect == REGEX_ONIGURUMA ? bytes_of(":word") : elsewhere;
}

/* --- \p --- */

/* Lower case, without `_`, `-` and spaces. */
static int property_name(struct translator *t, size_t from, char name[NAME_MAX_BYTES], size_t *n)
{
	for (*n = 0; regex_more(t) && regex_peek(t, 0) != '}'; t->at++) {
		int c = regex_peek(t, 0);

		if (c == '_' || c == '-' || c == ' ')
			continue;
		if (*n == NAME_MAX_BYTES)
			return regex_refuse(t, ERR_UNSUPPORTED, from, "a property of this name");
		name[(*n)++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	return regex_take(t, "}") ? 0 : regex_refuse(t, ERR_FORMAT, from, "\\p{ without }");
}

/* Rust also says gc=Lu and sc=Latin. */
static struct bytes without_kind(struct bytes name)
{
	static const char *const kinds[] = { "gc=", "gc:", "generalcategory=", "generalcategory:",
					     "sc=", "sc:", "script=",	       "script:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (bytes_start_with(name, kinds[i]))
			return (struct bytes){ name.data + strlen(kinds[i]),
					       name.size - strlen(kinds[i]) };
	return name;
}

static int property(struct translator *t, size_t from, bool in_set, struct escape *out)
{
	char name[NAME_MAX_BYTES];
	struct bytes shown = { name, 1 };
	int found;

	if (regex_take(t, "{")) {
		if (regex_take(t, "^"))
			out->negated_set = !out->negated_set;
		if (property_name(t, from, name, &shown.size))
			return -1;
	} else if (t->dialect == REGEX_FANCY && regex_more(t)) {
		name[0] = (char)(regex_peek(t, 0) | 32);
		t->at++;
	} else {
		return regex_refuse(t, ERR_UNSUPPORTED, from, "\\p without {");
	}
	if (t->dialect == REGEX_FANCY)
		shown = without_kind(shown);
	/* `:` and `\` begin the names of other kinds of sets. */
	if (shown.size == 0 || shown.data[0] == ':' || shown.data[0] == '\\')
		return regex_refuse(t, ERR_UNSUPPORTED, from, "a property of this name");
	if (bytes_are(shown, "word"))
		shown = word_set(t, in_set, shown);
	found = charset_add_named(&out->set, shown, t->dialect);
	if (found < 0)
		return -1;
	if (!found) {
		err_set(ERR_UNSUPPORTED,
			"regular expression: byte %zu: the property " BYTES_FMT " is not supported",
			from, BYTES_ARG(shown));
		return -1;
	}
	out->kind = ESCAPE_SET;
	return 0;
}

/* --- the rest --- */

static int perl_set(struct translator *t, int letter, bool in_set, struct escape *out)
{
	char letters[2] = { '\\', (char)(letter | 32) };
	struct bytes name = { letters, 2 };

	out->kind = ESCAPE_SET;
	out->negated_set = letter < 'a';
	if ((letter | 32) == 'h')
		return charset_add(&out->set, '0', '9') || charset_add(&out->set, 'A', 'F') ||
				       charset_add(&out->set, 'a', 'f')
			       ? -1
			       : 0;
	if ((letter | 32) == 'w')
		name = word_set(t, in_set, name);
	return charset_add_named(&out->set, name, t->dialect) == 1 ? 0 : -1;
}

static bool is_word_ascii(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Letters that stand for one control character. */
static bool control(int letter, uint32_t *out)
{
	static const char letters[] = "tnrfvae", values[] = "\t\n\r\f\v\a\033";
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (found)
		*out = (unsigned char)values[found - letters];
	return found;
}

static int unknown(const struct translator *t, size_t from, uint32_t c)
{
	char encoded[4];
	size_t n = utf8_encode(c, encoded);

	return err_set(ERR_UNSUPPORTED,
		       "regular expression: byte %zu: the escape \\%.*s is not supported", from,
		       (int)n, encoded);
}

int regex_escape(struct translator *t, bool in_set, struct escape *out)
{
	size_t from = t->at++;
	uint32_t c;

	*out = (struct escape){ 0 };
	if (!regex_more(t))
		return regex_refuse(t, ERR_FORMAT, from, "a backslash at the end");
	if (regex_character(t, &c))
		return -1;
	if (c < 128 && c && strchr("sSdDwWhH", (int)c))
		return perl_set(t, (int)c, in_set, out);
	if (c == 'p' || c == 'P') {
		out->negated_set = c == 'P';
		return property(t, from, in_set, out);
	}
	if (c == 'x' || c == 'u' || (c == 'U' && t->dialect == REGEX_FANCY))
		return code_point(t, (int)c, from, &out->character);
	if (c == 'b' && in_set && t->dialect == REGEX_ONIGURUMA) {
		out->character = '\b';
		return 0;
	}
	if (!in_set && c < 128 && c && strchr("AzZbB", (int)c)) {
		out->kind = ESCAPE_ASSERTION;
		out->assertion = (char)c;
		return 0;
	}
	if (c < 128 && control((int)c, &out->character))
		return 0;
	/* Letters and digits have meanings; anything else stands for itself, but for Rust's \< and \>. */
	if (is_word_ascii(c) || c >= 128 || (t->dialect == REGEX_FANCY && (c == '<' || c == '>')))
		return unknown(t, from, c);
	out->character = c;
	return 0;
}

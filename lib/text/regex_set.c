/* lib/text/regex_set.c - sets in brackets: ranges, names, nested sets, intersections */
#include "lib/text/regex_parts.h"

#include <string.h>

#include "lib/text/unicode_regex.h"

#define POSIX_NAME_MAX 16

static int set_inside(struct translator *t, struct charset *out, int depth, bool *compound);

int regex_refuse_multi(struct translator *t, const struct charset *s, size_t at)
{
	if (t->dialect != REGEX_ONIGURUMA)
		return 0;
	for (size_t i = 0; i < unicode_n_multis; i++)
		if (charset_has(s, unicode_multis[i].from))
			return regex_refuse(t, ERR_UNSUPPORTED, at,
					    "any case of a character that also matches several (as "
					    "\xC3\x9F does ss)");
	return 0;
}

/* At `[:`: adds [:name:] or [:^name:]. 0 when it is no such thing, and then nothing is stepped over. */
static int posix(struct translator *t, struct charset *out)
{
	char name[POSIX_NAME_MAX + 1] = ":";
	struct charset found = { 0 };
	size_t n = 1, at = t->at + 2;
	bool negated = at < t->in.size && t->in.data[at] == '^';
	int got;

	for (at += negated; at < t->in.size && n < POSIX_NAME_MAX; at++) {
		char c = t->in.data[at];

		if (c < 'a' || c > 'z')
			break;
		name[n++] = c;
	}
	if (at + 2 > t->in.size || memcmp(t->in.data + at, ":]", 2) != 0)
		return 0;
	got = charset_add_named(&found, (struct bytes){ name, n }, t->dialect);
	if (got == 0)
		got = regex_refuse(t, ERR_UNSUPPORTED, t->at, "a bracket class of this name");
	if (got == 1 && t->dialect == REGEX_FANCY && t->flags.any_case &&
	    charset_fold(&found, t->dialect))
		got = -1;
	if (got == 1 && ((negated && charset_invert(&found)) || charset_unite(out, &found)))
		got = -1;
	charset_free(&found);
	if (got == 1)
		t->at = at + 2;
	return got;
}

/* One end of a range, or a whole set, which is added at once (*IS_SET). */
static int item(struct translator *t, struct charset *out, uint32_t *character, bool *is_set)
{
	struct escape e;
	int result = 0;

	*is_set = false;
	if (regex_peek(t, 0) != '\\')
		return regex_character(t, character);
	if (regex_escape(t, true, &e)) {
		charset_free(&e.set);
		return -1;
	}
	*is_set = e.kind == ESCAPE_SET;
	*character = e.character;
	if (*is_set) {
		/* Rust folds a set before it negates it; Oniguruma folds the whole at the end. */
		if (t->dialect == REGEX_FANCY && t->flags.any_case)
			result = charset_fold(&e.set, t->dialect);
		if (!result && e.negated_set)
			result = charset_invert(&e.set);
		if (!result)
			result = charset_unite(out, &e.set);
	}
	charset_free(&e.set);
	return result;
}

static int add_folded(struct translator *t, struct charset *out, uint32_t first, uint32_t last)
{
	struct charset one = { 0 };
	int result = charset_add(&one, first, last);

	if (!result && t->dialect == REGEX_FANCY && t->flags.any_case)
		result = charset_fold(&one, t->dialect);
	if (!result)
		result = charset_unite(out, &one);
	charset_free(&one);
	return result;
}

/* Whether `-` at the present place makes a range: it does not before the set's end. */
static bool is_range(const struct translator *t)
{
	return regex_peek(t, 0) == '-' && regex_peek(t, 1) != ']' && regex_peek(t, 1) >= 0;
}

static int one_or_range(struct translator *t, struct charset *out)
{
	size_t from = t->at;
	uint32_t first, last;
	bool is_set;

	if (item(t, out, &first, &is_set))
		return -1;
	if (is_set)
		return is_range(t)
			       ? regex_refuse(t, ERR_FORMAT, from, "a range that begins with a set")
			       : 0;
	if (!is_range(t))
		return add_folded(t, out, first, first);
	if (regex_peek(t, 1) == '[' || (t->dialect == REGEX_FANCY && regex_peek(t, 1) == '-'))
		return regex_refuse(t, ERR_UNSUPPORTED, t->at, "a set taken from a set");
	t->at++;
	if (item(t, out, &last, &is_set))
		return -1;
	if (is_set || last < first)
		return regex_refuse(t, ERR_FORMAT, from, "a range that ends before it begins");
	if (add_folded(t, out, first, last))
		return -1;
	/* [a-c-e]: this `-` stands for itself. */
	if (is_range(t)) {
		if (regex_peek(t, 1) == '-' || regex_peek(t, 1) == '[')
			return regex_refuse(t, ERR_UNSUPPORTED, t->at, "a set taken from a set");
		t->at++;
		return charset_add(out, '-', '-');
	}
	return 0;
}

static int nested(struct translator *t, struct charset *out, int depth, bool *compound)
{
	struct charset inner = { 0 };
	int result = set_inside(t, &inner, depth + 1, compound);

	*compound = true;
	if (!result)
		result = charset_unite(out, &inner);
	charset_free(&inner);
	return result;
}

/* What stands between two && or the set's ends. */
static int operand(struct translator *t, struct charset *out, bool first, int depth, bool *compound)
{
	size_t from = t->at;

	for (;; first = false) {
		int c = regex_peek(t, 0), got = 0;

		if (c < 0)
			return regex_refuse(t, ERR_FORMAT, from, "[ without ]");
		if ((c == ']' && !first) || (c == '&' && regex_peek(t, 1) == '&'))
			return 0;
		if (t->dialect == REGEX_FANCY && t->flags.free_form && (c <= ' ' || c == '#'))
			return regex_refuse(t, ERR_UNSUPPORTED, t->at, "(?x) with spaces in a set");
		if (t->dialect == REGEX_FANCY && regex_peek(t, 1) == c && (c == '~' || c == '-') &&
		    !first)
			return regex_refuse(t, ERR_UNSUPPORTED, t->at, "a set taken from a set");
		if (c == '[' && regex_peek(t, 1) == ':') {
			got = posix(t, out);
			if (got < 0)
				return -1;
			if (got)
				continue;
			return regex_refuse(t, ERR_UNSUPPORTED, t->at,
					    "[: that is no bracket class");
		}
		if (c == '[' ? nested(t, out, depth, compound) : one_or_range(t, out))
			return -1;
	}
}

/* From `[` to its `]`, negated if it says so. Oniguruma's folding is the caller's. */
static int set_inside(struct translator *t, struct charset *out, int depth, bool *compound)
{
	struct charset right = { 0 };
	bool negated, first = true;
	size_t from = t->at++;
	int result = 0;

	if (depth > REGEX_DEPTH_MAX)
		return regex_refuse(t, ERR_LIMIT, from, "sets inside each other, too deep");
	negated = regex_take(t, "^");
	if (operand(t, out, first, depth, compound))
		return -1;
	while (!result && regex_take(t, "&&")) {
		*compound = true;
		charset_free(&right);
		result = operand(t, &right, false, depth, compound);
		if (!result)
			result = charset_intersect(out, &right);
	}
	charset_free(&right);
	if (result)
		return -1;
	regex_take(t, "]");
	if (negated && depth == 0 && t->dialect == REGEX_ONIGURUMA && t->flags.any_case)
		result = charset_fold(out, t->dialect);
	return result || (negated && charset_invert(out)) ? -1 : 0;
}

int regex_set(struct translator *t, struct charset *out)
{
	bool negated = regex_peek(t, 1) == '^', compound = false;
	size_t from = t->at;

	if (set_inside(t, out, 0, &compound))
		return -1;
	if (!t->flags.any_case || t->dialect != REGEX_ONIGURUMA)
		return 0;
	if (compound)
		return regex_refuse(t, ERR_UNSUPPORTED, from, "any case of sets in sets");
	if (negated)
		return 0; /* folded before it was negated */
	if (regex_refuse_multi(t, out, from))
		return -1;
	return charset_fold(out, t->dialect);
}

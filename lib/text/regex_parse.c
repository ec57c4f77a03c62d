/*
 * lib/text/regex_parse.c - a pattern of another engine, written anew for PCRE2
 *
 * One pass by recursive descent. What is written holds no class, flag or anchor whose meaning PCRE2 could see
 * differently: sets are explicit ranges, every group is (?:..), characters outside letters and digits are
 * \x{..}. Meanings are those that tokenizers 0.23.3 and tiktoken 0.14.0 showed (man/man7/nnutils-regex.7).
 */
#include "lib/text/regex_parts.h"

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/text/unicode_regex.h"

static int alternatives(struct translator *t);

int regex_refuse(const struct translator *t, enum err_code code, size_t at, const char *what)
{
	(void)t;
	return err_set(code, "regular expression: byte %zu: %s%s", at, what,
		       code == ERR_UNSUPPORTED ? " is not supported" : "");
}

bool regex_take(struct translator *t, const char *text)
{
	size_t n = strlen(text);

	if (n > t->in.size - t->at || memcmp(t->in.data + t->at, text, n) != 0)
		return false;
	t->at += n;
	return true;
}

int regex_character(struct translator *t, uint32_t *out)
{
	size_t n = utf8_decode(t->in.data + t->at, t->in.size - t->at, out);

	if (n == 0)
		return regex_refuse(t, ERR_FORMAT, t->at, "not UTF-8");
	t->at += n;
	return 0;
}

/* --- atoms --- */

static bool is_letter_or_digit(uint32_t c)
{
	return (c | 32) - 'a' < 26 || c - '0' < 10;
}

static void forget(struct translator *t)
{
	memset(t->tail, 0, sizeof(t->tail));
}

static bool same_any_case(uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < unicode_n_cases; i++)
		if (unicode_cases[i].from == a && unicode_cases[i].to == b)
			return true;
	return a == b;
}

/* Oniguruma under (?i) takes one character (U+00DF) for two literals (ss): not written here. */
static int refuse_multi_tail(struct translator *t, size_t at)
{
	if (t->dialect != REGEX_ONIGURUMA)
		return 0;
	for (size_t i = 0; i < unicode_n_multis; i++) {
		const uint32_t *fold = unicode_multis[i].fold;
		size_t n = fold[2] ? 3 : 2, same = 0;

		while (same < n && same_any_case(t->tail[3 - n + same], fold[same]))
			same++;
		if (same == n)
			return regex_refuse(
				t, ERR_UNSUPPORTED, at,
				"any case of letters that one character also stands for");
	}
	return 0;
}

static int literal(struct translator *t, uint32_t c, size_t at)
{
	struct charset s = { 0 };
	int result;

	if (!t->flags.any_case) {
		forget(t);
		if (is_letter_or_digit(c))
			buffer_put_u8(t->out, (uint8_t)c);
		else
			buffer_format(t->out, "\\x{%x}", c);
		return 0;
	}
	t->tail[0] = t->tail[1];
	t->tail[1] = t->tail[2];
	t->tail[2] = c;
	if (refuse_multi_tail(t, at))
		return -1;
	result = charset_add(&s, c, c) || regex_refuse_multi(t, &s, at) ||
		 charset_fold(&s, t->dialect);
	if (!result)
		charset_write(&s, t->out);
	charset_free(&s);
	return result ? -1 : 0;
}

static int word_boundary(struct translator *t, bool inside)
{
	struct charset s = { 0 };
	struct buffer word = { 0 };
	int result = charset_add_named(&s, bytes_of("\\w"), t->dialect) == 1 ? 0 : -1;

	if (!result) {
		charset_write(&s, &word);
		buffer_put_u8(&word, 0);
		result = buffer_check(&word);
	}
	if (!result) {
		const char *w = word.data;

		buffer_put_text(t->out, "(?:(?<=");
		buffer_put_text(t->out, w);
		buffer_put_text(t->out, inside ? ")(?=" : ")(?!");
		buffer_put_text(t->out, w);
		buffer_put_text(t->out, ")|(?<!");
		buffer_put_text(t->out, w);
		buffer_put_text(t->out, inside ? ")(?!" : ")(?=");
		buffer_put_text(t->out, w);
		buffer_put_text(t->out, "))");
	}
	buffer_free(&word);
	charset_free(&s);
	return result;
}

static int assertion(struct translator *t, char letter)
{
	switch (letter) {
	case 'A': buffer_put_text(t->out, "\\A"); return 0;
	case 'z': buffer_put_text(t->out, "\\z"); return 0;
	case 'Z': buffer_put_text(t->out, "(?=\\x{a}?\\z)"); return 0;
	default: return word_boundary(t, letter == 'B');
	}
}

/* A set by its name; Oniguruma folds those only between brackets. */
static int named_set(struct translator *t, struct escape *e)
{
	if (t->flags.any_case && t->dialect == REGEX_FANCY && charset_fold(&e->set, t->dialect))
		return -1;
	if (e->negated_set && charset_invert(&e->set))
		return -1;
	charset_write(&e->set, t->out);
	return 0;
}

static int escaped(struct translator *t, bool *repeatable)
{
	size_t from = t->at;
	struct escape e;
	int result = regex_escape(t, false, &e);

	if (!result && e.kind == ESCAPE_CHARACTER) {
		result = literal(t, e.character, from);
	} else if (!result) {
		forget(t);
		*repeatable = e.kind == ESCAPE_SET;
		result = e.kind == ESCAPE_SET ? named_set(t, &e) : assertion(t, e.assertion);
	}
	charset_free(&e.set);
	return result;
}

static int bracket(struct translator *t)
{
	struct charset s = { 0 };
	int result = regex_set(t, &s);

	forget(t);
	if (!result)
		charset_write(&s, t->out);
	charset_free(&s);
	return result;
}

/* --- groups --- */

static int close_group(struct translator *t, size_t from)
{
	if (!regex_take(t, ")"))
		return regex_refuse(t, ERR_FORMAT, from, "( without )");
	buffer_put_text(t->out, ")");
	return 0;
}

static int group(struct translator *t, const char *opening, size_t from)
{
	struct regex_flags flags = t->flags;

	buffer_put_text(t->out, opening);
	if (alternatives(t))
		return -1;
	t->flags = flags;
	return close_group(t, from);
}

static bool set_flag(struct translator *t, struct regex_flags *f, int letter, bool on)
{
	bool fancy = t->dialect == REGEX_FANCY;

	switch (letter) {
	case 'i': f->any_case = on; return true;
	case 'x': f->free_form = on; return true;
	case 's': f->dot_all = on; return fancy;
	case 'm':
		if (fancy)
			f->per_line = on;
		else
			f->dot_all = on;
		return true;
	default: return false;
	}
}

/* After `(?`: flags, and then `)` for the rest of the group or `:` for a group of their own. */
static int flagged(struct translator *t, size_t from, bool *repeatable)
{
	struct regex_flags outer = t->flags, f = t->flags;
	bool on = true;

	for (; regex_peek(t, 0) != ')' && regex_peek(t, 0) != ':'; t->at++) {
		if (regex_peek(t, 0) == '-' && on)
			on = false;
		else if (!set_flag(t, &f, regex_peek(t, 0), on))
			return regex_refuse(t, ERR_UNSUPPORTED, from, "a group of this kind");
	}
	t->flags = f;
	if (regex_peek(t, 0) == ':') {
		t->at++;
		if (group(t, "(?:", from))
			return -1;
		t->flags = outer;
		return 0;
	}
	t->at++;
	*repeatable = false;
	if (t->dialect == REGEX_FANCY)
		return 0; /* alternatives() gives the flags back at the end of the group */
	/* In Ruby a(?i)b|c is a(?i:b|c). */
	buffer_put_text(t->out, "(?:");
	if (alternatives(t))
		return -1;
	buffer_put_text(t->out, ")");
	t->flags = outer;
	return 0;
}

static int comment(struct translator *t, size_t from, bool *repeatable)
{
	*repeatable = false;
	while (regex_more(t) && regex_peek(t, 0) != ')') {
		if (regex_peek(t, 0) == '\\')
			return regex_refuse(t, ERR_UNSUPPORTED, t->at, "a backslash in a comment");
		t->at++;
	}
	return regex_take(t, ")") ? 0 : regex_refuse(t, ERR_FORMAT, from, "( without )");
}

/* A name and its `>`. */
static int named_group(struct translator *t, size_t from)
{
	for (; regex_peek(t, 0) != '>'; t->at++) {
		int c = regex_peek(t, 0);

		if (c != '_' && !is_letter_or_digit((uint32_t)c))
			return regex_refuse(t, ERR_UNSUPPORTED, from, "a group of this kind");
	}
	t->at++;
	return group(t, "(?:", from);
}

static int parenthesis(struct translator *t, bool *repeatable)
{
	static const char *const same[] = { "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!" };
	size_t from = t->at;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (regex_take(t, same[i])) {
			*repeatable = i < 2;
			if (i >= 2)
				forget(t);
			return group(t, same[i], from);
		}
	if (regex_take(t, "(?#"))
		return comment(t, from, repeatable);
	if (regex_take(t, "(?<") || (t->dialect == REGEX_FANCY && regex_take(t, "(?P<")))
		return named_group(t, from);
	if (regex_take(t, "(?"))
		return flagged(t, from, repeatable);
	t->at++;
	if (regex_peek(t, 0) == '*')
		return regex_refuse(t, ERR_UNSUPPORTED, from, "(*");
	return group(t, "(?:", from);
}

/* --- repetition --- */

struct repeat {
	uint32_t least, most; /* UINT32_MAX: no end */
	bool interval;
};

static int number(struct translator *t, uint32_t *out, bool *there)
{
	*there = false;
	for (*out = 0; regex_peek(t, 0) >= '0' && regex_peek(t, 0) <= '9'; t->at++) {
		*out = *out * 10 + (uint32_t)(regex_peek(t, 0) - '0');
		*there = true;
		if (*out > REGEX_REPEAT_MAX)
			return regex_refuse(t, ERR_LIMIT, t->at, "more than 65,535 repetitions");
	}
	return 0;
}

/* {n} {n,} {n,m} {,m}. 1, or 0 when the brace is a character like any other. */
static int interval(struct translator *t, struct repeat *r)
{
	size_t from = t->at++;
	bool least, most = false, comma;

	if (number(t, &r->least, &least))
		return -1;
	comma = regex_take(t, ",");
	r->most = r->least;
	if (comma && number(t, &r->most, &most))
		return -1;
	if (!regex_take(t, "}") || (!least && !most)) {
		t->at = from;
		return 0;
	}
	if (comma && !most)
		r->most = UINT32_MAX;
	if (r->least > r->most)
		return regex_refuse(t, ERR_UNSUPPORTED, from,
				    "a repetition whose bounds are turned round");
	r->interval = true;
	return 1;
}

/* 1 with what to repeat, 0 when no quantifier is next. */
static int quantifier(struct translator *t, struct repeat *r)
{
	*r = (struct repeat){ 0, UINT32_MAX, false };
	switch (regex_peek(t, 0)) {
	case '*': break;
	case '+': r->least = 1; break;
	case '?': r->most = 1; break;
	case '{': return interval(t, r);
	default: return 0;
	}
	t->at++;
	return 1;
}

/* Puts (?: before what stands in OUT since AT and ) after it. */
static int wrap(struct buffer *out, size_t at)
{
	if (buffer_check(out) || buffer_reserve(out, 4))
		return -1;
	memmove(out->data + at + 3, out->data + at, out->size - at);
	memcpy(out->data + at, "(?:", 3);
	out->size += 3;
	buffer_put_text(out, ")");
	return 0;
}

static void write_repeat(struct buffer *out, const struct repeat *r)
{
	if (r->most == UINT32_MAX && !r->interval)
		buffer_put_text(out, r->least ? "+" : "*");
	else if (!r->interval)
		buffer_put_text(out, "?");
	else if (r->most == UINT32_MAX)
		buffer_format(out, "{%u,}", r->least);
	else
		buffer_format(out, "{%u,%u}", r->least, r->most);
}

/*
 * Lazy `?` and possessive `+`. Oniguruma has no possessive interval (a{2}+ repeats a{2}), and its a{n}? is (a{n})?.
 * False: the mark is left to be a quantifier of the whole.
 */
static bool mark(struct translator *t, const struct repeat *r)
{
	bool onig_interval = t->dialect == REGEX_ONIGURUMA && r->interval;
	int c = regex_peek(t, 0);

	if (c == '+' && !onig_interval)
		buffer_put_text(t->out, "+");
	else if (c == '?' && !(onig_interval && r->least == r->most))
		buffer_put_text(t->out, "?");
	else
		return false;
	t->at++;
	return true;
}

static void skip_free_form(struct translator *t)
{
	while (t->flags.free_form && regex_more(t)) {
		int c = regex_peek(t, 0);

		if (c == '#')
			while (regex_more(t) && regex_peek(t, 0) != '\n')
				t->at++;
		else if (c == ' ' || (c >= '\t' && c <= '\r'))
			t->at++;
		else
			return;
	}
}

static int repetitions(struct translator *t, size_t written, bool repeatable)
{
	struct repeat r;
	size_t from;
	int got, times = 0;

	for (;; times++) {
		skip_free_form(t);
		from = t->at;
		got = quantifier(t, &r);
		if (got <= 0)
			return got;
		if (!repeatable)
			return regex_refuse(t, ERR_UNSUPPORTED, from,
					    "a repetition of what cannot be repeated");
		if (times && (t->dialect == REGEX_FANCY || times > REGEX_DEPTH_MAX))
			return regex_refuse(t, ERR_UNSUPPORTED, from,
					    "a repetition of a repetition");
		if (times && wrap(t->out, written))
			return -1;
		forget(t);
		write_repeat(t->out, &r);
		mark(t, &r);
	}
}

/* --- the whole --- */

static int dot(struct translator *t)
{
	forget(t);
	buffer_put_text(t->out, t->flags.dot_all ? "(?s:.)" : "[^\\x{a}]");
	return 0;
}

static int anchor(struct translator *t, int c, bool *repeatable)
{
	forget(t);
	*repeatable = false;
	if (t->dialect == REGEX_ONIGURUMA)
		buffer_put_text(t->out, c == '^' ? "(?m:^)" : "(?m:$)");
	else if (t->flags.per_line) /* Rust's ^ is also true after the last newline */
		buffer_put_text(t->out, c == '^' ? "(?:\\A|(?<=\\x{a}))" : "(?m:$)");
	else
		buffer_put_text(t->out, c == '^' ? "\\A" : "\\z");
	return 0;
}

static int atom(struct translator *t, bool *repeatable)
{
	size_t from = t->at;
	int c = regex_peek(t, 0);
	uint32_t code_point;

	*repeatable = true;
	switch (c) {
	case '(': return parenthesis(t, repeatable);
	case '[': return bracket(t);
	case '\\': return escaped(t, repeatable);
	case '.': t->at++; return dot(t);
	case '^':
	case '$': t->at++; return anchor(t, c, repeatable);
	case '*':
	case '+':
	case '?': return regex_refuse(t, ERR_FORMAT, from, "nothing to repeat");
	default:
		if (regex_character(t, &code_point))
			return -1;
		return literal(t, code_point, from);
	}
}

static int sequence(struct translator *t)
{
	bool repeatable;

	for (;;) {
		size_t written;
		struct repeat r;
		size_t from;

		skip_free_form(t);
		from = t->at;
		if (!regex_more(t) || regex_peek(t, 0) == '|' || regex_peek(t, 0) == ')')
			return 0;
		if (regex_peek(t, 0) == '{' && quantifier(t, &r))
			return regex_refuse(t, ERR_FORMAT, from, "nothing to repeat");
		written = t->out->size;
		if (atom(t, &repeatable) || repetitions(t, written, repeatable))
			return -1;
		if (t->out->size > REGEX_OUTPUT_MAX)
			return regex_refuse(t, ERR_LIMIT, t->at, "more than PCRE2 can be given");
	}
}

static int alternatives(struct translator *t)
{
	struct regex_flags flags = t->flags;

	if (++t->depth > REGEX_DEPTH_MAX)
		return regex_refuse(t, ERR_LIMIT, t->at, "groups inside each other, too deep");
	do {
		forget(t);
		if (sequence(t))
			return -1;
		if (regex_peek(t, 0) == '|')
			buffer_put_text(t->out, "|");
	} while (regex_take(t, "|"));
	t->depth--;
	t->flags = flags;
	return 0;
}

int regex_translate(struct buffer *out, struct bytes pattern, enum regex_dialect dialect)
{
	struct translator t = { .in = pattern, .dialect = dialect, .out = out };

	if (pattern.size > REGEX_SIZE_MAX)
		return regex_refuse(&t, ERR_LIMIT, REGEX_SIZE_MAX, "longer than 65,536 bytes");
	if (alternatives(&t))
		return -1;
	if (regex_more(&t))
		return regex_refuse(&t, ERR_FORMAT, t.at, ") without (");
	return buffer_check(out);
}

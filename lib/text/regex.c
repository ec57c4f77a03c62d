/* lib/text/regex.c - translated patterns compiled and run by PCRE2 */
#include "lib/text/regex.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define STACK_FIRST   (32u << 10)
#define STACK_MOST    (16u << 20) /* of the JIT; mapped as it is used */
#define MATCH_LIMIT   10000000u	  /* steps of one match */
#define HEAP_LIMIT_KB (256u << 10)
#define NEST_LIMIT    250u

struct regex {
	pcre2_code *code;
};

struct regex_scratch {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_code_free(r->code);
	free(r);
}

/* One line about PCRE2's error CODE. */
static int pcre2_refuses(enum err_code kind, const char *what, int code)
{
	PCRE2_UCHAR text[256];

	if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
		text[0] = 0;
	return err_set(kind, "regular expression: %s: %s", what, (const char *)text);
}

static int compile(struct regex *r, struct bytes pattern)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_SIZE place;
	int code;

	if (!context)
		return err_memory(0);
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(context, NEST_LIMIT);
	r->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.size,
				PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C |
					PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE,
				&code, &place, context);
	pcre2_compile_context_free(context);
	if (r->code)
		return 0;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return err_memory(pattern.size);
	/* A look-behind without a bound, or more than fits. */
	return pcre2_refuses(code == PCRE2_ERROR_PATTERN_TOO_LARGE ? ERR_LIMIT : ERR_UNSUPPORTED,
			     "PCRE2 cannot run it", code);
}

int regex_new(struct regex **out, struct bytes pattern, enum regex_dialect dialect)
{
	struct buffer translated = { 0 };
	struct regex *r = mem_new(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return -1;
	buffer_put_text(&translated, ""); /* an empty pattern is one, too */
	if (regex_translate(&translated, pattern, dialect) || buffer_reserve(&translated, 1) ||
	    compile(r, buffer_bytes(&translated))) {
		buffer_free(&translated);
		regex_free(r);
		return -1;
	}
	buffer_free(&translated);
	/* Without a JIT (another machine, no executable pages) PCRE2 interprets: slower, and the same. */
	(void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
	*out = r;
	return 0;
}

void regex_scratch_free(struct regex_scratch *s)
{
	if (!s)
		return;
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->context);
	pcre2_jit_stack_free(s->stack);
	free(s);
}

int regex_scratch_new(struct regex_scratch **out)
{
	struct regex_scratch *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->data = pcre2_match_data_create(1, NULL);
	s->context = pcre2_match_context_create(NULL);
	/* None where PCRE2 has no JIT: the assignment below then does nothing. */
	s->stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL);
	if (!s->data || !s->context) {
		regex_scratch_free(s);
		return err_memory(sizeof(*s));
	}
	pcre2_set_match_limit(s->context, MATCH_LIMIT);
	pcre2_set_heap_limit(s->context, HEAP_LIMIT_KB);
	pcre2_jit_stack_assign(s->context, NULL, s->stack);
	*out = s;
	return 0;
}

int regex_find(const struct regex *r, struct regex_scratch *s, struct bytes text, size_t from,
	       size_t *begin, size_t *end)
{
	PCRE2_SPTR data = (PCRE2_SPTR)(text.data ? text.data : "");
	int got = pcre2_match(r->code, data, text.size, from, PCRE2_NO_UTF_CHECK, s->data,
			      s->context);
	const PCRE2_SIZE *place;

	/* The interpreter keeps its stack on the heap, which has more room. */
	if (got == PCRE2_ERROR_JIT_STACKLIMIT)
		got = pcre2_match(r->code, data, text.size, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
				  s->data, s->context);
	if (got == PCRE2_ERROR_NOMATCH)
		return 0;
	if (got == PCRE2_ERROR_MATCHLIMIT || got == PCRE2_ERROR_HEAPLIMIT ||
	    got == PCRE2_ERROR_DEPTHLIMIT || got == PCRE2_ERROR_JIT_STACKLIMIT)
		return pcre2_refuses(ERR_LIMIT, "a match takes too much", got);
	if (got < 0)
		return pcre2_refuses(got == PCRE2_ERROR_NOMEMORY ? ERR_MEMORY : ERR_FORMAT,
				     "no match", got);
	place = pcre2_get_ovector_pointer(s->data);
	*begin = place[0];
	*end = place[1];
	return 1;
}

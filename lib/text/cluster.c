/* lib/text/cluster.c - extended grapheme clusters */
#include "lib/text/cluster.h"

#include "lib/text/normalize_parts.h"

struct state {
	unsigned last;	 /* class of the last character */
	bool pictograph; /* a pictograph with nothing but extenders after it */
	bool joined;	 /* and then a joiner */
	bool consonant;	 /* a consonant with nothing but extenders and linkers after it */
	bool linked;	 /* at least one of them a linker */
};

static void pass(struct state *s, unsigned class)
{
	bool extends =
		class == CLUSTER_EXTEND || class == CLUSTER_EXTEND_PLAIN || class == CLUSTER_LINKER;

	s->last = class;
	s->joined = class == CLUSTER_JOINER && s->pictograph;
	s->pictograph = class == CLUSTER_PICTOGRAPH || (extends && s->pictograph);
	if (class == CLUSTER_LINKER)
		s->linked = s->consonant;
	else if (class == CLUSTER_CONSONANT || (class != CLUSTER_EXTEND && class != CLUSTER_JOINER))
		s->linked = false;
	s->consonant = class == CLUSTER_CONSONANT ||
		       (s->consonant && (class == CLUSTER_EXTEND || class == CLUSTER_JOINER ||
					 class == CLUSTER_LINKER));
}

static bool is_control(unsigned class)
{
	return class == CLUSTER_CONTROL || class == CLUSTER_CR || class == CLUSTER_LF;
}

/* GB6 to GB8: parts of a Hangul syllable. */
static bool hangul_joins(unsigned last, unsigned next)
{
	switch (last) {
	case CLUSTER_HANGUL_L:
		return next == CLUSTER_HANGUL_L || next == CLUSTER_HANGUL_V ||
		       next == CLUSTER_HANGUL_LV || next == CLUSTER_HANGUL_LVT;
	case CLUSTER_HANGUL_V:
	case CLUSTER_HANGUL_LV: return next == CLUSTER_HANGUL_V || next == CLUSTER_HANGUL_T;
	case CLUSTER_HANGUL_T:
	case CLUSTER_HANGUL_LVT: return next == CLUSTER_HANGUL_T;
	default: return false;
	}
}

static bool joins(const struct state *s, unsigned next)
{
	if (s->last == CLUSTER_CR && next == CLUSTER_LF)
		return true;
	if (is_control(s->last) || is_control(next))
		return false;
	if (next >= CLUSTER_EXTEND && next <= CLUSTER_JOINER)
		return true;
	if (s->last == CLUSTER_PREPEND || hangul_joins(s->last, next))
		return true;
	return (s->joined && next == CLUSTER_PICTOGRAPH) ||
	       (s->linked && next == CLUSTER_CONSONANT);
}

size_t cluster_end(const char *data, size_t size, size_t at)
{
	struct state s = { 0 };
	size_t length;
	unsigned next;

	pass(&s, unicode_cluster(char_decode(data + at, size - at, &length)));
	for (at += length; at < size; at += length) {
		next = unicode_cluster(char_decode(data + at, size - at, &length));
		if (!joins(&s, next))
			break;
		pass(&s, next);
	}
	return at;
}

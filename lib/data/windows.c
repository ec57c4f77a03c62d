/* lib/data/windows.c - window k of epoch e under seed s, from the numbers alone */
#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/data/windows_parts.h"

struct windows {
	const struct token_pack *pack;
	const struct token_pack_info *info;
	struct windows_options options;
	uint64_t n;
	struct best_fit best; /* FIT_BEST */
};

static uint64_t count_cut(const struct windows *w)
{
	uint64_t n = w->info->n_tokens;

	return n < 2 ? 0 : (n - 2) / w->options.length + 1;
}

int windows_new(struct windows **out, const struct token_pack *p, const struct windows_options *o)
{
	struct windows *w;

	if (o->length == 0 || o->length > WINDOW_LENGTH_MAX)
		return err_set(ERR_ARGUMENT,
			       "windows of %" PRIu32 " tokens: 1 to 2^24 are possible", o->length);
	w = mem_new(1, sizeof(*w));
	if (!w)
		return -1;
	w->pack = p;
	w->info = token_pack_info(p);
	w->options = *o;
	if (o->fit == FIT_NONE)
		w->options.fit = FIT_CUT;
	if (w->options.fit == FIT_BEST && best_fit_new(&w->best, p, o->length + 1) != 0) {
		windows_free(w);
		return -1;
	}
	w->n = w->options.fit == FIT_BEST  ? w->best.n_windows
	       : w->options.fit == FIT_ONE ? w->info->n_documents
					   : count_cut(w);
	*out = w;
	return 0;
}

void windows_free(struct windows *w)
{
	if (!w)
		return;
	best_fit_free(&w->best);
	free(w);
}

uint64_t windows_n(const struct windows *w)
{
	return w->n;
}

uint64_t windows_at(const struct windows *w, uint64_t epoch, uint64_t k)
{
	struct random_stream r = random_at(w->options.seed, epoch, hash_short("windows", 7, 0));

	return random_permute(&r, 0, w->n, k);
}

/* --- a window --------------------------------------------------------------------------- */

/* What a window is filled with, from its front on. */
struct filler {
	const struct windows *w;
	uint32_t *ids, *documents;
	uint8_t *roles;	   /* of each token, or NULL */
	uint8_t *learnt;   /* or NULL */
	uint32_t at;	   /* tokens so far */
	uint32_t document; /* the number of the next document */
};

/* LENGTH tokens of one document. The first is no target if they are to be told apart from what is before. */
static int put_piece(struct filler *f, uint64_t start, uint32_t length)
{
	const struct windows *w = f->w;
	uint32_t number = w->options.apart ? f->document : 0;

	if (length == 0)
		return 0;
	if (length > w->options.length + 1 - f->at)
		return err_set(ERR_FORMAT, "%s: the documents do not ascend",
			       token_pack_name(w->pack));
	if (token_pack_read(w->pack, start, length, f->ids + f->at) != 0)
		return -1;
	for (uint32_t i = 0; f->documents && i < length; i++)
		f->documents[f->at + i] = number;
	if (f->learnt) {
		/* The target of place i is token i + 1: token t is judged at place t - 1. */
		if (token_pack_roles(w->pack, start, length, f->roles) != 0)
			return -1;
		for (uint32_t i = 0; i < length; i++)
			if (f->at + i > 0)
				f->learnt[f->at + i - 1] = (w->info->learnt >> f->roles[i] & 1) &&
							   (i > 0 || !w->options.apart);
	}
	f->at += length;
	f->document++;
	return 0;
}

/* A stretch of the file, which may hold parts of several documents. */
static int put_stretch(struct filler *f, uint64_t from, uint64_t to)
{
	const struct token_pack *p = f->w->pack;
	uint64_t document, start, end;

	if (token_pack_find(p, from, &document) != 0)
		return -1;
	while (from < to) {
		if (token_pack_document(p, document++, &start, &end) != 0)
			return -1;
		if (start > from)
			return err_set(ERR_FORMAT, "%s: the documents do not ascend",
				       token_pack_name(p));
		end = end < to ? end : to;
		if (end > from && put_piece(f, from, (uint32_t)(end - from)) != 0)
			return -1;
		from = end > from ? end : from;
	}
	return 0;
}

static int put_cut(struct filler *f, uint64_t i)
{
	uint64_t from = i * f->w->options.length;
	uint64_t left = f->w->info->n_tokens - from;
	uint64_t room = (uint64_t)f->w->options.length + 1;

	return put_stretch(f, from, from + (left < room ? left : room));
}

static int put_one(struct filler *f, uint64_t i)
{
	uint64_t from, to, room = (uint64_t)f->w->options.length + 1;

	if (token_pack_document(f->w->pack, i, &from, &to) != 0)
		return -1;
	return put_piece(f, from, (uint32_t)(to - from < room ? to - from : room));
}

static int put_best(struct filler *f, uint64_t i)
{
	const struct best_fit *b = &f->w->best;

	for (uint64_t at = b->first[i]; at < b->first[i + 1]; at++)
		if (put_piece(f, b->pieces[at].start, b->pieces[at].length) != 0)
			return -1;
	return 0;
}

static void pad(struct filler *f)
{
	const struct windows *w = f->w;
	uint32_t end = w->options.length + 1;
	uint32_t id = w->info->header.pad == TOKEN_NONE ? 0 : w->info->header.pad;

	for (uint32_t i = f->at; i < end; i++) {
		f->ids[i] = id;
		if (f->documents)
			f->documents[i] = w->options.apart ? f->document : 1;
		if (f->learnt && i > 0)
			f->learnt[i - 1] = 0;
	}
}

int windows_get(const struct windows *w, uint64_t i, uint32_t *ids, uint32_t *documents,
		uint8_t *learnt)
{
	struct filler f = { .w = w, .ids = ids, .documents = documents, .learnt = learnt };
	int result;

	if (i >= w->n)
		return err_set(ERR_ARGUMENT, "%s: window %" PRIu64 " of %" PRIu64,
			       token_pack_name(w->pack), i, w->n);
	if (learnt) {
		f.roles = mem_new((size_t)w->options.length + 1, 1);
		if (!f.roles)
			return -1;
	}
	result = w->options.fit == FIT_BEST  ? put_best(&f, i)
		 : w->options.fit == FIT_ONE ? put_one(&f, i)
					     : put_cut(&f, i);
	if (result == 0)
		pad(&f);
	free(f.roles);
	return result;
}

/* --- counting --------------------------------------------------------------------------- */

/* Of best: a target a token of a piece but its first; and, not apart, the first of all pieces but one. */
static void count_best(const struct windows *w, struct windows_counts *c)
{
	for (uint64_t i = 0; i < w->best.n_pieces; i++)
		c->targets += w->best.pieces[i].length - 1;
	if (!w->options.apart)
		c->targets += w->best.n_pieces - w->n;
	c->lost = w->best.lost;
	c->cut = w->best.cut;
}

static void count_one(const struct windows *w, struct windows_counts *c, uint64_t length)
{
	uint64_t room = (uint64_t)w->options.length + 1;
	uint64_t kept = length < room ? length : room;

	c->targets += kept ? kept - 1 : 0;
	c->lost += length - kept;
	c->cut += length > room;
}

/* Of cut: every token is a target but the first of all and, apart, of each document. */
static void count_stretch(const struct windows *w, struct windows_counts *c, uint64_t from,
			  uint64_t to)
{
	uint64_t step = w->options.length;

	if (from == to)
		return;
	c->targets += to - from - (from == 0 || w->options.apart);
	/* A cut at a multiple of the length shares its token: the document is whole if it ends there. */
	c->cut += to - from > 1 && from / step != (to - 2) / step;
}

int windows_count(const struct windows *w, struct windows_counts *out)
{
	uint64_t from, to;

	*out = (struct windows_counts){ .windows = w->n };
	if (w->options.fit == FIT_BEST) {
		count_best(w, out);
		return 0;
	}
	for (uint64_t i = 0; i < w->info->n_documents; i++) {
		if (token_pack_document(w->pack, i, &from, &to) != 0)
			return -1;
		if (w->options.fit == FIT_ONE)
			count_one(w, out, to - from);
		else
			count_stretch(w, out, from, to);
	}
	if (w->options.fit == FIT_CUT && w->n == 0)
		out->lost = w->info->n_tokens;
	return 0;
}

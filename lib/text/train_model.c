/* lib/text/train_model.c - counted words into a model: which trainer, and with what */

#include "lib/text/train_model.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/text/model.h"
#include "lib/text/train_bpe.h"
#include "lib/text/train_merges.h"
#include "lib/text/train_model_parts.h"
#include "lib/text/train_words.h"

/* --- BPE and what is made of it --- */

static int add_word(struct train_bpe *t, const struct train_words *w, struct bytes word,
		    uint64_t count)
{
	while (word.size) {
		size_t size;

		if (train_words_part(w, word, &size) < 0 ||
		    train_bpe_add(t, (struct bytes){ word.data, size }, count) < 0)
			return -1;
		word = (struct bytes){ word.data + size, word.size - size };
	}
	return 0;
}

static int add_words(struct train_bpe *t, const struct train_words *w, struct word_counts *counts,
		     struct train_model_report *report)
{
	struct bytes word;
	uint64_t count;
	int got;

	if (word_counts_begin(counts) < 0)
		return -1;
	while ((got = word_counts_next(counts, &word, &count)) > 0) {
		if (add_word(t, w, word, count) < 0)
			return -1;
		report->words++;
	}
	return got;
}

static struct train_bpe_options bpe_options(const struct train_spec *t,
					    const struct train_model_options *o)
{
	return (struct train_bpe_options){
		.vocab_size = o->vocab_size,
		.min_frequency = o->min_frequency,
		.max_piece = o->max_piece,
		.byte_level = o->byte_level,
		.first = t->first,
		.n_first = t->n_first,
		.character_coverage = o->byte_level ? 0 : o->character_coverage,
		.continuing_prefix = t->spec.model.continuing_prefix,
		.end_of_word_suffix = t->spec.model.end_of_word_suffix,
		.old = t->old,
		.memory = o->memory,
		.team = o->team,
		.progress = o->progress,
	};
}

/* Whether every merge that its pieces allow is wanted: of SentencePiece's kind, and where the old model had them all. */
static int wants_all_merges(const struct train_spec *t, const struct train_model_options *o)
{
	struct tokenizer_spec old = t->spec;

	if (!t->old || o->byte_level)
		return o->kind == TRAIN_SENTENCEPIECE;
	old.model = *t->old;
	return train_merges_are_complete(&old);
}

/* WordPiece has pieces alone. */
static int finish(struct train_spec *t, struct arena *arena, const struct train_model_options *o)
{
	struct model_spec *m = &t->spec.model;
	int all = wants_all_merges(t, o);

	if (!m->continuing_prefix.size)
		m->continuing_prefix = (struct bytes){ 0 };
	if (!m->end_of_word_suffix.size)
		m->end_of_word_suffix = (struct bytes){ 0 };
	if (all)
		return all < 0 ? -1 : train_merges_complete(&t->spec, arena);
	if (o->kind == TRAIN_WORDPIECE) {
		m->kind = MODEL_WORDPIECE;
		m->merges = NULL;
		m->n_merges = 0;
	}
	return 0;
}

static int train_pairs(struct train_spec *t, struct arena *arena, struct word_counts *counts,
		       const struct train_model_options *o, struct train_model_report *report)
{
	struct train_bpe_options options = bpe_options(t, o);
	struct train_words *w = NULL;
	struct train_bpe *trainer = NULL;
	int result = -1;

	if (train_words_new(&w, t->first, t->n_first, o->byte_level) < 0 ||
	    train_bpe_new(&trainer, &options) < 0 || add_words(trainer, w, counts, report) < 0 ||
	    train_bpe_run(trainer, arena, &t->spec.model) < 0)
		goto end;
	report->left_out = train_bpe_left_out(trainer);
	result = finish(t, arena, o);
end:
	train_bpe_free(trainer);
	train_words_free(w);
	return result;
}

int train_model(struct train_spec *t, struct arena *arena, struct word_counts *counts,
		const struct train_model_options *o, struct train_model_report *report)
{
	*report = (struct train_model_report){ 0 };
	return (o->kind == TRAIN_UNIGRAM ? train_model_unigram : train_pairs)(t, arena, counts, o,
									      report);
}

/* --- what it makes of the words --- */

static int count_tokens(const struct text_model *m, struct model_scratch *s,
			struct word_counts *counts, uint64_t *out)
{
	struct model_tokens tokens = { 0 };
	struct bytes word;
	uint64_t count;
	int got;

	*out = 0;
	while ((got = word_counts_next(counts, &word, &count)) > 0) {
		tokens.n = 0;
		if (text_model_encode(m, s, word, &tokens) < 0) {
			got = -1;
			break;
		}
		*out += tokens.n * count;
	}
	free(tokens.items);
	return got;
}

int train_model_tokens(const struct model_spec *m, bool byte_level, struct word_counts *counts,
		       uint64_t *out)
{
	struct model_spec copy = *m;
	struct text_model *model = NULL;
	struct model_scratch *s = NULL;
	int result = -1;

	copy.drop_unknown = true;
	if (text_model_new(&model, &copy, byte_level) == 0 && model_scratch_new(&s, model) == 0 &&
	    word_counts_begin(counts) == 0)
		result = count_tokens(model, s, counts, out);
	model_scratch_free(s);
	text_model_free(model);
	return result;
}

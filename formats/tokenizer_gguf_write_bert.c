/* formats/tokenizer_gguf_write_bert.c - BERT's WordPiece as GGUF's kind bert */

#include <inttypes.h>

#include "formats/tokenizer_gguf_marks.h"
#include "formats/tokenizer_gguf_plan.h"
#include "formats/tokenizer_pieces.h"
#include "lib/base/err.h"

static int mark_pieces(struct gguf_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct spm_piece *piece = &p->pieces[i];
		struct bytes before = piece->text, back;

		if (piece->type == SPM_GAP)
			continue;
		if (gguf_mark(p->arena, piece->type, &piece->text) < 0)
			return -1;
		back = piece->text;
		if (gguf_unmark(p->arena, piece->type, &back) < 0)
			return -1;
		if (!piece->text.size || back.size != before.size ||
		    memcmp(back.data, before.data, back.size) != 0)
			return err_set(ERR_UNSUPPORTED,
				       "GGUF cannot say: the piece %zu of WordPiece", i);
	}
	return 0;
}

/* Two pieces of one text: a word with the mark, and what continues one with it. */
static int check_twice(struct gguf_plan *p)
{
	struct names *texts;
	int got = 1;

	if (names_new(&texts) < 0)
		return -1;
	for (size_t i = 0; i < p->n && got > 0; i++)
		got = names_add(texts, p->pieces[i].text, 0, NULL);
	names_free(texts);
	if (got == 0)
		return err_set(ERR_UNSUPPORTED,
			       "GGUF cannot say: two pieces of WordPiece, of which one has U+2581");
	return got < 0 ? -1 : 0;
}

static int check_steps(struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;
	const struct normalizer_spec *n = s->normalizers;

	if (s->n_normalizers != 1 || n->kind != NORMALIZER_BERT)
		return err_set(ERR_UNSUPPORTED,
			       "GGUF cannot say: WordPiece without BertNormalizer alone");
	if ((!n->bert.clean_text || !n->bert.handle_chinese_chars) &&
	    gguf_plan_loss(p, LOSS_IDS, "clean_text or handle_chinese_chars of BertNormalizer") < 0)
		return -1;
	if ((s->n_pretokenizers != 1 || s->pretokenizers[0].kind != PRETOKENIZER_BERT) &&
	    gguf_plan_loss(p, LOSS_IDS, "pre_tokenizer: is not BertPreTokenizer alone") < 0)
		return -1;
	if (s->n_decoders != 1 || s->decoders[0].kind != DECODER_WORDPIECE ||
	    !bytes_are(s->decoders[0].wordpiece.prefix, "##") || !s->decoders[0].wordpiece.cleanup)
		return gguf_plan_loss(p, LOSS_WHOLE, "decoder: is not WordPiece's usual one");
	return 0;
}

static int check_model(struct gguf_plan *p)
{
	const struct model_spec *m = &p->spec->model;

	if (!bytes_are(m->continuing_prefix, "##"))
		return err_set(ERR_UNSUPPORTED,
			       "GGUF cannot say: a continuing_subword_prefix that is not ##");
	if (m->max_word_chars != 100)
		return gguf_plan_loss(p, LOSS_IDS, "max_input_chars_per_word: %" PRIu32 ", not 100",
				      m->max_word_chars);
	return 0;
}

/* [CLS] and [SEP] as the template has them; a reader makes such a template again. */
static int find_template(struct gguf_plan *p)
{
	const struct tokenizer_spec *s = p->spec;
	struct gguf_plan ends = {
		.spec = s, .options = p->options, .bos = TOKEN_NONE, .eos = TOKEN_NONE
	};

	if (gguf_plan_posts(&ends) < 0)
		return -1;
	p->cls = ends.bos;
	p->sep = ends.eos;
	p->other_whole |= ends.other_whole;
	if (!ends.add_bos || !ends.add_eos)
		return gguf_plan_loss(p, LOSS_WHOLE, "post_processor: not [CLS] and [SEP]");
	/* llama.cpp begins a text by the BOS. */
	if (p->bos == TOKEN_NONE)
		p->bos = p->cls;
	return 0;
}

int gguf_plan_bert(struct gguf_plan *p)
{
	p->model = "bert";
	p->pre = bytes_of("default");
	p->has_bert = true;
	if (check_model(p) < 0 || check_steps(p) < 0 || find_template(p) < 0 ||
	    gguf_plan_added(p) < 0)
		return -1;
	p->unk = p->spec->model.unk;
	return mark_pieces(p) < 0 ? -1 : check_twice(p);
}

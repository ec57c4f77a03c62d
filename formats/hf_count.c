/*
 * formats/hf_count.c - how many weights a configuration stands for
 *
 * Source: the modules of each architecture in transformers. Products are checked by hand of one
 * helper: the first that does not fit makes the whole not fit.
 */
#include "formats/hf_parts.h"

struct count {
	uint64_t n;
	bool fits;
};

static void add(struct count *t, uint64_t rows, uint64_t columns)
{
	uint64_t product;

	if (__builtin_mul_overflow(rows, columns, &product) ||
	    __builtin_add_overflow(t->n, product, &t->n))
		t->fits = false;
}

static void add_linear(struct count *t, uint64_t out, uint64_t in, bool bias)
{
	add(t, out, in);
	if (bias)
		add(t, out, 1);
}

static void add_times(struct count *t, const struct count *part, uint64_t times)
{
	t->fits = t->fits && part->fits;
	add(t, part->n, times);
}

/* Norms of a block as wide as the model: two; gemma3 has one after each half as well. */
static uint64_t n_norms(const struct hf_config *c)
{
	return c->architecture == HF_GEMMA3 ? 4 : 2;
}

static struct count decoder_layer(const struct hf_config *c)
{
	struct count t = { 0, true };
	uint64_t q = (uint64_t)c->n_heads * c->head_dim;
	uint64_t kv = (uint64_t)c->n_kv_heads * c->head_dim;

	add_linear(&t, q, c->hidden_size, c->qkv_bias);
	add_linear(&t, kv, c->hidden_size, c->qkv_bias);
	add_linear(&t, kv, c->hidden_size, c->qkv_bias);
	add_linear(&t, c->hidden_size, q, c->out_bias);
	add_linear(&t, c->ffn_size, c->hidden_size, c->mlp_bias);
	add_linear(&t, c->ffn_size, c->hidden_size, c->mlp_bias);
	add_linear(&t, c->hidden_size, c->ffn_size, c->mlp_bias);
	add(&t, n_norms(c), c->hidden_size);
	if (c->qk_norm)
		add(&t, 2, c->head_dim);
	return t;
}

/* gpt2 and bert: four square projections, two of the feed-forward, two norms with bias. */
static struct count learned_layer(const struct hf_config *c)
{
	struct count t = { 0, true };

	for (int i = 0; i < 4; i++)
		add_linear(&t, c->hidden_size, c->hidden_size, true);
	add_linear(&t, c->ffn_size, c->hidden_size, true);
	add_linear(&t, c->hidden_size, c->ffn_size, true);
	add(&t, 4, c->hidden_size);
	if (c->position == HF_POSITION_RELATIVE_KEY ||
	    c->position == HF_POSITION_RELATIVE_KEY_QUERY)
		add(&t, 2 * c->context - 1, c->head_dim);
	return t;
}

static bool class_is(const struct hf_config *c, const char *name)
{
	return bytes_are(c->class_name, name);
}

static void add_prediction_head(struct count *t, const struct hf_config *c)
{
	add_linear(t, c->hidden_size, c->hidden_size, true);
	add(t, 2, c->hidden_size);
	add(t, c->vocab_size, 1); /* its bias; the matrix is the embedding's */
	if (!c->tie_word_embeddings)
		add(t, c->vocab_size, c->hidden_size);
}

/* False for a class whose head is not known here. */
static bool count_bert(const struct hf_config *c, struct count *t)
{
	bool base = class_is(c, "BertModel") || class_is(c, "");
	bool pretraining = class_is(c, "BertForPreTraining");

	add(t, c->type_vocab_size, c->hidden_size);
	add(t, 2, c->hidden_size);
	if (base || pretraining)
		add_linear(t, c->hidden_size, c->hidden_size, true); /* the pooler */
	if (pretraining)
		add_linear(t, 2, c->hidden_size, true);
	if (!base)
		add_prediction_head(t, c);
	return base || pretraining || class_is(c, "BertForMaskedLM") ||
	       class_is(c, "BertLMHeadModel");
}

/* *HEAD: whether there is a head that is not the embedding. False for other classes. */
static bool find_head(const struct hf_config *c, bool *head)
{
	bool lm = c->class_name.size == 0 || bytes_end_with(c->class_name, "ForCausalLM") ||
		  bytes_end_with(c->class_name, "LMHeadModel");

	*head = lm && !c->tie_word_embeddings;
	return !c->nested && (lm || bytes_end_with(c->class_name, "Model"));
}

bool hf_config_n_parameters(const struct hf_config *c, uint64_t *out)
{
	bool rope = c->position == HF_POSITION_ROPE, head = false, known;
	struct count t = { 0, true }, layer = rope ? decoder_layer(c) : learned_layer(c);

	add_times(&t, &layer, c->n_layers);
	add(&t, c->vocab_size, c->hidden_size);
	if (!rope)
		add(&t, c->context, c->hidden_size);
	if (c->architecture == HF_BERT) {
		known = count_bert(c, &t);
	} else {
		known = find_head(c, &head);
		add(&t, rope ? 1 : 2, c->hidden_size); /* the last norm */
		if (head)
			add(&t, c->vocab_size, c->hidden_size);
	}
	if (!known || !t.fits)
		return false;
	*out = t.n;
	return true;
}

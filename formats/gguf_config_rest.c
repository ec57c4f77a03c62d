/*
 * formats/gguf_config_rest.c - what a GGUF's own keys do not say of a configuration
 *
 * Two config.json are written, of the configuration and of what the keys say; `nnutils.config` has the keys of the first that the second
 * lacks or has otherwise. A reader goes the other way.
 */
#include "formats/gguf_config_parts.h"
#include "formats/gguf_config_write.h"
#include "formats/json.h"

#define REST_MAX ((size_t)1 << 20) /* each of its keys is looked for in it */

/* Of the weights, which say it themselves. */
static bool is_of_weights(struct bytes name)
{
	return bytes_are(name, "dtype") || bytes_are(name, "torch_dtype");
}

/* Whether SAID ends a text wherever C does: it knows the tokenizer's and generation_config.json's ids too. */
static bool ends_too(const struct hf_config *said, const struct hf_config *c)
{
	for (uint32_t i = 0; i < c->eos.n; i++) {
		uint32_t k = 0;

		while (k < said->eos.n && said->eos.ids[k] != c->eos.ids[i])
			k++;
		if (k == said->eos.n)
			return false;
	}
	return true;
}

/* What the other keys say better. A GGUF of bert has no head, whatever the folder's class. */
static bool is_left_out(const struct hf_config *c, const struct hf_config *said, struct bytes name)
{
	return is_of_weights(name) || (bytes_are(name, "eos_token_id") && ends_too(said, c)) ||
	       (c->architecture == HF_BERT && bytes_are(name, "architectures"));
}

/* 1 and the raw value of NAME in the object TEXT, 0, or -1. */
static int find_member(struct bytes text, struct bytes name, struct bytes *out)
{
	struct json *j;
	struct bytes key, value;
	int got;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, text.data, text.size, GGUF_CONFIG_REST, NULL);
	got = json_object(j);
	while (got >= 0 && (got = json_key(j, &key)) > 0) {
		bool found = bytes_equal(key, name);

		got = json_skip(j, &value);
		if (got == 0 && found) {
			*out = value;
			got = 1;
			break;
		}
	}
	json_free(j);
	return got;
}

struct members {
	struct bytes text, other;
	bool whatever; /* those that OTHER has with any value are passed by; else those that it has so */
	const struct hf_config *c, *said; /* or NULL */
};

/* 1: the member is to be put; 0; or -1. */
static int is_wanted(const struct members *m, struct bytes key, struct bytes value)
{
	struct bytes there;
	int got = find_member(m->other, key, &there);

	if (got < 0)
		return -1;
	if (got > 0 && (m->whatever || bytes_equal(there, value)))
		return 0;
	return !m->c || !is_left_out(m->c, m->said, key);
}

/* Appends every wanted member of M's text to the object in B. */
static int put_members(struct buffer *b, const struct members *m)
{
	struct json *j;
	struct bytes key, value;
	int got;

	if (json_new(&j) < 0)
		return -1;
	json_init(j, m->text.data, m->text.size, GGUF_CONFIG_REST, NULL);
	got = json_object(j);
	while (got >= 0 && (got = json_key(j, &key)) > 0) {
		got = json_skip(j, &value);
		if (got == 0)
			got = is_wanted(m, key, value);
		if (got <= 0)
			continue;
		json_put_comma(b);
		json_put_string(b, key);
		buffer_put_text(b, ":");
		buffer_put(b, value.data, value.size);
	}
	json_free(j);
	return got < 0 ? -1 : buffer_check(b);
}

int gguf_config_put_rest(struct gguf_writer *w, const struct hf_config *c,
			 const struct hf_config *said)
{
	struct buffer all = { 0 }, known = { 0 }, rest = { 0 };
	int result = -1;

	buffer_put_text(&rest, "{");
	if (hf_config_put(&all, c) == 0 && hf_config_put(&known, said) == 0 &&
	    put_members(&rest, &(struct members){ buffer_bytes(&all), buffer_bytes(&known), false,
						  c, said }) == 0) {
		if (rest.size > 1) {
			buffer_put_text(&rest, "}");
			if (rest.size > REST_MAX)
				err_set(ERR_LIMIT,
					"config.json has %zu bytes of keys that GGUF "
					"lacks, the limit is %zu",
					rest.size, REST_MAX);
			gguf_put_string(w, GGUF_CONFIG_REST, buffer_bytes(&rest));
		}
		result = rest.size > REST_MAX ? -1 : buffer_check(&rest);
	}
	buffer_free(&all);
	buffer_free(&known);
	buffer_free(&rest);
	return result;
}

/* --- reading --- */

static bool same_sizes(const struct hf_config *a, const struct hf_config *b)
{
	bool llama = a->architecture == HF_LLAMA || a->architecture == HF_MISTRAL;
	bool other_llama = b->architecture == HF_LLAMA || b->architecture == HF_MISTRAL;

	return (a->architecture == b->architecture || (llama && other_llama)) &&
	       a->hidden_size == b->hidden_size && a->ffn_size == b->ffn_size &&
	       a->vocab_size == b->vocab_size && a->context == b->context &&
	       a->n_layers == b->n_layers && a->n_heads == b->n_heads &&
	       a->n_kv_heads == b->n_kv_heads && a->head_dim == b->head_dim &&
	       a->position == b->position && a->type_vocab_size == b->type_vocab_size &&
	       a->qk_norm == b->qk_norm && a->qkv_bias == b->qkv_bias &&
	       a->out_bias == b->out_bias && a->mlp_bias == b->mlp_bias;
}

static int merge(const struct config_reader *r, struct bytes rest, struct buffer *text)
{
	struct hf_config whole;
	struct buffer known = { 0 };
	enum dtype dtype = r->c->dtype;
	int result = -1;

	buffer_put_text(text, "{");
	if (hf_config_put(&known, r->c) == 0 &&
	    put_members(text, &(struct members){ buffer_bytes(&known), rest, true, NULL, NULL }) ==
		    0 &&
	    put_members(text, &(struct members){ rest, { "{}", 2 }, true, NULL, NULL }) == 0) {
		buffer_put_text(text, "}");
		result = hf_config_parse(&whole, r->arena, buffer_bytes(text), GGUF_CONFIG_REST);
	}
	buffer_free(&known);
	if (result < 0)
		return err_prefix("%s: key " GGUF_CONFIG_REST, r->file);
	if (!same_sizes(&whole, r->c))
		return err_set(ERR_MISMATCH,
			       "%s: key " GGUF_CONFIG_REST
			       ": is of another model than the other keys and the tensors",
			       r->file);
	*r->c = whole;
	r->c->dtype = dtype;
	return 0;
}

int config_read_rest(const struct config_reader *r)
{
	struct buffer text = { 0 };
	struct bytes rest;
	int got = gguf_get_string(r->gguf, GGUF_CONFIG_REST, &rest);
	int result = got < 0 ? -1 : 0;

	if (got > 0 && rest.size > REST_MAX)
		return err_set(ERR_LIMIT,
			       "%s: key " GGUF_CONFIG_REST ": %zu bytes, the limit is %zu", r->file,
			       rest.size, REST_MAX);
	if (got > 0)
		result = merge(r, rest, &text);
	buffer_free(&text);
	return result;
}

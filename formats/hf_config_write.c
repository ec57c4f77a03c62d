/*
 * formats/hf_config_write.c - struct hf_config into config.json, and its roles into generation_config.json
 *
 * Both spellings, so that transformers 4 and 5 make the same of it: rope_theta, rope_scaling,
 * torch_dtype and the older keys of layers; rope_parameters, dtype and layer_types. Transformers 5
 * wants a float to look like one, so reals have a point or an exponent.
 */
#include <stddef.h>

#include "formats/hf_parts.h"
#include "formats/hf_print.h"
#include "formats/json.h"

/* --- ids --- */

static void put_ids(struct printer *p, const char *key, const struct hf_ids *ids)
{
	if (ids->n == 0) {
		print_null(p, key);
	} else if (ids->n == 1) {
		print_whole(p, key, ids->ids[0]);
	} else {
		print_key(p, key);
		print_open(p, "[");
		for (uint32_t i = 0; i < ids->n; i++) {
			print_line(p);
			json_put_u64(p->b, ids->ids[i]);
		}
		print_close(p, "]");
	}
}

static void put_roles(struct printer *p, const struct hf_config *c)
{
	put_ids(p, "bos_token_id", &c->bos);
	put_ids(p, "eos_token_id", &c->eos);
	put_ids(p, "pad_token_id", &c->pad);
}

/* --- the rest --- */

static void put_sizes(struct printer *p, const struct hf_config *c)
{
	print_whole(p, HF_KEY(c, vocab_size), c->vocab_size);
	print_whole(p, HF_KEY(c, hidden_size), c->hidden_size);
	/* gpt2's null is four times the width. */
	if (c->architecture == HF_GPT2 && c->ffn_size == 4 * c->hidden_size)
		print_null(p, HF_KEY(c, ffn_size));
	else
		print_whole(p, HF_KEY(c, ffn_size), c->ffn_size);
	print_whole(p, HF_KEY(c, n_layers), c->n_layers);
	print_whole(p, HF_KEY(c, n_heads), c->n_heads);
	if (c->position == HF_POSITION_ROPE) {
		print_whole(p, HF_KEY(c, n_kv_heads), c->n_kv_heads);
		print_whole(p, HF_KEY(c, head_dim), c->head_dim);
	}
	print_whole(p, HF_KEY(c, context), c->context);
}

static void put_biases(struct printer *p, const struct hf_config *c)
{
	switch (c->architecture) {
	case HF_LLAMA:
	case HF_SMOLLM3:
		print_flag(p, "attention_bias", c->qkv_bias);
		print_flag(p, "mlp_bias", c->mlp_bias);
		break;
	case HF_QWEN3:
	case HF_GEMMA3: print_flag(p, "attention_bias", c->qkv_bias); break;
	default: break;
	}
}

static const char *position_word(enum hf_position p)
{
	return p == HF_POSITION_RELATIVE_KEY	     ? "relative_key"
	       : p == HF_POSITION_RELATIVE_KEY_QUERY ? "relative_key_query"
						     : "absolute";
}

static void put_own(struct printer *p, const struct hf_config *c)
{
	switch (c->architecture) {
	case HF_GEMMA3:
		print_number(p, "query_pre_attn_scalar", c->query_pre_attn_scalar);
		print_real_or_null(p, "attn_logit_softcapping", c->attn_soft_cap);
		print_real_or_null(p, "final_logit_softcapping", c->final_soft_cap);
		print_flag(p, "use_bidirectional_attention", c->bidirectional);
		break;
	case HF_GPT2:
		print_flag(p, "scale_attn_weights", c->scale_attention);
		print_flag(p, "scale_attn_by_inverse_layer_idx", c->scale_by_layer);
		break;
	case HF_BERT:
		print_whole(p, "type_vocab_size", c->type_vocab_size);
		print_text(p, "position_embedding_type", bytes_of(position_word(c->position)));
		print_flag(p, "is_decoder", !c->bidirectional);
		break;
	default: break;
	}
}

static void put_head(struct printer *p, const struct hf_config *c)
{
	print_key(p, "architectures");
	print_open(p, "[");
	print_line(p);
	json_put_string(p->b, c->class_name.size ? c->class_name
						 : bytes_of(hf_class_name(c->architecture)));
	print_close(p, "]");
	print_text(p, "model_type", bytes_of(hf_model_type(c->architecture)));
	if (c->dtype != DTYPE_UNKNOWN) {
		print_text(p, "torch_dtype", bytes_of(hf_dtype_word(c->dtype)));
		print_text(p, "dtype", bytes_of(hf_dtype_word(c->dtype)));
	}
}

static void put_tail(struct printer *p, const struct hf_config *c)
{
	print_flag(p, "tie_word_embeddings", c->tie_word_embeddings);
	put_roles(p, c);
	for (uint32_t i = 0; i < c->n_others; i++) {
		print_line(p);
		json_put_string(p->b, c->others[i].key);
		buffer_put_text(p->b, ": ");
		buffer_put(p->b, c->others[i].value.data, c->others[i].value.size);
	}
}

static const char *activation_key(enum hf_architecture a)
{
	return a == HF_GPT2	? "activation_function"
	       : a == HF_GEMMA3 ? "hidden_activation"
				: "hidden_act";
}

/* What the older spelling has no words for. */
static int check_writable(const struct hf_config *c)
{
	const struct hf_rope *local = &c->rope[HF_SLIDING], *full = &c->rope[HF_FULL];

	if (hf_config_check(c, "config.json") < 0)
		return -1;
	if (c->nested)
		return err_set(ERR_UNSUPPORTED,
			       "config.json: the text part of a vision model is not written alone");
	if (c->dtype != DTYPE_UNKNOWN && !hf_dtype_word(c->dtype))
		return err_set(ERR_UNSUPPORTED, "config.json: key dtype: there is no word for %s",
			       dtype_name(c->dtype));
	if (c->position != HF_POSITION_ROPE)
		return 0;
	if (c->architecture == HF_GEMMA3 ? local->type != HF_ROPE_DEFAULT || local->partial != 1
					 : !hf_rope_equal(local, full))
		return err_set(ERR_UNSUPPORTED,
			       "config.json: key rope_parameters: transformers 4 has no words for "
			       "this rope of sliding layers");
	return 0;
}

int hf_config_put(struct buffer *b, const struct hf_config *c)
{
	struct printer p = { .b = b };

	if (check_writable(c) < 0)
		return -1;
	print_open(&p, "{");
	put_head(&p, c);
	put_sizes(&p, c);
	print_text(&p, activation_key(c->architecture),
		   bytes_of(hf_activation_name(c->activation)));
	print_real(&p, HF_KEY(c, norm_eps), c->norm_eps);
	print_real(&p, "initializer_range", c->initializer_range);
	put_biases(&p, c);
	hf_put_rope(&p, c);
	hf_put_layers(&p, c);
	put_own(&p, c);
	put_tail(&p, c);
	print_close(&p, "}");
	buffer_put_text(b, "\n");
	return buffer_check(b);
}

int hf_generation_put(struct buffer *b, const struct hf_config *c)
{
	struct printer p = { .b = b };

	print_open(&p, "{");
	put_roles(&p, c);
	print_close(&p, "}");
	buffer_put_text(b, "\n");
	return buffer_check(b);
}

/* lib/graph/ops_language.c - rope, attention, and the losses over a vocabulary */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

static struct tensor *operand(const struct node *n, int i)
{
	return i < n->n_in ? n->in[i] : NULL;
}

/* --- rope --- */

int shape_rope(struct graph *g, struct node *n)
{
	const struct tensor *x = n->in[0], *positions = n->in[1], *frequencies = n->in[2];
	const struct tensor *axes = operand(n, 3);

	if (x->shape.n != 3 || positions->shape.n != 2 || positions->dtype != DTYPE_I32 ||
	    positions->shape.at[0] != x->shape.at[0])
		return node_error(g, n, "x %s by positions %s %s", shape_string(&x->shape),
				  dtype_name(positions->dtype), shape_string(&positions->shape));
	if (frequencies->shape.n != 1 || 2 * frequencies->shape.at[0] > x->shape.at[2])
		return node_error(g, n, "%s pairs in heads of %zu",
				  shape_string(&frequencies->shape), x->shape.at[2]);
	if (axes ? axes->dtype != DTYPE_I32 || !shape_equal(&axes->shape, &frequencies->shape)
		 : positions->shape.at[1] != 1)
		return node_error(g, n, "positions of %zu axes need an axis for each pair",
				  positions->shape.at[1]);
	return node_output(g, n, x->dtype, &x->shape) ? 0 : -1;
}

struct tensor *op_rope(struct graph *g, struct tensor *x, const struct rope *r)
{
	struct rope_attributes a = { .scale = r->scale, .interleaved = r->interleaved };

	return graph_append(g, OP_ROPE,
			    (struct tensor *[]){ x, r->positions, r->frequencies, r->axes },
			    r->axes ? 4 : 3, &a);
}

/* --- attention --- */

enum {
	ATT_Q,
	ATT_K,
	ATT_V,
	ATT_BIAS,
	ATT_MASK,
	ATT_Q_DOCUMENTS,
	ATT_K_DOCUMENTS,
	ATT_Q_POSITIONS,
	ATT_K_POSITIONS,
	ATT_PAGES,
	ATT_INPUTS
};

static int check_ids(struct graph *g, struct node *n, int i, size_t length)
{
	const struct tensor *t = operand(n, i);

	if (t && (t->dtype != DTYPE_I32 || t->shape.n != 1 || t->shape.at[0] != length))
		return node_error(g, n, "documents or positions %s %s, not i32 [%zu]",
				  dtype_name(t->dtype), shape_string(&t->shape), length);
	return 0;
}

/* The operands of attention from FIRST on; SHAPES of q, k, v have 3 axes. */
static int check_attention(struct graph *g, struct node *n, int first)
{
	const struct attention_attributes *a = n->attributes;
	const struct tensor *q = n->in[first + ATT_Q], *k = n->in[first + ATT_K];
	const struct tensor *v = n->in[first + ATT_V], *bias = operand(n, first + ATT_BIAS);
	const struct tensor *mask = operand(n, first + ATT_MASK);
	const struct tensor *pages = operand(n, first + ATT_PAGES);
	size_t keys;

	if (q->shape.n != 3 || k->shape.n != 3 || v->shape.n != 3 ||
	    q->shape.at[2] != k->shape.at[2] || k->shape.at[0] != v->shape.at[0] ||
	    k->shape.at[1] != v->shape.at[1] || k->shape.at[1] == 0 ||
	    q->shape.at[1] % k->shape.at[1] != 0)
		return node_error(g, n, "q %s, k %s, v %s", shape_string(&q->shape),
				  shape_string(&k->shape), shape_string(&v->shape));
	keys = k->shape.at[0];
	if (pages) {
		if (pages->dtype != DTYPE_I32 || pages->shape.n != 1 || a->page == 0)
			return node_error(g, n, "pages %s %s of %u rows", dtype_name(pages->dtype),
					  shape_string(&pages->shape), a->page);
		keys = pages->shape.at[0] * a->page;
	}
	if (bias && (bias->shape.n != 3 ||
		     (bias->shape.at[0] != 1 && bias->shape.at[0] != q->shape.at[1]) ||
		     bias->shape.at[1] != q->shape.at[0] || bias->shape.at[2] != keys))
		return node_error(g, n, "a bias of %s", shape_string(&bias->shape));
	if (mask && (mask->dtype != DTYPE_U8 || mask->shape.n != 2 ||
		     mask->shape.at[0] != q->shape.at[0] || mask->shape.at[1] != (keys + 7) / 8))
		return node_error(g, n, "a mask of %s %s", dtype_name(mask->dtype),
				  shape_string(&mask->shape));
	for (int i = 0; i < 2; i++)
		if (check_ids(g, n, first + ATT_Q_DOCUMENTS + 2 * i, q->shape.at[0]) < 0 ||
		    check_ids(g, n, first + ATT_K_DOCUMENTS + 2 * i, keys) < 0)
			return -1;
	return 0;
}

int shape_attention(struct graph *g, struct node *n)
{
	const struct tensor *q = n->in[ATT_Q], *v = n->in[ATT_V];
	struct tensor *out, *lse;

	if (check_attention(g, n, 0) < 0)
		return -1;
	out = node_output(g, n, q->dtype, &SHAPE(q->shape.at[0], q->shape.at[1], v->shape.at[2]));
	lse = node_output(g, n, graph_sum_dtype(n->in[0]->dtype),
			  &SHAPE(q->shape.at[0], q->shape.at[1]));
	if (!out || !lse)
		return -1;
	out->rows = lse->rows = q->rows;
	return 0;
}

/* dout, out, lse, q, k, v, ...: dq, dk, dv, dbias */
int shape_attention_grad(struct graph *g, struct node *n)
{
	if (check_attention(g, n, 3) < 0)
		return -1;
	if (operand(n, 3 + ATT_PAGES))
		return node_error(g, n, "no gradient through pages");
	for (int i = 0; i < 3 + (operand(n, 3 + ATT_BIAS) != NULL); i++)
		if (!node_output(g, n, n->in[3 + i]->dtype, &n->in[3 + i]->shape))
			return -1;
	return 0;
}

struct tensor *op_attention(struct graph *g, struct tensor *q, struct tensor *k, struct tensor *v,
			    const struct attention *o, struct tensor **lse)
{
	struct attention_attributes a = {
		.scale = o->scale,
		.soft_cap = o->soft_cap,
		.window = o->window,
		.causal = o->causal,
		.page = (uint32_t)o->page,
	};
	struct tensor *in[ATT_INPUTS] = { q,
					  k,
					  v,
					  o->bias,
					  o->mask,
					  o->q_documents,
					  o->k_documents,
					  o->q_positions,
					  o->k_positions,
					  o->pages };
	int n = ATT_INPUTS;
	struct tensor *out;

	while (n > 3 && !in[n - 1])
		n--;
	out = graph_append(g, OP_ATTENTION, in, n, &a);
	if (lse)
		*lse = out ? out->node->out[1] : NULL;
	return out;
}

int shape_kv_write(struct graph *g, struct node *n)
{
	const struct tensor *cache = n->in[0], *x = n->in[1], *slots = n->in[2];

	if (cache->shape.n != 3 || x->shape.n != 3 || cache->shape.at[1] != x->shape.at[1] ||
	    cache->shape.at[2] != x->shape.at[2] || slots->dtype != DTYPE_I32 ||
	    slots->shape.n != 1 || slots->shape.at[0] != x->shape.at[0])
		return node_error(g, n, "rows of %s at %s %s of a cache of %s",
				  shape_string(&x->shape), dtype_name(slots->dtype),
				  shape_string(&slots->shape), shape_string(&cache->shape));
	if (dtype_info(cache->dtype)->block > 1 &&
	    (cache->dtype != DTYPE_Q8_0 || cache->shape.at[2] % dtype_info(cache->dtype)->block))
		return node_error(g, n, "a cache of %s with rows of %zu", dtype_name(cache->dtype),
				  cache->shape.at[2]);
	return node_output_in_place(g, n, 0) ? 0 : -1;
}

struct tensor *op_kv_write(struct graph *g, struct tensor *cache, struct tensor *x,
			   struct tensor *slots)
{
	return graph_append(g, OP_KV_WRITE, (struct tensor *[]){ cache, x, slots }, 3, NULL);
}

/* --- losses over a vocabulary --- */

/* x [T, D], w [V, D], bias [V] at operand BIAS */
static int check_head(struct graph *g, struct node *n, int bias)
{
	const struct tensor *x = n->in[0], *w = n->in[1], *b = operand(n, bias);

	if (x->shape.n != 2 || w->shape.n != 2 || x->shape.at[1] != w->shape.at[1])
		return node_error(g, n, "x %s by w %s", shape_string(&x->shape),
				  shape_string(&w->shape));
	if (b && (b->shape.n != 1 || b->shape.at[0] != w->shape.at[0]))
		return node_error(g, n, "a bias of %s for w %s", shape_string(&b->shape),
				  shape_string(&w->shape));
	return 0;
}

static int check_targets(struct graph *g, struct node *n)
{
	const struct tensor *targets = n->in[2];

	if (targets->dtype != DTYPE_I32 || targets->shape.n != 1 ||
	    targets->shape.at[0] != n->in[0]->shape.at[0])
		return node_error(g, n, "targets %s %s for x %s", dtype_name(targets->dtype),
				  shape_string(&targets->shape), shape_string(&n->in[0]->shape));
	return 0;
}

static int check_teacher(struct graph *g, struct node *n)
{
	const struct tensor *p = n->in[2], *ids = n->in[3];

	if (p->shape.n != 2 || p->shape.at[0] != n->in[0]->shape.at[0] || ids->dtype != DTYPE_I32 ||
	    !shape_equal(&p->shape, &ids->shape))
		return node_error(g, n, "a teacher's %s at ids %s %s for x %s",
				  shape_string(&p->shape), dtype_name(ids->dtype),
				  shape_string(&ids->shape), shape_string(&n->in[0]->shape));
	return 0;
}

static int per_token(struct graph *g, struct node *n, int results)
{
	for (int i = 0; i < results; i++)
		if (!node_output(g, n, graph_sum_dtype(n->in[0]->dtype),
				 &SHAPE(n->in[0]->shape.at[0])))
			return -1;
	return 0;
}

int shape_linear_ce(struct graph *g, struct node *n)
{
	const struct cross_entropy_attributes *a = n->attributes;

	if (check_head(g, n, 3) < 0 || check_targets(g, n) < 0)
		return -1;
	return per_token(g, n, a->entropy ? 3 : 2);
}

int shape_linear_kl(struct graph *g, struct node *n)
{
	if (check_head(g, n, 4) < 0 || check_teacher(g, n) < 0)
		return -1;
	return per_token(g, n, 2);
}

/* dx, dw and, where there is one, dbias */
static int head_gradients(struct graph *g, struct node *n, int bias)
{
	if (!node_output(g, n, n->in[0]->dtype, &n->in[0]->shape) ||
	    !node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &n->in[1]->shape))
		return -1;
	if (operand(n, bias) &&
	    !node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &operand(n, bias)->shape))
		return -1;
	return 0;
}

int shape_linear_ce_grad(struct graph *g, struct node *n)
{
	if (check_head(g, n, 5) < 0 || check_targets(g, n) < 0)
		return -1;
	return head_gradients(g, n, 5);
}

/* The sum, what linear_ce gives, and what linear_ce_grad gives for dloss = weights. */
int shape_linear_ce_sum(struct graph *g, struct node *n)
{
	const struct tensor *weights = n->in[3];

	if (check_head(g, n, 4) < 0 || check_targets(g, n) < 0)
		return -1;
	if (weights->shape.n != 1 || weights->shape.at[0] != n->in[0]->shape.at[0])
		return node_error(g, n, "weights %s for x %s", shape_string(&weights->shape),
				  shape_string(&n->in[0]->shape));
	if (!node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &SHAPE_SCALAR) ||
	    per_token(g, n, 2) < 0)
		return -1;
	return head_gradients(g, n, 4);
}

int shape_linear_kl_grad(struct graph *g, struct node *n)
{
	if (check_head(g, n, 6) < 0 || check_teacher(g, n) < 0)
		return -1;
	return head_gradients(g, n, 6);
}

static struct cross_entropy_attributes loss_attributes(const struct cross_entropy *o)
{
	return (struct cross_entropy_attributes){
		.smoothing = o->smoothing,
		.z_loss = o->z_loss,
		.soft_cap = o->soft_cap,
		.ignore = o->ignore,
		.entropy = o->entropy != NULL,
	};
}

static struct tensor *give_more(struct tensor *loss, const struct cross_entropy *o)
{
	if (o->lse)
		*o->lse = loss ? loss->node->out[1] : NULL;
	if (o->entropy)
		*o->entropy = loss && loss->node->n_out > 2 ? loss->node->out[2] : NULL;
	return loss;
}

struct tensor *op_linear_ce(struct graph *g, struct tensor *x, struct tensor *w,
			    struct tensor *targets, const struct cross_entropy *o)
{
	struct cross_entropy_attributes a = loss_attributes(o);

	return give_more(graph_append(g, OP_LINEAR_CE,
				      (struct tensor *[]){ x, w, targets, o->bias },
				      o->bias ? 4 : 3, &a),
			 o);
}

struct tensor *op_linear_ce_sum(struct graph *g, struct tensor *x, struct tensor *w,
				struct tensor *targets, struct tensor *weights,
				const struct cross_entropy *o, struct tensor **loss)
{
	struct cross_entropy_attributes a = loss_attributes(o);
	struct tensor *sum;

	a.entropy = 0;
	sum = graph_append(g, OP_LINEAR_CE_SUM,
			   (struct tensor *[]){ x, w, targets, weights, o->bias }, o->bias ? 5 : 4,
			   &a);
	if (loss)
		*loss = sum ? sum->node->out[1] : NULL;
	if (o->lse)
		*o->lse = sum ? sum->node->out[2] : NULL;
	return sum;
}

struct tensor *op_linear_kl(struct graph *g, struct tensor *x, struct tensor *w,
			    struct tensor *teacher, struct tensor *ids,
			    const struct cross_entropy *o)
{
	struct cross_entropy_attributes a = loss_attributes(o);

	return give_more(graph_append(g, OP_LINEAR_KL,
				      (struct tensor *[]){ x, w, teacher, ids, o->bias },
				      o->bias ? 5 : 4, &a),
			 o);
}

/* tests/op_cases_fused.c - cases of products, norms, attention, losses, optimizers */

#include "tests/op_cases.h"

/* --- products --- */

static void product(struct op_cases *c, struct shape a, struct shape b, bool bias, bool residual,
		    uint32_t activation)
{
	struct op_case *x = case_new(c, &(struct matmul_attributes){ .activation = activation });
	struct shape out = a.n > b.n ? a : b;

	case_floats(x, a, FILL_NORMAL);
	case_floats(x, b, FILL_NORMAL);
	if (bias)
		case_floats(x, SHAPE(b.at[b.n - 1]), FILL_NORMAL);
	else if (residual)
		case_none(x);
	out.at[out.n - 2] = a.at[a.n - 2];
	out.at[out.n - 1] = b.at[b.n - 1];
	if (residual)
		case_floats(x, out, FILL_NORMAL);
	/* Epilogues are made by the planner, after the gradient. */
	for (int i = 0; i < x->n_in && (residual || activation); i++)
		x->in[i].gradient = false;
}

/* Larger ones, whose results alone are looked at: several slices, panels, and blocks of rows and of columns. */
static void large(struct op_cases *c, struct shape a, struct shape b, bool bias)
{
	struct op_case *x =
		case_new(c, c->op == OP_MATMUL ? &(struct matmul_attributes){ 0 } : NULL);

	if (c->op == OP_MATMUL_ACC)
		case_fixed(x, SHAPE(a.at[0], b.at[1]), FILL_NORMAL);
	case_fixed(x, a, FILL_NORMAL);
	case_fixed(x, b, FILL_NORMAL);
	if (bias)
		case_fixed(x, SHAPE(b.at[b.n - 1]), FILL_NORMAL);
}

void cases_matmul(struct op_cases *c)
{
	product(c, SHAPE(5, 7), SHAPE(7, 3), false, false, 0);
	product(c, SHAPE(1, 33), SHAPE(33, 65), true, false, 0);
	product(c, SHAPE(17, 64), SHAPE(64, 31), false, true, 0);
	product(c, SHAPE(6, 16), SHAPE(16, 16), true, true, ACTIVATION_SILU);
	product(c, SHAPE(2, 5, 8), SHAPE(8, 9), false, false, 0);
	product(c, SHAPE(2, 5, 8), SHAPE(2, 8, 9), false, false, 0);
	product(c, SHAPE(3, 1, 4, 6), SHAPE(2, 6, 5), false, false, 0);
	product(c, SHAPE(4, 0), SHAPE(0, 3), false, false, 0);
	product(c, SHAPE(0, 4), SHAPE(4, 3), true, false, 0);
	for (uint32_t a = ACTIVATION_RELU; a <= ACTIVATION_TANH; a++)
		product(c, SHAPE(3, 9), SHAPE(9, 5), true, false, a);
	large(c, SHAPE(13, 330), SHAPE(330, 530), true);
	large(c, SHAPE(13, 650), SHAPE(650, 20), false);
	large(c, SHAPE(410, 9), SHAPE(9, 20), false);
	large(c, SHAPE(2, 3, 20, 33), SHAPE(2, 3, 33, 18), false);
}

void cases_matmul_acc(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(17, 31), FILL_NORMAL);
	case_floats(x, SHAPE(17, 40), FILL_NORMAL);
	case_floats(x, SHAPE(40, 31), FILL_NORMAL);
	large(c, SHAPE(200, 330), SHAPE(330, 40), false);
}

void cases_grouped_matmul(struct op_cases *c)
{
	struct op_case *x = case_new(c, &(struct matmul_attributes){ 0 });

	case_floats(x, SHAPE(11, 6), FILL_NORMAL);
	case_floats(x, SHAPE(3, 6, 5), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(4), FILL_OFFSETS, 0, 11);
	x = case_new(c, &(struct matmul_attributes){ 0 });
	case_floats(x, SHAPE(9, 4), FILL_NORMAL);
	case_floats(x, SHAPE(4, 4, 17), FILL_NORMAL);
	case_given(x, DTYPE_I32, 5, (double[]){ 0, 3, 3, 5, 7 }); /* an empty group, rows beyond */
	x = case_new(c, &(struct matmul_attributes){
				0 }); /* few rows and many, columns for several parts */
	case_fixed(x, SHAPE(61, 21), FILL_NORMAL);
	case_fixed(x, SHAPE(5, 21, 77), FILL_NORMAL);
	case_given(x, DTYPE_I32, 6, (double[]){ 2, 3, 31, 31, 50, 58 }); /* and before */
	x = case_new(c, &(struct matmul_attributes){ 0 }); /* that meet and fall, past both ends */
	case_fixed(x, SHAPE(20, 5), FILL_NORMAL);
	case_fixed(x, SHAPE(4, 5, 9), FILL_NORMAL);
	case_given(x, DTYPE_I32, 5, (double[]){ -3, 9, 4, 16, 40 });
}

void cases_grouped_matmul_dw(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(11, 6), FILL_NORMAL);
	case_floats(x, SHAPE(11, 5), FILL_NORMAL);
	case_given(x, DTYPE_I32, 4, (double[]){ 0, 4, 4, 10 });
	x = case_new(c, NULL);
	case_fixed(x, SHAPE(61, 21), FILL_NORMAL);
	case_fixed(x, SHAPE(61, 77), FILL_NORMAL);
	case_given(x, DTYPE_I32, 6, (double[]){ 2, 3, 31, 31, 50, 58 });
}

/* --- norms --- */

/* x, then weights, which are optional from the end. */
static void norm(struct op_cases *c, struct shape s, size_t channels, int weights,
		 struct norm_attributes a)
{
	struct op_case *x = case_new(c, &a);

	case_floats(x, s, FILL_NORMAL);
	for (int i = 0; i < weights; i++)
		case_floats(x, SHAPE(channels), FILL_NORMAL);
}

void cases_rms_norm(struct op_cases *c)
{
	norm(c, SHAPE(5, 33), 33, 1, (struct norm_attributes){ .eps = 1e-5 });
	norm(c, SHAPE(2, 3, 16), 16, 1, (struct norm_attributes){ .eps = 1e-6, .offset = 1 });
	norm(c, SHAPE(4, 7), 7, 0, (struct norm_attributes){ .eps = 1e-6 });
}

void cases_layer_norm(struct op_cases *c)
{
	for (int weights = 0; weights <= 2; weights++)
		norm(c, SHAPE(5, 33), 33, weights, (struct norm_attributes){ .eps = 1e-5 });
	norm(c, SHAPE(2, 3, 16), 16, 2, (struct norm_attributes){ .eps = 1e-6 });
}

void cases_group_norm(struct op_cases *c)
{
	norm(c, SHAPE(2, 6, 3, 5), 6, 2, (struct norm_attributes){ .eps = 1e-5, .groups = 3 });
	norm(c, SHAPE(3, 4, 7), 4, 0, (struct norm_attributes){ .eps = 1e-5, .groups = 1 });
	/* Planes of several runs. */
	norm(c, SHAPE(2, 4, 25, 43), 4, 2, (struct norm_attributes){ .eps = 1e-5, .groups = 2 });
	c->items[c->n - 1].in[0].gradient = false;
	c->items[c->n - 1].in[1].gradient = false;
	c->items[c->n - 1].in[2].gradient = false;
}

void cases_batch_norm(struct op_cases *c)
{
	norm(c, SHAPE(3, 4, 2, 5), 4, 2, (struct norm_attributes){ .eps = 1e-5 });
	norm(c, SHAPE(9, 5), 5, 0, (struct norm_attributes){ .eps = 1e-3 });
	norm(c, SHAPE(2, 2, 25, 43), 2, 1, (struct norm_attributes){ .eps = 1e-5 });
	c->items[c->n - 1].in[0].gradient = false;
	c->items[c->n - 1].in[1].gradient = false;
	cases_end(c, "moments are taken about the first element: infinity less infinity");
}

/* x, dy, then what else. */
static void norm_grad(struct op_cases *c, struct shape s, size_t channels, bool moments,
		      bool weight, struct norm_attributes a)
{
	struct op_case *x = case_new(c, &a);

	case_floats(x, s, FILL_NORMAL);
	case_floats(x, s, FILL_NORMAL);
	for (int i = 0; i < 2 && moments; i++)
		case_exact(x, DTYPE_F32, SHAPE(channels), FILL_POSITIVE, 0, 0);
	if (weight)
		case_floats(x, SHAPE(channels), FILL_NORMAL);
}

void cases_rms_norm_grad(struct op_cases *c)
{
	norm_grad(c, SHAPE(5, 33), 33, false, true, (struct norm_attributes){ .eps = 1e-5 });
	norm_grad(c, SHAPE(4, 7), 7, false, false, (struct norm_attributes){ .eps = 1e-5 });
	norm_grad(c, SHAPE(140, 3), 3, false, true, (struct norm_attributes){ .eps = 1e-5 });
}

void cases_layer_norm_grad(struct op_cases *c)
{
	norm_grad(c, SHAPE(5, 33), 33, false, true, (struct norm_attributes){ .eps = 1e-5 });
	norm_grad(c, SHAPE(4, 7), 7, false, false, (struct norm_attributes){ .eps = 1e-5 });
	norm_grad(c, SHAPE(140, 3), 3, false, true, (struct norm_attributes){ .eps = 1e-5 });
}

void cases_group_norm_grad(struct op_cases *c)
{
	norm_grad(c, SHAPE(2, 6, 3, 5), 6, false, true,
		  (struct norm_attributes){ .eps = 1e-5, .groups = 2 });
	norm_grad(c, SHAPE(2, 4, 25, 43), 4, false, true,
		  (struct norm_attributes){ .eps = 1e-5, .groups = 2 });
	cases_end(c, "what each element gets is one product, where ref subtracts infinities");
}

/* Whatever the moments: kernels take x's own. (Through batch_norm they are those of x.) */
void cases_batch_norm_grad(struct op_cases *c)
{
	norm_grad(c, SHAPE(3, 4, 2, 5), 4, true, true, (struct norm_attributes){ .eps = 1e-5 });
	norm_grad(c, SHAPE(9, 5), 5, true, false, (struct norm_attributes){ .eps = 1e-3 });
	norm_grad(c, SHAPE(2, 2, 25, 43), 2, true, true, (struct norm_attributes){ .eps = 1e-5 });
}

/* --- rope, attention --- */

static void rope(struct op_cases *c, struct shape s, size_t pairs, size_t axes,
		 struct rope_attributes a)
{
	struct op_case *x = case_new(c, &a);

	case_floats(x, s, FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(s.at[0], axes), axes > 1 ? FILL_IDS : FILL_COUNT, 0, 9);
	case_exact(x, DTYPE_F32, SHAPE(pairs), FILL_POSITIVE, 0, 0);
	if (axes > 1)
		case_exact(x, DTYPE_I32, SHAPE(pairs), FILL_IDS, 0, (int64_t)axes);
}

void cases_rope(struct op_cases *c)
{
	rope(c, SHAPE(5, 2, 8), 4, 1, (struct rope_attributes){ 0 });
	rope(c, SHAPE(5, 2, 8), 4, 1, (struct rope_attributes){ .interleaved = 1 });
	rope(c, SHAPE(3, 1, 20), 6, 1, (struct rope_attributes){ .scale = 1.25 });
	rope(c, SHAPE(4, 3, 12), 6, 3, (struct rope_attributes){ .inverse = 1 });
	/* More than a few vectors of pairs, far on. */
	for (uint32_t interleaved = 0; interleaved < 2; interleaved++) {
		rope(c, SHAPE(3, 1, 145), 70, 1,
		     (struct rope_attributes){ .interleaved = interleaved });
		c->items[c->n - 1].in[1].low = 1000000;
		c->items[c->n - 1].in[0].gradient = false;
	}
}

struct attention_case {
	size_t rows, keys, heads, groups, dim, value_dim;
	struct attention_attributes a;
	int bias; /* 1: of each head; 2: of all */
	bool mask;
	int documents; /* 1: in any order; 2: one after another */
	bool positions;
	size_t pages;
	int64_t back; /* that the queries' positions are before the last keys */
	bool large;   /* too much for differences */
};

static void attention_operands(struct op_case *x, const struct attention_case *o)
{
	size_t stored = o->pages ? o->pages * o->a.page : o->keys;

	case_floats(x, SHAPE(o->rows, o->heads, o->dim), FILL_NORMAL);
	case_floats(x, SHAPE(stored, o->groups, o->dim), FILL_NORMAL);
	case_floats(x, SHAPE(stored, o->groups, o->value_dim), FILL_NORMAL);
	if (o->bias)
		case_floats(x, SHAPE(o->bias == 2 ? 1 : o->heads, o->rows, o->keys), FILL_NORMAL);
	else
		case_none(x);
	if (o->mask)
		case_exact(x, DTYPE_U8, SHAPE(o->rows, (o->keys + 7) / 8), FILL_BITS, 0, 0);
	else
		case_none(x);
	for (int i = 0; i < 2; i++)
		if (o->documents)
			case_exact(x, DTYPE_I32, SHAPE(i ? o->keys : o->rows),
				   o->documents == 2 ? FILL_OFFSETS : FILL_IDS, 0,
				   o->documents == 2 ? 5 : 2);
		else
			case_none(x);
	for (int i = 0; i < 4; i++)
		x->in[i].gradient = x->in[i].gradient && !o->large;
	if (!o->positions && !o->pages)
		return;
	case_exact(x, DTYPE_I32, SHAPE(o->rows), FILL_COUNT, (int64_t)(o->keys - o->rows) - o->back,
		   0);
	case_exact(x, DTYPE_I32, SHAPE(o->keys), FILL_COUNT, 0, 0);
}

static const struct attention_case attentions[] = {
	{ 5, 5, 2, 2, 8, 8, { .causal = 1 }, 0, 0, 0, 0, 0, 0, 0 },
	{ 7, 7, 4, 2, 16, 8, { .causal = 1, .window = 3 }, 0, 0, 0, 0, 0, 0, 0 },
	{ 3, 9, 4, 1, 8, 24, { .scale = 0.5 }, 1, 0, 0, 0, 0, 0, 0 },
	{ 4, 11, 2, 1, 8, 8, { .soft_cap = 2 }, 0, 1, 0, 0, 0, 0, 0 },
	{ 6, 6, 2, 1, 33, 33, { .causal = 1 }, 0, 0, 1, 0, 0, 0, 0 },
	{ 3, 8, 2, 2, 8, 8, { .causal = 1, .soft_cap = 1.5 }, 1, 0, 0, 1, 0, 0, 0 },
};
/* Several tiles of queries and keys, the last not whole; tiles that none and that all see; queries that see nothing. */
static const struct attention_case large_attentions[] = {
	{ 21, 101, 10, 2, 4, 6, { .causal = 1 }, .large = true },
	{ 100, 100, 1, 1, 5, 3, { .causal = 1, .window = 9 }, .large = true },
	{ 97, 97, 1, 1, 4, 4, { .scale = 0.25 }, .documents = 2, .large = true },
	{ 7, 103, 2, 2, 4, 4, { .window = 60, .soft_cap = 3 }, .bias = 1, .large = true },
	{ 5, 200, 4, 2, 8, 4, { .causal = 1 }, .bias = 2, .large = true },
	{ 9, 130, 2, 1, 4, 20, { .scale = 1 }, .mask = true, .large = true },
	{ 6, 99, 2, 2, 4, 4, { .causal = 1 }, .positions = true, .back = 96, .large = true },
	{ 97, 97, 2, 2, 4, 4, { .causal = 1 }, .bias = 1, .large = true },
	/* Tiles of which the first queries do not see the last keys, or the last queries the first keys. */
	{ 56, 146, 2, 1, 4, 4, { .causal = 1 }, .large = true },
	{ 50, 146, 2, 1, 4, 4, { .causal = 1, .window = 140 }, .large = true },
};
#define N_ATTENTIONS (sizeof(attentions) / sizeof(attentions[0]))
#define N_LARGE	     (sizeof(large_attentions) / sizeof(large_attentions[0]))

void cases_attention(struct op_cases *c)
{
	struct attention_case paged = { 2, 8, 2, 1, 8, 8, { .causal = 1, .page = 4 },
					0, 0, 0, 1, 3, 0, 0 };
	/* A page that is not there. */
	struct attention_case holes = {
		24, 108, 4, 1, 4, 4, { .page = 36 }, .positions = true, .pages = 3, .large = true
	};
	/* More heads of keys than share the gradient's ranges: each takes several tiles. */
	struct attention_case many = { 3, 200, 6, 6, 4, 4, { .causal = 1 }, .large = true };
	/* Texts of which a tile of queries sees few tiles of keys. */
	struct attention_case texts = {
		300, 300, 1, 1, 4, 4, { .causal = 1 }, .documents = 2, .large = true
	};
	struct op_case *x;

	for (size_t i = 0; i < N_ATTENTIONS; i++)
		attention_operands(case_new(c, &attentions[i].a), &attentions[i]);
	x = case_new(c, &paged.a);
	attention_operands(x, &paged);
	case_given(x, DTYPE_I32, 2, (double[]){ 2, 0 });
	for (int i = 0; i < 3; i++)
		x->in[i].gradient = false; /* there is none through pages */
	for (size_t i = 0; i < N_LARGE; i++)
		attention_operands(case_new(c, &large_attentions[i].a), &large_attentions[i]);
	x = case_new(c, &holes.a);
	attention_operands(x, &holes);
	case_given(x, DTYPE_I32, 3, (double[]){ 2, -1, 0 });
	x = case_new(c, &many.a);
	attention_operands(x, &many);
	attention_operands(case_new(c, &texts.a), &texts);
}

/* dout, out and lse must belong together: the gradient is tested through attention. */
void cases_attention_grad(struct op_cases *c)
{
}

void cases_kv_write(struct op_cases *c)
{
	struct op_case *x = case_new(c, NULL);

	case_floats(x, SHAPE(9, 2, 5), FILL_NORMAL);
	case_floats(x, SHAPE(4, 2, 5), FILL_NORMAL);
	case_given(x, DTYPE_I32, 4, (double[]){ 3, -1, 8, 0 });
}

/* --- losses over a vocabulary --- */

static void loss(struct op_cases *c, size_t rows, size_t vocab, size_t width, bool bias,
		 struct cross_entropy_attributes a)
{
	struct op_case *x = case_new(c, &a);

	case_floats(x, SHAPE(rows, width), FILL_NORMAL);
	case_floats(x, SHAPE(vocab, width), FILL_NORMAL);
	case_exact(x, DTYPE_I32, SHAPE(rows), FILL_IDS, 0, (int64_t)vocab);
	if (bias)
		case_floats(x, SHAPE(vocab), FILL_NORMAL);
}

/* Several blocks of rows and of words, with tails; a width of several vectors, and of several panels. */
static const struct {
	size_t rows, vocab, width;
} heads[] = { { 245, 390, 3 }, { 3, 790, 2 }, { 970, 3, 2 }, { 4, 9, 37 }, { 3, 5, 300 } };
#define N_HEADS (sizeof(heads) / sizeof(heads[0]))

static struct cross_entropy_attributes head_attributes(size_t i)
{
	return (struct cross_entropy_attributes){ .smoothing = i % 2 ? 0.1 : 0,
						  .soft_cap = i > 2 ? 3 : 0,
						  .z_loss = i == 0 ? 0.01 : 0,
						  .ignore = 1,
						  .entropy = 1 };
}

static void no_gradient(struct op_case *x)
{
	for (int i = 0; i < x->n_in; i++)
		x->in[i].gradient = false;
}

void cases_linear_ce(struct op_cases *c)
{
	loss(c, 5, 17, 8, false, (struct cross_entropy_attributes){ .ignore = -100 });
	loss(c, 7, 33, 6, true, (struct cross_entropy_attributes){ .ignore = 3, .z_loss = 0.01 });
	loss(c, 4, 9, 5, false,
	     (struct cross_entropy_attributes){
		     .smoothing = 0.1, .soft_cap = 3, .ignore = -100, .entropy = 1 });
	for (size_t i = 0; i < N_HEADS; i++) {
		loss(c, heads[i].rows, heads[i].vocab, heads[i].width, i % 2 == 0,
		     head_attributes(i));
		no_gradient(&c->items[c->n - 1]);
	}
	/* Logits all far below 0. */
	loss(c, 3, 5, 4, false, (struct cross_entropy_attributes){ .ignore = -100 });
	case_given(&c->items[c->n - 1], DTYPE_F32, 5, (double[]){ -100, -140, -120, -130, -110 });
	no_gradient(&c->items[c->n - 1]);
	cases_end(c, "of words that are all at minus infinity nothing is said");
}

/* Any log-sum-exp serves, and so it need not be theirs. */
static void loss_grad(struct op_cases *c, size_t rows, size_t vocab, size_t width, bool bias,
		      struct cross_entropy_attributes a)
{
	struct op_case *x;

	loss(c, rows, vocab, width, false, a);
	x = &c->items[c->n - 1];
	case_exact(x, DTYPE_F32, SHAPE(rows), FILL_IDS, 6, 9);
	case_exact(x, DTYPE_F32, SHAPE(rows), FILL_NORMAL, 0, 0);
	if (bias)
		case_floats(x, SHAPE(vocab), FILL_NORMAL);
	no_gradient(x);
}

void cases_linear_ce_grad(struct op_cases *c)
{
	loss_grad(c, 5, 17, 8, true,
		  (struct cross_entropy_attributes){ .ignore = 3, .z_loss = 0.01 });
	for (size_t i = 0; i < N_HEADS; i++)
		loss_grad(c, heads[i].rows, heads[i].vocab, heads[i].width, i % 2 == 0,
			  head_attributes(i));
	cases_spread(c, "slopes of 0, of words without a chance, are multiplied by infinite states "
			"and words");
}

/* Both at once: weights where linear_ce_grad has a dloss. Several groups of rows too. */
static void loss_sum(struct op_cases *c, size_t rows, size_t vocab, size_t width, bool bias,
		     struct cross_entropy_attributes a)
{
	struct op_case *x;

	a.entropy = 0;
	loss(c, rows, vocab, width, false, a);
	x = &c->items[c->n - 1];
	/* Few rows are tried with huge values, whose sum must not cancel. */
	case_exact(x, DTYPE_F32, SHAPE(rows), rows < 10 ? FILL_POSITIVE : FILL_NORMAL, 0, 0);
	if (bias)
		case_floats(x, SHAPE(vocab), FILL_NORMAL);
}

void cases_linear_ce_sum(struct op_cases *c)
{
	loss_sum(c, 5, 17, 8, false, (struct cross_entropy_attributes){ .ignore = -100 });
	loss_sum(c, 7, 33, 6, true,
		 (struct cross_entropy_attributes){ .ignore = 3, .z_loss = 0.01 });
	loss_sum(c, 4, 9, 5, false,
		 (struct cross_entropy_attributes){
			 .smoothing = 0.1, .soft_cap = 3, .ignore = -100 });
	for (size_t i = 0; i < N_HEADS; i++) {
		loss_sum(c, heads[i].rows, heads[i].vocab, heads[i].width, i % 2 == 0,
			 head_attributes(i));
		no_gradient(&c->items[c->n - 1]);
	}
	cases_spread(c, "slopes of 0, of words without a chance, are multiplied by infinite states "
			"and words");
}

static void from_teacher(struct op_cases *c, size_t rows, size_t vocab, size_t kept, bool bias)
{
	struct op_case *x = case_new(c, &(struct cross_entropy_attributes){ 0 });

	case_floats(x, SHAPE(rows, 6), FILL_NORMAL);
	case_floats(x, SHAPE(vocab, 6), FILL_NORMAL);
	case_fixed(x, SHAPE(rows, kept), FILL_LOGS);
	case_exact(x, DTYPE_I32, SHAPE(rows, kept), FILL_COUNT, 0, 0);
	/* Each row keeps the first words; a count past the vocabulary ends it. */
	if (bias)
		case_floats(x, SHAPE(vocab), FILL_NORMAL);
}

/* Ids in any order, some twice; with a bias the words in their order, and rows of which none is kept. */
static void teacher_of_head(struct op_cases *c, size_t i, bool gradient)
{
	struct op_case *x =
		case_new(c, &(struct cross_entropy_attributes){ .soft_cap = i > 2 ? 3 : 0 });
	size_t rows = heads[i].rows, vocab = heads[i].vocab;
	enum operand_fill fill = i % 2 ? FILL_COUNT : FILL_IDS;

	case_fixed(x, SHAPE(rows, heads[i].width), FILL_NORMAL);
	case_fixed(x, SHAPE(vocab, heads[i].width), FILL_NORMAL);
	case_fixed(x, SHAPE(rows, 5), FILL_LOGS);
	case_exact(x, DTYPE_I32, SHAPE(rows, 5), fill, 0, (int64_t)vocab);
	if (gradient) {
		case_exact(x, DTYPE_F32, SHAPE(rows), FILL_IDS, 6, 9);
		case_exact(x, DTYPE_F32, SHAPE(rows), FILL_NORMAL, 0, 0);
	}
	if (i % 2)
		case_fixed(x, SHAPE(vocab), FILL_NORMAL);
}

void cases_linear_kl(struct op_cases *c)
{
	from_teacher(c, 1, 9, 4, false);
	from_teacher(c, 3, 13, 4, true);
	for (size_t i = 0; i < N_HEADS; i++)
		teacher_of_head(c, i, false);
}

void cases_linear_kl_grad(struct op_cases *c)
{
	for (size_t i = 0; i < N_HEADS; i++)
		teacher_of_head(c, i, true);
	cases_spread(c, "slopes of 0, of words without a chance, are multiplied by infinite states "
			"and words");
}

/* --- updates in place --- */

static void updated_from(struct op_cases *c, struct shape s, enum operand_fill fill, int tensors,
			 size_t scalars, const double *h, const void *attributes)
{
	struct op_case *x = case_new(c, attributes);

	for (int i = 0; i < tensors; i++)
		case_floats(x, s, fill);
	if (scalars)
		case_given(x, DTYPE_F32, scalars, h);
}

/* The second shape is more than one run of elements. */
static void updated(struct op_cases *c, int tensors, size_t scalars, const double *h,
		    const void *attributes)
{
	updated_from(c, SHAPE(5, 33), FILL_POSITIVE, tensors, scalars, h, attributes);
	updated_from(c, SHAPE(9, 97), FILL_POSITIVE, tensors, scalars, h, attributes);
}

void cases_accumulate(struct op_cases *c)
{
	updated(c, 2, 0, NULL, NULL);
}

void cases_scale_by(struct op_cases *c)
{
	updated(c, 1, 1, (double[]){ 0.75 }, NULL);
}

void cases_ema(struct op_cases *c)
{
	updated(c, 2, 1, (double[]){ 0.875 }, NULL);
}

static const struct optimizer_attributes optimizer = {
	.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1
};

void cases_optimizer1(struct op_cases *c)
{
	struct optimizer_attributes a = optimizer;

	updated(c, 3, 2, (double[]){ 0.0625, 0.5 }, &a);
	a.nesterov = 1;
	updated(c, 3, 2, (double[]){ 0.0625, 0.5 }, &a);
	updated_from(c, SHAPE(3, 11), FILL_NORMAL, 3, 2, (double[]){ 0.0625, 0.5 }, &a);
}

void cases_optimizer2(struct op_cases *c)
{
	updated(c, 4, 4, (double[]){ 0.0625, 0.5, 0.125, 0.0625 }, &optimizer);
}

void cases_adamw8(struct op_cases *c)
{
	struct op_case *x = case_new(c, &optimizer);

	case_floats(x, SHAPE(3, 100), FILL_NORMAL);
	case_exact(x, DTYPE_I8, SHAPE(3, 100), FILL_IDS, -127, 128);
	case_exact(x, DTYPE_U8, SHAPE(3, 100), FILL_IDS, 0, 256);
	case_given(x, DTYPE_F32, 2, (double[]){ 0.5, 0.25 });
	case_given(x, DTYPE_F32, 2, (double[]){ 0.75, 1.5 });
	case_floats(x, SHAPE(3, 100), FILL_NORMAL);
	case_given(x, DTYPE_F32, 4, (double[]){ 0.0625, 0.5, 0.125, 0.0625 });
}

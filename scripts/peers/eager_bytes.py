"""Counts the bytes that eager PyTorch moves for the example models of census(1).

    eager_bytes.py KIND TOKENS WIDTH FFN LAYERS HEADS KV_HEADS VOCAB DTYPE TRAIN [CALLS]

Every operator that reaches the dispatcher reads its operands and writes its results; views move nothing. Prints two
numbers: calls and bytes. With CALLS given, a line an operator as well. The block is written as the Transformers library writes it
for LLaMA; products, attention, silu and the cross-entropy are PyTorch's own.
"""

import collections
import sys

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


def storage_bytes(t):
    n = 1
    for size, stride in zip(t.shape, t.stride()):
        if stride != 0:
            n *= size
    return n * t.element_size() if t.numel() else 0


class Count(TorchDispatchMode):
    """A call whose result lies in the memory of an operand, and that is not in place, is a view."""

    def __init__(self):
        super().__init__()
        self.rows = collections.OrderedDict()

    @staticmethod
    def read(base, ins, outs):
        """Of a table by index, what the indices name; of a shape alone, nothing."""
        if base == "embedding":
            return storage_bytes(outs[0]) + storage_bytes(ins[1])
        if base == "nll_loss_forward":
            return ins[1].numel() * ins[0].element_size() + storage_bytes(ins[1])
        if base == "nll_loss_backward":
            return storage_bytes(ins[0]) + storage_bytes(ins[2]) + storage_bytes(ins[3])
        return sum(map(storage_bytes, ins))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        ins = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        where = {t.untyped_storage().data_ptr() for t in ins if t.numel()}
        name = str(func).removeprefix("aten.")
        base = name.split(".")[0]
        same = [t for t in outs if t.numel() and t.untyped_storage().data_ptr() in where]
        if same and not base.endswith("_"):
            return out
        if base in ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach"):
            return out
        row = self.rows.setdefault(base, [0, 0])
        row[0] += 1
        row[1] += sum(map(storage_bytes, outs)) + self.read(base, ins, outs)
        return out


def rms_norm(x, w):
    dtype = x.dtype
    h = x.to(torch.float32)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)
    return w * h.to(dtype)


def rotate_half(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-b, a), dim=-1)


def rope(x, cos, sin):
    return x * cos + rotate_half(x) * sin


class Block:
    def __init__(self, width, ffn, heads, kv_heads, dtype):
        dim = width // heads
        made = lambda *shape: torch.randn(*shape).mul_(shape[-1] ** -0.5).to(dtype).requires_grad_()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, dim
        self.n1 = torch.ones(width, dtype=dtype, requires_grad=True)
        self.n2 = torch.ones(width, dtype=dtype, requires_grad=True)
        self.q, self.k, self.v = made(heads * dim, width), made(kv_heads * dim, width), made(kv_heads * dim, width)
        self.o = made(width, width)
        self.gate, self.up, self.down = made(ffn, width), made(ffn, width), made(width, ffn)

    def __call__(self, x, cos, sin):
        h = rms_norm(x, self.n1)
        split = lambda y, n: y.view(1, -1, n, self.dim).transpose(1, 2)
        q = rope(split(F.linear(h, self.q), self.heads), cos, sin)
        k = rope(split(F.linear(h, self.k), self.kv_heads), cos, sin)
        v = split(F.linear(h, self.v), self.kv_heads)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        a = a.transpose(1, 2).reshape(1, -1, self.heads * self.dim)
        x = x + F.linear(a, self.o)
        h = rms_norm(x, self.n2)
        return x + F.linear(F.silu(F.linear(h, self.gate)) * F.linear(h, self.up), self.down)


def build(kind, tokens, width, ffn, layers, heads, kv_heads, vocab, dtype):
    ids = torch.randint(0, vocab or 1, (1, tokens))
    target = torch.randint(0, vocab, (tokens,)) if vocab else torch.randn(1, tokens, width)
    made = lambda *shape: torch.randn(*shape).mul_(shape[-1] ** -0.5).to(dtype).requires_grad_()
    x = torch.randn(1, tokens, width).to(dtype)
    table = made(vocab, width) if vocab else None
    if kind == "block":
        dim = width // heads
        angle = torch.arange(tokens)[:, None] * torch.cat([10000.0 ** (-torch.arange(dim // 2) / (dim / 2))] * 2)
        cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
        blocks = [Block(width, ffn, heads, kv_heads, dtype) for _ in range(layers)]

        def body(h):
            for b in blocks:
                h = b(h, cos, sin)
            return h

        last = width
    else:
        hidden = layers - (vocab == 0)
        sizes = [width] + [ffn] * hidden + ([] if vocab else [width])
        ws = [(made(o, i), made(1, o).detach().view(o).requires_grad_()) for i, o in zip(sizes, sizes[1:])]

        def body(h):
            for i, (w, b) in enumerate(ws):
                h = F.linear(h, w, b)
                h = F.gelu(h) if i < hidden else h
            return h

        last = sizes[-1]
    head = made(vocab, last) if vocab else None

    def run(train):
        y = body(F.embedding(ids, table) if vocab else x)
        if not train:
            return
        if vocab:
            loss = F.cross_entropy(F.linear(y, head).float().view(tokens, vocab), target)
        else:
            loss = F.mse_loss(y.float(), target)
        loss.backward()

    return run


def main():
    kind, dtype, train = sys.argv[1], getattr(torch, {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}[sys.argv[9]]), int(sys.argv[10])
    torch.manual_seed(0)
    run = build(kind, *map(int, sys.argv[2:9]), dtype)
    with Count() as count, torch.set_grad_enabled(bool(train)):
        run(train)
    print(sum(n for n, _ in count.rows.values()), sum(b for _, b in count.rows.values()))
    if len(sys.argv) > 11:
        for name, (n, b) in count.rows.items():
            print(f"{name}\t{n}\t{b}")


main()

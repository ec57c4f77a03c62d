"""logits_of.py transformers|transformers-f32|llama MODEL [GOLDEN OUT]... - what a peer says of tokens, as compare-logits reads it

GOLDEN is a file of make-golden: its windows of tokens are read, its logits are not. OUT is like it (logits(5)), with the logits of
`transformers`: MODEL's weights, dequantized, in float64 throughout (what it rounds to float32 on the way is not), of `transformers-f32`: the same
in float32, or of `llama`: llama.cpp as it comes, or with `llama-f32` as the engine's name, with keys and values kept in f32. More pairs of GOLDEN and OUT may follow: the model is opened once.
Without any, pairs come by stdin, a line each, and a line on stdout tells that one was written.

logits_of.py greedy MODEL N ENDS ID... - how many of the IDs after the first N are the likeliest ones by transformers, each after all before it,
but for ENDS, ids with commas between
"""
import json
import mmap
import os
import struct
import sys

import numpy

WIDTHS = {'U64': numpy.uint64, 'U32': numpy.uint32}


def read(path):
    """The windows of PATH, each an array of ids, and its metadata."""
    with open(path, 'rb') as f:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    size, = struct.unpack('<Q', data[:8])
    header = json.loads(data[8:8 + size])

    def tensor(name):
        begin, end = header[name]['data_offsets']
        return numpy.frombuffer(data[8 + size + begin:8 + size + end], WIDTHS[header[name]['dtype']])

    starts, ids = tensor('starts'), tensor('ids')
    return [ids[a:b].astype(numpy.int64) for a, b in zip(starts, starts[1:])], header['logits']['shape'][1], header['__metadata__']


def write(path, windows, vocab, metadata, rows_of):
    """PATH with the rows that ROWS_OF makes of each window."""
    starts = numpy.cumsum([0] + [len(w) for w in windows]).astype(numpy.uint64)
    ids = numpy.concatenate(windows).astype(numpy.uint32)
    header, at = {'__metadata__': metadata}, 0
    for name, kind, shape, width in (('starts', 'U64', starts.shape, 8), ('ids', 'U32', ids.shape, 4), ('logits', 'F32', (len(ids), vocab), 4)):
        end = at + width * int(numpy.prod(shape))
        header[name], at = {'dtype': kind, 'shape': shape, 'data_offsets': [at, end]}, end
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path + '.part', 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + starts.tobytes() + ids.tobytes())
        for window in windows:
            rows = rows_of(window)
            assert rows.shape == (len(window), vocab), (rows.shape, vocab)
            f.write(numpy.ascontiguousarray(rows, numpy.float32))
    os.rename(path + '.part', path)


def transformers_rows(model, exact=True):
    """In float32, or EXACT: in float64, also where the code of the model says float32 (norms, angles, softmax)."""
    import torch
    import transformers
    torch.set_num_threads(int(os.environ.get('OMP_NUM_THREADS', '1')))
    place = (model, {}) if os.path.isdir(model) else (os.path.dirname(model), {'gguf_file': os.path.basename(model)})
    lm = transformers.AutoModelForCausalLM.from_pretrained(place[0], dtype=torch.float32, attn_implementation='eager', **place[1]).eval()
    if exact:
        lm.double()
        torch.Tensor.float, torch.float, torch.float32 = torch.Tensor.double, torch.float64, torch.float64

    def rows(window):
        with torch.no_grad():
            return lm(input_ids=torch.from_numpy(window)[None]).logits[0].numpy()
    return rows


def llama_rows(model, longest, **options):
    import llama_cpp
    lm = llama_cpp.Llama(model, n_ctx=max(64, longest), n_batch=512, n_threads=int(os.environ.get('OMP_NUM_THREADS', '1')),
                         n_threads_batch=int(os.environ.get('OMP_NUM_THREADS', '1')), logits_all=True, verbose=False, **options)

    def rows(window):
        lm.reset()
        lm.eval(window.tolist())
        return lm.scores[:len(window)]
    return rows


def answer(engine, rows, golden, out):
    windows, vocab, metadata = read(golden)
    torch_computes = {'transformers': 'f64', 'transformers-f32': 'f32'}
    metadata.update(compute=torch_computes.get(engine, 'rounded'), model_name=engine, kernels=engine,
                    cache='none' if engine in torch_computes else engine)
    write(out, windows, vocab, metadata, rows)


def main():
    engine, model, *files = sys.argv[1:]
    if engine == 'greedy':
        first, ids = int(files[0]), numpy.array(files[2:], numpy.int64)
        rows = transformers_rows(model)(ids)
        rows[:, [int(i) for i in files[1].split(',') if i]] = -numpy.inf
        print((rows.argmax(1)[first - 1:-1] == ids[first:]).sum())
        return
    longest = max((len(w) for golden in files[::2] for w in read(golden)[0]), default=512)
    if engine.startswith('transformers'):
        rows = transformers_rows(model, exact=engine == 'transformers')
    else:
        rows = llama_rows(model, longest, **(dict(type_k=0, type_v=0, flash_attn=False) if engine == 'llama-f32' else {}))  # 0: GGML_TYPE_F32
    for golden, out in zip(files[::2], files[1::2]):
        answer(engine, rows, golden, out)
    for line in sys.stdin if not files else ():
        answer(engine, rows, *line.split())
        print('written', flush=True)


main()

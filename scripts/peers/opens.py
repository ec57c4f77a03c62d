"""Whether the formats' own packages open what we write, and hold the same in it.

usage: opens.py folder ORIGINAL COPY...       transformers opens both Hugging Face folders of each pair: equal weights
       opens.py safetensors FILE...           safetensors reads FILE and writes it again: equal bytes
       opens.py npy FILE SHAPE DTYPE SHA256   NumPy reads it; of its data's bytes the sum
"""
import hashlib
import sys


def folder(*paths):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    for pair in zip(paths[::2], paths[1::2]):
        states = []
        for path in pair:
            torch.manual_seed(0)  # of weights that the files do not have, such as a pooler
            states.append(transformers.AutoModel.from_pretrained(path).state_dict())
        a, b = states
        assert a.keys() == b.keys() and len(a) > 0, 'unlike tensors: %s, %s' % pair
        for name in a:
            assert a[name].dtype == b[name].dtype and torch.equal(a[name], b[name]), '%s: %s' % (pair[1], name)


def safetensors(*paths):
    from safetensors import safe_open
    from safetensors.torch import save
    for path in paths:
        f = safe_open(path, 'pt')
        written = save({name: f.get_tensor(name) for name in f.keys()}, metadata=f.metadata())
        assert written == open(path, 'rb').read(), path + ': other bytes'


def npy(path, shape, dtype, digest):
    import numpy as np
    a = np.load(path)
    assert str(a.shape) == shape and a.dtype.str == dtype, (a.shape, a.dtype.str)
    assert hashlib.sha256(a.tobytes()).hexdigest() == digest, 'other values'


globals()[sys.argv[1]](*sys.argv[2:])

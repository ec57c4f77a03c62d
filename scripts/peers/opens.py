"""Whether the formats' own packages open what we write, and hold the same in it.

usage: opens.py folder ORIGINAL COPY          transformers opens both Hugging Face folders: equal weights
       opens.py safetensors FILE              safetensors reads FILE and writes it again: equal bytes
       opens.py npy FILE SHAPE DTYPE SHA256   NumPy reads it; of its data's bytes the sum
"""
import hashlib
import sys


def folder(original, copy):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    states = []
    for path in (original, copy):
        torch.manual_seed(0)  # of weights that the files do not have, such as a pooler
        states.append(transformers.AutoModel.from_pretrained(path).state_dict())
    a, b = states
    assert a.keys() == b.keys() and len(a) > 0, 'unlike tensors'
    for name in a:
        assert a[name].dtype == b[name].dtype and torch.equal(a[name], b[name]), name


def safetensors(path):
    from safetensors import safe_open
    from safetensors.torch import save
    f = safe_open(path, 'pt')
    written = save({name: f.get_tensor(name) for name in f.keys()}, metadata=f.metadata())
    assert written == open(path, 'rb').read(), 'other bytes'


def npy(path, shape, dtype, digest):
    import numpy as np
    a = np.load(path)
    assert str(a.shape) == shape and a.dtype.str == dtype, (a.shape, a.dtype.str)
    assert hashlib.sha256(a.tobytes()).hexdigest() == digest, 'other values'


globals()[sys.argv[1]](*sys.argv[2:])

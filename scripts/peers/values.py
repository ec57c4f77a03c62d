"""Whether every tensor of a file holds, as f32, the bits that the format's own package makes of another's.

usage: values.py ORIGINAL COPY     both GGUF: COPY has every type that gguf-py decodes as f32, integers as they were
"""
import sys

import gguf
import numpy as np
from gguf.quants import dequantize

original, copy = (gguf.GGUFReader(path) for path in sys.argv[1:3])
there = {t.name: t for t in copy.tensors}
different = 0
for t in original.tensors:
    got = there.pop(t.name)
    integer = t.tensor_type.name.startswith('I') and t.tensor_type.name[1:].isdigit()
    want = t.data if integer else dequantize(t.data, t.tensor_type).astype(np.float32)
    same = np.array_equal(np.ascontiguousarray(want).view(np.uint8).ravel(), np.ascontiguousarray(got.data).view(np.uint8).ravel())
    if not same:
        different += 1
        print('%s (%s) differs' % (t.name, t.tensor_type.name))
if there:
    different += 1
    print('not in the original: ' + ', '.join(there))
print('%d tensors, %d differ' % (len(original.tensors), different))
sys.exit(different != 0)

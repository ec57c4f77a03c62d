"""What the formats' own packages say of a model, printed as show-model prints it.

usage: listing.py tensors|metadata MODEL...     (gguf 0.19.0, safetensors 0.8.0)

`tensors` is `show-model -t`, `metadata` is `show-model -m -n 0`: so `diff` compares them. Offsets of safetensors are
computed from the header, since the package does not give them. gguf-py flattens arrays of arrays, so those keys
are left out.
"""
import json
import struct
import sys

import numpy as np


def printable(c):
    n = ord(c)
    return not (n < 32 or 0x7F <= n < 0xA0 or n in (0x2028, 0x2029) or 0x202A <= n <= 0x202E or 0x2066 <= n <= 0x2069)


SHORT = {'\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\'}


def quote(raw):
    out = []
    for c in raw.decode('utf-8', 'surrogateescape'):
        if c in SHORT:
            out.append(SHORT[c])
        elif 0xDC80 <= ord(c) <= 0xDCFF:
            out.append('\\x%02x' % (ord(c) - 0xDC00))
        elif printable(c):
            out.append(c)
        else:
            out.append(''.join('\\x%02x' % b for b in c.encode()))
    return '"' + ''.join(out) + '"'


def name(raw):
    quoted = quote(raw)
    return quoted if raw == b'' or b' ' in raw or quoted != '"' + raw.decode('utf-8', 'replace') + '"' else quoted[1:-1]


def number(v):
    """The shortest digits that read back, fixed up to 10^16, else with an exponent."""
    if np.isnan(v):
        return 'nan'
    if np.isinf(v):
        return 'inf' if v > 0 else '-inf'
    text = np.format_float_scientific(v, unique=True, trim='-')
    mantissa, exponent = text.split('e')
    exponent = int(exponent)
    if v == 0 or -5 < exponent < 16:
        return np.format_float_positional(v, unique=True, trim='-')
    return '%se%d' % (mantissa, exponent)


def table(headings, rows):
    sys.stdout.write('\t'.join(headings) + '\n')
    for row in rows:
        sys.stdout.write('\t'.join(str(cell) for cell in row) + '\n')


def shape(dims):
    return 'x'.join(str(int(d)) for d in dims) if len(dims) else 'scalar'


# --- GGUF ---

TYPES = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'string', 'array', 'u64', 'i64', 'f64']


def gguf_tensors(path):
    import gguf
    for t in gguf.GGUFReader(path).tensors:
        yield (name(t.name.encode()), t.tensor_type.name.lower(), shape(t.shape[::-1]), t.n_bytes, t.data_offset)


def scalar(kind, part):
    if kind == 'string':
        return quote(bytes(part))
    value = part[0]
    if kind == 'bool':
        return 'true' if value else 'false'
    return number(value) if kind in ('f32', 'f64') else str(int(value))


def gguf_metadata(path):
    import gguf
    for key, field in gguf.GGUFReader(path).fields.items():
        if key.startswith('GGUF.'):
            continue
        kinds = [TYPES[int(t)] for t in field.types]
        if len(kinds) > 2:
            continue
        if kinds[0] == 'array':
            inner = kinds[1] if len(kinds) > 1 else '?'
            items = [scalar(inner, field.parts[i]) for i in field.data]
            yield (name(key.encode()), '%s[%d]' % (inner, len(items)), '[' + ', '.join(items) + ']')
        else:
            yield (name(key.encode()), kinds[0], scalar(kinds[0], field.parts[field.data[0]]))


# --- safetensors ---

def header(path):
    with open(path, 'rb') as f:
        size = struct.unpack('<Q', f.read(8))[0]
        return 8 + size, json.loads(f.read(size))


def safetensors_tensors(path):
    from safetensors import safe_open
    start, names = header(path)
    f = safe_open(path, 'np')
    rows = []
    for key in f.keys():
        piece = f.get_slice(key)
        begin, end = names[key]['data_offsets']
        rows.append((start + begin, (name(key.encode()), piece.get_dtype().lower(), shape(piece.get_shape()), end - begin, start + begin)))
    return [row for _, row in sorted(rows)]


def safetensors_metadata(path):
    from safetensors import safe_open
    for key, value in (safe_open(path, 'np').metadata() or {}).items():
        yield (name(key.encode()), 'string', quote(value.encode()))


def main():
    what, paths = sys.argv[1], sys.argv[2:]
    for path in paths:
        kind = 'gguf' if open(path, 'rb').read(4) == b'GGUF' else 'safetensors'
        if what == 'tensors':
            table(['name', 'dtype', 'shape', 'bytes', 'offset'], globals()[kind + '_tensors'](path))
        else:
            table(['key', 'type', 'value'], globals()[kind + '_metadata'](path))


main()

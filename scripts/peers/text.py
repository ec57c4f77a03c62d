"""Text for comparisons: real documents in several languages from Debian's packages, and random Unicode strings.

usage: text.py KIND MB OUT.jsonl       KIND: english source cjk european mixed random (of random, MB is thousands of strings)

The packages are fetched with apt-get and unpacked into $NNUTILS_TEXT, or nnutils/text under $XDG_CACHE_HOME (~/.cache);
nothing is installed. The same kind and size give the same documents: one a line, `{"text": ...}`, of 20 bytes to 1 MB, cut at
ends of lines.
"""
import gzip
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tarfile

CACHE = pathlib.Path(os.environ.get('NNUTILS_TEXT') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'nnutils', 'text'))

# package: the endings of the files in it that are text
KINDS = {
    'english': {'linux-doc-6.1': ('.rst.gz', '.txt.gz')},
    'source': {'linux-source-6.1': ('.c', '.h', '.S', 'Makefile', 'Kconfig', '.py', '.sh', '.pl', '.rs')},
    'cjk': {'manpages-ja': ('.gz',), 'manpages-zh': ('.gz',), 'debian-reference-ja': ('.html',), 'debian-reference-zh-cn': ('.html',)},
    'european': {'manpages-de': ('.gz',), 'manpages-fr': ('.gz',)},
}
SHARES = {'english': 0.26, 'source': 0.38, 'cjk': 0.22, 'european': 0.14}


def unpacked(package):
    folder = CACHE / package
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        if not list(CACHE.glob(package + '_*.deb')):
            subprocess.run(['apt-get', 'download', '-q', package], cwd=CACHE, check=True, stdout=sys.stderr)
        (deb,) = CACHE.glob(package + '_*.deb')
        subprocess.run(['dpkg-deb', '-x', deb, str(folder) + '.part'], check=True)
        os.rename(str(folder) + '.part', folder)
    return folder


def members(package, endings):
    """The bytes of each text file, in the order of the names or, of an archive in the package, as it has them."""
    folder = unpacked(package)
    for archive in sorted(folder.rglob('*.tar.xz')):
        with tarfile.open(archive, 'r|xz') as tar:
            for member in tar:
                if member.isfile() and member.name.endswith(endings):
                    yield tar.extractfile(member).read()
        return
    for path in sorted(folder.rglob('*')):
        if path.is_file() and not path.is_symlink() and path.name.endswith(endings):
            yield gzip.open(path).read() if path.suffix == '.gz' else path.read_bytes()


def spread(package, endings, size):
    """About SIZE bytes of a package from all over it: of what is too big, a file in so many."""
    at_most = size
    seen = 0
    skip = random.Random(package)
    share = 0.5 if package == 'linux-source-6.1' else 1
    for data in members(package, endings):
        if share < 1 and (skip.random() > share or len(data) > 500000):
            continue
        try:
            yield data.decode()
        except UnicodeDecodeError:
            continue
        seen += len(data)
        if seen > at_most:
            return


def documents(kind, size):
    """Documents of mixed size: most are short, a few are long."""
    draw = random.Random(kind)
    packages = KINDS[kind]
    for package, endings in packages.items():
        for text in spread(package, endings, size / len(packages)):
            at = 0
            while at < len(text):
                end = min(len(text), at + int(20 * math.exp(draw.random() ** 2 * math.log(20000))))
                newline = text.find('\n', end - 1)
                end = newline + 1 if newline >= 0 else len(text)
                yield text[at:end]
                at = end


def mixed(size):
    """Where a kind has less than its share, more source code stands for it: there is most of that."""
    seen = source = 0
    for kind, share in SHARES.items():
        for text in documents(kind, size * share):
            seen += len(text.encode())
            source += kind == 'source'
            yield text
    if seen < size * 0.95:
        yield from itertools.islice(documents('source', size * (1 + SHARES['source']) - seen), source, None)


# --- random strings ---

RANGES = [  # what a run of characters is drawn from
    (0x20, 0x7F, 10), (0, 0x20, 2), (0x80, 0x250, 4), (0x300, 0x370, 3), (0x370, 0x530, 3), (0x590, 0x900, 2),
    (0x900, 0x1000, 2), (0x1100, 0x1200, 2), (0x2000, 0x2070, 3), (0x2190, 0x2C00, 2), (0x3000, 0x3100, 3),
    (0x3400, 0x4DC0, 1), (0x4E00, 0xA000, 4), (0xAC00, 0xD7B0, 2), (0xE000, 0xF900, 1), (0xF900, 0xFB00, 1), (0xFB00, 0xFE00, 2),
    (0xFE00, 0xFE10, 1), (0xFE10, 0x10000, 2), (0x10000, 0x11000, 1), (0x11000, 0x12000, 1), (0x1D000, 0x1E000, 1),
    (0x1F000, 0x1FB00, 3), (0x20000, 0x30000, 1), (0x30000, 0x40000, 1), (0xE0000, 0xE0200, 1), (0x40000, 0x110000, 1),
]
SPACES = ' \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2009\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff'
MARKS = ''.join(chr(c) for c in [*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x591, 0x5BE), *range(0x64B, 0x660), *range(0x1AB0, 0x1ACF),
                                  *range(0x1DC0, 0x1E00), *range(0x20D0, 0x20F1), 0x93C, 0x94D, 0x9BC, 0x9BE, 0x9CD, 0x9D7, 0x3099, 0x309A, 0xFE0F, 0x302A])
WORDS = ["'s", "'T", "'re", "'VE", "'ll", "'d", "'m", '\u017f', "'\u017f", ' ', '  ', '\n\n', '\r\n', ' the', 'The', 'ing', 'tokenization', '123', '4567', '1',
         '::', '->', '==', '##', '...', '/*', '#include', '\u2581', '\u2581the', '\u4e2d\u6587', '\u3066\u3059', '\u0130', '\u0131', '\u03a3', '\u1e9e', '\ufb01',
         '\u00b2', '\u2460', '\u32ff', '\u1f468\u200d\u1f469', '\U0001f468\u200d\U0001f469\u200d\U0001f467', '\U0001f1e9\U0001f1ea', '\u1100\u1161\u11a8', '\uac00\u11a8',
         '[UNK]', '<s>', '</s>', '<unk>', '<|endoftext|>', 'e\u0301', '\u212b', '\u0344', '\u0958', '\ufffd', '\ufffe', '\uffff', '\0', '`', '"', '\u201c', '\u3002']


def any_character(draw):
    while True:
        c = draw.randrange(0x110000)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def part(draw):
    """A run of one kind: a range, spaces, marks on a letter, all of Unicode, pieces of text."""
    kind = draw.randrange(10)
    n = 1 + int(draw.expovariate(0.4))
    if kind < 4:
        low, high, _ = draw.choices(RANGES, [r[2] for r in RANGES])[0]
        return ''.join(chr(draw.randrange(low, high)) for _ in range(n))
    if kind == 4:
        return ''.join(draw.choice(SPACES) for _ in range(n))
    if kind == 5:
        return chr(draw.choice((0x61, 0x41, 0x20, 0x3B1, 0xAC00, 0x915, 0x304B, 0x31))) + ''.join(draw.choice(MARKS) for _ in range(n))
    if kind == 6:
        return any_character(draw)
    if kind == 7:
        return ''.join(any_character(draw) for _ in range(n))
    return ''.join(draw.choice(WORDS) for _ in range(n))


def strings(count, seed='strings'):
    draw = random.Random(seed)
    for _ in range(count):
        yield ''.join(part(draw) for _ in range(1 + int(draw.expovariate(0.35))))


def corpus(kind, size):
    if kind == 'random':
        return strings(size * 1000)
    return mixed(size * 1e6) if kind == 'mixed' else documents(kind, size * 1e6)


def write(kind, size, out):
    with open(out + '.part', 'w', encoding='utf-8', newline='\n') as f:
        for text in corpus(kind, size):
            f.write(json.dumps({'text': text}, ensure_ascii=False) + '\n')
    os.rename(out + '.part', out)


def cached(kind, size):
    """The corpus as a file, made where it is not there yet."""
    path = CACHE / ('%s-%d.jsonl' % (kind, size))
    CACHE.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write(kind, size, str(path))
    return path


if __name__ == '__main__':
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])

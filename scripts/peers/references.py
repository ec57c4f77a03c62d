"""What the references said of documents, kept as digests, so that a slow peer is asked once and not for every build of ours.

A file holds 8 bytes a line of text that tokenize should print, in the order of the documents: the line of ids, and behind it
that of ids and offsets where these are compared. Its name says the family, the text, the share of offsets, and a digest of
the tokenizer's file and of the versions of the peers; a file that is not whole never has its name.
"""
import hashlib
import importlib.metadata
import itertools
import json
import os

PEERS = ('tokenizers', 'tiktoken', 'sentencepiece')
SIZE = 8


def digest(line):
    return hashlib.blake2b(line, digest_size=SIZE).digest()


def as_line(result, offsets):
    if offsets:
        return json.dumps({'ids': result[0], 'offsets': result[1]}, separators=(',', ':')).encode()
    return ' '.join(map(str, result)).encode()


def identity(arguments):
    """Of the peers' versions and of the files that ARGUMENTS of tokenize name."""
    seen = hashlib.blake2b(' '.join(p + importlib.metadata.version(p) for p in PEERS).encode(), digest_size=SIZE)
    for argument in arguments:
        if os.path.exists(argument):
            with open(argument, 'rb') as f:
                for block in iter(lambda: f.read(1 << 20), b''):
                    seen.update(block)
        else:
            seen.update(argument.encode())
    return seen.hexdigest()


class Reference:
    """The peer of VARIANT, asked in the order of the documents, or its digests of before."""

    def __init__(self, folder, name, share, variant, again):
        _, arguments, self.ask = variant
        self.path = folder / ('%s-%d-%s.want' % (name, share, identity(arguments)))
        self.part = self.path.with_suffix('.part')
        self.known = open(self.path, 'rb') if self.path.exists() and not again else None
        self.made = None if self.known else open(self.part, 'wb')

    def digests(self, batch, offsets):
        """For each string a tuple: of its ids and, with OFFSETS, of both."""
        lines = 1 + offsets
        if self.known:
            data = self.known.read(len(batch) * lines * SIZE)
            flat = [data[i:i + SIZE] for i in range(0, len(data), SIZE)]
        else:
            results = self.ask(batch, offsets)
            flat = list(itertools.chain.from_iterable(
                (digest(as_line(r[0], False)), digest(as_line(r, True))) if offsets else (digest(as_line(r, False)),) for r in results))
            self.made.write(b''.join(flat))
        if len(flat) != len(batch) * lines:
            raise SystemExit('verify: %s: %d digests where %d lines are' % (self.path, len(flat), len(batch) * lines))
        return [tuple(flat[i:i + lines]) for i in range(0, len(flat), lines)]

    def keep(self):
        """All was asked: the digests get their name."""
        if self.made:
            self.made.close()
            self.part.rename(self.path)

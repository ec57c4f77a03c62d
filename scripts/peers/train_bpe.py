#!/usr/bin/env python3
"""Times the BpeTrainer of `tokenizers` on a text, and writes what it learns.

usage: scripts/peers/train_bpe.py TEXT SIZE WORDS RESULT

Words are cut by a pattern over ASCII, which Python's `re` and the peer read alike: WORDS gets them, counted, a record each of
a 64-bit count, a 32-bit size and the bytes. RESULT gets the peer's pieces, `p ID TEXT`, then its merges, `m LEFT RIGHT RESULT`
by ids. A trainer that is given WORDS has to make the same. The time of a WordLevel trainer over the same text, which cuts and
counts and learns nothing, is printed too: the difference is what learning takes.
"""
import json
import re
import resource
import struct
import sys
import time
from collections import Counter

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

PATTERN = r" ?[A-Za-z]+| ?[0-9]+| ?[^A-Za-z0-9 \t\n\r]+|[ \t\n\r]+"


def blocks(path):
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            yield block + f.readline()


def learn(path, model, trainer):
    t = Tokenizer(model)
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    start, used = time.monotonic(), time.process_time()
    t.train_from_iterator((b.decode() for b in blocks(path)), trainer)
    return t, f"{time.monotonic() - start:.2f} s ({time.process_time() - used:.2f} s of processors)"


def main():
    text, size, words, result = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    counts = Counter()
    pattern = re.compile(PATTERN.encode())
    for block in blocks(text):
        counts.update(pattern.findall(block))
    with open(words, "wb") as f:
        for word in sorted(counts):
            f.write(struct.pack("<QI", counts[word], len(word)) + word)
    print(f"{len(counts)} words of {sum(map(len, counts))} bytes")
    del counts

    _, seconds = learn(text, models.WordLevel(), trainers.WordLevelTrainer(vocab_size=1000, show_progress=False))
    print(f"cutting and counting: {seconds}")
    t, seconds = learn(text, models.BPE(), trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"with learning {size} pieces: {seconds}, {peak:.0f} MB at most")

    model = json.loads(t.to_str())["model"]
    vocab = model["vocab"]
    with open(result, "w", newline="\n") as f:
        for piece, number in sorted(vocab.items(), key=lambda item: item[1]):
            f.write(f"p {number} {piece}\n")
        for a, b in model["merges"]:
            f.write(f"m {vocab[a]} {vocab[b]} {vocab[a + b]}\n")


main()

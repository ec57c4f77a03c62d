"""Whether two tokenizer.json hold the same vocabulary, as far as the peer's training is defined.

usage: train_same.py KIND OURS.json THEIRS.json

bpe: ids and merges; sentencepiece: ids; wordpiece: the pieces, but for a few (there the ids of `##` characters go by a hash map,
and with them which of equally frequent pairs is taken); unigram: the pieces and their scores to half
of 1/4096, to which ours are rounded (of characters that were pruned the order, and so a step of 0.0001, goes by a hash map). Prints what differs, exit 1.
"""
import json
import sys

kind = sys.argv[1]
ours, theirs = (json.load(open(path, encoding='utf-8'))['model'] for path in sys.argv[2:4])


def fail(what, items):
    print('%s: %s: %s' % (kind, what, ' '.join(map(repr, list(items)[:20]))))
    sys.exit(1)


def pairs(model):
    return [tuple(m) if isinstance(m, list) else tuple(m.split(' ')) for m in model['merges']]


if kind == 'unigram':
    a = {piece: score for piece, score in ours['vocab'][3:]}
    b = {piece: score for piece, score in theirs['vocab'][3:]}
    other = set(a) ^ set(b)
    if other:
        fail('other pieces, %d and %d' % (len(a), len(b)), sorted(other))
    off = {p: (a[p], b[p]) for p in a if abs(a[p] - b[p]) > (0.05 if len(p) == 1 else 1.25e-4)}
    if off:
        fail('other scores', off.items())
    print('%d pieces, largest difference of scores %.1e' % (len(a), max(abs(a[p] - b[p]) for p in a)))
elif kind == 'wordpiece':
    other = set(ours['vocab']) ^ set(theirs['vocab'])
    if len(ours['vocab']) != len(theirs['vocab']) or len(other) > 0.005 * len(ours['vocab']):
        fail('other pieces', sorted(other))
    print('%d pieces, %d of them others' % (len(ours['vocab']), len(other) // 2))
else:
    other = set(ours['vocab'].items()) ^ set(theirs['vocab'].items())
    if other:
        fail('other ids', sorted(other, key=lambda x: x[1]))
    if kind == 'bpe' and pairs(ours) != pairs(theirs):
        fail('other merges', [(x, y) for x, y in zip(pairs(ours), pairs(theirs)) if x != y])
    print('%d pieces, %d merges' % (len(ours['vocab']), len(pairs(ours))))

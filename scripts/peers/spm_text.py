"""Random documents for tokenizers of SentencePiece: all planes, unassigned, marks, runs of spaces, U+2581, their own specials.

usage: spm_text.py SEED N
"""
import json
import random
import sys

MARKS = [*range(0x300, 0x370), *range(0x591, 0x5c8), *range(0x64b, 0x660), 0x3099, 0x309a, 0x200d, 0x200c, 0xfe0f, *range(0x1100, 0x1200),
         *range(0xe31, 0xe4f), *range(0x900, 0x980)]
COMMON = [ord(c) for c in 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789.,;:!?-_()[]{}<>/\\"\'\n\t\r']
SPACES = [0x20] * 6 + [0x2581] * 2 + [0xa0, 0x3000, 9, 10, 0x200b, 0xfeff, 0x2028, 0, 1, 0x7f, 0xad]
WORDS = ['<s>', '</s>', '<unk>', '<0x41>', '<tag>', '\u2581the', ' the', '    ', 'e\u0301', '\ufb01', 'ffi', '\r\n', '<start_of_turn>', '\n\n\n',
         '\u2581\u2581\u2581', '\t\t', '<h1>', '[INST]']
# Up to which share of the draws, and from what.
KINDS = [(.25, COMMON), (.45, SPACES), (.60, MARKS), (.75, range(0x80, 0x3100)), (.85, range(0x3100, 0xd7ff)), (.92, range(0xe000, 0x10000)),
         (1, range(0x10000, 0x110000))]


def character(draw):
    share = draw.random()
    return chr(draw.choice(next(kind for upto, kind in KINDS if share < upto)))


def document(draw):
    parts = []
    for _ in range(draw.randrange(1, 24)):
        share = draw.random()
        if share < .1:
            parts.append(draw.choice(WORDS))
        elif share < .2:
            parts.append(draw.choice(' \u2581\na\u3000\0') * draw.randrange(1, 9))
        else:
            parts.append(character(draw))
    return ''.join(parts)


draw = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    print(json.dumps({'text': document(draw)}, ensure_ascii=False))

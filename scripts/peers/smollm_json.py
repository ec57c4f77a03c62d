"""SmolLM2's tokenizer.json, built from the vocabulary and merges of its GGUF file, for `tokenizers` to read.

usage: smollm_json.py MODEL.gguf OUT.json

Its `pre` is smollm: single digits, then GPT-2's pattern on bytes.
"""
import sys

import gguf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

model, out = sys.argv[1:]
fields = gguf.GGUFReader(model).fields


def texts(key):
    field = fields[key]
    return [bytes(field.parts[i]).decode() for i in field.data]


assert texts('tokenizer.ggml.pre') == ['smollm']
vocabulary = {piece: i for i, piece in enumerate(texts('tokenizer.ggml.tokens'))}
merges = [tuple(merge.split(' ')) for merge in texts('tokenizer.ggml.merges')]
t = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
t.decoder = decoders.ByteLevel()
t.save(out)

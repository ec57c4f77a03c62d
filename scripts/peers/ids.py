"""The ids that `tokenizers` gives for documents, a document a line, as `tokenize --ids` prints them.

usage: ids.py tokenizer.json DOCUMENTS.jsonl [offsets|post]     (tokenizers 0.23.3)

`offsets`: as `tokenize --offsets`, in bytes; `post`: as `tokenize --post-process --ids`.
"""
import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_padding()
tokenizer.no_truncation()
tokenizer.encode_special_tokens = True  # special tokens in text are text


def batches():
    batch = []
    for line in open(sys.argv[2], encoding='utf-8', newline='\n'):
        if line.strip():
            batch.append(json.loads(line)['text'])
        if len(batch) == 256:
            yield batch
            batch = []
    yield batch


def in_bytes(text, offsets):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode()))
    return [[places[a], places[b]] for a, b in offsets]


for batch in batches():
    for text, e in zip(batch, tokenizer.encode_batch(batch, add_special_tokens='post' in sys.argv[3:])):
        if 'offsets' in sys.argv[3:]:
            print(json.dumps({'ids': e.ids, 'offsets': in_bytes(text, e.offsets)}, separators=(',', ':')))
        else:
            print(' '.join(map(str, e.ids)))

"""What transformers makes of conversations with SmolLM2's own template, a line of ids each, as `tokenize --messages --ids` prints them.

usage: chat_ids.py MODEL.gguf smollm.json OUT.jsonl COUNT     (transformers 5.24.0; smollm.json: smollm_json.py's)

Writes COUNT conversations to OUT.jsonl, in which no text names a special token and no piece reaches from a text into the scaffold:
there the ids of the whole are those of the parts.
"""
import json
import random
import sys

import gguf
from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedTokenizerFast

model, vocabulary, out, count = sys.argv[1:]
fields = gguf.GGUFReader(model).fields
tokenizer = Tokenizer.from_file(vocabulary)
pieces = zip(fields['tokenizer.ggml.tokens'].contents(), fields['tokenizer.ggml.token_type'].contents())
tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece, kind in pieces if kind == 3])
chat = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
chat.chat_template = fields['tokenizer.chat_template'].contents()

WORDS = ['the', 'quick', 'fox', '12345', "don't", 'café', '日本語', 'Привет', 'x=y+1;', 'def', 'f(x):', '->', '\U0001f600', 'e\u0301', 'e.g.']
draw = random.Random(7)
with open(out, 'w') as f:
    for i in range(int(count)):
        roles = draw.choice([[], ['system']]) + ['user', 'assistant', 'user', 'assistant'][:draw.randint(1, 4)]
        messages = [{'role': role, 'content': ' '.join(draw.choices(WORDS, k=draw.randint(1, 12)))} for role in roles]
        f.write(json.dumps({'messages': messages}) + '\n')
        ids = chat.apply_chat_template(messages, tokenize=True, return_dict=False)
        print(' '.join(map(str, ids)))

"""The ids that llama.cpp gives for documents, a document a line, as `tokenize --ids` prints them.

usage: llama_ids.py VOCABULARY.gguf DOCUMENTS.jsonl      (llama-cpp-python 0.3.36)
"""
import json
import sys

import llama_cpp

model = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)
with open(sys.argv[2], encoding='utf-8', newline='\n') as f:
    for line in f:
        text = json.loads(line)['text'].encode()
        print(' '.join(map(str, model.tokenize(text, add_bos=False, special=False))))

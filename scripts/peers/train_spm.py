"""A vocabulary by SentencePiece's own trainer.

usage: train_spm.py bpe|unigram SIZE LINES.txt OUT THREADS      (sentencepiece 0.2.3; writes OUT.model)

Prints the seconds that training took, without Python's own.
"""
import sys
import time

import sentencepiece

kind, size, lines, out, threads = sys.argv[1:6]
start = time.perf_counter()
sentencepiece.SentencePieceTrainer.train(
    input=lines, model_prefix=out, model_type=kind, vocab_size=int(size), num_threads=int(threads), byte_fallback=kind == 'bpe',
    normalization_rule_name='identity', remove_extra_whitespaces=False, character_coverage=1.0, input_sentence_size=0,
    max_sentence_length=1 << 24, split_by_unicode_script=False, split_by_number=False, minloglevel=2)
print('%.3f' % (time.perf_counter() - start))

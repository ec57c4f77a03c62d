"""llama_logits.py MODEL.gguf ID... - llama.cpp's logits after every token, as f32 on stdout; its cache is f32 too"""
import sys

import llama_cpp
import numpy

ids = [int(i) for i in sys.argv[2:]]
model = llama_cpp.Llama(sys.argv[1], n_ctx=max(64, len(ids)), n_batch=512, n_threads=2, logits_all=True, verbose=False,
                        type_k=0, type_v=0, flash_attn=False)  # 0: GGML_TYPE_F32
model.eval(ids)
sys.stdout.buffer.write(numpy.ascontiguousarray(model.scores[:len(ids)], dtype=numpy.float32).tobytes())

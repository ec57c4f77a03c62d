"""llama_quantize.py SOURCE TARGET FTYPE THREADS [WEIGHTS.npz] - llama.cpp's quantization, with a tensor's importance by its name; prints the seconds"""
import ctypes
import sys
import time

import llama_cpp
import numpy


def importance(path):
    """What llama-quantize gives its library after it has read an importance matrix: sums by counts, ended by an empty one."""
    weights = {name: numpy.ascontiguousarray(values, numpy.float32) for name, values in numpy.load(path).items()}
    entries = (llama_cpp.llama_model_imatrix_data * (len(weights) + 1))()
    for entry, (name, values) in zip(entries, weights.items()):
        entry.name, entry.size = name.encode(), values.size
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return entries, weights


def main():
    source, target, kind, threads, *weights = sys.argv[1:]
    quiet = llama_cpp.llama_log_callback(lambda *a: None)
    llama_cpp.llama_log_set(quiet, None)
    p = llama_cpp.llama_model_quantize_default_params()
    p.ftype, p.nthread = int(kind), int(threads)
    if weights:
        entries, _kept = importance(weights[0])
        p.imatrix = ctypes.cast(entries, ctypes.POINTER(llama_cpp.llama_model_imatrix_data))
    start = time.perf_counter()
    failed = llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(p))
    print(time.perf_counter() - start)
    sys.exit(bool(failed))


main()

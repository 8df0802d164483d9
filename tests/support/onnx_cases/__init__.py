"""Cases of operators as nodes of ONNX: what tests/corpus/onnx_cases.py runs in ONNX Runtime or onnx's reference evaluator.

A file of this folder has a list CASES for the words of a part of the dictionary.
"""
import zlib

import ml_dtypes
import numpy as np

DTYPE = {'f16': np.float16, 'f32': np.float32, 'f64': np.float64, 'bf16': ml_dtypes.bfloat16, 'bool': np.bool_,
         'i8': np.int8, 'i16': np.int16, 'i32': np.int32, 'i64': np.int64, 'u8': np.uint8, 'u16': np.uint16,
         'u32': np.uint32, 'u64': np.uint64, 'f8e4m3fn': ml_dtypes.float8_e4m3fn, 'f8e5m2': ml_dtypes.float8_e5m2}
WITHIN = {'f64': 1e-12, 'f32': 1e-5, 'f16': 2e-3, 'bf16': 2e-2}


class In:
    """An input of random numbers from low to high, in steps of a hundredth, or of the given values; const: known when the model is read."""

    def __init__(self, type, shape, low=-2, high=2, values=None, const=False):
        self.type, self.shape, self.low, self.high, self.values, self.const = type, tuple(shape), low, high, values, const

    def array(self, seed):
        dtype = DTYPE[self.type]
        if self.values is not None:
            return np.array(self.values, dtype).reshape(self.shape)
        r = np.random.default_rng(seed)
        if self.type == 'bool':
            return r.integers(0, 2, self.shape).astype(bool)
        if np.dtype(dtype).kind in 'iu':
            return r.integers(self.low, self.high, self.shape, endpoint=True).astype(dtype)
        return np.round(r.uniform(self.low, self.high, self.shape), 2).astype(dtype)


def known(type, shape, *args, **more):
    return In(type, shape, *args, const=True, **more)


class Case:
    """A node: None among the inputs is absent. outputs: how many, or their names; engine: "ort", "ref" or "wide"; within: of floats.
    An attribute opset is opset_. "wide" is "ref" in double, rounded at the end: of half floats the evaluator rounds after each step."""

    def __init__(self, word, name, op, inputs, outputs=1, opset=23, domain='', engine='ort', within=None, domain_version=1, **attrs):
        self.word, self.name, self.op, self.inputs, self.opset, self.domain, self.engine, self.within, self.attrs = \
            word, name, op, inputs, opset, domain, engine, within, {k.rstrip('_'): v for k, v in attrs.items()}
        self.domain_version = domain_version
        self.outputs = [f'out{k}' for k in range(outputs)] if isinstance(outputs, int) else outputs

    def arrays(self):
        seed = zlib.crc32(f'{self.word}.{self.name}'.encode())
        return [x.array(seed + k) if x else None for k, x in enumerate(self.inputs)]

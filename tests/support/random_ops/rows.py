"""The table of tests/corpus/random_ops.py: what a row is, and what the drawing functions of rows share.

A row draws one operator with random shapes, types and attributes, in TFLite's own terms:

    @row('GELU', 'f32', 'i8', 'u8', options='Gelu')
    def gelu(r, kind):
        x = r.tensor(kind, r.shape(1, 4))
        return [x], [r.out(kind)], {'approximate': r.flag()}

It gives the inputs (Tensor of tflite_build with data, or None: absent; r.const makes a constant), the outputs (r.out: LiteRT
says their shapes), the fields of the options table, and, where there are any, the intermediates. Every file of this folder is read; a row is drawn for each of its kinds,
which need not be types. r is a random.Random with more to draw.

A custom operator of TFLM (options='custom', litert=False): the fields are the entries of its options, the outputs have their shapes. With runs
above 1 the data of inputs have that extent in front, and a mask `unfilled` of an output says what TFLM leaves as it was, and Burin makes 0.
"""
import random

import numpy as np

import tflite_build as build

ROWS = []
QUANTISED = ('i8', 'u8', 'i16')


class Row:
    def __init__(self, operator, kind, draw, options, refused, version, tflm, litert, runs):
        self.operator, self.kind, self.draw, self.options, self.refused = operator, kind, draw, options, refused or {}
        self.version, self.tflm, self.litert, self.runs = version, tflm, litert, runs

    @property
    def name(self):
        return f'{self.operator} {self.kind}'


def row(operator, *kinds, options=None, refused=None, version=None, tflm=True, litert=True, runs=1):
    """refused: {provider: why Burin refuses there what LiteRT computes}, the providers being reference (the evaluator), host (emitted C) and
    written (the file that Burin writes); nothing else may be refused. operator: a builtin's name, or several
    in a list: draw is called as draw(r, kind, name). tflm: False where TFLM computes what has no meaning.
    litert: False where LiteRT has no such operator. runs: so many, one after the other."""
    def add(draw):
        for name in operator if isinstance(operator, (list, tuple)) else [operator]:
            for kind in kinds:
                one = draw if isinstance(operator, str) else lambda r, kind, name=name: draw(r, kind, name)
                ROWS.append(Row(name, kind, one, options, refused, version, tflm, litert, runs))
        return draw
    return add


class Draw(random.Random):
    def shape(self, least, most, top=6):
        """A shape of least to most extents, each from 1 to top."""
        return [self.randint(1, top) for _ in range(self.randint(least, most))]

    def flag(self):
        return self.random() < 0.5

    def values(self, kind, shape, low=None, high=None):
        """Numbers of a type: floats about 0, some whole; integers from low to high, by default a range of the type that sums stay in."""
        n = int(np.prod(shape, dtype=np.int64))
        dtype = build.DTYPE[kind]
        if kind == 'bool':
            v = [self.random() < 0.5 for _ in range(n)]
        elif dtype in (np.float32, np.float16, np.float64):
            low, high = -8.0 if low is None else low, 8.0 if high is None else high
            v = [self.uniform(low, high) for _ in range(n)]
            v = [min(max(float(round(x)), low), high) if self.random() < 0.15 else x for x in v]
        else:
            info = np.iinfo(dtype)
            low = max(info.min, -1000000) if low is None else low
            high = min(info.max, 1000000) if high is None else high
            v = [self.randint(low, high) for _ in range(n)]
        return np.array(v, dtype).reshape(shape)

    def quant(self, kind):
        """(scale, zero) of a tensor of a quantised type."""
        zero = {'i8': self.randint(-128, 127), 'u8': self.randint(0, 255), 'i16': 0}[kind]
        return float(np.float32(2.0 ** self.uniform(-7, -3))), zero

    def tensor(self, kind, shape, low=None, high=None, quant=True, scale=None, zero=None):
        """An input of the model."""
        t = build.Tensor(kind, shape, self.values(kind, shape, low, high))
        if quant and kind in QUANTISED:
            s, z = self.quant(kind)
            t.scale, t.zero = [s if scale is None else scale], [z if zero is None else zero]
        return t

    def const(self, kind, data, shape=None):
        data = np.array(data, build.DTYPE[kind])
        return build.Tensor(kind, list(data.shape) if shape is None else shape, data, constant=True)

    def out(self, kind, like=None, quant=True):
        """An output; like: with the quantisation of that tensor, else one drawn."""
        t = build.Tensor(kind, [])
        if like is not None:
            t.scale, t.zero = list(like.scale), list(like.zero)
        elif quant and kind in QUANTISED:
            s, z = self.quant(kind)
            t.scale, t.zero = [s], [z]
        return t

    def parts(self):
        """How many pieces; sometimes many."""
        return self.randint(17, 40) if self.random() < 0.1 else self.randint(1, 4)

    def broadcast(self, most=4):
        """Two shapes that can be broadcast together."""
        full = self.shape(0 if self.random() < 0.1 else 1, most, 4)
        def side():
            s = [1 if self.random() < 0.25 else n for n in full]
            return s[self.randint(0, len(s)):] if self.random() < 0.3 else s
        return (full, side()) if self.flag() else (side(), full)


BASE = {'i8': 100, 'u8': 100, 'i4': 8}  # of sums of near_ties
LARGEST = {'i8': 1, 'u8': 1, 'i16': 2}  # the highest power, of base 100; of base 8 twice as high


def near_ties(r, kind, of, channels, many, bias, repeats):
    """(input elements, weights [channels, K], bias values, scales of input, weights, output): sums that, with bias, are next to ties. A bias
    is most of its sum, for only in large ones does it show how the scales were multiplied."""
    base, powers = BASE[of], LARGEST[kind] * (2 if of == 'i4' else 1)
    most = base - 1
    levels = [base**powers] * repeats + [base**p for p in range(powers - 1, -1, -1)]
    small = int(base**powers * repeats * most * 0.9)
    reach = r.randint(10, 2000) * 1000000 if bias else small
    steps = 100 if kind != 'i16' else 25000
    sx, sws = np.float32(r.uniform(0.001, 0.01)), [np.float32(r.uniform(0.001, 0.01)) for _ in range(channels if many else 1)]
    sy = np.float32(float(sx) * float(max(sws)) * reach / steps)
    w, b = np.zeros((channels, len(levels)), np.int64), np.zeros(channels, np.int64)
    for c in range(channels):
        real = float(sx) * float(sws[c % len(sws)]) / float(sy)
        most_steps = int(reach * real) - 1
        total = round((r.randint(-most_steps, most_steps) + 0.5) / real) + r.choice([-1, 0, 0, 0, 1])
        b[c] = total - r.randint(-small, small) if bias else 0
        sign, rest = (1, total - int(b[c])) if total >= b[c] else (-1, int(b[c]) - total)
        for k, level in enumerate(levels):
            digit = min(rest // level, most)
            w[c, k], rest = sign * digit, rest - digit * level
        assert rest == 0
    return np.array(levels), w, b, float(sx), [float(s) for s in sws], float(sy)

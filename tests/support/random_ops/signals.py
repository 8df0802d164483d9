"""Rows of the signal operators of TFLM, which LiteRT has not: several runs one after the other where they keep something between them."""
import numpy as np

import tflite_build as build
from rows import row

RUNS = 5


def stream(r, kind, shape, runs=RUNS):
    """An input with contents for each run."""
    t = build.Tensor(kind, shape)
    low, high = {'f32': (-8, 8), 'i16': (-2**15, 2**15 - 1), 'i32': (-2**31, 2**31 - 1)}[kind]
    t.data = r.values(kind, [runs] + shape, low, high)
    return t


@row('SignalDelay', 'i16', options='custom', litert=False, runs=RUNS)
def delay(r, kind):
    x = stream(r, kind, r.shape(0, 2, 3) + [r.randint(1, 12)])
    return [x], [build.Tensor(kind, x.shape)], {'delay_length': r.choice([0, 1, 3, 12, 20])}


@row('SignalStacker', 'i16', options='custom', litert=False, runs=RUNS)
def stacker(r, kind):
    channels, left, right = r.randint(1, 6), r.randint(0, 3), r.randint(0, 3)
    step = r.randint(1, left + right + 1)
    y = build.Tensor(kind, [channels * (left + right + 1)])
    have, y.unfilled = left, np.zeros([RUNS] + y.shape, bool)
    for run in range(RUNS):
        have += 1
        y.unfilled[run] = have <= left + right
        have -= step if have > left + right else 0
    return [stream(r, kind, [channels])], [y, build.Tensor('bool', [])], {
        'num_channels': channels, 'stacker_left_context': left, 'stacker_right_context': right, 'stacker_step': step}


@row('SignalFramer', 'i16', options='custom', litert=False, runs=RUNS)
def framer(r, kind):
    step, size, frames, prefill = r.randint(1, 8), r.randint(1, 20), r.randint(1, 3), r.flag()
    prefill = prefill and size >= step
    x = stream(r, kind, r.shape(0, 2, 3) + [step * frames])
    y = build.Tensor(kind, x.shape[:-1] + [frames, size])
    y.unfilled = np.zeros([RUNS] + y.shape, bool)
    missing = 0 if prefill else -(-size // step) - 1
    for k in range(min(missing, RUNS * frames)):
        y.unfilled[k // frames, ..., k % frames, :] = True
    return [x], [y, build.Tensor('bool', [])], {'frame_size': size, 'frame_step': step, 'prefill': int(prefill)}


@row('SignalOverlapAdd', 'i16', 'f32', options='custom', litert=False, runs=RUNS)
def overlap_add(r, kind):
    x = stream(r, kind, r.shape(0, 2, 3) + [r.randint(1, 4), r.randint(1, 12)])
    step = r.randint(1, x.shape[-1])
    return [x], [build.Tensor(kind, x.shape[:-2] + [x.shape[-2] * step])], {'T': {'i16': 7, 'f32': 0}[kind], 'frame_step': step}


FFT_TYPE = {'f32': 0, 'i32': 2, 'i16': 7}


@row('SignalRfft', 'f32', 'i16', 'i32', options='custom', litert=False, runs=2)
def rfft(r, kind):
    n = 2 ** r.randint(2, 10)
    x = stream(r, kind, r.shape(0, 2, 2) + [r.choice([n, n, r.randint(1, n)])], 2)
    return [x], [build.Tensor(kind, x.shape[:-1] + [n + 2])], {'T': FFT_TYPE[kind], 'fft_length': n}


@row('SignalIrfft', 'f32', 'i16', 'i32', options='custom', litert=False, runs=2)
def irfft(r, kind):
    n = 2 ** r.randint(2, 10)
    x = stream(r, kind, r.shape(0, 2, 2) + [n + 2], 2)
    return [x], [build.Tensor(kind, x.shape[:-1] + [n])], {'T': FFT_TYPE[kind], 'fft_length': n}

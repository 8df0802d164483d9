"""Rows of recurrent operators: one run from the states' first contents. Kinds: f32, hybrid (8-bit weights), i8."""
import numpy as np

import tflite_build as build
from rows import row


def state(kind, shape, scale=None, zero=0):
    t = build.Tensor(kind, shape, np.full(shape, zero, build.DTYPE[kind]), state=True)
    if scale:
        t.scale, t.zero = [scale], [zero]
    return t


def weights(r, kind, shape, scale=None):
    """Of a layer; hybrid and i8: symmetric."""
    if kind == 'f32':
        return r.const('f32', r.values('f32', shape, -1, 1), shape)
    t = r.const('i8', r.values('i8', shape, -127, 127), shape)
    t.scale, t.zero = [scale or float(np.float32(r.uniform(0.002, 0.012)))], [0]
    return t


def reals(r, shape):
    return r.const('f32', r.values('f32', shape, -1, 1), shape)


@row('SVDF', 'f32', 'hybrid', 'i8', options='SVDF')
def svdf(r, kind):
    batch, features, units, rank, memory = (r.randint(1, n) for n in (3, 8, 5, 3, 6))
    filters = units * rank
    fields = {'rank': rank, 'fusedActivationFunction': r.randint(0, 1), 'asymmetricQuantizeInputs': kind == 'hybrid' and r.flag()}
    if kind == 'i8':
        x, w = r.tensor('i8', [batch, features]), weights(r, kind, [filters, features])
        t = r.const('i16', r.values('i16', [filters, memory], -20000, 20000), [filters, memory])
        t.scale, t.zero = [float(np.float32(r.uniform(1e-4, 4e-4)))], [0]
        s = state('i16', [batch, filters * memory], float(np.float32(r.uniform(2e-4, 2e-3))))
        bias = r.const('i32', r.values('i32', [units], -30000, 30000), [units])
        bias.scale, bias.zero = [float(np.float32(s.scale[0]) * np.float32(t.scale[0]))], [0]
        return [x, w, t, bias, s], [r.out('i8')], {**fields, 'fusedActivationFunction': 1}
    return [r.tensor('f32', [batch, features], -2, 2), weights(r, kind, [filters, features]), weights(r, kind, [filters, memory]),
            reals(r, [units]) if r.flag() else None, state('f32', [batch, filters * memory])], [r.out('f32')], fields


@row(['RNN'], 'f32', 'hybrid', options='RNN')
@row(['UNIDIRECTIONAL_SEQUENCE_RNN'], 'f32', 'hybrid', options='SequenceRNN')
def rnn(r, kind, name):
    batch, steps, features, units = (r.randint(1, n) for n in (3, 5, 8, 6))
    fields = {'fusedActivationFunction': r.choice([1, 3, 4]), 'asymmetricQuantizeInputs': kind == 'hybrid' and r.flag()}
    shape = [batch, features]
    if name != 'RNN':
        fields['timeMajor'] = r.flag()
        shape = [steps, batch, features] if fields['timeMajor'] else [batch, steps, features]
    return [r.tensor('f32', shape, -2, 2), weights(r, kind, [units, features]), weights(r, kind, [units, units]), reals(r, [units]),
            state('f32', [batch, units])], [r.out('f32')], fields


@row('BIDIRECTIONAL_SEQUENCE_RNN', 'f32', 'hybrid', options='BidirectionalSequenceRNN')
def bidirectional_rnn(r, kind):
    batch, steps, features, forward, backward, more = (r.randint(1, n) for n in (3, 4, 6, 5, 5, 4))
    major, merged, extra, parallel, asymmetric = (r.flag() for _ in range(5))
    # LiteRT steps through an auxiliary input as through the input, but for reals with batches before time; and of weights of 8
    # bits, time before batch, several batches, merged, without zero points, it reads zero points at no address
    if parallel or major or kind == 'hybrid':
        more = features
    if kind == 'hybrid' and major and merged and batch > 1:
        asymmetric = True
    lead = [steps, batch] if major else [batch, steps]
    layers = []
    for units in (forward, backward):
        layers += [weights(r, kind, [units, features]), weights(r, kind, [units, units]), reals(r, [units]), state('f32', [batch, units])]
    last = [r.tensor('f32', lead + [more], -1, 1), weights(r, kind, [forward, more]), weights(r, kind, [backward, more])] if extra else [None] * 3
    if extra and parallel:  # the backward layer's input
        last[1:] = None, None
    return [r.tensor('f32', lead + [features], -2, 2), *layers, *last], [r.out('f32') for _ in range(1 if merged else 2)], {
        'timeMajor': major, 'mergeOutputs': merged, 'fusedActivationFunction': r.choice([1, 3, 4]),
        'asymmetricQuantizeInputs': kind == 'hybrid' and asymmetric}


class Gates:
    """The weights and biases of an LSTM, in TFLite's order up to the projection."""

    def __init__(self, r, kind, features, cells, outputs, cifg, peepholes, projection):
        own = lambda k: k > 0 or not cifg
        self.input = [weights(r, kind, [cells, features]) if own(k) else None for k in range(4)]
        self.recurrent = [weights(r, kind, [cells, outputs]) if own(k) else None for k in range(4)]
        self.peepholes = [weights(r, kind, [cells]) if peepholes and (k > 0 or not cifg) else None for k in range(3)]
        self.biases = [reals(r, [cells]) if own(k) else None for k in range(4)]
        self.projection = [weights(r, kind, [outputs, cells]), reals(r, [outputs]) if r.flag() else None] if projection else [None, None]

    def all(self):
        return self.input + self.recurrent + self.peepholes + self.biases + self.projection


@row(['LSTM'], 'f32', 'hybrid', options='LSTM')
@row(['UNIDIRECTIONAL_SEQUENCE_LSTM'], 'f32', options='UnidirectionalSequenceLSTM')
@row(['UNIDIRECTIONAL_SEQUENCE_LSTM'], 'hybrid', options='UnidirectionalSequenceLSTM', tflm=False)  # it takes the weights' bytes for floats
def lstm(r, kind, name):
    batch, steps, features, cells = (r.randint(1, n) for n in (3, 4, 7, 6))
    cifg, projection, norm = r.flag(), r.flag(), r.flag()
    outputs = r.randint(1, 5) if projection else cells
    fields = {'fusedActivationFunction': r.choice([4, 4, 1]) if name == 'LSTM' else 4, 'cellClip': r.choice([0.0, 0.5]), 'projClip': r.choice([0.0, 0.4]) if projection else 0.0,
              'asymmetricQuantizeInputs': kind == 'hybrid' and r.flag()}
    shape = [batch, features]
    if name != 'LSTM':
        fields['timeMajor'] = r.flag()
        shape = [steps, batch, features] if fields['timeMajor'] else [batch, steps, features]
    gates = Gates(r, kind, features, cells, outputs, cifg, r.flag(), projection)
    norms = [reals(r, [cells]) if norm and (k > 0 or not cifg) else None for k in range(4)]
    return [r.tensor('f32', shape, -2, 2), *gates.all(), state('f32', [batch, outputs]), state('f32', [batch, cells]), *norms], [r.out('f32')], fields


@row('BIDIRECTIONAL_SEQUENCE_LSTM', 'f32', 'hybrid', options='BidirectionalSequenceLSTM')
def bidirectional_lstm(r, kind):
    batch, steps, features, cells, more = (r.randint(1, n) for n in (3, 4, 6, 5, 4))
    major, merged, cifg, peepholes, projection, extra, parallel = (r.flag() for _ in range(7))
    merged = merged and (major or batch == 1)  # LiteRT leaves parts of the others unwritten
    outputs = r.randint(1, 5) if projection else cells
    lead = [steps, batch] if major else [batch, steps]
    gates = [Gates(r, kind, features, cells, outputs, cifg, peepholes, projection).all() for _ in range(2)]
    states = [state('f32', [batch, n]) for n in (outputs, cells)] + [state('f32', [batch, n]) for n in (outputs, cells)]
    if parallel:  # the backward direction's input
        more = features
    last = [r.tensor('f32', lead + [more], -1, 1)] if extra else [None]
    for _ in range(2):
        last += [weights(r, kind, [cells, more]) if extra and not parallel and (k > 0 or not cifg) else None for k in range(4)]
    return [r.tensor('f32', lead + [features], -2, 2), *gates[0], *gates[1], *states, *last], [r.out('f32') for _ in range(1 if merged else 2)], {
        'timeMajor': major, 'mergeOutputs': merged, 'fusedActivationFunction': 4, 'cellClip': r.choice([0.0, 0.5]), 'projClip': 0.0,
        'asymmetricQuantizeInputs': kind == 'hybrid' and r.flag()}


@row('UNIDIRECTIONAL_SEQUENCE_LSTM', 'i8', options='UnidirectionalSequenceLSTM')
def lstm_i8(r, kind):
    batch, steps, features, cells = (r.randint(1, n) for n in (3, 4, 7, 8))
    x, major = r.tensor('i8', [1]), r.flag()
    x = r.tensor('i8', [steps, batch, features] if major else [batch, steps, features])
    scale, zero = float(np.float32(r.uniform(0.004, 0.01))), r.randint(-20, 20)
    w = [weights(r, kind, [cells, features]) for _ in range(4)]
    biases = []
    for k in range(4):
        b = r.const('i32', r.values('i32', [cells], -4000, 4000), [cells])
        b.scale, b.zero = [float(np.float32(x.scale[0]) * np.float32(w[k].scale[0]))], [0]
        biases.append(b)
    y = build.Tensor('i8', [], scale=[scale], zero=[zero])
    mids = [build.Tensor('i16', [0], scale=[2.0**-12], zero=[0]) for _ in range(4)] + [build.Tensor('i8', [0], scale=[scale], zero=[zero])]
    return [x, *w, *(weights(r, kind, [cells, cells]) for _ in range(4)), None, None, None, *biases, None, None,
            state('i8', [batch, cells], scale, zero), state('i16', [batch, cells], 2.0 ** -r.randint(9, 15)), None, None, None, None], [y], {
                'fusedActivationFunction': 4, 'cellClip': r.choice([0.0, 1.5]), 'projClip': 0.0, 'timeMajor': major}, mids

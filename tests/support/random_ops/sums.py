"""Rows of operators that gather many elements into one, and of arithmetic on several tensors."""
from rows import row


@row('ADD_N', 'f32', 'i32', options='AddN')
def add_n(r, kind):
    shape = r.shape(1, 4)
    return [r.tensor(kind, shape) for _ in range(r.randint(2, 5))], [r.out(kind)], {}


@row(['ARG_MAX'], 'f32', 'i8', 'u8', 'i32', 'bool', options='ArgMax')
@row(['ARG_MIN'], 'f32', 'i8', 'u8', 'i32', 'bool', options='ArgMin')
def arg(r, kind, name):
    x, wide = r.tensor(kind, r.shape(1, 4), *([] if kind in ('f32', 'bool') else [0, 5])), r.flag()
    axis = r.randint(-len(x.shape), len(x.shape) - 1)
    return [x, r.const(r.choice(['i32', 'i64']), axis)], [r.out('i64' if wide else 'i32')], {'outputType': 4 if wide else 2}


@row('CUMSUM', 'f32', 'i32', 'i64', options='Cumsum')
def cumsum(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    axis = r.randint(-len(x.shape), len(x.shape) - 1)
    return [x, r.const('i32', axis)], [r.out(kind)], {'exclusive': r.flag(), 'reverse': r.flag()}


@row('SQUARED_DIFFERENCE', 'f32', 'i8', 'i32', options='SquaredDifference')
def squared_difference(r, kind):
    a, b = r.broadcast()
    bound = [-20000, 20000] if kind == 'i32' else []
    return [r.tensor(kind, a, *bound), r.tensor(kind, b, *bound)], [r.out(kind)], {}


@row('PRELU', 'f32', 'i8', 'u8', 'i16')
def prelu(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    alpha = r.tensor({'i16': 'i8'}.get(kind, kind), [1 if r.flag() else n for n in x.shape][r.randint(0, len(x.shape) - 1):])
    if r.flag():
        alpha.constant = True
    return [x, alpha], [r.out(kind)], {}

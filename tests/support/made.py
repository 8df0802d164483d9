"""Small models that tests make: .tflite files by a FlatBuffers writer of a page, and Burin's text form. No package is needed.

`dense` is the model that most tests use: one int8 FULLY_CONNECTED whose multiplier is exactly 1, so that its outputs are sums
a person can check: y = W x + b, clamped to int8.
"""
import struct

# TFLite's schema.fbs: the numbers of types, operators and option tables that are used here
TYPES = {"resource": 13, "f32": 0, "i32": 2, "u8": 3, "i64": 4, "string": 5, "bool": 6, "i16": 7, "i8": 9}
SIZES = {"f32": "f", "i32": "i", "u8": "B", "i64": "q", "bool": "?", "i16": "h", "i8": "b"}
OPERATORS = {"ADD": (0, 11), "CONCATENATION": (2, 10), "CONV_2D": (3, 1), "DEPTHWISE_CONV_2D": (4, 2), "FULLY_CONNECTED": (9, 8), "RELU": (19, 0), "RESHAPE": (22, 17), "SOFTMAX": (25, 9),
             "CUSTOM": (32, 0), "GATHER": (36, 23), "PAD": (34, 22), "MIRROR_PAD": (100, 77), "SQUEEZE": (43, 30), "STRIDED_SLICE": (45, 32), "SPLIT": (49, 35), "CAST": (53, 37), "TILE": (69, 0),
             "EXPAND_DIMS": (70, 0), "SUM": (74, 27), "SHAPE": (77, 55), "PACK": (83, 59), "UNPACK": (88, 64), "SPLIT_V": (102, 79), "UNIQUE": (103, 80), "RANGE": (96, 0),
             "GATHER_ND": (107, 0), "WHERE": (109, 0), "HASHTABLE": (136, 0),
             "MUL": (18, 21), "CALL": (31, 16), "SUB": (41, 28), "LESS": (58, 0), "EQUAL": (71, 0), "IF": (118, 92), "WHILE": (119, 93),
             "CALL_ONCE": (129, 103), "VAR_HANDLE": (142, 111), "READ_VARIABLE": (143, 0), "ASSIGN_VARIABLE": (144, 0),
             "STABLEHLO_COMPOSITE": (206, 21)}
SECOND = ["STABLEHLO_COMPOSITE"]  # their options are in the second union


class Table:
    """fields: {slot: (format of struct, number) or Table, Vector, str, bytes}"""

    def __init__(self, **fields):
        self.fields = {int(slot[1:]): value for slot, value in fields.items() if value is not None}


class Vector:
    """Of numbers (with their format) or of tables."""

    def __init__(self, items, form=None, align=4):
        self.items, self.form, self.align = list(items), form, align


def flatbuffer(root, identifier):
    """The bytes: every object behind the one that refers to it, each table behind its vtable."""
    out = bytearray(struct.pack("<I4s", 0, identifier))
    waiting = [(0, root)]

    def align(to, ahead=0):
        while (len(out) + ahead) % to:
            out.append(0)

    def put_table(table):
        rows, at = {}, 4
        for slot, value in table.fields.items():
            size = struct.calcsize("<" + value[0]) if isinstance(value, tuple) else 4
            at = -(-at // size) * size
            rows[slot], at = at, at + size
        count = max(rows, default=-1) + 1
        align(8, 4 + 2 * count)
        vtable = len(out)
        out.extend(struct.pack(f"<HH{count}H", 4 + 2 * count, at, *(rows.get(k, 0) for k in range(count))))
        start = len(out)
        out.extend(struct.pack("<i", start - vtable) + bytes(at - 4))
        for slot, value in table.fields.items():
            place = start + rows[slot]
            if isinstance(value, tuple):
                struct.pack_into("<" + value[0], out, place, value[1])
            else:
                waiting.append((place, value))
        return start

    def put(value):
        if isinstance(value, Table):
            return put_table(value)
        if isinstance(value, str):
            value = value.encode() if not value.startswith("\xff") else value.encode("latin-1")
            align(4)
            out.extend(struct.pack("<I", len(value)) + value + b"\0")
            return len(out) - len(value) - 5
        align(4)
        align(value.align, 4)
        start = len(out)
        out.extend(struct.pack("<I", len(value.items)))
        for item in value.items:
            if value.form:
                out.extend(struct.pack("<" + value.form, item))
            else:
                waiting.append((len(out), item))
                out.extend(bytes(4))
        return start

    while waiting:
        place, value = waiting.pop(0)
        struct.pack_into("<I", out, place, put(value) - place)
    return bytes(out)


def tflite(tensors, operators, inputs, outputs):
    """tensors: (name, type, shape, {"data": numbers, "scale": [..], "zero": [..], "axis": N, "signature": [..]}); operators: (name, inputs, outputs, options
    Table or None, custom code or None, custom options' bytes or nothing)."""
    return tflite_graphs([("main", tensors, operators, inputs, outputs)])


def tflite_graphs(graphs, signatures=()):
    """graphs: (name, and what tflite() takes); signatures: (key, graph, {name: tensor} of inputs, of outputs)."""
    buffers, codes, tables = [Table()], [], []
    for title, tensors, operators, inputs, outputs in graphs:
        rows, steps = [], []
        for name, kind, shape, more in tensors:
            buffer = 0
            if "data" in more:
                packed = struct.pack(f"<{len(more['data'])}{SIZES[kind]}", *more["data"])
                buffers.append(Table(_0=Vector(packed, "B", 16)))
                buffer = len(buffers) - 1
            quant = Table(_2=Vector(more["scale"], "f"), _3=Vector(more["zero"], "q", 8),
                          **({"_6": ("i", more["axis"])} if "axis" in more else {})) if "scale" in more else None
            signature = Vector(more["signature"], "i") if "signature" in more else None
            rows.append(Table(_0=Vector(shape, "i"), _1=("b", TYPES[kind]), _2=("I", buffer), _3=name, _4=quant, _7=signature))
        for name, ins, outs, options, custom, *more in operators:
            code, table = OPERATORS[name]
            second = name in SECOND
            codes.append(Table(_0=("b", min(code, 127)), _1=custom, _2=("i", 1), _3=("i", code)))
            of = lambda wanted: ("B", table) if options and wanted else None
            steps.append(Table(_0=("I", len(codes) - 1), _1=Vector(ins, "i"), _2=Vector(outs, "i"), _3=of(not second),
                               _4=None if second else options, _5=Vector(more[0], "B") if more else None, _11=of(second),
                               _12=options if second else None))
        tables.append(Table(_0=Vector(rows), _1=Vector(inputs, "i"), _2=Vector(outputs, "i"), _3=Vector(steps), _4=title))
    maps = lambda ports: Vector([Table(_0=name, _1=("I", tensor)) for name, tensor in ports.items()])
    defs = [Table(_0=maps(ins), _1=maps(outs), _2=key, _4=("I", graph)) for key, graph, ins, outs in signatures]
    model = Table(_0=("I", 3), _1=Vector(codes), _2=Vector(tables), _3="made by a test", _4=Vector(buffers), _7=Vector(defs) if defs else None)
    return flatbuffer(model, b"TFL3")


WEIGHTS = [[1, 0, 0, 0], [1, 1, 1, 1], [-1, 2, -3, 4]]
BIAS = [10, -20, 0]


def dense(operator="FULLY_CONNECTED", custom=None, y_scale=0.125):
    """x i8[1,4] (scale 1/2) -> y i8[1,3] (scale 1/8), weights of scale 1/4."""
    x = ("x", "i8", [1, 4], {"scale": [0.5], "zero": [0]})
    w = ("w", "i8", [3, 4], {"scale": [0.25], "zero": [0], "data": sum(WEIGHTS, [])})
    b = ("b", "i32", [3], {"scale": [0.125], "zero": [0], "data": BIAS})
    y = ("y", "i8", [1, 3], {"scale": [y_scale], "zero": [0]})
    options = Table(_0=("b", 0)) if custom is None and operator == "FULLY_CONNECTED" else None
    return tflite([x, w, b, y], [(operator, [0, 1, 2], [3], options, custom)], [0], [3])


def dense_expected(x):
    return [max(-128, min(127, sum(w * v for w, v in zip(row, x)) + b)) for row, b in zip(WEIGHTS, BIAS)]


# left + right, and its square: two inputs, two outputs, floats that are exact
SUM = """burin 1
model "ir" "sum.ir"
graph "main" 0 {
  tensor %0 f32[2,3] "left"
  tensor %1 f32[2,3] "right"
  tensor %2 f32[2,3] "sum"
  tensor %3 f32[2,3] "square"
  inputs (%0, %1)
  outputs (%2, %3)
  node add (%0, %1) -> (%2) {act: text "none"}
  node mul (%2, %2) -> (%3) {act: text "none"}
}
"""


def generated(count, state=12345):
    """count numbers r of the documented generator, and its state after them."""
    numbers = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        numbers.append((state >> 8) / 2**24)
    return numbers, state


def graph(name, index, tensors, inputs, outputs, nodes):
    """One graph in Burin's text form. tensors: the text behind the number of each; nodes: word, inputs, outputs, attributes."""
    lines = [f'graph "{name}" {index} {{']
    lines += [f"  tensor %{k} {t}" for k, t in enumerate(tensors)]
    refs = lambda numbers: ", ".join(f"%{n}" for n in numbers)
    lines += [f"  inputs ({refs(inputs)})", f"  outputs ({refs(outputs)})"]
    lines += [f"  node {word} ({refs(ins)}) -> ({refs(outs)}) {rest} ids [{k}]" for k, (word, ins, outs, rest) in enumerate(nodes)]
    return "\n".join(lines) + "\n}\n"


# counts as far as its input: a loop whose rounds a run decides
LOOP = 'burin 1\nmodel "ir" "loop.ir"\n' + graph(
    "main", 0, ['i32[] "n"', 'i32[] "zero" = hex "00000000"', 'i32[] "i"', 'i32[] "n2"'], [0], [2], [("while", [1, 0], [2, 3], "{cond: graph 1, body: graph 2}")]
) + graph("cond", 1, ['i32[] "i"', 'i32[] "n"', 'bool[] "more"'], [0, 1], [2], [("less", [0, 1], [2], "")]
) + graph("body", 2, ['i32[] "i"', 'i32[] "n"', 'i32[] "one" = hex "01000000"', 'i32[] "next"'], [0, 1], [3, 1], [("add", [0, 2], [3], '{act: text "none"}')])


def npy(descr, shape, data):
    """A .npy file, version 1."""
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join(f"{n}, " for n in shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def read_npy(data):
    """(descr, shape, bytes)"""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    n = struct.unpack("<H", data[8:10])[0]
    assert (10 + n) % 64 == 0
    header = eval(data[10:10 + n].decode(), {"__builtins__": {}})
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + n:]


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"

"""ONNX models that tests make, as protobuf bytes. No package is needed. Numbers: onnx.proto3 of ONNX 1.23.

A message is bytes; `field` makes one of its fields, so that a test can also make what no model has.
"""
import struct

TYPES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "string": 8, "bool": 9, "f16": 10, "f64": 11, "u32": 12, "u64": 13,
         "bf16": 16, "f8e4m3fn": 17, "f8e4m3fnuz": 18, "f8e5m2": 19, "f8e5m2fnuz": 20, "u4": 21, "i4": 22, "f4e2m1": 23, "f8e8m0": 24, "u2": 25, "i2": 26}
PACK = {"f32": "f", "u8": "B", "i8": "b", "u16": "H", "i16": "h", "i32": "i", "i64": "q", "bool": "?", "f16": "e", "f64": "d", "u32": "I", "u64": "Q"}
FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = range(1, 9)


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def field(number, value):
    """int: a varint; float: 4 bytes; str and bytes: their length and themselves."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def raw(kind, values):
    return struct.pack(f"<{len(values)}{PACK[kind]}", *values)


def tensor(name, kind, dims, values=None, data=None):
    """TensorProto: numbers, or the bytes themselves (data)."""
    data = raw(kind, values) if data is None else data
    return b"".join(field(1, d) for d in dims) + field(2, TYPES[kind]) + (field(8, name) if name else b"") + field(9, data)


def strings(name, dims, values):
    """TensorProto of strings: str or bytes."""
    return b"".join(field(1, d) for d in dims) + field(2, TYPES["string"]) + b"".join(field(6, v) for v in values) + (field(8, name) if name else b"")


def value(name, kind, dims=None):
    """ValueInfoProto; an extent: a number, a name, None: neither. dims None: no shape is stated."""
    shape = b"" if dims is None else field(2, b"".join(
        field(1, b"" if d is None else field(1, d) if isinstance(d, int) else field(2, d)) for d in dims))
    return field(1, name) + field(2, field(1, field(1, TYPES[kind]) + shape))


def attribute(name, v):
    """AttributeProto of a number, text, list of them, or ("tensor" | "graph", message)."""
    one = lambda kind, body: field(1, name) + body + field(20, kind)
    if isinstance(v, tuple):
        return one(TENSOR, field(5, v[1])) if v[0] == "tensor" else one(GRAPH, field(6, v[1]))
    if isinstance(v, list):
        if v and isinstance(v[0], float):
            return one(FLOATS, b"".join(field(7, x) for x in v))
        if v and isinstance(v[0], (str, bytes)):
            return one(STRINGS, b"".join(field(9, x) for x in v))
        return one(INTS, b"".join(field(8, x) for x in v))
    if isinstance(v, float):
        return one(FLOAT, field(2, v))
    return one(INT, field(3, v)) if isinstance(v, int) else one(STRING, field(4, v))


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + (field(3, name) if name else b"") + field(4, op) +
            b"".join(field(5, attribute(k, v)) for k, v in attributes.items()) + (field(7, domain) if domain else b""))


def graph(nodes, inputs, outputs, constants=(), name="g", more=b""):
    return (b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, c) for c in constants) +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs) + more)


def model(body, opset=21, domains=(), functions=(), ir=10, more=b""):
    return (field(1, ir) + field(7, body) + field(8, field(1, "") + field(2, opset)) +
            b"".join(field(8, field(1, d) + field(2, v)) for d, v in domains) + b"".join(field(25, f) for f in functions) + more)

"""ONNX models that bench.py times: made here, of the sizes that issue and documentation name, with weights by chance.

Takes a folder. Writes gigabyte.onnx (a chain of MatMul whose weights are 1 GB in the file), hundred.onnx (100 MB of the same), nodes.onnx (50,000 nodes) and
squeezenet.onnx (SqueezeNet 1.1, its weights constant), unless they are there.
"""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/support"))
import onnx_build as onnx  # noqa: E402

SIDE, LAYERS = 2048, 64  # 64 x 2048 x 2048 floats of 4 bytes: 2^30 bytes
NODES = 50_000


def floats(rng, count, spread):
    return struct.pack(f"<{count}f", *(rng.uniform(-spread, spread) for _ in range(count)))


def chain(path, layers):
    """Graph's fields one by one: the file is never whole in memory. Each layer's first weight is its own, so that none is equal."""
    rng = random.Random(1)
    block = floats(rng, SIDE, 0.03)
    weights = block * SIDE
    head = b"".join(onnx.field(1, onnx.node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"], name=f"layer_{k}")) for k in range(layers)) + onnx.field(2, "g")
    tail = onnx.field(11, onnx.value("x0", "f32", [1, SIDE])) + onnx.field(12, onnx.value(f"x{layers}", "f32", [1, SIDE]))

    def tensor_head(k):
        return onnx.field(1, SIDE) + onnx.field(1, SIDE) + onnx.field(2, onnx.TYPES["f32"]) + onnx.field(8, f"w{k}") + onnx.varint(9 << 3 | 2) + onnx.varint(len(weights))

    heads = [tensor_head(k) for k in range(layers)]
    heads = [onnx.varint(5 << 3 | 2) + onnx.varint(len(h) + len(weights)) + h for h in heads]
    size = len(head) + sum(len(h) + len(weights) for h in heads) + len(tail)
    with path.open("wb") as f:
        f.write(onnx.field(1, 10) + onnx.field(8, onnx.field(1, "") + onnx.field(2, 21)) + onnx.varint(7 << 3 | 2) + onnx.varint(size) + head)
        for k, h in enumerate(heads):
            f.write(h + struct.pack("<f", k / 64))
            f.write(weights[4:])
        f.write(tail)


def gigabyte(path):
    chain(path, LAYERS)


def hundred(path):
    chain(path, 6)


def nodes(path):
    """Branches and joins of small tensors, each operator with a constant of its own now and then."""
    rng = random.Random(2)
    made, constants, at = [], [], "x"
    for k in range(NODES):
        y = f"block_{k // 100}/value_{k}"
        op = ("Add", "Relu", "Mul", "Transpose", "Sigmoid")[k % 5]
        if op in ("Add", "Mul"):
            constants.append(onnx.tensor(f"c{k}", "f32", [8], data=floats(rng, 8, 1)))
            made.append(onnx.node(op, [at, f"c{k}"], [y], name=f"node_{k}"))
        else:
            made.append(onnx.node(op, [at], [y], name=f"node_{k}", **({"perm": [0, 1]} if op == "Transpose" else {})))
        at = y
    path.write_bytes(onnx.model(onnx.graph(made, [onnx.value("x", "f32", [4, 8])], [onnx.value(at, "f32", [4, 8])], constants)))


def squeezenet(path):
    rng = random.Random(3)
    made, constants = [], []

    def conv(x, y, c_in, c_out, k, stride=1, pad=0):
        constants.append(onnx.tensor(f"{y}_w", "f32", [c_out, c_in, k, k], data=floats(rng, c_out * c_in * k * k, (6 / (c_in * k * k)) ** 0.5)))
        constants.append(onnx.tensor(f"{y}_b", "f32", [c_out], data=floats(rng, c_out, 0.1)))
        made.append(onnx.node("Conv", [x, f"{y}_w", f"{y}_b"], [f"{y}_c"], name=y, kernel_shape=[k, k], strides=[stride, stride], pads=[pad] * 4))
        made.append(onnx.node("Relu", [f"{y}_c"], [y], name=f"{y}_relu"))
        return y

    def pool(x, y):
        made.append(onnx.node("MaxPool", [x], [y], name=y, kernel_shape=[3, 3], strides=[2, 2], pads=[0] * 4))
        return y

    def fire(x, n, c_in, squeeze, expand):
        s = conv(x, f"fire{n}_squeeze", c_in, squeeze, 1)
        a, b = conv(s, f"fire{n}_1x1", squeeze, expand, 1), conv(s, f"fire{n}_3x3", squeeze, expand, 3, pad=1)
        made.append(onnx.node("Concat", [a, b], [f"fire{n}"], name=f"fire{n}", axis=1))
        return f"fire{n}"

    x = pool(conv("data", "conv1", 3, 64, 3, stride=2), "pool1")
    x = pool(fire(fire(x, 2, 64, 16, 64), 3, 128, 16, 64), "pool3")
    x = pool(fire(fire(x, 4, 128, 32, 128), 5, 256, 32, 128), "pool5")
    x = fire(fire(fire(fire(x, 6, 256, 48, 192), 7, 384, 48, 192), 8, 384, 64, 256), 9, 512, 64, 256)
    x = conv(x, "conv10", 512, 1000, 1)
    made.append(onnx.node("GlobalAveragePool", [x], ["pool10"], name="pool10"))
    made.append(onnx.node("Softmax", ["pool10"], ["softmaxout"], name="softmaxout", axis=1))
    path.write_bytes(onnx.model(onnx.graph(made, [onnx.value("data", "f32", [1, 3, 224, 224])], [onnx.value("softmaxout", "f32", [1, 1000, 1, 1])], constants)))


def make(folder, names=("gigabyte", "hundred", "nodes", "squeezenet")):
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    makers = {"gigabyte": gigabyte, "hundred": hundred, "nodes": nodes, "squeezenet": squeezenet}
    for name in names:
        paths[name] = folder / f"{name}.onnx"
        if not paths[name].exists():
            makers[name](paths[name])
    return paths


if __name__ == "__main__":
    print(make(pathlib.Path(sys.argv[1])))

# ctest: name=e2e.verify, timeout=600
"""burin verify: golden folders of both forms, missing inputs, tolerances, and status 3 with the element that differs; two models, of
which inputs, outputs and tensors between belong together by name or by order, with distances by hand."""
import json
import os
import pathlib
import struct
import tempfile

import made
import onnx_build as onnx
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("sum.ir").write_text(made.SUM)
IO = "input 0 INT8 [1,4] scale 0.5 zero_point 0\noutput 0 INT8 [1,3] scale 0.125 zero_point 0\narena_used_bytes 3264\n"


def golden(name, **files):
    folder = pathlib.Path(name)
    folder.mkdir(exist_ok=True)
    for file, data in files.items():
        stem, _, extension = file.rpartition("_")
        path = folder / f"{stem}.{extension}"
        path.write_text(data) if isinstance(data, str) else path.write_bytes(data)
    return name


def numbers(*values):
    return struct.pack(f"{len(values)}b", *values)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


x = numbers(1, 2, 3, 4)
y = numbers(*made.dense_expected([1, 2, 3, 4]))
good = golden("good", io_txt=IO, input_0_bin=x, output_0_bin=y)
for options in ([], ["--provider", "host"], ["--numerics", "litert"]):
    done = burin("verify", "dense.tflite", good, *options)
    assert done.stdout.splitlines() == ['output 0  i8[1,3] "y"  equal'] and done.stderr == "", done
assert burin("verify", "dense.tflite", good, "--quiet").stdout == ""
assert json.loads(burin("verify", "dense.tflite", good, "--json").stdout)[0]["verdict"] == "equal"

# one step of one integer is status 3, with the place and both values
bad = golden("bad", input_0_npy=made.npy("|i1", [1, 4], x), output_0_bin=numbers(11, -9, 10))
for provider in ("reference", "host"):
    done = burin("verify", "dense.tflite", bad, "--provider", provider, status=3)
    assert "differs" in done.stdout and "1 of 3" in done.stderr and "[0,1]: -10, not -9" in done.stderr, done
assert json.loads(burin("verify", "dense.tflite", bad, "--json", status=3).stdout)[0]["verdict"] == "differs"
assert "not -9" in burin("verify", "dense.tflite", bad, "--quiet", status=3).stderr

# inputs that are missing are made, and that is said
r, _ = made.generated(4)
made_x = [int(256 * v) - 256 if int(256 * v) > 127 else int(256 * v) for v in r]
missing = golden("missing", io_txt=IO, output_0_bin=numbers(*made.dense_expected(made_x)))
done = burin("verify", "dense.tflite", missing)
assert "no input_0" in done.stderr and "seed 12345" in done.stderr
burin("verify", "dense.tflite", missing, "--seed", "9", status=3)
burin("verify", "dense.tflite", good, "--seed", "9", status=2)

# two inputs, two outputs; floats within the tolerance only
left, right = floats(1, 2, 3, 4, 5, 6), floats(1, 1, 1, 1, 1, 1)
both = golden("both", input_0_bin=left, input_1_npy=made.npy("<f4", [2, 3], right), output_0_bin=floats(2, 3, 4, 5, 6, 7),
              output_1_npy=made.npy("<f4", [2, 3], floats(4, 9, 16, 25, 36, 49)))
assert burin("verify", "sum.ir", both).stdout.count("equal") == 2
golden("both", output_1_npy=made.npy("<f4", [2, 3], floats(4, 9, 16, 25, 36, 49.004)))
assert "within tolerance" in burin("verify", "sum.ir", both).stdout
done = burin("verify", "sum.ir", both, "--rtol", "1e-6", "--atol", "0", status=3)
assert "output 0" in done.stdout and "equal" in done.stdout and "output 1: 1 of 6 values differ, first [1,2]" in done.stderr, done
# one input is there, and is not what the generator makes: the other cannot be made to go with it
os.unlink("both/input_1.npy")
assert "cannot be made" in burin("verify", "sum.ir", both, status=1).stderr

# folders that do not go with the model
for name, files, text in (
        ("no-output", dict(input_0_bin=x), "neither output_0.npy nor output_0.bin"),
        ("two", dict(input_0_bin=x, output_0_bin=y, output_1_bin=y), "but the model has 1 output\n"),
        ("size", dict(input_0_bin=x, output_0_bin=y + b"\0"), "4 bytes"),
        ("type", dict(io_txt=IO.replace("INT8 [1,3]", "UINT8 [1,3]"), input_0_bin=x, output_0_bin=y), "io.txt:2"),
        ("shape", dict(io_txt=IO.replace("[1,4]", "[4,2]"), input_0_bin=x, output_0_bin=y), "io.txt:1"),
        ("nonsense", dict(io_txt="input 0 INT8 [1,\n", input_0_bin=x, output_0_bin=y), "io.txt:1"),
        ("word", dict(io_txt="input\n", input_0_bin=x, output_0_bin=y), "io.txt:1"),
        ("huge", dict(io_txt=IO.replace("[1,4]", "[99999999999999999999]"), input_0_bin=x, output_0_bin=y), "io.txt:1"),
        ("fewer", dict(io_txt=IO.splitlines()[0], input_0_bin=x, output_0_bin=y), "0 outputs"),
        ("more", dict(io_txt=IO + "output 1 INT8 [1]\n", input_0_bin=x, output_0_bin=y), "io.txt:4")):
    done = burin("verify", "dense.tflite", golden(name, **files), status=1)
    assert text in done.stderr and done.stdout == "", (name, done.stderr)
# far apart: how far is said, and steps may be allowed
assert "1 of 3 not equal, at most 1 apart, relative 0.111, 1 steps" in burin("verify", "dense.tflite", bad, status=3).stdout
assert "within tolerance" in burin("verify", "dense.tflite", bad, "--steps", "1").stdout
golden("bad", output_0_bin=numbers(11, -8, 10))
done = burin("verify", "dense.tflite", bad, "--steps", "1", "--json", status=3)
assert json.loads(done.stdout) == [{"kind": "output", "name": "y", "type": "i8", "shape": [1, 3], "verdict": "differs", "elements": 3, "unequal": 1,
                                    "mismatches": 1, "max_abs": 2, "max_rel": 0.25, "max_steps": 2, "first": 1, "a": -10, "b": -8}], done.stdout
for option in (["--layers"], ["--repeat", "2"], ["--input", "x.bin"]):
    assert f"{option[0]}: good is a folder of golden data" in burin("verify", "dense.tflite", good, *option, status=2).stderr

# ---- two models ----
def net(name, c, x="x", s="s", y="y", dims=("n", 4), kind="f32", op="Mul", more=(), outs=()):
    """s = x + c; y = s op 2"""
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph(
        [onnx.node("Add", [x, "c"], [s]), onnx.node(op, [s, "k"], [y]), *more], [onnx.value(x, kind, dims)],
        [onnx.value(v, kind) for v in (y, *outs)], [onnx.tensor("c", kind, [4], c), onnx.tensor("k", kind, [], [2])])))


def verdicts(*words, status=0):
    return json.loads(burin("verify", *words, "--json", status=status).stdout)


net("a.onnx", [1, 2, 3, 4])
net("same.onnx", [1, 2, 3, 4])
net("b.onnx", [1, 2, 3, 4.5])
net("names.onnx", [1, 2, 3, 4], "in", "mid", "out")
net("swapped.onnx", [1, 2, 3, 4], op="Sub")
pathlib.Path("zero.bin").write_bytes(bytes(16))
pathlib.Path("zeros.npy").write_bytes(made.npy("<f4", [1, 4], bytes(16)))
pathlib.Path("zeros3.npy").write_bytes(made.npy("<f4", [3, 4], bytes(48)))
assert "absent: error: cannot open" in burin("verify", "dense.tflite", "absent", status=1).stderr
assert burin("verify", "dense.tflite", "dense.tflite").stdout == 'output 0  i8[1,3] "y"  equal\n'
done = burin("verify", "a.onnx", "same.onnx", "--dim", "n=1", "--layers")
assert done.stdout.splitlines() == ['output 0  f32[1,4] "y"  equal', 'layer  f32[1,4] "s"  equal', "1 layer compared, 0 differ"], done

# inputs of zeros: s is 4 and 4.5, y is 8 and 9. A float of [4,8) has a step of 2^-21, one of [8,16) of 2^-20.
want = [{"kind": "output", "name": "y", "other": "y", "type": "f32", "shape": [1, 4], "verdict": "differs", "elements": 4, "unequal": 1, "mismatches": 1,
         "max_abs": 1, "max_rel": 0.111111111, "max_steps": 1 << 20, "first": 3, "a": 8.0, "b": 9.0},
        {"kind": "layer", "name": "s", "other": "s", "type": "f32", "shape": [1, 4], "verdict": "differs", "elements": 4, "unequal": 1, "mismatches": 1,
         "max_abs": 0.5, "max_rel": 0.111111111, "max_steps": 1 << 20, "first": 3, "a": 4.0, "b": 4.5}]
for given in (["--input", "zeros.npy"], ["--input", "x=zero.bin", "--dim", "n=1"], ["--input", "zero.bin", "--batch", "1"]):
    assert verdicts("a.onnx", "b.onnx", "--layers", *given, status=3) == want, given
assert verdicts("a.onnx", "b.onnx", "--input", "zeros.npy", status=3) == want[:1]
done = burin("verify", "a.onnx", "b.onnx", "--layers", "--input", "zeros.npy", status=3)
assert done.stderr.splitlines() == ['error: output 0 "y": 1 of 4 values differ, first [0,3]: 8.0, not 9.0',
                                    'note: the first that differs: tensor "s": 1 of 4 values differ, first [0,3]: 4.0, not 4.5'], done.stderr
assert done.stdout.splitlines()[0] == 'output 0  f32[1,4] "y"  differs: 1 of 4 not equal, at most 1 apart, relative 0.111, 1048576 ulp'
assert done.stdout.splitlines()[2] == "1 layer compared, 1 differ"

# tolerances: the largest is 9, so that 1 <= atol * 9 from 0.112 on; ulp alone, or beside what is said of the others
for options, status in ((["--rtol", "0.112", "--atol", "0"], 0), (["--rtol", "0.11", "--atol", "0"], 3), (["--rtol", "0", "--atol", "0.112"], 0),
                        (["--ulp", "1048576"], 0), (["--ulp", "1048575"], 3), (["--ulp", "1", "--rtol", "0.112"], 0), (["--provider", "host"], 3)):
    verdicts("a.onnx", "b.onnx", "--input", "zeros.npy", *options, status=status)
assert "--steps has no effect: the model's outputs are all floats" in burin("verify", "a.onnx", "b.onnx", "--dim", "n=1", "--steps", "1", status=2).stderr

# other names: in order, and by the operators' order; what has another extent is not compared
done = burin("verify", "a.onnx", "names.onnx", "--input", "zeros3.npy", "--layers")
assert done.stdout.splitlines() == ['output 0  f32[3,4] "y"  equal ("out")', 'layer  f32[3,4] "s"  equal ("mid")', "1 layer compared, 0 differ"], done
assert "those of the same operators are compared" in done.stderr
net("other_op.onnx", [1, 2, 3, 4], "in", "mid", "out", op="Sub")
done = burin("verify", "a.onnx", "other_op.onnx", "--dim", "n=1", "--layers", status=3)
assert "outputs alone are compared" in done.stderr and "0 layers compared, 0 differ" in done.stdout

# two of one type: by name, in whichever order; where one name is another, all in order
PAIR = [onnx.node("Sub", ["p", "q"], ["d"]), onnx.node("Add", ["p", "q"], ["e"])]
for name, ins, outs in (("pq.onnx", "pq", "de"), ("qp.onnx", "qp", "ed"), ("rq.onnx", "rq", "de")):
    nodes = PAIR if name != "rq.onnx" else [onnx.node("Sub", ["r", "q"], ["d"]), onnx.node("Add", ["r", "q"], ["e"])]
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph(nodes, [onnx.value(v, "f32", [2]) for v in ins], [onnx.value(v, "f32") for v in outs])))
assert [(v["name"], v["other"], v["verdict"]) for v in verdicts("pq.onnx", "qp.onnx")] == [("d", "d", "equal"), ("e", "e", "equal")]
done = burin("verify", "pq.onnx", "rq.onnx")
assert "the inputs have other names in rq.onnx: they are taken in order" in done.stderr and done.stdout.count("equal") == 2, done
pathlib.Path("one.onnx").write_bytes(onnx.model(onnx.graph(PAIR, [onnx.value(v, "f32", [2]) for v in "pq"], [onnx.value("e", "f32")])))
assert "pq.onnx has 2 outputs, one.onnx 1" in burin("verify", "pq.onnx", "one.onnx", status=1).stderr
assert burin("verify", "pq.onnx", "one.onnx", "--outputs", "e").stdout == 'output 0  f32[2] "e"  equal\n'

# types and layouts are not guessed
net("ints.onnx", [1, 2, 3, 4], kind="i32")
assert 'input 0 "x" is i32 ?x4, given was f32 1x4' in burin("verify", "a.onnx", "ints.onnx", "--dim", "n=1", status=1).stderr
net("ints.onnx", [1, 2, 3, 4], kind="i32", dims=(1, 4))
assert 'input 0 "x" is f32 1x4, in ints.onnx i32 1x4' in burin("verify", "a.onnx", "ints.onnx", "--dim", "n=1", status=1).stderr
for name, perm in (("tall.onnx", [1, 0]), ("flat.onnx", [0, 1])):
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph([onnx.node("Transpose", ["x"], ["y"], perm=perm)], [onnx.value("x", "f32", [2, 3])], [onnx.value("y", "f32")])))
done = burin("verify", "tall.onnx", "flat.onnx", status=3)
assert 'output 0 "y": f32 3x2, in flat.onnx f32 2x3' in done.stderr and "differs: f32 3x2" in done.stdout
assert json.loads(burin("verify", "tall.onnx", "flat.onnx", "--json", status=3).stdout)[0]["why"] == "f32 3x2, in flat.onnx f32 2x3"

# NaN equals NaN and nothing else; an infinity is a number apart; 0.0 is -0.0
for name, op in (("log.onnx", "Log"), ("sqrt.onnx", "Sqrt")):
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph([onnx.node(op, ["x"], ["y"])], [onnx.value("x", "f32", [3])], [onnx.value("y", "f32")])))
pathlib.Path("odd.npy").write_bytes(made.npy("<f4", [3], floats(-1, 1, 0)))  # NaN 0 -inf; NaN 1 0
(v,) = verdicts("log.onnx", "sqrt.onnx", "--input", "odd.npy", status=3)
assert (v["unequal"], v["mismatches"], v["max_abs"], v["first"], v["a"], v["b"]) == (2, 2, 1, 1, 0.0, 1.0), v
(v,) = verdicts("log.onnx", "sqrt.onnx", "--input", "odd.npy", "--atol", "1", status=3)
assert (v["mismatches"], v["first"], v["a"], v["b"]) == (1, 2, "-inf", 0.0), v

# several runs, each with inputs of its own
pathlib.Path("two.npy").write_bytes(made.npy("<f4", [2, 1, 4], floats(0, 0, 0, 0, 0, 0, 0, -8)))  # y 8 and 9, then -8 and -7
(v,) = verdicts("a.onnx", "b.onnx", "--dim", "n=1", "--repeat", "2", "--input", "two.npy", "--rtol", "0.12", status=3)
assert (v["elements"], v["unequal"], v["mismatches"], v["run"], v["first"], v["a"], v["b"]) == (8, 2, 1, 1, 3, -8.0, -7.0), v
assert "--layers needs --provider reference" in burin("verify", "a.onnx", "b.onnx", "--dim", "n=1", "--layers", "--provider", "host", status=2).stderr
assert "the inputs are either given or made" in burin("verify", "a.onnx", "b.onnx", "--input", "zeros.npy", "--seed", "3", status=2).stderr

# a model and what was written of it, in every format
for form in ("onnx", "tflite", "ir"):
    burin("compile", "a.onnx", "--dim", "n=2", "-o", f"again.{form}", "--quiet")
    assert "equal" in burin("verify", "a.onnx", f"again.{form}", "--dim", "n=2").stdout, form
burin("verify", "again.tflite", "again.ir", "--seed", "7", "--repeat", "3")

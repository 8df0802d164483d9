# ctest: name=e2e.verify, timeout=600
"""burin verify: golden folders of both forms, missing inputs, tolerances, and status 3 with the element that differs."""
import json
import os
import pathlib
import struct
import tempfile

import made
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
    assert "differs" in done.stdout and "1 of 3" in done.stderr and "[1]: -10, not -9" in done.stderr, done
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
assert "output 0" in done.stdout and "equal" in done.stdout and "output 1: 1 of 6 values differ, first [5]" in done.stderr, done
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
assert "absent: no such folder" in burin("verify", "dense.tflite", "absent", status=1).stderr
assert "dense.tflite: it is no folder" in burin("verify", "dense.tflite", "dense.tflite", status=1).stderr

# ctest: name=e2e.conform
"""burin conform and burin providers: built in, by path, by $BURIN_PROVIDER_PATH; a provider that lies fails; numbers are those of docs/PROVIDERS.md."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

import support
from support import burin

os.chdir(tempfile.mkdtemp())
FLAGS = ["-shared", "-fPIC", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(support.SOURCE / "include")]


def build(source, out):
    subprocess.run(["cc", *FLAGS, source, "-o", out, "-lpthread"], check=True)


providers = json.loads(burin("providers", "--json").stdout)
assert "null" in [p["name"] for p in providers] and burin("providers").stdout.splitlines()
result = json.loads(burin("conform", "null", "--json").stdout)
assert result["failed"] == 0 and result["passed"] >= 120, result
names = [check["name"] for check in result["checks"]]
assert [check["number"] for check in result["checks"]] == list(range(1, len(names) + 1)) and len(set(names)) == len(names)
assert burin("conform", "null", "--quiet").stdout == f"{result['passed']} pass, 0 fail, {result['not_claimed']} not claimed\n"

# a model of the caller's: what the kit runs is that file, and what is no model fails the checks that need one
MODEL = b"NULLMOD1" + struct.pack("<II6f", 6, 0, 0.5, -1, 3, 0.25, 2, -8)
pathlib.Path("six.null").write_bytes(MODEL)
given = json.loads(burin("conform", "null", "six.null", "--json").stdout)
assert given["failed"] == 0 and given["passed"] == result["passed"], given
pathlib.Path("short.null").write_bytes(MODEL[:-1])
short = json.loads(burin("conform", "null", "short.null", "--json", status=3).stdout)
failed = [check["name"] for check in short["checks"] if check["verdict"] == "fail"]
assert "inspects" in failed and "registers" not in failed, failed
assert "absent.null: No such file" in burin("conform", "null", "absent.null", status=1).stderr
assert "no regular file" in burin("conform", "null", ".", status=1).stderr
os.mkfifo("pipe")
assert "no regular file" in burin("conform", "null", "pipe", status=1).stderr

# the evaluator, on its sample and on a model of the caller's
given = json.loads(burin("conform", "reference", "--json").stdout)
assert given["failed"] == 0 and given["passed"] >= 170, given
pathlib.Path("own.ir").write_text('burin 1\nmodel "ir" "own"\ngraph "main" 0 {\ntensor %0 i8[3] "x"\ntensor %1 i8[3] "y"\ninputs (%0)\noutputs (%1)\n'
                                  'node abs (%0) -> (%1)\n}\n')
given = json.loads(burin("conform", "reference", "own.ir", "--json").stdout)
claimed = {check["name"] for check in given["checks"] if check["verdict"] == "pass"}
assert given["failed"] == 0 and "activation_exact" in claimed and "reset_is_new" not in claimed, given

# an extent that each run says; and graphs that data choose, with states in them
pathlib.Path("open.ir").write_text('burin 1\nmodel "ir" "open"\nsymbol "batch" 3\ngraph "main" 0 {\ntensor %0 f32["batch",2] "x"\n'
                                   'tensor %1 f32["batch",2] "y"\ninputs (%0)\noutputs (%1)\nnode relu (%0) -> (%1)\n}\n')
for model, has in ("open.ir", "threads"), (support.SOURCE / "tests/fuzz/seeds/ir/control.ir", "restore_exact"):
    given = json.loads(burin("conform", "reference", model, "--json").stdout)
    claimed = {check["name"] for check in given["checks"] if check["verdict"] == "pass"}
    assert given["failed"] == 0 and has in claimed, given

# the same file as a shared object, as its head says
source = support.SOURCE / "examples/null_provider.c"
assert len(source.read_text().splitlines()) < 300
build(source, "mine.so")
assert json.loads(burin("conform", "./mine.so", "--json").stdout)["failed"] == 0
found = burin("conform", "mine", "-q", env={**os.environ, "BURIN_PROVIDER_PATH": f"/nonexistent:{os.getcwd()}"})
assert " 0 fail" in found.stdout

# one that lies: its reset forgets half
text = source.read_text()
assert "memset(s->state, 0, (size_t)s->model->elements * 4)" in text
pathlib.Path("lie.c").write_text(text.replace("memset(s->state, 0, (size_t)s->model->elements * 4)",
                                             "memset(s->state, 0, (size_t)s->model->elements * 2)"))
build("lie.c", "lie.so")
lied = json.loads(burin("conform", "./lie.so", "--json", status=3).stdout)
assert "reset_is_new" in [check["name"] for check in lied["checks"] if check["verdict"] == "fail"]

done = burin("conform", "nul", status=2)
assert "did you mean null?" in done.stderr
done = burin("conform", "./absent.so", status=1)
assert "absent.so" in done.stderr
pathlib.Path("empty.c").write_text("int nothing;\n")
build("empty.c", "empty.so")
assert "burin_provider_entry" in burin("conform", "./empty.so", status=1).stderr

# ctest: name=e2e.cli_examples
"""Every example of docs/CLI.md is run: a line `$ ...` in a console block, and under it what it must print (... is anything)."""
import os
import pathlib
import re
import struct
import subprocess
import tempfile

import support

# the model and the data that the examples speak of
MODEL = """burin 1
model "ir" "digits.ir"
graph "main" 0 {
  tensor %0 i8[1,4] "image" quant {0.5:0}
  tensor %1 i8[3,4] "weights" quant {0.25:0} = hex "01020304 00000000 04030201"
  tensor %2 i32[3] "bias" quant {0.125:0} = hex "00000000 00000000 00000000"
  tensor %3 i8[1,3] "hidden" quant {0.125:0}
  tensor %4 i8[1,3] "scores" quant {0.125:0}
  inputs (%0)
  outputs (%4)
  node fully_connected (%0, %1, %2) -> (%3) {act: text "none", keep_num_dims: int 0}
  node relu (%3) -> (%4)
}
"""
IMAGE = (5, 1, 1, 7)    # rows 5+2+3+28 = 38 and 20+3+2+7 = 32
os.chdir(tempfile.mkdtemp())
pathlib.Path("digits.ir").write_text(MODEL)
pathlib.Path("image.bin").write_bytes(struct.pack("4b", *IMAGE))
os.mkdir("golden")
pathlib.Path("golden/input_0.bin").write_bytes(struct.pack("4b", *IMAGE))
pathlib.Path("golden/output_0.bin").write_bytes(struct.pack("3b", 38, 0, 32))
os.mkdir("bin")
os.symlink(os.environ["BURIN"], "bin/burin")
environment = {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}"}

text = (support.SOURCE / "docs/CLI.md").read_text()
examples = []
for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
    for line in block.splitlines():
        if line.startswith("$ "):
            examples.append((line[2:], []))
        else:
            examples[-1][1].append(line)
assert len(examples) >= 12
for command, lines in examples:
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    pattern = r"\n".join(re.escape(line).replace(re.escape("..."), "(.|\n)*") for line in lines)
    assert not lines or re.fullmatch(pattern, done.stdout.rstrip("\n")), f"$ {command}\n{done.stdout}\nis not\n" + "\n".join(lines)
    assert "error" not in done.stderr, (command, done.stderr)

# the commands of the table and of the help are the same
listed = re.findall(r"^\| `([a-z]+)", text, re.M) + ["devices", "operators"]
helped = re.findall(r"^  burin ([a-z]+) .*  ", subprocess.run(["burin", "--help"], env=environment, capture_output=True, text=True).stdout, re.M)
assert sorted(set(listed)) == sorted(set(helped) - {"help"}), (listed, helped)

# ctest: name=e2e.cli_examples
"""Every example of docs/CLI.md is run: a line `$ ...` in a console block, and under it what it must print (... is anything)."""
import os
import re
import shutil
import subprocess
import tempfile

import support

# the files that the text tells to copy
text = (support.SOURCE / "docs/CLI.md").read_text()
copied = re.search(r"^    cd build && .* && cp (.*) \.$", text, re.M).group(1).split()
folder = tempfile.mkdtemp()
for name in copied:
    shutil.copy(support.SOURCE / "build" / name, folder)
os.chdir(folder)
os.mkdir("bin")
os.symlink(os.environ["BURIN"], "bin/burin")
environment = {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}"}

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
listed = re.findall(r"^\| `([a-z]+)", text, re.M) + ["devices", "moves", "operators", "providers"]
helped = re.findall(r"^  burin ([a-z]+) .*  ", subprocess.run(["burin", "--help"], env=environment, capture_output=True, text=True).stdout, re.M)
assert sorted(set(listed)) == sorted(set(helped) - {"help"}), (listed, helped)

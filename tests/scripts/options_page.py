# ctest: name=scripts.options_page
"""What is generated from the tables of options is what scripts/options_page.py writes; every option names tests that are there and that say its
flag; the manual page has every flag that help shows and troff has no complaint."""
import importlib.util
import re
import shutil
import subprocess
import sys

import support

script = support.SOURCE / "scripts/options_page.py"
done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stdout + done.stderr)

spec = importlib.util.spec_from_file_location("options_page", script)
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
tests = {}
for file in (support.SOURCE / "tests").rglob("*.py"):
    text = file.read_text()
    marker = re.search(r"^# ctest: name=([A-Za-z0-9_.-]+)", "\n".join(text.splitlines()[:3]), re.M)
    if marker:
        tests[marker.group(1)] = text
options = page.options()
assert len(options) > 40
for option in options:
    assert option.tests, f"{option.field}: no test shows its effect"
    said = [shown for shown in ({f"--{option.flag}", page.shown(option)} if option.flag else {"--external-data", option.field})]
    said += [f"-{option.letter}"] if option.letter else []
    for test in option.tests.split():
        assert test in tests, f"{option.field}: there is no test {test}"
        assert any(re.search(rf"(?<![\w-]){word}(?![a-z-]{{2}})", tests[test]) for word in said), f"{test} does not say {said}"

# the manual page: each flag of help, by command
manual = (support.SOURCE / "docs/burin.1").read_text().replace("\\-", "-")
for command in page.commands():
    flags = re.findall(r"(?m)^ +(?:-\w, +)?(--[a-z-]+)", support.burin("help", command.name).stdout)
    assert "--help" in flags
    for flag in flags:
        block = re.search(rf"(?m)^(?:\\fB-\w\\fR, )?\\fB{flag}\\fR.*\n.*\n\[(.*)\]$", manual)
        assert block and (command.name in block.group(1).split(", ") or block.group(1) == "all commands"), (command.name, flag)
if shutil.which("groff"):
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", support.SOURCE / "docs/burin.1"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr

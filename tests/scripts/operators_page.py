# ctest: name=scripts.operators_page
"""docs/OPERATORS.md is what scripts/operators_page.py writes, and says what it must: each builtin once, each definition once."""
import re
import subprocess
import sys

import support

done = subprocess.run([sys.executable, support.SOURCE / "scripts/operators_page.py", "--check"], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stdout + done.stderr)

page = (support.SOURCE / "docs/OPERATORS.md").read_text()
codes = [int(n) for n in re.findall(r"(?m)^\| (\d+) \| [A-Z]", page)]
assert codes == list(range(210)), "a builtin is missing, or there twice"
assert not re.search(r"\*\*\w+\*\*: no definition", page), "a word of the dictionary has no definition"
named = re.findall(r"(?m)^### (\w+)$", page)
defined = sorted(p.stem for p in (support.SOURCE / "src/ops").glob("*.op") if not p.stem.startswith("_"))
assert named == defined, set(named) ^ set(defined)

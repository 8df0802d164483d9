# ctest: name=scripts.providers_page
"""docs/PROVIDERS.md is what scripts/providers_page.py writes: every promise has a check, every check a promise, and Burin prints the same checks."""
import json
import re
import subprocess
import sys

import support

done = subprocess.run([sys.executable, support.SOURCE / "scripts/providers_page.py", "--check"], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stdout + done.stderr)

page = (support.SOURCE / "docs/PROVIDERS.md").read_text()
rows = re.findall(r"(?m)^\| (\d+) \| `(\w+)` \| (.*?) \| ([PS0-9 ]+) \|", page)
said = json.loads(support.burin("conform", "null", "--json").stdout)["checks"]
assert [(int(n), name, text, promises) for n, name, text, promises in rows] == [
    (c["number"], c["name"], c["text"], c["promises"]) for c in said], "the page's checks are not the kit's"
assert len(re.findall(r"(?m)^\| [PS]\d+ \| \S", page)) >= 100

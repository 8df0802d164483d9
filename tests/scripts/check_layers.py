# ctest: name=scripts.check_layers
"""scripts/check_layers.py finds each kind of fault in a small tree, at its line, and nothing in a tree that obeys."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support

GOOD = {
    "src/base/base.h": '#include <stdint.h>\n#include "base/words.h"\n',
    "src/base/words.h": "",
    "src/base/inner.h": "",
    "src/base/a.c": '#include "base/base.h"\n#include "base/inner.h"\n#include <sys/mman.h>\n',
    "src/wire/wire.h": '#include "base/base.h"\n',
    "src/ir/ir.h": '#include "base/words.h"\n',
    "src/ops/ops.h": '#include "ir/ir.h"\n',
    "src/ops/embedded.h": "",
    "src/formats/formats.h": '#include "ops/ops.h"\n',
    "src/formats/aa/aa.h": '#include "formats/formats.h"\n',
    "src/formats/aa/aa.c": '#include "formats/aa/aa.h"\n#include "formats/aa/schema.h"\n#include "wire/wire.h"\n',
    "src/formats/aa/schema.h": "",
    "src/formats/bb/bb.h": "",
    "src/plan/plan.h": "",
    "src/targets/target.h": '#include "plan/plan.h"\n',
    "src/targets/c/c.c": '#include "targets/target.h"\n#include "formats/aa/aa.h"\n',
    "src/compile/compile.c": '#include "formats/formats.h"\n#include "targets/target.h"\n',
    "src/api/api.c": '#include "burin/burin.h"\n#include "base/base.h"\n',
    "src/cli/main.c": '#include <burin/burin.h>\n#include "cli/table.h"\n',
    "src/cli/table.h": "",
    "include/burin/burin.h": "#include <stddef.h>\n",
}
BAD = [  # file, the include that must be refused there
    ("src/base/a.c", '#include "ir/ir.h"'),                 # upward
    ("src/wire/wire.h", '#include "ir/ir.h"'),              # sideways
    ("src/ir/ir.h", '#include "wire/wire.h"'),
    ("src/formats/aa/aa.c", '#include "formats/bb/bb.h"'),  # sideways, in a group
    ("src/formats/aa/aa.c", '#include "targets/target.h"'),
    ("src/formats/formats.h", '#include "formats/aa/aa.h"'),
    ("src/targets/c/c.c", '#include "compile/compile.h"'),
    ("src/targets/c/c.c", '#include "formats/aa/schema.h"'),  # past the face
    ("src/ir/ir.h", '  #  include "base/inner.h"'),
    ("src/api/api.c", '#include "ops/embedded.h"'),
    ("src/cli/main.c", '#include "base/base.h"'),           # the command sees the public headers only
    ("src/plan/plan.h", '#include "burin/burin.h"'),
    ("include/burin/burin.h", '#include "base/base.h"'),
    ("src/base/a.c", "#include <zlib.h>"),                  # a dependency
    ("src/base/a.c", '#include "inner.h"'),
    ("src/base/a.c", '#include "nowhere/nowhere.h"'),
    ("src/base/a.c", "#include HEADER"),
]


def check(tree):
    script = support.SOURCE / "scripts/check_layers.py"
    return subprocess.run([sys.executable, script, tree], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    for name, text in GOOD.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    shutil.copy(support.SOURCE / "src/ROOMS", tree / "src/ROOMS")
    done = check(tree)
    assert done.returncode == 0 and done.stdout == f"{len(GOOD)} files, 0 faults\n", done.stdout + done.stderr
    for name, line in BAD:
        (tree / name).write_text(GOOD[name] + line + "\n")
        done = check(tree)
        place = f"{name}:{GOOD[name].count(chr(10)) + 1}: "
        assert done.returncode == 1 and done.stdout.startswith(place) and done.stdout.count("\n") == 2, \
            f"{name}: {line}: {done.stdout}{done.stderr}"
        (tree / name).write_text(GOOD[name])
    (tree / "src/stray.c").write_text("#include <stdio.h>\n")
    assert "src/stray.c:1: " in check(tree).stdout

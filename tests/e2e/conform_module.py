# ctest: name=e2e.conform_module
"""An emitted module as a shared object behind the contract: it conforms, computes what its model says, and what is not the object
that was given is refused by name, never run.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile

import support
from support import burin

os.chdir(tempfile.mkdtemp())
SANITIZE = re.search(r"(?m)^BURIN_SANITIZE:STRING=(.+)$", (support.BUILD / "CMakeCache.txt").read_text())
FLAGS = [f"-fsanitize={SANITIZE.group(1)}"] if SANITIZE else []
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# y = sum of all x so far, times a weight
SUM = """burin 1
model "ir" "sum"
state @0 f32[2] "sum"
graph "main" 0 {{
tensor %0 f32[2] "x"
tensor %1 f32[2] "" state @0
tensor %2 f32[2] "all"
tensor %3 f32[2] "weights" = hex "{weights}"
tensor %4 f32[2] "y"
inputs (%0)
outputs (%4)
node add (%0, %1) -> (%2)
node identity (%2) -> (%1)
node mul (%2, %3) -> (%4)
}}
"""
OPEN = """burin 1
model "ir" "open"
symbol "batch" 3
graph "main" 0 {
tensor %0 f32["batch"] "x"
tensor %1 f32["batch"] "y"
inputs (%0)
outputs (%1)
node relu (%0) -> (%1)
}
"""


def emit(name, text):
    pathlib.Path(f"{name}.ir").write_text(text)
    burin("compile", f"{name}.ir", "--target", "c", "--layout", "single", "-o", name)
    pathlib.Path(f"{name}/glue.c").write_text(f'#include "{name}.h"\n#define BURIN_MODULE {name}\n#include <burin/module.h>\n')


def build(out, *sources):
    return subprocess.run(["cc", "-std=c99", *WARN, "-shared", "-fPIC", "-O2", "-I", support.SOURCE / "include", *sources, "-o", out, "-lm"],
                          capture_output=True, text=True)


emit("sum", SUM.format(weights="00000040000040c0"))  # 2, -3
emit("other", SUM.format(weights="0000a040000040c0"))  # 5, -3
for name in "sum", "other":
    done = build(f"{name}.so", f"{name}/{name}.c", f"{name}/glue.c")
    assert done.returncode == 0, done.stderr
result = json.loads(burin("conform", "module", "./sum.so", "--json").stdout)
passed = {check["name"] for check in result["checks"] if check["verdict"] == "pass"}
assert result["failed"] == 0 and {"restore_exact", "reset_is_new", "fork_apart", "threads", "no_allocation", "whole_life"} <= passed, result

# what is no such object is refused before it is loaded, in words
PROGRAM = """#include <stdio.h>
#include <string.h>
#include <burin/session.h>
typedef struct file { const char *path; } file;
static burin_code read_at(void *user, uint64_t offset, void *to, size_t n) {
    FILE *f = fopen(((file *)user)->path, "rb");
    size_t got = 0;
    if (f != NULL) {
        if (fseek(f, (long)offset, SEEK_SET) == 0) {
            got = fread(to, 1, n, f);
        }
        fclose(f);
    }
    return got == n ? BURIN_E_NONE : BURIN_E_READ;
}
/* Each argument: a path, whose session stays; or -, which releases the last one. */
int main(int argc, char **argv) {
    burin_runtime *rt = NULL;
    burin_handle provider = BURIN_NO_HANDLE, session = BURIN_NO_HANDLE;
    const burin_provider *p = NULL;
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL && strcmp(p->name, "module") != 0; i++) {
    }
    if (burin_runtime_open(NULL, &rt, NULL) != 0 || burin_provider_register(rt, p, &provider, NULL) != 0) {
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        char from[200], to[200];
        if (sscanf(argv[i], "%199[^=]=%199s", to, from) == 2) { /* to=from: the file is put there */
            if (rename(from, to) != 0) {
                return 3;
            }
            continue;
        }
        if (strcmp(argv[i], "-") == 0) {
            burin_session_release(rt, &session, NULL);
            continue;
        }
        file user = {argv[i]};
        burin_error e = BURIN_ERROR_INIT;
        burin_handle artifact = BURIN_NO_HANDLE, config = BURIN_NO_HANDLE, model = BURIN_NO_HANDLE;
        burin_source source = {sizeof source, 0, argv[i], 0, &user, read_at};
        FILE *f = fopen(argv[i], "rb");
        float x[2] = {1, 2}, y[2] = {0, 0};
        const burin_value in = {"x", "f32", 1, 0, {2}, x, sizeof x}, out = {"y", "f32", 1, 0, {2}, y, sizeof y};
        if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
            return 4;
        }
        source.bytes = (uint64_t)ftell(f);
        fclose(f);
        burin_code code = burin_artifact_inspect(rt, provider, &source, &artifact, &e);
        code = code == 0 ? burin_artifact_plan(rt, &artifact, NULL, &config, &e) : code;
        code = code == 0 ? burin_model_prepare(rt, &config, &model, &e) : code;
        code = code == 0 ? burin_session_create(rt, &model, &session, &e) : code;
        for (int run = 0; run < 2 && code == 0; run++) {
            code = burin_session_run(rt, session, &in, 1, &out, 1, &e);
        }
        printf("%s: %g %g %s\\n", code == 0 ? "ran" : burin_code_name((uint32_t)code), y[0], y[1], code == 0 ? "" : e.message);
    }
    burin_session_release(rt, &session, NULL);
    return burin_runtime_close(&rt, NULL) == 0 ? 0 : 5;
}
"""
pathlib.Path("program.c").write_text(PROGRAM)
subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Werror", *FLAGS, "-I", support.SOURCE / "include", "program.c", support.BUILD / "libburin.a",
                "-lm", "-lpthread", "-ldl", "-o", "program"], check=True)


def run(*arguments):
    return subprocess.run(["./program", *arguments], capture_output=True, text=True, check=True).stdout.splitlines()


# 2 * (1 + 1), -3 * (2 + 2); the other 5 * 2
assert run("./sum.so") == ["ran: 4 -12 "]
assert run("./sum.so", "-", "./other.so") == ["ran: 4 -12 ", "ran: 10 -12 "]
# another file takes the path of one that is loaded: the loader would give the old one
pathlib.Path("first.so").write_bytes(pathlib.Path("sum.so").read_bytes())
pathlib.Path("next.so").write_bytes(pathlib.Path("other.so").read_bytes())
lines = run("./first.so", "./first.so=./next.so", "./first.so")
assert lines[0] == "ran: 4 -12 " and lines[1].startswith("FORMAT: 0 0 another object is loaded from that path"), lines
pathlib.Path("next.so").write_bytes(pathlib.Path("sum.so").read_bytes())
assert run("./first.so", "-", "./first.so=./next.so", "./first.so") == ["ran: 10 -12 ", "ran: 4 -12 "]
whole = pathlib.Path("sum.so").read_bytes()
pathlib.Path("short.so").write_bytes(whole[:-1])
pathlib.Path("empty.c").write_text("int nothing;\n")
assert build("empty.so", "empty.c").returncode == 0
assert run("./short.so")[0].startswith("FORMAT: 0 0 no whole shared object")
assert run("./empty.so")[0].startswith("FORMAT: 0 0 the shared object has no module: burin/module.h")
assert run("sum.so")[0].startswith("READ: 0 0 a shared object is loaded by its path")
# numbers of the head that contradict the object
at = whole.index(b"burin module 1\n\0") + 20
pathlib.Path("lie.so").write_bytes(whole[:at] + (2).to_bytes(4, "little") + whole[at + 4:])  # two inputs
assert run("./lie.so")[0].startswith("FORMAT: 0 0 the module's table is not of this version"), run("./lie.so")

# extents that a run says have no place in the table
emit("open", OPEN)
assert "compile it for fixed ones" in build("open.so", "open/open.c", "open/glue.c").stderr

# ctest: name=e2e.public_headers
"""Each public header compiles alone, without a warning, as C99, C11 and C++11, and needs nothing but itself."""
import subprocess
import sys
import tempfile

import support

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
headers = sorted((support.SOURCE / "include/burin").glob("*.h"))
assert headers
failed = False
for header in headers:
    for compiler, language, standard in (("gcc", "c", "c99"), ("gcc", "c", "c11"), ("g++", "c++", "c++11")):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
            file.write(f"#include <burin/{header.name}>\n#include <burin/{header.name}>\n")
            file.flush()
            failed |= subprocess.run([compiler, "-x", language, f"-std={standard}", *WARNINGS, "-I",
                                      support.SOURCE / "include", file.name]).returncode != 0
sys.exit(failed)

# ctest: name=e2e.readme_programs
"""The programs of README.md are built without a warning, in C and in C++, and print what their text says."""
import os
import re
import subprocess
import tempfile

import support

SANITIZE = re.search(r"(?m)^BURIN_SANITIZE:STRING=(.+)$", (support.BUILD / "CMakeCache.txt").read_text())
FLAGS = [f"-fsanitize={SANITIZE.group(1)}"] if SANITIZE else []
programs = re.findall(r"^```(c|cpp)\n(.*?)^```$", (support.SOURCE / "README.md").read_text(), re.M | re.S)
assert sorted(language for language, _ in programs) == ["c", "cpp"]
os.chdir(tempfile.mkdtemp())
for language, text in programs:
    assert len(text.splitlines()) <= 40
    with open(f"program.{language}", "w") as file:
        file.write(text)
    compiler, standard = ("gcc", "-std=c11") if language == "c" else ("g++", "-std=c++11")
    subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", *FLAGS, "-I", support.SOURCE / "include",
                    f"program.{language}", support.BUILD / "libburin.a", "-lm", "-lpthread", "-o", language], check=True)
    # x is 1 2 3 4, the weights 1 2 -0.5 4
    assert subprocess.run([f"./{language}"], capture_output=True, text=True, check=True).stdout == "1 4 -1.5 16\n"

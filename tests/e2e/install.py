# ctest: name=e2e.install
"""What make install lays down is enough: a project elsewhere finds the package, includes a header, links, runs."""
import pathlib
import re
import subprocess
import tempfile

import support

LISTS = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(burin @VERSION@ REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE burin::burin)
# libburin was built with the sanitizers of its build
target_link_options(consumer PRIVATE ${SANITIZE})
"""
SOURCE = """#include <burin/burin.h>
#include <stdio.h>
int main(void) {
    return puts(burin_version()) < 0;
}
"""


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


version = re.search(r"^project\(burin VERSION ([0-9.]+)", (support.SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
cache = (support.BUILD / "CMakeCache.txt").read_text()
compiler = re.search(r"^CMAKE_C_COMPILER:[A-Z]+=(.*)$", cache, re.M).group(1)
sanitize = re.search(r"^BURIN_SANITIZE:[A-Z]+=(.*)$", cache, re.M).group(1)
coverage = re.search(r"^BURIN_COVERAGE:[A-Z]+=(.*)$", cache, re.M).group(1) == "ON"
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    run("cmake", "--install", support.BUILD, "--prefix", folder / "usr")
    (folder / "CMakeLists.txt").write_text(LISTS.replace("@VERSION@", version))
    (folder / "consumer.c").write_text(SOURCE)
    flags = ["-fsanitize=" + sanitize] if sanitize else ["--coverage"] if coverage else []
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder / 'usr'}",
        f"-DCMAKE_C_COMPILER={compiler}", f"-DSANITIZE={';'.join(flags)}")
    run("cmake", "--build", folder / "build")
    assert run(folder / "build/consumer") == version + "\n"
    assert version in run(folder / "usr/bin/burin", "--version")
    assert (folder / "usr/share/man/man1/burin.1").read_text().startswith(".\\\"")

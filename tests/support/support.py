"""What tests in Python share: where things are, how to run the command, how to be skipped aloud.

ctest puts this folder on PYTHONPATH and sets BURIN, BURIN_SOURCE and BURIN_BUILD.
"""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["BURIN_SOURCE"])
BUILD = pathlib.Path(os.environ["BURIN_BUILD"])
ORACLE_PYTHON = SOURCE / ".oracles/bin/python"


def skip(reason):
    """Ends the test as skipped, with the reason; as failed where CI=true: what CI lacks is a fault."""
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(1 if os.environ.get("CI") == "true" else 77)


def shared(relative):
    """The path under $BURIN_SHARED (default: ../shared beside the source tree); skips the test when it is not there."""
    path = pathlib.Path(os.environ.get("BURIN_SHARED", SOURCE.parent / "shared")) / relative
    if not path.exists():
        skip(f"no {path}")
    return path


def oracle(*arguments, **options):
    """Runs an independent runtime: tools/oracles/oracle.py of ../shared (its README says how). Returns the finished
    process; skips the test when the runtime is not installed, raises when it fails."""
    script = shared("tools/oracles/oracle.py")
    if not ORACLE_PYTHON.exists():
        skip("no .oracles: run scripts/setup check-all")
    environment = {**os.environ, "ORACLES": str(SOURCE / ".oracles")}
    done = subprocess.run([ORACLE_PYTHON, script, *map(str, arguments)], env=environment, capture_output=True, text=True,
                          **options)
    if done.returncode == 77:
        skip(done.stderr.strip())
    done.check_returncode()
    return done


def burin(*arguments, status=0, **options):
    """Runs the command, captures its output as text, and insists on its exit status."""
    done = subprocess.run([os.environ["BURIN"], *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, **options)
    if done.returncode != status:
        sys.exit(f"burin {' '.join(map(str, arguments))}: exit {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done


def first_error(said):
    """The first line of what a command said that is no warning."""
    return next((line for line in said.splitlines() if line and ": warning: " not in line), said[:200])

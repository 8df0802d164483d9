"""Imported first by a corpus test that the oracles' Python must run: by another Python, ctest's, it begins the test again with that one."""
import os
import sys

try:
    import ai_edge_litert  # noqa: F401
except ImportError:
    from support import ORACLE_PYTHON, skip
    if os.environ.get("BURIN_ORACLE_PYTHON") or not ORACLE_PYTHON.exists():
        skip("no .oracles: run scripts/setup check-all")
    os.environ["BURIN_ORACLE_PYTHON"] = "1"
    os.execv(ORACLE_PYTHON, [str(ORACLE_PYTHON), *sys.argv])

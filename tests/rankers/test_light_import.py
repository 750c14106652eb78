"""Importing ``rankers`` stays light: heavy libraries load when a method first needs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.imports import HEAVY

ROOT = Path(__file__).resolve().parents[2]

#: Notes every attempt to import a heavy library, whether or not it is installed.
WATCH = """
import importlib, json, pkgutil, sys
heavy, wanted = set(json.loads(sys.argv[1])), set()
class Watcher:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in heavy:
            wanted.add(name.split(".")[0])
sys.meta_path.insert(0, Watcher)
"""
REPORT = "\nprint(json.dumps(sorted(wanted)))"
ALL_MODULES = """
import rankers
for module in pkgutil.walk_packages(rankers.__path__, "rankers."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def heavy_imports_of(code: str) -> list[str]:
    """Names of the heavy libraries that ``code`` tries to import in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH + code + REPORT, json.dumps(HEAVY)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_rankers_loads_nothing_heavy():
    assert heavy_imports_of("import rankers") == []


def test_no_module_of_rankers_loads_anything_heavy():
    assert heavy_imports_of(ALL_MODULES) == []


def test_the_watch_sees_installed_and_missing_libraries():
    code = "import scipy\ntry:\n    import torch.nn\nexcept ImportError:\n    pass"
    assert heavy_imports_of(code) == ["scipy", "torch"]

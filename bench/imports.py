"""Time of ``import rankers`` in a fresh interpreter, and that it loads nothing heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from bench.figures import goal, seconds_of

GOAL_SECONDS = 0.3
N_RUNS = 9
HEAVY = ("torch", "transformers", "openai", "wordllama", "pandas", "scipy", "matplotlib")

_LOADED = "import json, sys, rankers; print(json.dumps(sorted(sys.modules)))"


def measure() -> Iterator[str]:
    """Time the import, interpreter aside, and look at the modules it leaves."""
    loaded = json.loads(_run(_LOADED, capture=True))
    heavy = [name for name in HEAVY if name in loaded]
    assert not heavy, f"import rankers loads {', '.join(heavy)}"
    empty = seconds_of(lambda: _run("pass"), N_RUNS)
    with_numpy = seconds_of(lambda: _run("import numpy"), N_RUNS)
    full = seconds_of(lambda: _run("import rankers"), N_RUNS)
    yield (
        f"import rankers: {(full - empty) * 1000:.0f} ms, {(with_numpy - empty) * 1000:.0f} of "
        f"them numpy {goal(f'{GOAL_SECONDS * 1000:.0f} ms', full - empty < GOAL_SECONDS)}, "
        f"ratio to an empty interpreter {full / empty:.1f}; nothing heavy is loaded"
    )


def _run(code: str, *, capture: bool = False) -> str:
    """Run ``code`` in a fresh interpreter; the first run of all writes the compiled modules."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        stdout=subprocess.PIPE if capture else subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return done.stdout or ""

"""Memory of an import: 200 MB of claims in less than 600 MB, and the ratio to a small file."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

GOAL_MB = 600
SIZE_MB = 200


def measure() -> Iterator[str]:
    """Import a generated file of ``SIZE_MB`` and one of 2 MB; peak memory of the command."""
    from bench.site import postgres_site

    with postgres_site() as site:
        peaks = {}
        for megabytes in (2, SIZE_MB):
            file = Path(site.folder) / f"{megabytes}.jsonl"
            write_claims(file, megabytes)
            slug = f"size-{megabytes}"
            site.manage("create_study", slug)
            peaks[megabytes] = _peak_mb(site.environment, slug, file)
            file.unlink()
    peak = peaks[SIZE_MB]
    yield (
        f"{SIZE_MB} MB of claims: peak {peak:.0f} MB "
        f"(goal {GOAL_MB}: {'met' if peak < GOAL_MB else 'MISSED'})"
    )
    yield f"ratio to 2 MB of claims: {peak / peaks[2]:.2f}"


def write_claims(path: Path, megabytes: int) -> None:
    """A claims file of about that size: 40 candidates of 30 random words each."""
    generator = random.Random(1)
    words = [f"word{number}" for number in range(5000)]
    written = number = 0
    with path.open("w", encoding="utf-8") as handle:
        while written < megabytes * 1_000_000:
            number += 1
            claim = {
                "id": f"c{number}",
                "claim": " ".join(generator.choices(words, k=15)),
                "label": generator.choice(["supported", "refuted"]),
                "candidates": [" ".join(generator.choices(words, k=30)) for _ in range(40)],
                "gold_sets": [[3], [7, 9]],
            }
            written += handle.write(json.dumps(claim) + "\n")


def _peak_mb(environment: dict[str, str], slug: str, file: Path) -> float:
    """Peak resident memory of ``import_claims`` as the operating system counted it."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "manage.py", "import_claims", slug, str(file)]
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / (1024 if sys.platform != "darwin" else 1024**2)

"""How good the rankers are that ask no LLM: ``python -m bench.quality [--write DOCUMENT]``.

Every such ranker orders the open claims; the result is a Markdown table a file. With ``--write``
it replaces what stands between two marker lines of a document.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.open_claims import FILES, MissingData, open_claims
from rankers.base import Ranker
from rankers.errors import BadInput, MissingDependency
from rankers.method_info import LOCAL_MODEL, MODEL
from rankers.metrics import Score, aggregate, score, size_bucket
from rankers.registry import METHODS, build, result_name
from rankers.values import Claim

START = "<!-- quality table: start -->"
END = "<!-- quality table: end -->"
HEADER = (
    "ranker",
    "MRR",
    "SR %",
    "NDCG",
    "mean MSR",
    "MRR, IMSR 1",
    "MRR, IMSR 2",
    "MRR, IMSR 3+",
    "MRR, refuted",
    "ms a claim",
)
SIZES = ("1", "2", "3+")


@dataclass(frozen=True)
class Result:
    """What a ranker did on a file: a score for each claim, and seconds in all."""

    name: str
    scores: list[Score]
    seconds: float


def measure() -> Iterator[str]:
    """The tables line by line, without the rankers that need a model from elsewhere."""
    try:
        yield from tables(None, every=1)
    except MissingData as error:
        yield f"not measured: {error}"


def tables(local_model: str | None, every: int) -> Iterator[str]:
    """Yield the lines of a heading and a table for each file, and of what was left out.

    ``local_model`` is for rankers that run one in this process; without it they are left out.
    ``every`` takes every so many claims only. Raises MissingData.
    """
    left_out: dict[str, str] = {}
    for file in FILES:
        claims = open_claims(file, every=every)
        yield from (f"### {file}: {describe(claims)}", "")
        yield from table_head()
        for name in ranker_names():
            if name in left_out:
                continue
            try:
                yield table_row(result_of(name, local_model, claims), claims)
            except MissingDependency as error:
                left_out[name] = str(error)
        yield ""
    yield from (f"Not measured: `{name}` ({reason})." for name, reason in left_out.items())


def ranker_names() -> list[str]:
    """Rankers of the registry that ask no LLM."""
    infos = METHODS.values()
    return [info.name for info in infos if info.kind == Ranker.kind and MODEL not in info.needs]


def result_of(name: str, local_model: str | None, claims: Sequence[Claim]) -> Result:
    """Rank and score the claims, with default parameters. Raises MissingDependency."""
    if LOCAL_MODEL in METHODS[name].needs and local_model is None:
        raise MissingDependency("it needs a local model: --local-model NAME")
    method = build(name, model=local_model)
    assert isinstance(method, Ranker)
    method.rank_claim(claims[0])  # loads what is loaded once
    started = time.perf_counter()
    orders = [method.rank_claim(claim).order for claim in claims]
    seconds = time.perf_counter() - started
    scores = [
        score(order, claim.gold_sets, len(claim.candidates))
        for order, claim in zip(orders, claims, strict=True)
    ]
    return Result(result_name(method), scores, seconds)


def describe(claims: Sequence[Claim]) -> str:
    """Return how many claims there are, by size of the smallest gold set and refuted."""
    sizes = [size_bucket(claim.gold_min_size) for claim in claims if claim.gold_min_size]
    counted = ", ".join(f"{sizes.count(size)} of IMSR {size}" for size in SIZES)
    refuted = sum(claim.label == "refuted" for claim in claims)
    mean_n = sum(len(claim.candidates) for claim in claims) / len(claims)
    return f"{len(claims)} claims of {mean_n:.1f} candidates ({counted}; {refuted} refuted)"


def table_head() -> tuple[str, str]:
    """The header line and the line under it: names to the left, numbers to the right."""
    return _line(HEADER), _line(["---"] + ["---:"] * (len(HEADER) - 1))


def table_row(result: Result, claims: Sequence[Claim]) -> str:
    """Mean and standard error of each measure, and the mean RR of parts of the claims."""
    total = aggregate(result.scores)
    pairs = list(zip(result.scores, claims, strict=True))
    parts = [
        [one for one in result.scores if one.imsr is not None and size_bucket(one.imsr) == size]
        for size in SIZES
    ]
    parts.append([one for one, claim in pairs if claim.label == "refuted"])
    mean_msr = total["mean_msr"]
    return _line(
        (
            f"`{result.name}`",
            _shown(total["mrr"], 1, 3),
            _shown(total["sr"], 100, 1),
            _shown(total["ndcg"], 1, 3),
            "–" if mean_msr is None else f"{mean_msr:.1f}",
            *(_shown(aggregate(part)["mrr"], 1, 3) for part in parts),
            f"{result.seconds / len(claims) * 1000:.2f}",
        )
    )


def replace_between(document: str, table: str) -> str:
    """Return ``document`` with ``table`` between the two markers.

    Raises BadInput unless each marker stands there once, START before END.
    """
    counts = (document.count(START), document.count(END))
    if counts != (1, 1) or document.index(START) > document.index(END):
        raise BadInput(
            f"the table needs one line {START} and one line {END} below it; "
            f"there are {counts[0]} and {counts[1]}"
        )
    before, _, rest = document.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n{table.strip()}\n{END}{after}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, and write them into a document when asked; 1 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="document with the markers")
    parser.add_argument("--local-model", metavar="NAME", help="for rankers that run a model here")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="every K-th claim only")
    options = parser.parse_args(argv)
    if options.every < 1:
        parser.error(f"--every: {options.every} is below 1")
    try:
        if options.write:  # refuse before minutes of work
            _rewrite(options.write, "", is_trial=True)
        lines = []
        for line in tables(options.local_model, options.every):
            print(line, flush=True)
            lines.append(line)
        if options.write:
            _rewrite(options.write, "\n".join(lines))
    except (BadInput, MissingData) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _rewrite(path: Path, table: str, *, is_trial: bool = False) -> None:
    """Put the table into the document, all or nothing; a trial only checks that it can be done."""
    try:
        changed = replace_between(path.read_text(encoding="utf-8"), table)
        if is_trial:
            return
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(changed, encoding="utf-8")
        os.replace(temporary, path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read or written ({error})") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(value: dict[str, Any], factor: float, digits: int) -> str:
    """``mean ± standard error``; a dash without claims."""
    mean, sem = value["mean"], value["sem"]
    if mean is None:
        return "–"
    shown = f"{mean * factor:.{digits}f}"
    return shown if sem is None else f"{shown} ± {sem * factor:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())

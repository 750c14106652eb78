"""``python -m rankers rank`` and ``select``: run a method, or say what a run would cost."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankers import cost
from rankers.base import Ranker, Selector
from rankers.commands import progress
from rankers.embedders import is_paid, make_embedder
from rankers.errors import BadInput
from rankers.formats import read_claims
from rankers.method_info import EMBEDDER, MODEL
from rankers.outputs import check_outputs
from rankers.params import split_pairs
from rankers.registry import build, method_info, method_needs, method_params, unused_options
from rankers.resume import NOTE_SUFFIX, finished_ids
from rankers.run import ClaimsFile, RunReport, run, survey
from rankers.spending import Prices, Spending
from rankers.store import FileStore

if TYPE_CHECKING:
    from rankers.llm import LLM

RESPONSES_SUFFIX = ".responses"


def run_method(arguments: argparse.Namespace) -> int:
    """Rank or select, resuming OUT; 1 while any claim in OUT is failed or was not reached."""
    name, params = arguments.method, split_pairs(arguments.param)
    kind = method_info(name).kind
    if kind != arguments.kind:
        command = "select" if kind == Selector.kind else "rank"
        raise BadInput(f"{name} is a {kind}: use python -m rankers {command}")
    values = method_params(name, params)
    for note in _unused(arguments, values):
        print(note, file=sys.stderr)
    prices = _prices(arguments)
    _check_paths(arguments)
    claims = survey(arguments.claims)
    if arguments.dry_run:
        print(_dry_run(arguments, values, claims, prices))
        return 0
    spending = Spending(
        max_calls=arguments.max_calls,
        max_tokens=arguments.max_tokens,
        max_cost=arguments.max_cost,
        prices=prices,
    )
    method = _build(arguments, values, spending)
    total = min(len(claims.n_candidates), arguments.limit or len(claims.n_candidates))
    try:
        with progress(total, name) as advance:
            report = run(
                method,
                arguments.claims,
                arguments.output,
                limit=arguments.limit,
                concurrency=arguments.concurrency,
                progress=advance,
                claims_file=claims,
                on_interrupt=lambda: spending.stop("interrupted"),
            )
    except KeyboardInterrupt:
        print(
            f"interrupted: what {arguments.output} and the answers beside it hold is kept, and the "
            "same command goes on from there",
            file=sys.stderr,
        )
        return 130
    return _say(report, arguments.output, spending)


def _unused(arguments: argparse.Namespace, values: dict[str, Any]) -> list[str]:
    """A line for each option that this run does not use."""
    name = arguments.method
    lines = unused_options(name, arguments.model, arguments.embedder, values)
    if MODEL in method_needs(name, values) or is_paid(arguments.embedder):
        return lines
    given = {
        "--max-calls": arguments.max_calls,
        "--max-tokens": arguments.max_tokens,
        "--max-cost": arguments.max_cost,
        "--store": arguments.store,
    }
    return lines + [
        f"{option} {value} is not used by {name} and is ignored"
        for option, value in given.items()
        if value is not None
    ]


def _check_paths(arguments: argparse.Namespace) -> None:
    """Raise BadInput where two of the files would be one, or a name cannot be written out."""
    for option in ("model", "embedder"):
        if (text := getattr(arguments, option)) and not text.isprintable():
            raise BadInput(f"--{option} {text!r} holds signs that no name has")
    output = arguments.output
    store = arguments.store or output + RESPONSES_SUFFIX
    check_outputs([output, output + NOTE_SUFFIX, store], [arguments.claims])


def _say(report: RunReport, output: str, spending: Spending) -> int:
    """Print what a run did; the exit status."""
    print(
        f"{output}: {report.n_claims} claims, {report.already_done} were there, "
        f"{report.written} asked, {report.fallbacks} with a fallback, {report.failed} failed"
    )
    if spending.calls:
        print(spending.report())
    if report.failed:
        print(
            f"{report.failed} claims failed ({report.first_error}); "
            "the same command asks them again",
            file=sys.stderr,
        )
    if report.stopped:
        left = report.n_claims - report.already_done - report.written
        print(
            f"stopped: {report.stopped}; {left} claims are left, and the same command goes on from "
            "here (a limit is for one run: it spends up to as much again)",
            file=sys.stderr,
        )
    return 1 if report.failed or report.stopped else 0


def _build(
    arguments: argparse.Namespace, values: dict[str, Any], spending: Spending
) -> Ranker | Selector:
    """The method; what a server answers is kept beside OUT, so that it is paid for once."""
    from rankers.llm import LLM

    needs = method_needs(arguments.method, values)
    # Whatever is refused is refused before the store's file is made.
    if MODEL in needs:
        LLM.from_environment(arguments.model)
    if EMBEDDER in needs:
        make_embedder(arguments.embedder)
    store = llm = None
    if MODEL in needs or (EMBEDDER in needs and is_paid(arguments.embedder)):
        store = FileStore(arguments.store or arguments.output + RESPONSES_SUFFIX)
    if MODEL in needs:
        llm = LLM.from_environment(arguments.model, store=store, spending=spending)
    return _method(arguments, values, llm, store, spending)


def _method(
    arguments: argparse.Namespace,
    values: dict[str, Any],
    llm: LLM | None,
    store: FileStore | None = None,
    spending: Spending | None = None,
) -> Ranker | Selector:
    return build(
        arguments.method,
        model=arguments.model,
        embedder=arguments.embedder,
        params=values,
        llm=llm,
        store=store,
        spending=spending,
    )


def _prices(arguments: argparse.Namespace) -> Prices | None:
    """The prices given. Raises BadInput for a limit in money without them."""
    if arguments.max_cost is not None and arguments.price is None:
        raise BadInput("--max-cost needs --price INPUT,CACHED,OUTPUT (per million tokens)")
    return arguments.price


def _dry_run(
    arguments: argparse.Namespace,
    values: dict[str, Any],
    claims: ClaimsFile,
    prices: Prices | None,
) -> str:
    """What a run would ask, retries aside; needs neither key nor server."""
    done = finished_ids(Path(arguments.output))
    scope = list(claims.n_candidates)[: arguments.limit]
    wanted = [claim_id for claim_id in scope if claim_id not in done]
    lines = [
        f"dry run: {len(scope)} claims, {len(scope) - len(wanted)} were there, {len(wanted)} to ask"
    ]
    if MODEL not in method_needs(arguments.method, values):
        return f"{lines[0]}, no LLM calls"
    from rankers.llm import LLM

    llm = LLM(arguments.model or os.environ.get("OPENAI_MODEL") or "unnamed")
    method = _method(arguments, values, llm)
    left = set(wanted)
    found = cost.estimate(
        (
            method.plan(claim.claim, claim.candidates)
            for claim in read_claims(arguments.claims, limit=arguments.limit)
            if claim.id in left
        ),
        block=arguments.cache_block,
        least=arguments.cache_from,
    )
    share = found.cached_tokens / found.prompt_tokens if found.prompt_tokens else 0.0
    lines += [
        f"LLM calls: {found.calls} without retries",
        f"prompt tokens: about {found.prompt_tokens:,}, of them {share:.0%} from the server's "
        f"prefix cache, {found.computed_tokens:,} to compute",
        f"answer tokens: at most about {found.completion_tokens:,}",
    ]
    if Path(arguments.store or arguments.output + RESPONSES_SUFFIX).exists():
        lines.append("answers that are stored already cost nothing and are not taken off")
    if is_paid(arguments.embedder):
        lines.append("embeddings are not counted")
    if prices is not None:
        lines.append(f"cost: about {prices.cost(found.usage):,.2f} at the prices given")
    return "\n".join(lines)

"""``python -m rankers``: the arguments of every command, and its exit status.

0 success; 1 bad input or a refused action, one line a problem on stderr (the first twenty, unless
``--all-problems`` is given); 2 wrong usage.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from rankers import commands, cost, run_command
from rankers.compare import DRAWS, MIN_DRAWS, SEED
from rankers.convert import TARGETS
from rankers.errors import BadInput, RankerError
from rankers.formats import FORMATS, WIKI_FORMATS
from rankers.plots import FORMAT_OF
from rankers.sampling import STRATA
from rankers.spending import Prices

#: Problems printed by default; a bad file of many lines must not bury the first ones.
SHOWN_PROBLEMS = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except BadInput as error:
        _print_problems(error, len(error.problems) if arguments.all_problems else SHOWN_PROBLEMS)
    except RankerError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:
        # The reader of a pipe went away (``| head``); nothing more can be said on it.
        sys.stderr.close()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 1


def _print_problems(error: BadInput, most: int) -> None:
    """Print the first problems, and the number of the others."""
    for problem in error.problems[:most]:
        print(problem, file=sys.stderr)
    if len(error.problems) > most:
        rest = error.count - most
        print(f"… and {rest} more; python -m rankers --all-problems … lists them", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rankers", description="Order and select evidence sentences for claims."
    )
    parser.add_argument(
        "--all-problems",
        action="store_true",
        help=f"list up to 1,000 problems of each file, not just {SHOWN_PROBLEMS}",
    )
    add = parser.add_subparsers(required=True, metavar="COMMAND").add_parser
    _methods(add("methods", help="list the methods and their parameters"))
    _convert(add("convert", help="convert, filter, sample and join claims files"))
    _describe(add("describe", help="count what claims files hold"))
    _run(add("rank", help="order the candidates of every claim"), "ranker")
    _run(add("select", help="select candidates of every claim"), "selector")
    _evaluate(add("evaluate", help="score rankings against the gold sets"))
    _export_official(add("export-official", help="write rankings as the paper's code does"))
    _import_official(add("import-official", help="read rankings that the paper's code wrote"))
    return parser


def _methods(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as a JSON list")
    parser.set_defaults(run=commands.methods)


def _convert(parser: argparse.ArgumentParser) -> None:
    formats = {name: one.summary for name, one in (FORMATS | WIKI_FORMATS).items()}
    names = ", ".join(f"{name} ({summary})" for name, summary in formats.items())
    parser.add_argument("sources", nargs="+", metavar="IN", help="files to convert, in this order")
    parser.add_argument(
        "--format", required=True, choices=list(formats), help=f"format of the files: {names}"
    )
    parser.add_argument("--to", default=TARGETS[0], choices=TARGETS, help="format to write")
    parser.add_argument("-o", "--output", required=True, metavar="OUT")
    parser.add_argument(
        "--wiki",
        nargs="+",
        action="extend",
        default=[],
        metavar="PATH",
        help="folder or files of the Wikipedia dump, for fever and hover",
    )
    for name, what in (
        ("--min-candidates", "leave out claims with fewer candidates"),
        ("--max-candidates", "leave out claims with more candidates"),
        ("--max-pages", "leave out claims whose candidates come from more pages"),
    ):
        parser.add_argument(name, type=_positive, metavar="N", help=what)
    parser.add_argument(
        "--keep-supersets",
        action="store_true",
        help="write gold sets as the source has them, also those that contain another one",
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="only the first N claims")
    parser.add_argument(
        "--sample", type=_positive, metavar="N", help="draw N claims at random, in file order"
    )
    parser.add_argument(
        "--stratify",
        type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        default=[],
        metavar="KEYS",
        help=f"keep the shares of {', '.join(STRATA)} in the sample; several by commas",
    )
    parser.add_argument(
        "--equal", action="store_true", help="the same number from each stratum, not its share"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default 0)")
    parser.set_defaults(run=commands.convert_files)


def _describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", nargs="+", metavar="CLAIMS.jsonl")
    parser.add_argument("--json", action="store_true", help="as a JSON object")
    parser.set_defaults(run=commands.describe_claims)


def _export_official(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", metavar="CLAIMS.jsonl")
    parser.add_argument("rankings", metavar="RANKINGS.jsonl")
    parser.add_argument("--method", metavar="NAME", help="METHOD or METHOD/MODEL, of several")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.json")
    parser.set_defaults(run=commands.export_official)


def _import_official(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", metavar="CLAIMS.jsonl")
    parser.add_argument("official", metavar="OFFICIAL.json")
    parser.add_argument("--name", metavar="NAME", help="what made them: official/NAME in results")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.jsonl")
    parser.set_defaults(run=commands.import_official)


def _run(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument("claims", metavar="CLAIMS.jsonl")
    parser.add_argument("--method", required=True, help=f"a {kind}: see python -m rankers methods")
    parser.add_argument("--model", help="the LLM, for methods that ask one (default OPENAI_MODEL)")
    parser.add_argument("--embedder", help="the embedder, for methods that use one")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help="a parameter of the method; may be repeated",
    )
    parser.add_argument(
        "--concurrency",
        type=_positive,
        default=1,
        metavar="N",
        help="claims at once (default 1); SUFFICE_LLM_CONCURRENCY limits the calls to a server",
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="only the first N claims")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be asked, and do nothing"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT.jsonl", help="resumed where it exists"
    )
    _spending(parser)
    parser.set_defaults(run=run_command.run_method, kind=kind)


def _spending(parser: argparse.ArgumentParser) -> None:
    """Options of runs that pay for answers."""
    parser.add_argument(
        "--store", metavar="FILE", help="where answers are kept (default: beside OUT)"
    )
    parser.add_argument(
        "--max-calls", type=_positive, metavar="N", help="stop after N requests to the LLM"
    )
    parser.add_argument(
        "--max-tokens", type=_positive, metavar="N", help="stop after N prompt and answer tokens"
    )
    parser.add_argument(
        "--max-cost", type=_amount, metavar="X", help="stop once X is spent; needs --price"
    )
    parser.add_argument(
        "--price",
        type=_price,
        metavar="IN,CACHED,OUT",
        help="prices of a million prompt, cached prompt and answer tokens",
    )
    parser.add_argument(
        "--cache-block",
        type=_positive,
        default=cost.BLOCK,
        metavar="N",
        help="for --dry-run: tokens of a block of the server's prefix cache (default 16)",
    )
    parser.add_argument(
        "--cache-from",
        type=int,
        default=0,
        metavar="N",
        help="for --dry-run: shortest prefix that is cached (default 0; OpenAI: 1024)",
    )


def _evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", metavar="CLAIMS.jsonl")
    parser.add_argument("rankings", nargs="+", metavar="RANKINGS.jsonl")
    parser.add_argument("--json", action="store_true", help="as a JSON object")
    parser.add_argument("--csv", metavar="F.csv", help="also write a row for each claim and ranker")
    parser.add_argument(
        "--plot",
        type=_figure,
        metavar="F.svg",
        help="also draw the shares of claims verified by sentences read (.svg, .pdf or .png)",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        action="append",
        default=[],
        metavar=("A", "B"),
        help="also test A - B over the claims both have; names as in the table; may be repeated",
    )
    parser.add_argument(
        "--draws",
        type=_draws,
        metavar="N",
        help=f"bootstrap draws of a comparison (default {DRAWS})",
    )
    parser.add_argument(
        "--seed", type=_seed, metavar="N", help=f"seed of the draws (default {SEED})"
    )
    parser.set_defaults(run=commands.evaluate_rankings)


def _positive(text: str) -> int:
    return _at_least(1, text)


def _draws(text: str) -> int:
    return _at_least(MIN_DRAWS, text)


def _seed(text: str) -> int:
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    number = int(text)
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, not {number}")
    return number


def _figure(text: str) -> str:
    if Path(text).suffix.lower() not in FORMAT_OF:
        raise argparse.ArgumentTypeError(f"must end in {', '.join(FORMAT_OF)}, unlike {text!r}")
    return text


def _amount(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return number


def _price(text: str) -> Prices:
    try:
        return Prices.from_text(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None

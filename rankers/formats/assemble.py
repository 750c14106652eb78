"""Claims out of other formats' parts, with what a converter may leave out.

Empty sentences are dropped and indices moved; a claim without a gold set is left out; everything
else that is wrong is a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankers.formats.gold import distinct_sets, minimal_sets
from rankers.formats.lines import deep_text_problem, text_problem
from rankers.formats.rows import (
    EMPTY_CANDIDATES,
    REDUCED_GOLD_SETS,
    Notice,
    Problem,
    Row,
)
from rankers.values import Claim

NO_GOLD_SET = "no_gold_set"
UNLABELLED = "unlabelled"
NOT_ENOUGH_INFO = "not_enough_info"

#: Labels of other sources, upper-cased with underscores (statistics, section 2.4). The two-way
#: NOT_SUPPORTED means refuted; WiCE's three-way one is left out by its reader.
LABEL_OF = {
    "SUPPORTS": "supported",
    "SUPPORTED": "supported",
    "REFUTES": "refuted",
    "REFUTED": "refuted",
    "NOT_SUPPORTED": "refuted",
    "PARTIALLY_SUPPORTED": "partially_supported",
}
LEFT_OUT_LABELS = {"": UNLABELLED, "NOT_ENOUGH_INFO": NOT_ENOUGH_INFO, "NEI": NOT_ENOUGH_INFO}


@dataclass
class Parts:
    """What a source says about one claim; gold sets are positions in ``candidates`` as given."""

    line: int | None
    id: str
    claim: str
    label: str
    candidates: Sequence[str]
    gold_sets: Sequence[Sequence[int]]
    titles: Sequence[str | None] | None = None
    source: str | None = None
    license: str | None = None
    lang: str = "en"
    meta: Mapping[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def problem(self, field_name: str | None, message: str) -> None:
        """Note a problem of this claim."""
        self.problems.append(Problem(self.line, field_name, message, self.id))

    def notice(self, field_name: str, message: str, kind: str) -> None:
        """Note something mended."""
        self.notices.append(Notice(self.line, field_name, message, self.id, kind=kind))


def normal_label(label: str) -> str:
    """Return a source's label upper-cased, with underscores between its words."""
    return "_".join(label.upper().replace("-", " ").replace("_", " ").split())


def assemble(parts: Parts) -> Row:
    """Return the row of a claim whose label is already one of ours."""
    _check_texts(parts)
    kept = [i for i, text in enumerate(parts.candidates) if text.strip()]
    gold_sets = _moved_sets(parts, {old: new for new, old in enumerate(kept)})
    if not parts.claim.strip():
        parts.problem("claim", "empty")
    if not kept and not parts.problems:
        parts.problem("candidates", "no candidates: a claim needs at least one sentence")
    if parts.problems:
        return Row(parts.line, problems=tuple(parts.problems), notices=tuple(parts.notices))
    if not gold_sets:
        return Row(parts.line, notices=tuple(parts.notices), left_out=NO_GOLD_SET)
    dropped = len(parts.candidates) - len(kept)
    if dropped:
        parts.notice(
            "candidates",
            f"{dropped} empty candidates dropped and indices moved",
            EMPTY_CANDIDATES,
        )
    given = distinct_sets(gold_sets)
    minimal = minimal_sets(given)
    if len(minimal) < len(gold_sets):
        message = f"{len(gold_sets)} gold sets reduced to the {len(minimal)} minimal ones"
        parts.notice("gold_sets", message, REDUCED_GOLD_SETS)
    claim = Claim(
        id=parts.id,
        claim=parts.claim,
        label=parts.label,
        candidates=tuple(parts.candidates[i] for i in kept),
        gold_sets=minimal,
        titles=None if parts.titles is None else tuple(parts.titles[i] for i in kept),
        source=parts.source,
        license=parts.license,
        lang=parts.lang,
        meta=parts.meta,
    )
    return Row(parts.line, claim, notices=tuple(parts.notices), given_sets=tuple(given))


def _check_texts(parts: Parts) -> None:
    texts: list[tuple[str, str | None]] = [
        ("id", parts.id),
        ("claim", parts.claim),
        ("source", parts.source),
        ("license", parts.license),
        ("lang", parts.lang),
    ]
    texts += [(f"candidates[{i}]", text) for i, text in enumerate(parts.candidates)]
    texts += [(f"titles[{i}]", text) for i, text in enumerate(parts.titles or ())]
    for name, text in texts:
        if text is not None and (message := text_problem(text)) is not None:
            parts.problem(name, message)
    if (message := deep_text_problem(dict(parts.meta))) is not None:
        parts.problem("meta", message)


def _moved_sets(parts: Parts, new_position: Mapping[int, int]) -> list[list[int]]:
    """Gold sets after empty candidates went; an empty sentence adds nothing to a set."""
    moved = []
    n = len(parts.candidates)
    for i, gold in enumerate(parts.gold_sets):
        for index in gold:
            if not 0 <= index < n:
                parts.problem(
                    f"gold_sets[{i}]",
                    f"index {index} is out of range: {n} candidates are 0 to {n - 1}",
                )
        members = [new_position[index] for index in gold if index in new_position]
        if members:
            moved.append(members)
    return moved

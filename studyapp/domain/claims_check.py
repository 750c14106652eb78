"""What a claims file holds for a study: read to its end before anything is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rankers
from rankers import formats
from studyapp.domain.scheduled import refuse_scheduled
from studyapp.enums import Interface, TrialKind
from studyapp.errors import BadUpload, NotEditable
from studyapp.models import Claim, Study


@dataclass
class FileCheck:
    """What a file holds for a study, before anything is stored.

    ``n_good`` rows can be imported, of which ``n_repeated`` are in the study already; ``n_bad``
    cannot, for ``problems``; ``conflicts`` refuse the file whatever is skipped.
    """

    n_good: int = 0
    n_bad: int = 0
    n_repeated: int = 0
    problems: list[formats.Problem] = field(default_factory=list)
    conflicts: list[formats.Problem] = field(default_factory=list)
    notices: list[formats.Notice] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)

    @property
    def n_new(self) -> int:
        """Claims that an import adds when it leaves out the bad ones."""
        return self.n_good - self.n_repeated - len(self.conflicts)

    def add(self, kind: str, found: Any) -> None:
        """Take one finding of ``findings``."""
        if kind in ("problem", "conflict", "notice"):
            getattr(self, f"{kind}s").append(found)
        elif kind == "left_out":
            self.left_out[found] += 1
        else:
            name = f"n_{kind}"
            setattr(self, name, getattr(self, name) + 1)


def check_claims_file(
    study: Study, path: Path, format_name: str = "interchange", *, role: str = TrialKind.MAIN
) -> FileCheck:
    """Read ``path`` to its end as ``import_claims`` would, and store nothing.

    Raises NotEditable like it, BadUpload for a file that cannot be read at all.
    """
    refuse_frozen(study, role)
    check = FileCheck()
    for kind, found in findings(path, format_name, known_claims(study), None, Roles(role, {})):
        check.add(kind, found)
    return check


def refuse_frozen(study: Study, role: str) -> None:
    """Raise NotEditable where the study takes no further claims of that role."""
    if not study.is_draft:
        raise NotEditable("The study has opened: its claims are frozen.")
    if role == TrialKind.MAIN:
        refuse_scheduled(study, "import the claims, and lay the schedule out again")


def known_claims(study: Study) -> dict[str, tuple[str, str]]:
    """Digest and role of every stored claim, by its id."""
    stored = Claim.objects.filter(study=study).values_list("claim_id", "digest", "role")
    return {claim_id: (digest, role) for claim_id, digest, role in stored}


@dataclass(frozen=True)
class Roles:
    """The kind of trial that each claim of a file is for."""

    usual: str
    by_id: Mapping[str, str]

    def of(self, claim: rankers.Claim) -> str:
        """The role of one claim."""
        return self.by_id.get(claim.id, self.usual)


def rows_of(path: Path, format_name: str) -> Iterator[formats.Row]:
    """The rows of a claims file. Raises BadUpload where it cannot be read at all."""
    try:
        yield from formats.read_rows(path, format_name)
    except rankers.RankerError as error:
        raise BadUpload(str(error).splitlines()) from None


def findings(
    path: Path,
    format_name: str,
    known: dict[str, tuple[str, str]],
    limit: int | None,
    roles: Roles,
) -> Iterator[tuple[str, Any]]:
    """What reading a file finds: the kind (a name of ``FileCheck``), and one thing of it."""
    n_good = 0
    for row in rows_of(path, format_name):
        if limit is not None and n_good >= limit:
            return
        yield from (("problem", problem) for problem in row.problems)
        yield from (("notice", notice) for notice in row.notices)
        if row.left_out:
            yield "left_out", row.left_out
        if row.claim is None:
            if row.problems:
                yield "bad", None
            continue
        if faults := faults_of(row.claim, roles):
            for fault in faults:
                yield "problem", _problem(row, fault)
            yield "bad", None
            continue
        n_good += 1
        yield "good", None
        if row.claim.id in known:
            if difference := _difference(row.claim, roles, *known[row.claim.id]):
                yield (
                    "conflict",
                    _problem(
                        row,
                        f"field id: {row.claim.id!r} is in the study already {difference}; "
                        "give the new claim another id",
                    ),
                )
            else:
                yield "repeated", None


def _problem(row: formats.Row, fault: str) -> formats.Problem:
    """A fault (``field NAME: words``) with its place in the file."""
    where, _, words = fault.partition(": ")
    return formats.Problem(row.line, where, words, row.claim.id if row.claim else None)


def _difference(claim: rankers.Claim, roles: Roles, digest: str, role: str) -> str:
    """How a claim differs from the stored one with its id; empty if it does not."""
    if formats.claim_digest(claim) != digest:
        return "with other content"
    return "" if roles.of(claim) == role else f"with the role {role}"


def faults_of(claim: rankers.Claim, roles: Roles) -> list[str]:
    """What keeps a sound claim out of a study, field first."""
    return _too_long(claim) + (
        practice_faults(claim.meta) if roles.of(claim) == TrialKind.PRACTICE else []
    )


def practice_faults(meta: Mapping[str, Any]) -> list[str]:
    """What a practice claim says in ``meta`` that its trial could not use."""
    faults = []
    explanation, interface = meta.get("explanation"), meta.get("interface")
    if explanation is not None and not (isinstance(explanation, str) and explanation.strip()):
        faults.append("field meta.explanation: must be a text, shown after the practice trial")
    if interface is not None and interface not in Interface.values:
        faults.append(f"field meta.interface: must be {' or '.join(Interface.values)}")
    return faults


def _too_long(claim: rankers.Claim) -> list[str]:
    """Fields longer than a study can keep, each with its limit."""
    limits = {"id": Claim._meta.get_field("claim_id"), "lang": Claim._meta.get_field("lang")}
    return [
        f"field {name}: longer than {field.max_length} characters, the limit of a study; cut it"
        for name, field in limits.items()
        if len(getattr(claim, name)) > field.max_length
    ]

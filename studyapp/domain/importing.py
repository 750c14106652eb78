"""A checked claims file becomes a study's claims, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max

import rankers
from rankers import formats
from studyapp.domain import audit
from studyapp.enums import AuditAction, Interface, TrialKind
from studyapp.errors import BadUpload, NotEditable
from studyapp.models import Candidate, Claim, GoldSet, Study

#: Claims written at once; bounds memory whatever the file's size.
BATCH = 200
#: Problems listed; the rest is counted.
MAX_LISTED = 200


@dataclass
class ImportReport:
    """What an import did: counts, notices and what was skipped, one readable line each."""

    n_imported: int = 0
    n_repeated: int = 0
    skipped: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)


def import_claims(
    study: Study,
    path: Path,
    format_name: str = "interchange",
    *,
    limit: int | None = None,
    skip_invalid: bool = False,
    role: str = TrialKind.MAIN,
    roles: Mapping[str, str] | None = None,
) -> ImportReport:
    """Read ``path`` and add its claims to a draft, to be shown in trials of the kind ``role``.

    ``roles`` names another kind for single claims, by their ids.

    The file is checked to its end before the first row is written, then written in one transaction
    in batches, so that memory stays bounded and a bad file leaves nothing. A claim identical to a
    stored one is skipped and counted; the same id with other content refuses the file. Raises
    BadUpload with every problem (the first 200 listed), NotEditable once the study has opened or
    is scheduled.
    """
    if not study.is_draft:
        raise NotEditable("The study has opened: its claims are frozen.")
    if study.n_replications and role == TrialKind.MAIN:
        raise NotEditable("The study has a schedule already: import all claims first.")
    stored = Claim.objects.filter(study=study).values_list("claim_id", "digest", "role")
    known = {claim_id: (digest, its_role) for claim_id, digest, its_role in stored}
    wanted = _Roles(role, roles or {})
    report = ImportReport()
    _check_file(path, format_name, known, limit, skip_invalid, wanted, report)
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        last = Claim.objects.filter(study=study).aggregate(last=Max("position"))["last"] or 0
        batch: list[rankers.Claim] = []
        for claim in _good_claims(path, format_name, limit, wanted):
            if claim.id in known:
                continue
            batch.append(claim)
            if len(batch) == BATCH:
                last = _write_batch(study, batch, last, wanted)
                report.n_imported += len(batch)
                batch = []
        if batch:
            _write_batch(study, batch, last, wanted)
            report.n_imported += len(batch)
        audit.record(
            AuditAction.CLAIMS_IMPORTED,
            study,
            claims=report.n_imported,
            format=format_name,
            trials_for=str(role),
        )
    return report


@dataclass(frozen=True)
class _Roles:
    """The kind of trial that each claim of a file is for."""

    usual: str
    by_id: Mapping[str, str]

    def of(self, claim: rankers.Claim) -> str:
        return self.by_id.get(claim.id, self.usual)


def _rows(path: Path, format_name: str) -> Iterator[formats.Row]:
    try:
        yield from formats.read_rows(path, format_name)
    except rankers.RankerError as error:
        raise BadUpload(str(error).splitlines()) from None


def _good_claims(
    path: Path, format_name: str, limit: int | None, roles: _Roles
) -> Iterator[rankers.Claim]:
    n_given = 0
    for row in _rows(path, format_name):
        if row.claim is None or _faults(row.claim, roles):
            continue
        if limit is not None and n_given >= limit:
            return
        n_given += 1
        yield row.claim


def _check_file(
    path: Path,
    format_name: str,
    known: dict[str, tuple[str, str]],
    limit: int | None,
    skip_invalid: bool,
    roles: _Roles,
    report: ImportReport,
) -> None:
    problems: list[str] = []
    conflicts: list[str] = []
    n_good = 0
    for row in _rows(path, format_name):
        if limit is not None and n_good >= limit:
            break
        problems += [f"{path.name}, {problem}" for problem in row.problems]
        report.notices += [f"{path.name}, {notice}" for notice in row.notices]
        if row.left_out:
            report.left_out[row.left_out] += 1
        if row.claim is None:
            continue
        if faults := _faults(row.claim, roles):
            problems += [f"{path.name}, line {row.line}, {fault}" for fault in faults]
            continue
        n_good += 1
        if row.claim.id in known:
            if difference := _difference(row.claim, roles, *known[row.claim.id]):
                conflicts.append(
                    f"{path.name}, line {row.line}, field id: {row.claim.id!r} is in the study "
                    f"already {difference}; give the new claim another id"
                )
            else:
                report.n_repeated += 1
    if conflicts or (problems and not skip_invalid):
        raise BadUpload(_listed(conflicts + problems))
    report.skipped = _listed(problems)
    if not n_good:
        raise BadUpload([*_listed(problems), f"{path.name}: no claim to import"])


def _difference(claim: rankers.Claim, roles: _Roles, digest: str, role: str) -> str:
    """How a claim differs from the stored one with its id; empty if it does not."""
    if formats.claim_digest(claim) != digest:
        return "with other content"
    return "" if roles.of(claim) == role else f"with the role {role}"


def _faults(claim: rankers.Claim, roles: _Roles) -> list[str]:
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


def _listed(problems: list[str]) -> list[str]:
    if len(problems) <= MAX_LISTED:
        return problems
    return [*problems[:MAX_LISTED], f"… and {len(problems) - MAX_LISTED} more problems"]


def _write_batch(study: Study, batch: list[rankers.Claim], last: int, roles: _Roles) -> int:
    """Write claims, candidates and gold sets; returns the last position used."""
    rows = Claim.objects.bulk_create(
        Claim(
            study=study,
            position=last + offset,
            role=roles.of(claim),
            claim_id=claim.id,
            text=claim.claim,
            label=claim.label,
            lang=claim.lang,
            source=claim.source,
            license=claim.license,
            meta=dict(claim.meta),
            n_candidates=len(claim.candidates),
            gold_min_size=claim.gold_min_size,
            digest=formats.claim_digest(claim),
        )
        for offset, claim in enumerate(batch, start=1)
    )
    Candidate.objects.bulk_create(
        (
            Candidate(
                claim=row,
                position=position,
                text=text,
                title=claim.titles[position] if claim.titles else None,
            )
            for row, claim in zip(rows, batch, strict=True)
            for position, text in enumerate(claim.candidates)
        ),
        batch_size=2000,
    )
    GoldSet.objects.bulk_create(
        (
            GoldSet(claim=row, position=position, members=list(members))
            for row, claim in zip(rows, batch, strict=True)
            for position, members in enumerate(claim.gold_sets)
        ),
        batch_size=2000,
    )
    return last + len(batch)

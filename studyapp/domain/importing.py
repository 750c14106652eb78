"""A checked claims file becomes a study's claims, all or nothing.

Participants write to the same database, so no transaction is long: the claims are written in small
batches that belong to no study yet, and the last transaction gives them all to it. Nothing that
reads a study sees a part of a file. What a killed process leaves behind is deleted later.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection, transaction

import rankers
from rankers import formats
from studyapp.domain import audit
from studyapp.domain.arriving import arrive, arriving, renew
from studyapp.domain.claims_check import (
    FileCheck,
    Roles,
    faults_of,
    findings,
    known_claims,
    refuse_frozen,
    rows_of,
)
from studyapp.enums import AuditAction, TrialKind
from studyapp.errors import BadUpload
from studyapp.models import Candidate, Claim, ClaimsImport, GoldSet, Study

#: Candidates written at once; bounds memory, and how long others wait, whatever the file's size.
BATCH = 2000
#: Seconds between two batches on SQLite, where one writes at a time and nobody stands in line: who
#: waits looks again every tenth of a second, and has to find the door open.
PAUSE = 0.12
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
    refuse_frozen(study, role)
    known = known_claims(study)
    wanted = Roles(role, roles or {})
    report = ImportReport()
    _check_file(path, format_name, known, limit, skip_invalid, wanted, report)
    claims = (
        claim for claim in _good_claims(path, format_name, limit, wanted) if claim.id not in known
    )
    with arriving(study) as importing:
        report.n_imported = _write(importing, claims, wanted)
        with transaction.atomic():
            locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            refuse_frozen(locked, role)
            if Claim.objects.filter(study=study).count() != len(known):
                raise BadUpload(
                    "The study's claims changed during the import: import the file again."
                )
            arrive(importing)
            audit.record(
                AuditAction.CLAIMS_IMPORTED,
                study,
                claims=report.n_imported,
                format=format_name,
                trials_for=str(role),
            )
    return report


def _write(importing: ClaimsImport, claims: Iterator[rankers.Claim], roles: Roles) -> int:
    """Write the claims in short transactions, reading on between them; how many there were."""
    n_written = 0
    seconds = 0.0
    for batch in _batches(claims):
        _let_others_write(seconds)
        began = time.monotonic()
        with transaction.atomic():
            renew(importing)
            _write_batch(importing, batch, n_written, roles)
        seconds = time.monotonic() - began
        n_written += len(batch)
    _let_others_write(seconds)
    return n_written


def _let_others_write(seconds: float) -> None:
    """Pause after a transaction of so many seconds, where it kept others from writing.

    Inside a transaction of the caller's a pause would only make that one longer.
    """
    if seconds and connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(max(PAUSE, seconds))


def _batches(claims: Iterator[rankers.Claim]) -> Iterator[list[rankers.Claim]]:
    """Claims with about ``BATCH`` candidates together."""
    batch: list[rankers.Claim] = []
    n_candidates = 0
    for claim in claims:
        batch.append(claim)
        n_candidates += len(claim.candidates)
        if n_candidates >= BATCH:
            yield batch
            batch, n_candidates = [], 0
    if batch:
        yield batch


def _good_claims(
    path: Path, format_name: str, limit: int | None, roles: Roles
) -> Iterator[rankers.Claim]:
    n_given = 0
    for row in rows_of(path, format_name):
        if row.claim is None or faults_of(row.claim, roles):
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
    roles: Roles,
    report: ImportReport,
) -> None:
    check = FileCheck()
    for kind, found in findings(path, format_name, known, limit, roles):
        check.add(kind, found)
    problems, conflicts, notices = (
        [f"{path.name}, {problem}" for problem in found]
        for found in (check.problems, check.conflicts, check.notices)
    )
    report.notices, report.left_out, report.n_repeated = notices, check.left_out, check.n_repeated
    if conflicts or (problems and not skip_invalid):
        raise BadUpload(_listed(conflicts + problems))
    report.skipped = _listed(problems)
    if not check.n_good:
        raise BadUpload([*_listed(problems), f"{path.name}: no claim to import"])


def _listed(problems: list[str]) -> list[str]:
    if len(problems) <= MAX_LISTED:
        return problems
    return [*problems[:MAX_LISTED], f"… and {len(problems) - MAX_LISTED} more problems"]


def _write_batch(
    importing: ClaimsImport, batch: list[rankers.Claim], last: int, roles: Roles
) -> None:
    """Write claims, candidates and gold sets; ``last`` is the last position used."""
    rows = Claim.objects.bulk_create(
        Claim(
            arriving=importing,
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

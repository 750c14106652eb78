"""A checked claims file becomes a study's claims, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.db.models import Max

import rankers
from rankers import formats
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
) -> ImportReport:
    """Read ``path`` and add its claims to a draft.

    The file is checked to its end before the first row is written, then written in one transaction
    in batches, so that memory stays bounded and a bad file leaves nothing. A claim identical to a
    stored one is skipped and counted; the same id with other content refuses the file. Raises
    BadUpload with every problem (the first 200 listed), NotEditable once the study has opened or
    is scheduled.
    """
    if not study.is_draft:
        raise NotEditable("The study has opened: its claims are frozen.")
    if study.n_replications:
        raise NotEditable("The study has a schedule already: import all claims first.")
    known = dict(Claim.objects.filter(study=study).values_list("claim_id", "digest"))
    report = ImportReport()
    _check_file(path, format_name, known, limit, skip_invalid, report)
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        last = Claim.objects.filter(study=study).aggregate(last=Max("position"))["last"] or 0
        batch: list[rankers.Claim] = []
        for claim in _good_claims(path, format_name, limit):
            if known.get(claim.id) == formats.claim_digest(claim):
                continue
            batch.append(claim)
            if len(batch) == BATCH:
                last = _write_batch(study, batch, last)
                report.n_imported += len(batch)
                batch = []
        if batch:
            _write_batch(study, batch, last)
            report.n_imported += len(batch)
    return report


def _rows(path: Path, format_name: str) -> Iterator[formats.Row]:
    try:
        yield from formats.read_rows(path, format_name)
    except rankers.RankerError as error:
        raise BadUpload(str(error).splitlines()) from None


def _good_claims(path: Path, format_name: str, limit: int | None) -> Iterator[rankers.Claim]:
    n_given = 0
    for row in _rows(path, format_name):
        if row.claim is None or _too_long(row.claim):
            continue
        if limit is not None and n_given >= limit:
            return
        n_given += 1
        yield row.claim


def _check_file(
    path: Path,
    format_name: str,
    known: dict[str, str],
    limit: int | None,
    skip_invalid: bool,
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
        if too_long := _too_long(row.claim):
            problems += [f"{path.name}, line {row.line}, {problem}" for problem in too_long]
            continue
        n_good += 1
        if row.claim.id in known:
            if known[row.claim.id] == formats.claim_digest(row.claim):
                report.n_repeated += 1
            else:
                conflicts.append(
                    f"{path.name}, line {row.line}, field id: {row.claim.id!r} is in the study "
                    "already with other content; give the new claim another id"
                )
    if conflicts or (problems and not skip_invalid):
        raise BadUpload(_listed(conflicts + problems))
    report.skipped = _listed(problems)
    if not n_good:
        raise BadUpload([*_listed(problems), f"{path.name}: no claim to import"])


def _too_long(claim: rankers.Claim) -> list[str]:
    """Fields longer than a study can keep, each with its limit."""
    limits = {"id": Claim._meta.get_field("claim_id"), "lang": Claim._meta.get_field("lang")}
    return [
        f"{name}: longer than {field.max_length} characters, the limit for a study; shorten it"
        for name, field in limits.items()
        if len(getattr(claim, name)) > field.max_length
    ]


def _listed(problems: list[str]) -> list[str]:
    if len(problems) <= MAX_LISTED:
        return problems
    return [*problems[:MAX_LISTED], f"… and {len(problems) - MAX_LISTED} more problems"]


def _write_batch(study: Study, batch: list[rankers.Claim], last: int) -> int:
    """Write claims, candidates and gold sets; returns the last position used."""
    rows = Claim.objects.bulk_create(
        Claim(
            study=study,
            position=last + offset,
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

"""Consent: the texts that were shown, kept under their hashes, and who agreed to which when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from studyapp.domain.join_forms import consent_version
from studyapp.enums import RunKind
from studyapp.models import ConsentText, Enrolment, Study


@dataclass(frozen=True)
class ConsentRecord:
    """One participant's consent. ``number`` counts the study's texts from 1; None: not kept."""

    participant: str
    run_kind: str
    number: int | None
    version: str
    consented_at: datetime


@dataclass(frozen=True)
class ConsentRecords:
    """Everything an ethics board asks for: the texts, every consent, and how many withdrew."""

    texts: list[ConsentText]
    records: list[ConsentRecord]
    n_withdrawn: int


def keep_consent_text(study: Study) -> None:
    """Keep the present consent text; call it in the transaction that lets participants see it."""
    ConsentText.objects.get_or_create(
        study=study,
        version=consent_version(study),
        defaults={"text": study.texts.get("consent", "")},
    )


def consent_records(study: Study) -> ConsentRecords:
    """The consents of people (not of simulated runs), in the order given: three queries."""
    texts = list(study.consent_texts.order_by("pk"))
    numbers = {text.version: number for number, text in enumerate(texts, start=1)}
    runs = (
        Enrolment.objects.filter(slot__study=study)
        .exclude(run_kind=RunKind.SIMULATED)
        .select_related("participant")
        .order_by("consented_at", "pk")
    )
    return ConsentRecords(
        texts=texts,
        records=[
            ConsentRecord(
                participant=run.participant.code,
                run_kind=run.get_run_kind_display(),
                number=numbers.get(run.consent_version),
                version=run.consent_version,
                consented_at=run.consented_at,
            )
            for run in runs
        ],
        n_withdrawn=study.withdrawals.exclude(run_kind=RunKind.SIMULATED).count(),
    )

"""Claims of a draft: taken out again, all at once."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from studyapp.domain import audit
from studyapp.domain.scheduled import refuse_scheduled
from studyapp.enums import AuditAction
from studyapp.errors import NotEditable
from studyapp.models import Claim, PrecomputeJob, Ranking, Selection, Study


@dataclass(frozen=True)
class Removal:
    """What goes when a study's claims are removed."""

    n_claims: int
    n_evidence: int


def what_goes(study: Study) -> Removal:
    """Count what ``remove_claims`` would delete: three queries."""
    return Removal(
        n_claims=Claim.objects.filter(study=study).count(),
        n_evidence=sum(
            model.objects.filter(condition__study=study).count() for model in (Ranking, Selection)
        ),
    )


def remove_claims(study: Study) -> Removal:
    """Delete every claim of a draft with its stored rankings and selections.

    Raises NotEditable once the study has opened or is scheduled.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not locked.is_draft:
            raise NotEditable("The study has opened: its claims are frozen.")
        refuse_scheduled(locked, "remove the claims")
        removal = what_goes(locked)
        for model in (PrecomputeJob, Ranking, Selection):
            model.objects.filter(condition__study=locked).delete()
        Claim.objects.filter(study=locked).delete()
        audit.record(
            AuditAction.CLAIMS_REMOVED,
            locked,
            claims=removal.n_claims,
            rankings=removal.n_evidence,
        )
    return removal

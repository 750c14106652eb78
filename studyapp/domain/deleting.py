"""Delete a whole study: its claims, its people's data and every file kept for it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from studyapp.domain import audit, export_files, results_report, uploads
from studyapp.domain.queries import main_claims
from studyapp.domain.traces import forget_deleted_text
from studyapp.enums import AuditAction, StudyState
from studyapp.errors import NotEditable
from studyapp.models import Enrolment, Participant, Study, Trial, Withdrawal


@dataclass(frozen=True)
class Going:
    """What a deletion takes along, in numbers."""

    n_claims: int
    n_participants: int
    n_trials: int


def what_goes(study: Study) -> Going:
    """Count what the deletion of a study would take along: three queries."""
    return Going(
        n_claims=main_claims(study).count(),
        n_participants=Participant.objects.filter(study=study).count(),
        n_trials=Trial.objects.filter(participant__study=study).count(),
    )


def delete_study(study: Study) -> Going:
    """Delete a draft or a closed study for good; the audit log keeps that it was, and no data.

    Raises NotEditable while the study is open or paused: somebody may be taking part.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        if locked.state not in (StudyState.DRAFT, StudyState.CLOSED):
            raise NotEditable(
                f"The study is {locked.get_state_display().lower()}: close it before it is deleted."
            )
        going = what_goes(locked)
        audit.record(
            AuditAction.STUDY_DELETED,
            locked,
            claims=going.n_claims,
            participants=going.n_participants,
            trials=going.n_trials,
        )
        _delete_runs(locked)
        locked.delete()
        # Not undone by a rollback, so only once nothing else can fail.
        transaction.on_commit(lambda: _delete_files(study))
        transaction.on_commit(forget_deleted_text)
    return going


def _delete_runs(study: Study) -> None:
    """Delete every run: the row of a withdrawal opens the database's guard for each.

    These rows go with the study.
    """
    for run in Enrolment.objects.filter(slot__study=study).order_by("pk"):
        Withdrawal.objects.create(
            study=study,
            enrolment_number=run.pk,
            token_digest=f"deleted-{run.pk}",
            run_kind=run.run_kind,
            n_trials=0,
        )
        run.delete()
    Participant.objects.filter(study=study).delete()


def _delete_files(study: Study) -> None:
    results_report.delete_files(study)
    export_files.delete_files(study)
    uploads.delete_files(study)

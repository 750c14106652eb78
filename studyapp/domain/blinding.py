"""Staying blind: no results by condition before the end, unless an owner lifts it on the record."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from studyapp.domain import audit
from studyapp.enums import AuditAction, Role, StudyState
from studyapp.errors import Blinded, NotEditable
from studyapp.models import Study

#: What a blind study says where its results would be.
REASON = (
    "This study is blind while it runs: its results by condition are shown once it is closed, or "
    "after an owner has unblinded it."
)
#: Who unblinds by a command, without a role in the study.
BY_COMMAND = "command"


def hides_results(study: Study) -> bool:
    """Whether results by condition stay hidden now."""
    is_running = study.state in (StudyState.OPEN, StudyState.PAUSED)
    return study.blind and is_running and study.unblinded_at is None


def refuse_while_blind(study: Study) -> None:
    """Raises Blinded where the results are hidden."""
    if hides_results(study):
        raise Blinded(REASON)


def unblind(study: Study, by: str = Role.OWNER) -> None:
    """Show the results of a running blind study from now on, to all of its members.

    ``by`` is the role of who decides it, or ``command``; the report lists it as a deviation.
    Raises NotEditable where nothing is hidden.
    """
    now = timezone.now()
    with transaction.atomic():
        hidden = Study.objects.filter(
            pk=study.pk,
            blind=True,
            unblinded_at=None,
            state__in=(StudyState.OPEN, StudyState.PAUSED),
        )
        if not hidden.update(unblinded_at=now, unblinded_by=by):
            raise NotEditable("There is nothing to unblind: the results are not hidden.")
        audit.record(AuditAction.STUDY_UNBLINDED, study, role=by)
    study.unblinded_at, study.unblinded_by = now, by

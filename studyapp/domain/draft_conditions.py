"""Conditions of a draft: changed, removed, put in another order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import Count

from studyapp.domain import audit
from studyapp.domain.condition_check import checked_condition, refuse_frozen_conditions
from studyapp.enums import AuditAction
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Condition, PrecomputeJob, Ranking, Selection, Study

#: A place that no condition of a study has, for the moment in which two of them change places.
_ASIDE = 32_000
#: What a stored ranking or selection depends on.
_MAKES_EVIDENCE = ("interface", "method", "model", "embedder", "params")


def stored_counts(study: Study) -> dict[int, int]:
    """How many rankings and selections each condition has stored, by its id: two queries."""
    counts: dict[int, int] = {}
    for model in (Ranking, Selection):
        rows = model.objects.filter(condition__study=study).values_list("condition_id")
        counts |= dict(rows.annotate(n=Count("id")).order_by())
    return counts


def change_condition(condition: Condition, **changes: Any) -> Condition:
    """Give a draft's condition another name, method, model, embedder or parameters.

    What it has stored is deleted when anything but its name changes. Raises StudyError, and
    NotEditable once the study has opened or is scheduled.
    """
    with _locked(condition) as (study, stored):
        old = {
            name: getattr(stored, name)
            for name in ("name", "interface", "method", "model", "embedder", "params")
        }
        fields = checked_condition(**(old | changes))
        others = study.conditions.exclude(pk=stored.pk)
        if others.filter(name=fields["name"]).exists():
            raise StudyError(f"condition {fields['name']!r} exists already: choose another name.")
        if any(fields[name] != old[name] for name in _MAKES_EVIDENCE):
            _delete_evidence(stored)
        for name, value in fields.items():
            setattr(stored, name, value)
        stored.save(update_fields=list(fields))
        audit.record(
            AuditAction.CONDITION_CHANGED,
            study,
            condition=stored.name,
            interface=stored.interface,
            method=stored.method,
        )
        return stored


def remove_condition(condition: Condition) -> None:
    """Delete a draft's condition with everything stored for it; the later ones move up."""
    with _locked(condition) as (study, stored):
        _delete_evidence(stored)
        stored.delete()
        audit.record(AuditAction.CONDITION_REMOVED, study, condition=stored.name)
        for position, other in enumerate(study.conditions.order_by("position"), start=1):
            if other.position != position:
                other.position = position
                other.save(update_fields=["position"])


def move_condition(condition: Condition, step: int) -> None:
    """Let a draft's condition change places with the one before (-1) or after it (1).

    At the end of the list nothing happens. The contrast is the first condition minus the second.
    """
    with _locked(condition) as (study, stored):
        ordered = list(study.conditions.order_by("position"))
        place = [other.pk for other in ordered].index(stored.pk) + step
        if not 0 <= place < len(ordered):
            return
        other = ordered[place]
        own, its = stored.position, other.position
        for row, position in ((stored, _ASIDE), (other, own), (stored, its)):
            row.position = position
            row.save(update_fields=["position"])
        audit.record(
            AuditAction.CONDITION_MOVED, study, condition=stored.name, position=stored.position
        )


@contextmanager
def _locked(condition: Condition) -> Iterator[tuple[Study, Condition]]:
    """The study, locked and still open to change, and the condition as it is stored now."""
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=condition.study_id)
        refuse_frozen_conditions(study)
        stored = study.conditions.filter(pk=condition.pk).first()
        if stored is None:
            raise NotEditable("The condition was removed meanwhile.")
        yield study, stored


def _delete_evidence(condition: Condition) -> None:
    for model in (PrecomputeJob, Ranking, Selection):
        model.objects.filter(condition=condition).delete()

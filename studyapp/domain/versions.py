"""A change after the opening: a new numbered version, with a reason, for those who come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet

from rankers.formats.lines import text_problem
from studyapp.domain import audit
from studyapp.domain.changing import merged, without_none
from studyapp.domain.configuration import DESCRIPTIVE, MERGED, check_configuration
from studyapp.domain.consent import keep_consent_text
from studyapp.domain.export_settings import study_settings
from studyapp.domain.lifecycle import frozen_anew
from studyapp.domain.texts import with_default_texts
from studyapp.domain.version_changes import Change, changes_between, without_defaults
from studyapp.domain.version_rows import CHANGEABLE, content_of, write_version
from studyapp.enums import AuditAction, ConditionPolicy, StudyState
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Enrolment, Study, StudyVersion
from studyapp.models.assignment import RUNNING
from studyapp.models.study import recruiting_value

MAX_REASON = 2000
#: What to do about a setting that no version changes; the rest needs a study of its own.
_INSTEAD = {
    "replications": "add cycles with schedule: they need no new version",
    "preregistered": "it was fixed before the data; report what you did otherwise",
    "non_inferiority_margin": "it was fixed before the data; report what you did otherwise",
    "blind": "it was fixed before the data; an owner can unblind the results",
}
#: Objects of which a form sends every setting, the standard ones too.
_SPELT_OUT = frozenset({"sitting", "recruiting"})
_NEW_STUDY = (
    "make a new study from this one's export (export_study, then import_study --slug NEW) and "
    "change it there"
)


@dataclass(frozen=True)
class VersionRow:
    """One version, what it changed in the one before, and how many runs began under it."""

    version: StudyVersion
    changes: list[Change]
    n_runs: int


def publish(
    study: Study, changes: dict[str, Any], reason: str, *, base: int | None = None
) -> StudyVersion:
    """Make a new version of an opened study; runs that have begun finish on theirs.

    ``changes`` are named as in study.json; ``texts``, ``sitting`` and ``recruiting`` hold only
    what changes, and None takes a setting (a text) back to the standard one. ``base`` is the
    version that the changes were made from, where somebody has looked at it. Raises StudyError
    with a line a field, NotEditable for a draft, a closed study, what is frozen for good, and a
    ``base`` that is not the newest version any more.
    """
    reason = _checked_reason(reason)
    with transaction.atomic():
        # Arrivals queue at this row too: each joins before the new version or under it.
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        _refuse_state(locked)
        if base not in (None, locked.version):
            raise NotEditable(
                f"Version {locked.version} was published meanwhile: look at it, and decide again."
            )
        before = content_of(locked)
        for name, value in new_content(locked, changes).items():
            setattr(locked, name, value)
        made = changes_between(before, content_of(locked))
        if not made:
            raise StudyError("Nothing changes: every value given is the one that is stored.")
        locked.version += 1
        locked.frozen = frozen_anew(locked)
        locked.save(update_fields=[*CHANGEABLE, "version", "frozen"])
        named = audit.shortened(", ".join(change.setting for change in made))
        entry = audit.record(
            AuditAction.VERSION_PUBLISHED, locked, version=locked.version, settings=named
        )
        version = write_version(locked, entry.who, reason)
        keep_consent_text(locked)
    for name in (*CHANGEABLE, "version", "frozen"):
        setattr(study, name, getattr(locked, name))
    return version


def planned_changes(study: Study, changes: dict[str, Any]) -> list[Change]:
    """What ``publish`` would change now: old beside new. Stores nothing; raises as it does."""
    _refuse_state(study)
    before = content_of(study)
    return changes_between(before, before | new_content(study, changes))


def new_content(study: Study, changes: dict[str, Any]) -> dict[str, Any]:
    """The values that ``changes`` lead to, checked as those of a draft are. Raises as above."""
    _refuse_frozen(study, changes)
    given = {name: value for name, value in changes.items() if name in CHANGEABLE}
    texts = given.pop("texts", {})
    # Settings may be right one by one and wrong together, so a merged object is checked whole.
    wholes = {name: merged(getattr(study, name), given[name]) for name in MERGED & set(given)}
    fields, _ = check_configuration(given | wholes | {"texts": without_none(texts)})
    emptied = {name: text or "" for name, text in texts.items()}
    fields["texts"] = with_default_texts(study.texts | emptied, study.lang)
    for name in _SPELT_OUT & set(fields):
        fields[name] = without_defaults(name, fields[name], getattr(study, name))
    _refuse_contradictions(study, fields)
    return {name: fields[name] for name in CHANGEABLE if name in fields}


def version_rows(study: Study) -> list[VersionRow]:
    """The versions of a study, the newest first: two queries."""
    versions = list(study.versions.order_by("number"))
    counts = dict(
        Enrolment.objects.filter(slot__study=study)
        .values_list("version")
        .annotate(n=Count("id"))
        .order_by()
    )
    contents = [None, *(version.content for version in versions)]
    rows = [
        VersionRow(
            version,
            changes_between(before, version.content) if before is not None else [],
            counts.get(version.number, 0),
        )
        for before, version in zip(contents, versions, strict=False)
    ]
    return rows[::-1]


def runs_under_way(study: Study) -> QuerySet[Enrolment]:
    """The runs that go on with the version they began under."""
    return Enrolment.objects.filter(slot__study=study, state__in=RUNNING)


def _checked_reason(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise StudyError("reason: say why the study changes; the report prints it.")
    if len(reason) > MAX_REASON:
        raise StudyError(f"reason: use at most {MAX_REASON} characters; these are {len(reason)}.")
    if (problem := text_problem(reason)) is not None:
        raise StudyError(f"reason: {problem}")
    return reason


def _refuse_state(study: Study) -> None:
    if study.is_draft:
        raise NotEditable("The study is a draft: change it as it is; opening makes version 1.")
    if study.state == StudyState.CLOSED:
        raise NotEditable(
            f"The study is closed: nobody would take part in a new version. To go on, {_NEW_STUDY}."
        )


def _refuse_frozen(study: Study, changes: dict[str, Any]) -> None:
    """Refuse what no version changes, unless it is given as it is."""
    known = set(CHANGEABLE) | DESCRIPTIVE
    others = [name for name in changes if name not in known]
    stored = study_settings(study) if others else {}
    problems = [
        f"field {name}: frozen since the opening; {_INSTEAD.get(name, _NEW_STUDY)}"
        for name in others
        if name in _FROZEN and changes[name] != stored.get(name)
    ]
    problems += [
        f"field {name}: not known; a new version can change {', '.join(CHANGEABLE)}"
        for name in others
        if name not in _FROZEN
    ]
    if problems:
        raise NotEditable(problems)


#: What no version changes: who reads what under which condition, and how it is judged.
_FROZEN = frozenset(
    {
        "claims",
        "rankings",
        "conditions",
        "subsets",
        "replications",
        "seed",
        "order_policy",
        "condition_policy",
        "response_options",
        "shows_total",
        "lang",
        "protocol",
        "preregistered",
        "non_inferiority_margin",
        "blind",
    }
)


def _refuse_contradictions(study: Study, fields: dict[str, Any]) -> None:
    """What is right by itself and wrong in a study that has opened."""
    if fields.get("completion_code") == "":
        raise StudyError("field completion_code: participants need one; give another code")
    recruiting = fields.get("recruiting", study.recruiting)
    stored = study.recruiting_setting("id_parameter")
    if stored not in ("", recruiting_value(recruiting, "id_parameter")):
        raise StudyError(
            "field recruiting.id_parameter: links that carry it have been given out, and lead "
            "people back to their runs; it stays as it is"
        )
    repeats = recruiting_value(recruiting, "repeats")
    if study.condition_policy == ConditionPolicy.BETWEEN and repeats > 1:
        raise StudyError(
            "field recruiting.repeats: must be 1 where a participant has one condition only"
        )

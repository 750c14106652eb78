"""A study's life: create, add conditions, open, pause, resume, close."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from studyapp.codes import random_code
from studyapp.domain import audit
from studyapp.domain.condition_check import checked_condition, refuse_frozen_conditions
from studyapp.domain.consent import keep_consent_text
from studyapp.domain.digests import digest_of, schedule_digest
from studyapp.domain.endings import ending_problems, ending_warnings, return_setting
from studyapp.domain.progress import missing_evidence
from studyapp.domain.queries import main_claims
from studyapp.domain.return_addresses import is_known_host, return_host
from studyapp.domain.sitting_settings import shared_settings
from studyapp.domain.study_facts import StudyFacts
from studyapp.domain.texts import with_default_texts
from studyapp.domain.version_rows import write_version
from studyapp.enums import AuditAction, ConditionPolicy, StudyState, TrialKind
from studyapp.errors import NotEditable, NotReady, StudyError
from studyapp.models import Claim, Condition, Ranking, Selection, Study
from studyapp.protocols.verification import default_options


def add_condition(
    study: Study,
    name: str,
    interface: str,
    method: str,
    *,
    model: str = "",
    embedder: str = "",
    params: dict[str, Any] | None = None,
) -> Condition:
    """Add a named way of presenting evidence to a draft.

    ``incremental`` takes rankers and ``all_at_once`` takes selectors. Raises StudyError for an
    unknown method or parameter, NotEditable once the study has opened or is scheduled.
    """
    fields = checked_condition(name, interface, method, model, embedder, params or {})
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        refuse_frozen_conditions(study)
        if study.conditions.filter(name=name).exists():
            raise StudyError(f"condition {name!r} exists already: choose another name.")
        audit.record(
            AuditAction.CONDITION_ADDED, study, condition=name, interface=interface, method=method
        )
        last = study.conditions.aggregate(last=Max("position"))["last"] or 0
        return Condition.objects.create(study=study, position=last + 1, **fields)


def opening_problems(study: Study, facts: StudyFacts | None = None) -> list[str]:
    """Everything that keeps a study from opening, each with what to do.

    ``facts`` are what the caller has read of the study already.
    """
    facts = facts or StudyFacts(study)
    problems = []
    if not facts.claims.n:
        problems.append("no claims: import them with import_claims")
    if not facts.conditions:
        problems.append("no condition: add one with add_condition")
    problems += _practice_problems(facts)
    problems += ending_problems(study)
    if (
        study.condition_policy == ConditionPolicy.BETWEEN
        and study.recruiting_setting("repeats") > 1
    ):
        problems.append("recruiting.repeats: must be 1 where a participant has one condition only")
    problems += missing_evidence(facts.progress)
    if not facts.balance.n_trials:
        problems.append("no schedule: make one with schedule")
    else:
        problems += [f"schedule: {problem}" for problem in facts.balance.problems]
    return problems


def _practice_problems(facts: StudyFacts) -> list[str]:
    """Practice claims that ask for an interface the study does not have."""
    if not facts.claims.n_practice:
        return []
    interfaces = {condition.interface for condition in facts.conditions}
    claims = Claim.objects.filter(study=facts.study, role=TrialKind.PRACTICE).order_by("position")
    return [
        f"practice claim {claim.claim_id}: meta.interface is {wanted}, but no condition has it"
        for claim in claims
        if (wanted := claim.meta.get("interface")) is not None and wanted not in interfaces
    ]


def opening_warnings(study: Study, facts: StudyFacts | None = None) -> list[str]:
    """What a researcher should know before opening, though it does not prevent it."""
    facts = facts or StudyFacts(study)
    warnings = []
    if not study.completion_code:
        warnings.append("no completion code set: one will be made")
    if len(facts.conditions) == 1:
        warnings.append("a single condition: nothing to compare")
    if facts.balance.n_slots % max(len(facts.conditions), 1):
        warnings.append(
            "the number of slots is no multiple of the conditions: their order is not "
            "fully counterbalanced"
        )
    main_labels = set(facts.claims.by_label)
    unscorable = (main_labels | facts.claims.other_labels) - set(
        study.response_options or default_options(main_labels)
    )
    warnings += ending_warnings(study)
    if host := return_host(return_setting(study)):
        warnings.append(
            f"participants are sent back to {host} at the end: try the return address yourself"
        )
        if not is_known_host(host):
            warnings.append(
                f"the return address: {host} is none of the recruiting sites we know, "
                "so look for a typing error"
            )
    if unscorable:
        warnings.append(
            f"claims labelled {', '.join(sorted(unscorable))} have no such answer: not scorable"
        )
    return warnings


def open_study(study: Study) -> Study:
    """Freeze the study and let participants in. Raises NotReady with every problem."""
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not study.is_draft:
            raise NotEditable(f"The study is {study.get_state_display().lower()} already.")
        problems = opening_problems(study)
        if problems:
            raise NotReady(problems)
        if not study.response_options:
            labels = set(main_claims(study).values_list("label", flat=True))
            study.response_options = default_options(labels)
        if not study.completion_code:
            study.completion_code = random_code(8).upper()
        study.texts = with_default_texts(study.texts, study.lang)
        study.n_practice = Claim.objects.filter(study=study, role=TrialKind.PRACTICE).count()
        study.n_attention = Claim.objects.filter(study=study, role=TrialKind.ATTENTION).count()
        study.state = StudyState.OPEN
        study.opened_at = timezone.now()
        study.frozen = freeze_record(study)
        study.version = 1
        study.save()
        keep_consent_text(study)
        entry = audit.record(AuditAction.STUDY_OPENED, study, software=study.frozen["software"])
        write_version(study, entry.who)
    return study


def set_state(study: Study, state: str, *, allowed_from: Iterable[str]) -> None:
    """Pause, resume or close, by a guarded update. Raises NotEditable from any other state."""
    now = timezone.now() if state == StudyState.CLOSED else None
    with transaction.atomic():
        changed = Study.objects.filter(pk=study.pk, state__in=list(allowed_from)).update(
            state=state, closed_at=now
        )
        if not changed:
            raise NotEditable(f"The study cannot become {state} from its present state.")
        audit.record(_ACTIONS[StudyState(state)], study)


#: What the audit log says of a study that comes into a state again, or for good.
_ACTIONS = {
    StudyState.OPEN: AuditAction.STUDY_RESUMED,
    StudyState.PAUSED: AuditAction.STUDY_PAUSED,
    StudyState.CLOSED: AuditAction.STUDY_CLOSED,
}


def freeze_record(study: Study) -> dict[str, Any]:
    """Hashes of claims, evidence, schedule, texts and sitting, and the software's version."""
    claims = Claim.objects.filter(study=study).order_by("position")
    rankings = Ranking.objects.filter(condition__study=study)
    selections = Selection.objects.filter(condition__study=study)
    keys = ("condition__name", "claim__claim_id")
    return {
        "claims": digest_of(_claim_row(*row) for row in claims.values_list(*_CLAIM_ROW)),
        "rankings": digest_of(rankings.order_by(*keys).values_list(*keys, "order")),
        "selections": digest_of(selections.order_by(*keys).values_list(*keys, "selected")),
        "schedule": schedule_digest(study),
        "seed": study.seed,
        **_changeable_hashes(study),
    }


def frozen_anew(study: Study) -> dict[str, Any]:
    """The freezing's record for a new version: claims, evidence and schedule are as they were."""
    return study.frozen | _changeable_hashes(study)


def _changeable_hashes(study: Study) -> dict[str, str]:
    return {
        "texts": digest_of(sorted(study.texts.items())),
        "sitting": digest_of(sorted(shared_settings(study.sitting).items())),
        "software": f"suffice {software_version()}",
    }


_CLAIM_ROW = ("claim_id", "digest", "role")


def _claim_row(claim_id: str, digest: str, role: str) -> list[str]:
    """What is hashed of a claim. The usual role is left out, as before there were others."""
    return [claim_id, digest] if role == TrialKind.MAIN else [claim_id, digest, role]


def software_version() -> str:
    """The version of Suffice that runs."""
    try:
        return version("suffice")
    except PackageNotFoundError:
        return "0.1.0"

"""A small cast: studies with claims, conditions, evidence and a schedule, made without a worker."""

from __future__ import annotations

import itertools
from typing import Any

from studyapp.domain import lifecycle, schedule
from studyapp.domain.assignment import join
from studyapp.domain.consent import consent_version
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import start_next_trial
from studyapp.enums import Interface, JobState, Role, RunKind, TrialKind
from studyapp.models import (
    Candidate,
    Claim,
    Condition,
    Enrolment,
    GoldSet,
    Membership,
    PrecomputeJob,
    Ranking,
    Selection,
    Study,
    Trial,
)

_numbers = itertools.count(1)

N_CANDIDATES = 5


def draft_study(slug: str | None = None, **fields: Any) -> Study:
    """A draft without claims or conditions."""
    slug = slug or f"study-{next(_numbers)}"
    study = Study.objects.create(slug=slug, title=fields.pop("title", f"Study {slug}"), **fields)
    if study.owner is not None:
        Membership.objects.create(study=study, user=study.owner, role=Role.OWNER)
    return study


def add_claims(study: Study, n_claims: int, **fields: Any) -> list[Claim]:
    """Claims c1, c2, …: supported and refuted in turn; gold sets {1} and {0, 2} (IMSR 1)."""
    start = study.claims.count()
    claims = []
    for number in range(start + 1, start + n_claims + 1):
        values = {
            "text": f"Claim number {number} of the study.",
            "label": "supported" if number % 2 else "refuted",
        } | fields
        claim = Claim.objects.create(
            study=study,
            position=number,
            claim_id=f"c{number}",
            n_candidates=N_CANDIDATES,
            gold_min_size=1,
            digest=f"{number:064d}",
            **values,
        )
        Candidate.objects.bulk_create(
            Candidate(
                claim=claim,
                position=position,
                text=f"Sentence {position} about claim {number}.",
                title=f"Page {number}" if position else None,
            )
            for position in range(N_CANDIDATES)
        )
        GoldSet.objects.create(claim=claim, position=0, members=[1])
        GoldSet.objects.create(claim=claim, position=1, members=[0, 2])
        claims.append(claim)
    return claims


def add_conditions(study: Study) -> list[Condition]:
    """``ranking`` (incremental) and ``selection`` (all at once)."""
    return [
        lifecycle.add_condition(study, "ranking", Interface.INCREMENTAL, "document_order"),
        lifecycle.add_condition(study, "selection", Interface.ALL_AT_ONCE, "top_k"),
    ]


def add_evidence(
    study: Study, *, order: tuple[int, ...] = (3, 0, 2, 1, 4), selected: tuple[int, ...] = (0, 2, 3)
) -> None:
    """A result for every claim and condition, as a worker would have stored it."""
    for condition in study.conditions.all():
        for claim in study.claims.filter(role=TrialKind.MAIN):
            common = {
                "condition": condition,
                "claim": claim,
                "method": condition.method,
                "status": "complete",
                "cached_prompt_tokens": 0,
            }
            if condition.is_incremental:
                Ranking.objects.create(**common, order=list(order), origins=["judged"] * len(order))
            else:
                Selection.objects.create(**common, selected=list(selected))
            PrecomputeJob.objects.create(condition=condition, claim=claim, state=JobState.DONE)


def ready_study(
    n_claims: int = 4, n_subsets: int = 2, n_replications: int = 1, seed: int = 7, **fields: Any
) -> Study:
    """A draft with everything it needs to open."""
    study = draft_study(**fields)
    add_claims(study, n_claims)
    add_conditions(study)
    add_evidence(study)
    schedule.lay_out(study, n_subsets, n_replications, seed)
    return Study.objects.get(pk=study.pk)


def open_study(n_claims: int = 4, **options: Any) -> Study:
    """An open study: by default 4 claims, 2 subsets, 2 slots of 4 trials."""
    return lifecycle.open_study(ready_study(n_claims, **options))


def sitting_study(
    n_claims: int = 4, *, n_practice: int = 0, n_attention: int = 0, **options: Any
) -> Study:
    """An open study with further claims: practice ones first, then attention checks."""
    study = ready_study(n_claims, **options)
    add_claims(study, n_practice, role=TrialKind.PRACTICE)
    add_claims(study, n_attention, role=TrialKind.ATTENTION)
    return lifecycle.open_study(study)


def joined(study: Study, run_kind: str = RunKind.REAL) -> Enrolment:
    """A participant who has consented and holds a slot."""
    present = consent_version(Study.objects.get(pk=study.pk))
    form = JoinForm(f"nonce-{next(_numbers)}", run_kind, consent_version=present)
    return join(study.code, form)


def started(study: Study, run_kind: str = RunKind.REAL) -> tuple[Enrolment, Trial]:
    """A participant in the first trial."""
    enrolment = joined(study, run_kind)
    trial = start_next_trial(enrolment.token)
    assert trial is not None
    return Enrolment.objects.get(pk=enrolment.pk), trial


def started_in(study: Study, interface: str) -> tuple[Enrolment, Trial]:
    """A participant whose first trial has the wanted interface (slots alternate)."""
    for _ in range(study.slots.count()):
        enrolment, trial = started(study)
        if trial.condition.interface == interface:
            return enrolment, trial
    raise AssertionError(f"no slot begins with {interface}")

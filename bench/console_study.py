"""A study as large as they get, made by bulk inserts: what its researcher's pages are timed on.

5,000 claims of 60 short candidates, 2 conditions with a ranking for every claim, 500 slots of 40
trials; once it has opened, a finished run with about 10 events a trial in every slot.
"""

from __future__ import annotations

import random
from typing import Any

from studyapp.domain import lifecycle, schedule
from studyapp.enums import Interface, JobState
from studyapp.models import Candidate, Claim, GoldSet, PrecomputeJob, Ranking, Study
from tests import bulk, factories

N_CLAIMS, N_CANDIDATES, N_SUBSETS, N_CYCLES = 5000, 60, 250, 2
BATCH = 2000


def ready_study(owner: Any, slug: str) -> Study:
    """A draft of that size with everything it needs to open."""
    study = factories.draft_study(slug, owner=owner)
    claims = _claims(study)
    for name, method in (("ours", "coverage"), ("baseline", "document_order")):
        lifecycle.add_condition(study, name, Interface.INCREMENTAL, method)
    _rankings(study, claims)
    schedule.lay_out(study, N_SUBSETS, N_CYCLES, 7)
    return Study.objects.get(pk=study.pk)


def fill(study: Study) -> None:
    """A finished run in every slot of an open study."""
    bulk.sit_all(study, list(study.slots.all()))


def _claims(study: Study) -> list[Claim]:
    claims = Claim.objects.bulk_create(
        (
            Claim(
                study=study,
                position=number,
                claim_id=f"claim-{number}",
                text=f"Claim number {number} says something of about the usual length of a claim.",
                label="supported" if number % 2 else "refuted",
                license="CC BY-SA 4.0",
                n_candidates=N_CANDIDATES,
                gold_min_size=1,
                digest=f"{number:064d}",
            )
            for number in range(1, N_CLAIMS + 1)
        ),
        batch_size=BATCH,
    )
    Candidate.objects.bulk_create(
        (
            Candidate(claim=claim, position=place, text=f"Sentence {place} of {claim.claim_id}.")
            for claim in claims
            for place in range(N_CANDIDATES)
        ),
        batch_size=BATCH,
    )
    GoldSet.objects.bulk_create(
        (
            GoldSet(claim=claim, position=place, members=members)
            for claim in claims
            for place, members in enumerate(([1], [0, 2]))
        ),
        batch_size=BATCH,
    )
    return claims


def _rankings(study: Study, claims: list[Claim]) -> None:
    """Rankings in which evidence suffices at the eighth sentence."""
    numbers = random.Random(1)
    pairs = [(condition, claim) for condition in study.conditions.all() for claim in claims]
    Ranking.objects.bulk_create(
        (
            Ranking(
                condition=condition,
                claim=claim,
                method=condition.method,
                status="complete",
                cached_prompt_tokens=0,
                order=_order(numbers),
                origins=["judged"] * N_CANDIDATES,
            )
            for condition, claim in pairs
        ),
        batch_size=BATCH,
    )
    PrecomputeJob.objects.bulk_create(
        (
            PrecomputeJob(condition=condition, claim=claim, state=JobState.DONE)
            for condition, claim in pairs
        ),
        batch_size=BATCH,
    )


def _order(numbers: random.Random) -> list[int]:
    others = list(range(3, N_CANDIDATES))
    numbers.shuffle(others)
    return [*others[:7], 1, 0, 2, *others[7:]]

"""Lay out a study's subsets and slots, add cycles, and take a draft's schedule away."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from studyapp.domain import audit, cycles, latin
from studyapp.domain.queries import main_claims
from studyapp.enums import AuditAction, ConditionPolicy, OrderPolicy, StudyState
from studyapp.errors import NotEditable, NotReady
from studyapp.models import Claim, Condition, Enrolment, PlannedTrial, Slot, Study, Subset

#: Places that one study's schedule may have: more could neither be filled nor laid out in one go.
MAX_PLANNED = 1_000_000


def lay_out(study: Study, n_subsets: int, n_replications: int, seed: int, **policies: str) -> None:
    """Make subsets, slots and planned trials, all or nothing.

    A draft's schedule is made anew, with another ``order_policy`` or ``condition_policy`` if
    ``policies`` holds one. Once the study has opened only further cycles can be added: same
    subsets and seed, more replications, each addition recorded with its hash. Raises NotReady
    without claims or conditions or when the numbers do not fit, NotEditable for any other change
    after the opening.
    """
    if n_replications < 1:
        raise NotReady("--replications must be 1 or more.")
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        claims = list(main_claims(study).order_by("position"))
        conditions = list(study.conditions.order_by("position"))
        if not claims:
            raise NotReady("The study has no claims: import them first (import_claims).")
        if not conditions:
            raise NotReady("The study has no conditions: add them first (add_condition).")
        if study.is_draft:
            for name in ("order_policy", "condition_policy"):
                setattr(study, name, policies.get(name) or getattr(study, name))
        check_numbers(study, n_subsets, len(claims), len(conditions))
        if (n_planned := n_replications * len(claims) * len(conditions)) > MAX_PLANNED:
            raise NotReady(
                f"This schedule would have {n_planned:,} trials; the most is {MAX_PLANNED:,}: "
                "ask for fewer replications."
            )
        first_new = 1
        if not study.is_draft:
            _refuse_change_of_design(study, n_subsets, n_replications, seed)
            first_new = study.n_replications + 1
        else:
            _remove_schedule(study)
            _make_subsets(study, claims, n_subsets, seed)
        for replication in range(first_new, n_replications + 1):
            _make_cycle(study, claims, conditions, n_subsets, replication, seed)
        if not study.is_draft and first_new <= n_replications:
            study.frozen = cycles.frozen_with(study, first_new, n_replications)
        study.n_subsets, study.n_replications, study.seed = n_subsets, n_replications, seed
        study.save(
            update_fields=[
                "n_subsets",
                "n_replications",
                "seed",
                "order_policy",
                "condition_policy",
                "frozen",
            ]
        )
        audit.record(
            AuditAction.SCHEDULED, study, subsets=n_subsets, replications=n_replications, seed=seed
        )


def add_cycles(study: Study, n_further: int, *, n_before: int | None = None) -> int:
    """Lay out ``n_further`` more cycles with the same subsets, seed and policies.

    ``n_before`` is the number of cycles that the caller knows of: when they were added already, as
    by a form that is sent twice, nothing happens. Returns the number of cycles then. Raises
    NotReady without a schedule or when it would be too large, NotEditable for a closed study or
    when the number of cycles is another one by now.
    """
    if n_further < 1:
        raise NotReady("Add at least one cycle.")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        n_now = locked.n_replications
        if not n_now:
            raise NotReady("The study has no schedule yet: lay it out first (schedule).")
        if locked.state == StudyState.CLOSED:
            raise NotEditable("The study is closed: nobody could take further slots.")
        n_before = n_now if n_before is None else n_before
        if n_now == n_before + n_further:
            return n_now
        if n_now != n_before:
            raise NotEditable(f"The study has {n_now} cycles by now: look at the schedule again.")
        lay_out(locked, locked.n_subsets, n_now + n_further, locked.seed)
        return n_now + n_further


def remove_schedule(study: Study) -> None:
    """Take the schedule of a draft away, so that claims and conditions can change again.

    Raises NotEditable once the study has opened.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not locked.is_draft:
            raise NotEditable("The study has opened: its schedule is frozen.")
        _remove_schedule(locked)
        locked.n_replications = 0
        locked.save(update_fields=["n_replications"])
        audit.record(AuditAction.SCHEDULE_REMOVED, locked)


def check_numbers(study: Study, k: int, n_claims: int, m: int) -> None:
    """Raise NotReady unless n claims and m conditions make a schedule with k subsets."""
    within = study.condition_policy == ConditionPolicy.WITHIN
    try:
        # First, since it bounds k, and with it the time that the other takes.
        latin.split_stratified([0] * n_claims, k, 0)
        latin.allowed_shifts(k, m if within else 1)
    except ValueError as error:
        raise NotReady(f"This schedule is not possible: {error}.") from None


def cells_of(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The cells behind (subset number, condition position) of a slot's trials, each once."""
    return [list(cell) for cell in sorted(set(pairs))]


def _refuse_change_of_design(study: Study, k: int, replications: int, seed: int) -> None:
    if study.state == StudyState.CLOSED:
        raise NotEditable("The study is closed: nobody could take further slots.")
    if k != study.n_subsets or seed != study.seed:
        raise NotEditable(
            f"The study has opened with --subsets {study.n_subsets} --seed {study.seed}: "
            "only more replications can be added."
        )
    if replications < study.n_replications:
        raise NotEditable(
            f"The study has {study.n_replications} replications: they cannot be taken away."
        )


def _remove_schedule(study: Study) -> None:
    if Enrolment.objects.filter(slot__study=study).exists():
        raise NotEditable("Somebody already holds a slot of this schedule.")
    Slot.objects.filter(study=study).delete()
    Subset.objects.filter(study=study).delete()


def _make_subsets(study: Study, claims: list[Claim], k: int, seed: int) -> None:
    strata = [(claim.label, claim.gold_min_size) for claim in claims]
    subset_of = latin.split_stratified(strata, k, seed)
    subsets = Subset.objects.bulk_create(
        Subset(study=study, number=number) for number in range(1, k + 1)
    )
    for claim, index in zip(claims, subset_of, strict=True):
        claim.subset = subsets[index]
    Claim.objects.bulk_update(claims, ["subset"], batch_size=500)


def _make_cycle(
    study: Study,
    claims: list[Claim],
    conditions: list[Condition],
    k: int,
    replication: int,
    seed: int,
) -> None:
    within = study.condition_policy == ConditionPolicy.WITHIN
    m = len(conditions)
    items_of: list[list[int]] = [[] for _ in range(k)]
    numbers = dict(Subset.objects.filter(study=study).values_list("id", "number"))
    for index, claim in enumerate(claims):
        items_of[numbers[claim.subset_id] - 1].append(index)
    rows = latin.n_rows(k, m, within=within)
    planned = []
    for row in range(rows):
        cells = (
            latin.cells_within(k, m, replication, row) if within else latin.cells_between(k, m, row)
        )
        places = latin.order_trials(
            items_of,
            cells,
            slot_index=(replication - 1) * rows + row,
            seed=seed,
            blocked=study.order_policy == OrderPolicy.BLOCKED,
        )
        slot = Slot.objects.create(
            study=study,
            replication=replication,
            number=row + 1,
            n_trials=len(places),
            cells=cells_of(
                (numbers[claims[place.item].subset_id], conditions[place.condition].position)
                for place in places
            ),
        )
        planned += [
            PlannedTrial(
                slot=slot,
                replication=replication,
                position=place.position,
                block=place.block,
                claim=claims[place.item],
                condition=conditions[place.condition],
            )
            for place in places
        ]
    PlannedTrial.objects.bulk_create(planned, batch_size=2000)

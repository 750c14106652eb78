"""Lay out a study's subsets and slots, and prove the balance from what is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count

from studyapp.domain import audit, cycles, latin
from studyapp.domain.queries import main_claims
from studyapp.enums import AuditAction, ConditionPolicy, OrderPolicy
from studyapp.errors import NotEditable, NotReady
from studyapp.models import Claim, Condition, Enrolment, PlannedTrial, Slot, Study, Subset

#: Places that one study's schedule may have: more could neither be filled nor laid out in one go.
MAX_PLANNED = 1_000_000


@dataclass
class Balance:
    """The balance table of a schedule, and every way in which it is not balanced."""

    n_slots: int
    n_trials: int
    #: (replication, condition name) -> claims seen exactly once there
    claims_once: dict[tuple[int, str], int] = field(default_factory=dict)
    #: rows: replication, slot, trials, first condition, subset numbers by condition name, and
    #: whether the slot is closed, by itself or with a subset
    rows: list[dict] = field(default_factory=list)
    #: condition name -> mean position of its trials (from 1)
    mean_position: dict[str, float] = field(default_factory=dict)
    #: condition name -> slots that begin with it
    first_condition: dict[str, int] = field(default_factory=dict)
    subset_sizes: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_balanced(self) -> bool:
        return not self.problems


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


def balance_of(study: Study) -> Balance:
    """Check the stored schedule: each claim once per condition and cycle, nobody twice."""
    planned = list(
        PlannedTrial.objects.filter(slot__study=study)
        .order_by("slot__replication", "slot__number", "position")
        .values_list(
            "slot_id",
            "replication",
            "slot__number",
            "position",
            "claim_id",
            "claim__subset__number",
            "condition__name",
            "slot__closed_at",
            "claim__subset__closed_at",
        )
    )
    names = list(study.conditions.order_by("position").values_list("name", flat=True))
    claim_ids = set(main_claims(study).values_list("id", flat=True))
    balance = Balance(n_slots=len({row[0] for row in planned}), n_trials=len(planned))
    balance.subset_sizes = dict(
        Subset.objects.filter(study=study)
        .annotate(size=Count("claims"))
        .order_by("number")
        .values_list("number", "size")
    )
    per_cell = Counter((row[1], row[6], row[4]) for row in planned)
    for replication in sorted({row[1] for row in planned}):
        for name in names:
            counts = {claim: per_cell[replication, name, claim] for claim in claim_ids}
            once = sum(count == 1 for count in counts.values())
            balance.claims_once[replication, name] = once
            if once != len(claim_ids):
                balance.problems.append(
                    f"replication {replication}, {name}: {len(claim_ids) - once} of "
                    f"{len(claim_ids)} claims are not seen exactly once"
                )
    per_slot = Counter((row[0], row[4]) for row in planned)
    repeats = sum(count > 1 for count in per_slot.values())
    if repeats:
        balance.problems.append(f"{repeats} times a slot shows the same claim twice")
    _describe_slots(balance, planned, names)
    return balance


def _describe_slots(balance: Balance, planned: list[tuple], names: list[str]) -> None:
    slots: dict[int, list[tuple]] = {}
    for row in planned:
        slots.setdefault(row[0], []).append(row)
    first = Counter()
    for rows in slots.values():
        first[rows[0][6]] += 1
        balance.rows.append(
            {
                "replication": rows[0][1],
                "slot": rows[0][2],
                "n_trials": len(rows),
                "first_condition": rows[0][6],
                "subsets": {
                    name: sorted({row[5] for row in rows if row[6] == name}) for name in names
                },
                "closed": any(row[7] or row[8] for row in rows),
            }
        )
    for name in names:
        positions = [row[3] for row in planned if row[6] == name]
        if positions:
            balance.mean_position[name] = sum(positions) / len(positions)
        balance.first_condition[name] = first[name]


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

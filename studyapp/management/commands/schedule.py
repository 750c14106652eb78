from __future__ import annotations

from typing import Any

from studyapp.domain.balance import balance_of
from studyapp.domain.places import places_of
from studyapp.domain.queries import study_by_slug
from studyapp.domain.schedule import add_cycles, lay_out
from studyapp.enums import RunKind
from studyapp.errors import NotReady, StudyError
from studyapp.management.base import StudyCommand, counted


class Command(StudyCommand):
    help = "Lay out subsets and slots, print the balance table and prove it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--subsets", type=int, metavar="K")
        parser.add_argument("--replications", type=int, metavar="R")
        parser.add_argument("--seed", type=int, metavar="S")
        parser.add_argument(
            "--add-cycles",
            type=int,
            metavar="N",
            help="N further cycles (replications) with the subsets and seed of the schedule",
        )

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        wanted = [options["subsets"], options["replications"], options["seed"]]
        if options["add_cycles"] is not None:
            if any(value is not None for value in wanted):
                raise StudyError("--add-cycles keeps subsets and seed: give it alone.")
            add_cycles(study, options["add_cycles"])
            study.refresh_from_db()
        elif any(value is not None for value in wanted) or not study.n_replications:
            n_subsets = _given(options["subsets"], study.n_subsets or 5)
            replications = _given(options["replications"], study.n_replications or 1)
            seed = _given(options["seed"], study.seed)
            if n_subsets < 1 or not 0 <= seed < 2**63:
                raise StudyError("--subsets must be 1 or more, and --seed from 0 to 2**63 - 1.")
            lay_out(study, n_subsets, replications, seed)
            study.refresh_from_db()
        self._print_balance(study)

    def _print_balance(self, study: Any) -> None:
        balance = balance_of(study)
        names = list(balance.first_condition)
        self.say(
            f"{study.slug}: {counted(balance.n_slots, 'slot')}, "
            f"{counted(balance.n_trials, 'trial')}, seed {study.seed}, "
            f"{study.get_order_policy_display().lower()}"
        )
        sizes = ", ".join(f"{number}: {size}" for number, size in balance.subset_sizes.items())
        self.say(f"claims per subset: {sizes}")
        self.say(
            "replication  slot  trials  first condition  "
            + "  ".join(f"{name} sees subset" for name in names)
        )
        for row in balance.rows:
            cells = "  ".join(
                ",".join(map(str, row["subsets"][name])).rjust(len(name) + 12) for name in names
            )
            self.say(
                f"{row['replication']:>11}  {row['slot']:>4}  {row['n_trials']:>6}  "
                f"{row['first_condition']:<15}  {cells}{'  closed' if row['closed'] else ''}"
            )
        for (replication, name), once in sorted(balance.claims_once.items()):
            self.say(
                f"replication {replication}, {name}: {counted(once, 'claim')} seen exactly once"
            )
        for name in names:
            self.say(
                f"{name}: first in {counted(balance.first_condition[name], 'slot')}, "
                f"mean position {balance.mean_position.get(name, 0):.2f}"
            )
        if not study.is_draft:
            self._print_places(study)
        if not balance.is_balanced:
            raise NotReady([f"not balanced: {problem}" for problem in balance.problems])
        self.say("balanced: each claim once per condition and cycle, nobody meets a claim twice")

    def _print_places(self, study: Any) -> None:
        """Who is there; kinds of run that nobody has are left out, but for real ones."""
        for kind in RunKind:
            places = places_of(study, kind)
            if kind != RunKind.REAL and not places.taken + places.extra:
                continue
            self.say(
                f"{kind.label.lower()} runs: {places.taken} of "
                f"{counted(places.planned, 'place')} taken, "
                f"{places.free} free, {places.closed} closed, {places.extra} taken beyond the plan"
            )


def _given(option: int | None, otherwise: int) -> int:
    return otherwise if option is None else option

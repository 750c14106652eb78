"""The seam between what all protocols share and what each one shows and asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from studyapp.models import Study, Trial


@dataclass(frozen=True)
class Step:
    """One thing that becomes visible: the event it is recorded as, its number and its content."""

    kind: str
    step: int
    data: dict[str, Any]


@dataclass(frozen=True)
class Frozen:
    """What a new trial keeps for good, and the steps that are visible from its start."""

    stimulus: dict[str, Any]
    first_steps: list[Step]


@dataclass(frozen=True)
class ProtocolRules:
    """What a protocol decides.

    - ``event_kinds``: kinds beside the shared ones (``EventKind``);
    - ``freeze(trial)``: the stimulus of a trial about to start, which has its claim, condition and
      kind; raises NotReady when it is missing;
    - ``next_step(trial)``: the step after the last one taken, or None when all is shown;
    - ``store_answer(trial, study, answer)``: check the answer against what the study asks and
      insert it into the protocol's own table; raises BadAnswer and stores nothing if it is none.
    """

    event_kinds: frozenset[str]
    freeze: Callable[[Trial], Frozen]
    next_step: Callable[[Trial], Step | None]
    store_answer: Callable[[Trial, Study, dict[str, Any]], None]

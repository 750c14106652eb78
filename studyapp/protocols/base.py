"""The seam between what all protocols share and what each one shows and asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from studyapp.models import PlannedTrial, Trial


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
    - ``freeze(planned)``: the stimulus of a planned trial; raises NotReady when it is missing;
    - ``next_step(trial)``: the step after the last one taken, or None when all is shown;
    - ``store_answer(trial, options, answer)``: check the answer against the study's options and
      insert it into the protocol's own table; raises BadAnswer and stores nothing if it is none.
    """

    event_kinds: frozenset[str]
    freeze: Callable[[PlannedTrial], Frozen]
    next_step: Callable[[Trial], Step | None]
    store_answer: Callable[[Trial, list[str], dict[str, Any]], None]

"""Which data a result was made from: a short text that changes whenever they do."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from studyapp.domain.export_rows import exported_runs
from studyapp.domain.lifecycle import software_version
from studyapp.enums import RunKind, TrialKind, TrialState
from studyapp.models import Enrolment, Study

#: To be raised when the content of a result takes another form.
CONTENT_VERSION = 1

#: What the analysis reads of a study beside its trials.
_SETTINGS = (
    "response_options",
    "preregistered",
    "non_inferiority_margin",
    "n_subsets",
    "n_replications",
    "condition_policy",
    "frozen",
    "version",
    "blind",
    "unblinded_by",
)


@dataclass(frozen=True)
class DataVersion:
    """``token`` names the state of the data; ``n_trials`` completed main trials count in it."""

    token: str
    n_trials: int


def data_version(study: Study, include_simulated: bool = False) -> DataVersion:
    """The version of a study's data as they are now: one query, whatever the size.

    Trials and runs are counted by what the analysis asks of them. The sums of their keys tell one
    set from another of the same size; frozen rows (answers, stimuli, ended trials' events) cannot
    change without one of these.
    """
    groups = list(_groups(study, include_simulated))
    kinds = {RunKind.REAL, RunKind.SIMULATED} if include_simulated else {RunKind.REAL}
    n_trials = sum(
        group["n"]
        for group in groups
        if group["run_kind"] in kinds
        and group["trials__kind"] == TrialKind.MAIN
        and group["trials__state"] == TrialState.COMPLETED
    )
    settings = {name: getattr(study, name) for name in _SETTINGS}
    state = [CONTENT_VERSION, software_version(), settings, groups]
    text = json.dumps(state, sort_keys=True, default=int)
    return DataVersion(hashlib.sha256(text.encode()).hexdigest(), n_trials)


def _groups(study: Study, include_simulated: bool) -> Any:
    keys = ("run_kind", "state", "end_reason", "trials__kind", "trials__state")
    return (
        Enrolment.objects.filter(exported_runs(study, include_simulated))
        .values(*keys)
        .annotate(n=Count("trials"), trials=Sum("trials__id"), runs=Sum("id"))
        .order_by(*keys)
    )

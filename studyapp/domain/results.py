"""Live results: the measures of a running study, by the same rules as those of its export."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from studyapp.domain.export_rows import exported_runs, trial_rows
from studyapp.domain.export_settings import study_settings, study_version
from studyapp.domain.export_snapshot import read_snapshot
from studyapp.enums import RunKind, TrialKind, TrialState
from studyapp.models import Study, Trial

if TYPE_CHECKING:
    from analysis.table5 import TableRow

# pandas and its companions take more than a second to load: only who looks at results waits for
# them, so ``analysis`` is imported inside the functions.

NO_TRIALS = "No completed trials yet."


@dataclass(frozen=True)
class LiveTable:
    """Table 5 ready to print, or, in its place, ``message``.

    ``headings`` has one text a condition and each row of ``rows`` one cell a condition (see
    ``analysis.table5.TableRow``: key, label, cells, definition, denominator, is_part).
    """

    headings: list[str] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)
    message: str = ""
    n_trials: int = 0
    notices: list[str] = field(default_factory=list)


def live_document(
    study: Study, include_simulated: bool = False, with_comparison: bool = True
) -> dict[str, Any]:
    """The measures document (statistics.md) of the study as it is now.

    Without a completed trial that counts it is ``{"study_id", "rows": 0, "message"}``. Events are
    not read a second time here: the export's reader replays them. The comparison of the conditions
    takes seconds. Raises ValueError when the stored data contradict themselves.
    """
    from analysis.document import measure_document

    with read_snapshot():
        study = Study.objects.get(pk=study.pk)
        if not _counting_trials(study, include_simulated).exists():
            return {"study_id": study.slug, "rows": 0, "message": NO_TRIALS}
        settings = study_settings(study)
        trials = _trial_frame(study, include_simulated)
    return measure_document(trials, None, settings, include_simulated, with_comparison)


def live_table(study: Study, include_simulated: bool = False) -> LiveTable:
    """The paper's Table 5 of the study as it is now, cells ready to print."""
    from analysis.table5 import table5, table5_headings

    document = live_document(study, include_simulated)
    if "message" in document:
        return LiveTable(message=document["message"])
    return LiveTable(
        headings=table5_headings(document),
        rows=table5(document),
        n_trials=document["n_design_set"],
        notices=document["notices"],
    )


def _counting_trials(study: Study, include_simulated: bool) -> Any:
    """Completed main trials of the kinds of run that are counted."""
    kinds = [RunKind.REAL, RunKind.SIMULATED] if include_simulated else [RunKind.REAL]
    return Trial.objects.filter(
        exported_runs(study, include_simulated, "enrolment__"),
        enrolment__run_kind__in=kinds,
        state=TrialState.COMPLETED,
        kind=TrialKind.MAIN,
    )


def _trial_frame(study: Study, include_simulated: bool) -> Any:
    """trials.csv as a data frame."""
    import pandas as pd

    from analysis.columns import names_of

    rows = list(trial_rows(study, include_simulated, study_version(study)))
    return pd.DataFrame(rows, columns=names_of("trials"), dtype=object)

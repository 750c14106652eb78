"""Columns of trials.csv and events.csv (statistics.md 1.1 and 1.2), in file order."""

from __future__ import annotations

from functools import partial

from analysis.column import DERIVED, Column

LABELS = ("supported", "refuted", "partially_supported")
CANT_DECIDE = "cant_decide"
DECISIONS = (*LABELS, CANT_DECIDE)
INTERFACES = ("incremental", "all_at_once")
PARTICIPANT_STATUSES = ("active", "completed", "dropped_out", "excluded", "withdrawn")
TRIAL_KINDS = ("main", "practice", "attention")
TRIAL_STATUSES = ("completed", "incomplete", "void")
EVENT_TYPES = ("trial_started", "reveal", "page_hidden", "page_visible", "decision_submitted")

_UNLESS_COMPLETED = "missing unless the trial is completed"
_T = partial(Column, "trials")
_E = partial(Column, "events")

TRIAL_COLUMNS: tuple[Column, ...] = (
    _T("study_id", "string", "short name of the study"),
    _T("trial_id", "string", "key of the trial", rule="unique; begins with a letter"),
    _T(
        "participant_id",
        "string",
        "random pseudonym of the person, never a name or an address",
        rule="begins with a letter",
    ),
    _T(
        "participant_status",
        "category",
        "how far the person came; the detail is end_reason in participants.csv",
        allowed=PARTICIPANT_STATUSES,
    ),
    _T("replication", "int", "copy of the Latin square", rule="1 or more", minimum=1),
    _T(
        "slot",
        "int",
        "row of the Latin square that the participant fills",
        rule="1 or more",
        minimum=1,
    ),
    _T(
        "subset",
        "int",
        "part of the claims that this claim belongs to",
        rule="1 to the number of subsets",
        minimum=1,
        missing="missing for practice and attention trials",
    ),
    _T("claim_id", "string", "claim of the trial"),
    _T("condition", "category", "the study's own name of the way to present evidence"),
    _T(
        "interface",
        "category",
        "incremental: one sentence more a click; all_at_once: the whole set",
        allowed=INTERFACES,
    ),
    _T("trial_kind", "category", "main, practice or attention check", allowed=TRIAL_KINDS),
    _T(
        "trial_status",
        "category",
        "completed; incomplete: no decision; void: a fault, flagged before outcomes are seen",
        allowed=TRIAL_STATUSES,
    ),
    _T(
        "block", "int", "block of the condition", rule="0 or more; 0 outside main trials", minimum=0
    ),
    _T(
        "position",
        "int",
        "running number of the trial among the participant's main trials",
        rule="1 or more for main trials, 0 elsewhere",
        minimum=0,
    ),
    _T("gold_label", "category", "the right decision", allowed=LABELS),
    _T(
        "decision",
        "category",
        "the first accepted decision",
        allowed=DECISIONS,
        missing=_UNLESS_COMPLETED,
    ),
    _T(
        "n_available",
        "int",
        "sentences that the trial could show",
        "sentences",
        rule="1 or more",
        minimum=1,
    ),
    _T(
        "shown_order",
        "list",
        "sentence ids in display order, frozen when the trial was created",
        rule="ids joined by |; n_available of them, none twice",
    ),
    _T(
        "gold_sets",
        "list",
        "minimal sets of sentences that suffice for the gold label",
        rule="ids joined by |, sets joined by ;",
        missing="missing only for practice and attention trials",
    ),
    _T(
        "n_read",
        "int",
        "incremental: highest rank revealed by the decision; all_at_once: n_available",
        "sentences",
        rule="1 to n_available",
        minimum=1,
        origin=DERIVED,
        formula="highest rank of a reveal at or before the decision",
    ),
    _T(
        "gold_min_size",
        "int",
        "size of the smallest gold set (IMSR): what the claim requires",
        "sentences",
        rule="1 or more",
        minimum=1,
        missing="missing where there is no gold set",
        origin=DERIVED,
        formula="smallest number of ids in a set of gold_sets",
    ),
    _T(
        "msr",
        "int",
        "rank of the first sufficient prefix of shown_order",
        "rank",
        rule="gold_min_size to n_available",
        missing="no gold set lies inside shown_order",
        origin=DERIVED,
        formula="smallest r such that the first r ids of shown_order hold a gold set",
    ),
    _T("started_at", "time", "start of the trial, server clock", "UTC, ISO 8601, ms"),
    _T(
        "decided_at",
        "time",
        "first accepted decision, server clock",
        "UTC, ISO 8601, ms",
        missing=_UNLESS_COMPLETED,
    ),
    _T(
        "hidden_ms",
        "int",
        "time for which the page was hidden between start and decision",
        "ms",
        rule="0 or more",
        minimum=0,
        missing=_UNLESS_COMPLETED,
        origin=DERIVED,
        formula="union of the intervals from page_hidden to page_visible, cut at the decision",
    ),
    _T(
        "active_ms",
        "int",
        "time for which the page was visible between start and decision",
        "ms",
        rule="0 or more",
        minimum=0,
        missing=_UNLESS_COMPLETED,
        origin=DERIVED,
        formula="decided_at - started_at - hidden_ms",
    ),
    _T(
        "confidence",
        "int",
        "how sure the participant was, if the study asks",
        rule="1 (not at all) to 5 (completely)",
        missing="not asked or not answered",
        optional=True,
    ),
    _T(
        "simulated",
        "bool",
        "written by a simulated reader",
        allowed=("true", "false"),
        missing="false",
        optional=True,
    ),
    _T(
        "pilot",
        "bool",
        "run by the study's own team",
        allowed=("true", "false"),
        missing="false",
        optional=True,
    ),
    _T(
        "study_version",
        "string",
        "version of the frozen study under which the trial ran",
        missing="not recorded",
        optional=True,
    ),
    _T("reason", "string", "the reader's comment", missing="no comment", optional=True),
    _T(
        "void_reason",
        "string",
        "why the trial is void",
        missing="the trial is not void",
        optional=True,
    ),
)

#: Only where times are moved so that every participant begins at the same one: what they said about
#: who came first in a slot, and so holds it (section 2.6), would be lost.
SLOT_ORDER = _T(
    "slot_order",
    "int",
    "who of the people in this slot began the first completed main trial first",
    rule="1 or more",
    minimum=1,
    missing="no completed main trial in this slot, or times are not moved",
    origin=DERIVED,
    formula="rank of the earliest started_at of a completed main trial, then of participant_id",
    optional=True,
)

EVENT_COLUMNS: tuple[Column, ...] = (
    _E("event_id", "string", "key of the event", rule="unique"),
    _E("trial_id", "string", "trial that the event belongs to", rule="a trial_id of trials.csv"),
    _E(
        "seq",
        "int",
        "order in which the server took the trial's events",
        rule="0 or more, unique",
        minimum=0,
    ),
    _E("event_type", "category", "what happened", allowed=EVENT_TYPES),
    _E(
        "rank",
        "int",
        "rank of the sentence revealed",
        "rank",
        rule="1 to n_available",
        minimum=1,
        missing="missing for every event but reveals",
    ),
    _E(
        "sentence_id",
        "string",
        "sentence revealed",
        missing="missing for every event but reveals",
        origin=DERIVED,
        formula="id at this rank of shown_order",
    ),
    _E("server_ts", "time", "server clock when the event was taken", "UTC, ISO 8601, ms"),
    _E(
        "client_ms",
        "int",
        "browser's monotonic clock since the trial began; diagnostic only",
        "ms",
        missing="the browser sent none",
    ),
)

"""Columns of claims.csv, participants.csv and questionnaire.csv, in file order."""

from __future__ import annotations

from functools import partial

from analysis.column import DERIVED, Column
from analysis.trial_columns import LABELS, PARTICIPANT_STATUSES, TRIAL_KINDS

_C = partial(Column, "claims")
_P = partial(Column, "participants")
_Q = partial(Column, "questionnaire")

CLAIM_COLUMNS: tuple[Column, ...] = (
    _C("study_id", "string", "short name of the study"),
    _C("claim_id", "string", "key of the claim within the study", rule="unique"),
    _C("claim", "string", "text of the claim"),
    _C("label", "category", "the right decision", allowed=LABELS),
    _C(
        "n_candidates",
        "int",
        "candidate sentences of the claim",
        "sentences",
        rule="1 or more",
        minimum=1,
    ),
    _C(
        "gold_sets",
        "list",
        "minimal sets of candidates that suffice for the label",
        rule="ids s0, s1, … joined by |, sets joined by ;",
    ),
    _C(
        "gold_min_size",
        "int",
        "size of the smallest gold set (IMSR)",
        "sentences",
        rule="1 or more",
        minimum=1,
        origin=DERIVED,
        formula="smallest number of ids in a set of gold_sets",
    ),
    _C(
        "subset",
        "int",
        "part of the claims that this claim was put into",
        rule="1 to the number of subsets",
        minimum=1,
        missing="not in the schedule (practice, attention)",
    ),
    _C(
        "role",
        "category",
        "the kind of trial that the claim is kept for; only main claims are analysed",
        allowed=TRIAL_KINDS,
    ),
    _C("lang", "string", "language of the claim", rule="BCP 47 tag"),
    _C("source", "string", "where the claim comes from", missing="not stated"),
    _C("license", "string", "licence of the claim and its candidates", missing="not stated"),
)

PARTICIPANT_COLUMNS: tuple[Column, ...] = (
    _P("study_id", "string", "short name of the study"),
    _P("participant_id", "string", "random pseudonym", rule="unique; begins with a letter"),
    _P(
        "participant_status",
        "category",
        "how far the person came; withdrawn people are only counted, never listed",
        allowed=PARTICIPANT_STATUSES,
    ),
    _P(
        "end_reason",
        "string",
        "detail of the status, such as returned, timed_out, paid_partial, rejected, screened_out",
        missing="still active, or completed in the ordinary way",
    ),
    _P("replication", "int", "copy of the Latin square", rule="1 or more", minimum=1),
    _P("slot", "int", "row of the Latin square", rule="1 or more", minimum=1),
    _P(
        "seat",
        "int",
        "place in the slot, taken again by whoever replaces a person; a number above the slot's "
        "target in study.json was given beyond what was planned",
        rule="1 or more",
        minimum=1,
    ),
    _P("simulated", "bool", "a simulated reader", allowed=("true", "false"), missing="false"),
    _P("pilot", "bool", "the study's own team", allowed=("true", "false"), missing="false"),
    _P("consented_at", "time", "when consent was given", "UTC, ISO 8601, ms"),
    _P("consent_version", "string", "version of the consent text that was agreed to"),
    _P("version", "int", "number of the study's version at the consent; the run ends on it"),
    _P("joined_at", "time", "when the place was taken", "UTC, ISO 8601, ms"),
    _P(
        "started_at",
        "time",
        "start of the first trial of any kind",
        "UTC, ISO 8601, ms",
        missing="no trial was started",
    ),
    _P(
        "ended_at",
        "time",
        "when the run was completed or otherwise ended",
        "UTC, ISO 8601, ms",
        missing="still active",
    ),
    _P(
        "n_trials",
        "int",
        "trials of the participant in trials.csv, of every kind and status",
        "trials",
        rule="0 or more",
        minimum=0,
        origin=DERIVED,
        formula="number of rows of trials.csv with this participant_id",
    ),
)

QUESTIONNAIRE_COLUMNS: tuple[Column, ...] = (
    _Q(
        "participant_id",
        "string",
        "random pseudonym; a participant has one row for each question that was answered",
        rule="a participant_id of participants.csv",
    ),
    _Q(
        "name",
        "string",
        "name of the question in study.json, sitting.questionnaire",
        rule="unique within a participant",
    ),
    _Q(
        "value",
        "string",
        "the answer: the option chosen, the point of the scale, the number, or the text",
    ),
    _Q("answered_at", "time", "when the questionnaire was sent, server clock", "UTC, ISO 8601, ms"),
)

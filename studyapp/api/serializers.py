"""Queries and bodies, checked field by field. Rules about studies are the domain's, not theirs."""

from __future__ import annotations

from rest_framework import serializers

from rankers import formats
from studyapp.enums import EnrolmentState, TrialKind

MAX_PAGE = 1000


class NoQuery(serializers.Serializer):
    """Nothing."""


class SimulatedQuery(serializers.Serializer):
    simulated = serializers.BooleanField(default=False, help_text="with simulated runs")


class MeasuresQuery(SimulatedQuery):
    with_comparison = serializers.BooleanField(
        default=False, help_text="with the comparison of the conditions, which takes seconds"
    )


class PageQuery(serializers.Serializer):
    cursor = serializers.CharField(
        required=False, max_length=40, help_text="from the address in next"
    )
    limit = serializers.IntegerField(
        default=100, min_value=1, max_value=MAX_PAGE, help_text="rows on a page"
    )


class ParticipantQuery(PageQuery, SimulatedQuery):
    state = serializers.ChoiceField(
        choices=[value for value in EnrolmentState.values if value != EnrolmentState.WITHDRAWN],
        required=False,
    )


class TrialQuery(PageQuery, SimulatedQuery):
    participant = serializers.CharField(required=False, help_text="participant_id")
    claim = serializers.CharField(required=False, help_text="claim_id")
    condition = serializers.CharField(required=False, help_text="name of a condition")
    since = serializers.DateTimeField(
        required=False, help_text="ISO 8601, UTC where no offset is given; this moment or later"
    )


class EventQuery(TrialQuery):
    trial = serializers.CharField(required=False, help_text="trial_id")


class UploadQuery(serializers.Serializer):
    format = serializers.ChoiceField(
        choices=sorted(formats.FORMATS),
        required=False,
        help_text="csv for text/csv and *.csv, else interchange",
    )
    role = serializers.ChoiceField(choices=TrialKind.values, default=TrialKind.MAIN.value)
    skip_invalid = serializers.BooleanField(
        default=False, help_text="import the good claims and list the bad"
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="take the first good claims"
    )


class CloseBody(serializers.Serializer):
    slug = serializers.CharField(help_text="the study's slug once more: closing is for good")


class VersionBody(serializers.Serializer):
    changes = serializers.DictField(
        help_text="what shall change, as in study.json; objects hold only what changes"
    )
    reason = serializers.CharField(
        trim_whitespace=False, help_text="why; the report prints it among the deviations"
    )
    base = serializers.IntegerField(
        required=False, min_value=1, help_text="refused unless this is still the newest version"
    )


class ScheduleBody(serializers.Serializer):
    subsets = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    replications = serializers.IntegerField(min_value=1, max_value=2**31 - 1, default=1)
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)

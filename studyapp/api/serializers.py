"""Queries and bodies, checked field by field. Rules about studies are the domain's, not theirs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from rankers import RankerError, formats
from rankers.spending import Prices
from studyapp.domain.run_ends import MAX_EXTENSION, MAX_NOTE
from studyapp.enums import (
    EnrolmentState,
    ExportVariant,
    RunKind,
    SpreadsheetCopies,
    TrialKind,
)
from studyapp.run_forms import MAX_PSEUDONYM, SLOT

MAX_PAGE = 1000


class NoQuery(serializers.Serializer):
    """Nothing."""


class SimulatedQuery(serializers.Serializer):
    simulated = serializers.BooleanField(default=False, help_text="with simulated runs")


class ExportBody(SimulatedQuery):
    variant = serializers.ChoiceField(choices=ExportVariant.values, default=ExportVariant.RAW)
    jsonl = serializers.BooleanField(default=False, help_text="also the tables as JSON Lines")
    spreadsheet = serializers.ChoiceField(
        choices=SpreadsheetCopies.values,
        default=SpreadsheetCopies.NONE,
        help_text="also copies of the tables that are safe to open in a spreadsheet program",
    )


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
    kind = serializers.ChoiceField(
        choices=RunKind.values, required=False, help_text="simulated means simulated=true"
    )
    slot = serializers.RegexField(
        rf"^{SLOT}$", required=False, help_text="cycle and number, as in 1.2"
    )
    pseudonym = serializers.CharField(
        required=False, max_length=MAX_PSEUDONYM, help_text="a part of participant_id"
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


class CyclesBody(serializers.Serializer):
    further = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="how many cycles you know of: sent twice, the same request adds them once",
    )


class RunActionBody(serializers.Serializer):
    """What an action needs; the others ignore it."""

    note = serializers.CharField(
        required=False,
        max_length=MAX_NOTE,
        allow_blank=True,
        default="",
        help_text="for reject, which needs it, and pay-partial",
    )
    minutes = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_EXTENSION,
        help_text="for extend: how long from now the place is held",
    )
    run = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="the run that is meant, as participants list it: refused with 409 if another one "
        "is the last by now",
    )


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


class PricesBody(serializers.Serializer):
    input = serializers.FloatField(min_value=0, help_text="of a million tokens sent")
    cached = serializers.FloatField(min_value=0, help_text="of a million found in a cache")
    output = serializers.FloatField(min_value=0, help_text="of a million tokens received")


class LimitsBody(serializers.Serializer):
    max_calls = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=2**63 - 1
    )
    max_tokens = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=2**63 - 1,
        help_text="sent and received together",
    )
    max_cost = serializers.FloatField(
        required=False, allow_null=True, min_value=0, help_text="needs prices"
    )
    prices = PricesBody(required=False, allow_null=True)


def limits(values: dict[str, Any]) -> dict[str, Any]:
    """A checked LimitsBody as the domain takes it. Raises ValidationError for odd prices."""
    if values.get("prices") is None:
        return values
    prices = values["prices"]
    try:
        return values | {"prices": Prices(prices["input"], prices["cached"], prices["output"])}
    except RankerError as error:
        raise serializers.ValidationError({"prices": str(error).splitlines()}) from None

"""What answers look like, for the schema; the views build them as plain values."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from studyapp.enums import ExportVariant, Interface, JobState, SpreadsheetCopies, StudyState


class Study(serializers.Serializer):
    slug = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    link = serializers.CharField(help_text="to give out: with the recruiting site's parameters")
    created_at = serializers.CharField()
    opened_at = serializers.CharField(allow_null=True)
    closed_at = serializers.CharField(allow_null=True)
    n_claims = serializers.IntegerField(help_text="without practice and attention claims")
    n_conditions = serializers.IntegerField()


class StudyDetail(Study):
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="what keeps a draft from opening"
    )
    warnings = serializers.ListField(child=serializers.CharField())
    settings = serializers.DictField(help_text="study.json of the export, without the schedule")


class Version(serializers.Serializer):
    number = serializers.IntegerField()
    name = serializers.CharField(help_text="study_version of the trials that ran under it")
    created_at = serializers.CharField()
    reason = serializers.CharField()
    changes = serializers.ListField(
        child=serializers.DictField(),
        help_text="setting, old and new; codes are named without their values",
    )
    hashes = serializers.DictField()
    settings = serializers.DictField(help_text="what a version may change, without the codes")
    n_runs = serializers.IntegerField(help_text="runs that began under it")


class Place(serializers.Serializer):
    line = serializers.IntegerField(allow_null=True)
    field = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class ImportReport(serializers.Serializer):
    imported = serializers.IntegerField()
    repeated = serializers.IntegerField(help_text="were there already, the same")
    n_skipped = serializers.IntegerField(help_text="problems of what skip_invalid left out")
    skipped = Place(many=True)
    n_notices = serializers.IntegerField()
    notices = Place(many=True)
    left_out = serializers.DictField(child=serializers.IntegerField())


class Condition(serializers.Serializer):
    name = serializers.CharField()
    interface = serializers.ChoiceField(choices=Interface.values)
    method = serializers.CharField()
    model = serializers.CharField(allow_null=True)
    embedder = serializers.CharField(allow_null=True)
    params = serializers.DictField()


class ConditionProgress(serializers.Serializer):
    condition = serializers.CharField()
    claims = serializers.IntegerField()
    done = serializers.IntegerField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    failed = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="neither done nor failed, queued or not")
    fallback = serializers.IntegerField(help_text="done, but in part by the fallback order")
    calls = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    cached_prompt_tokens = serializers.IntegerField(allow_null=True)
    completion_tokens = serializers.IntegerField()


class Prices(serializers.Serializer):
    input = serializers.FloatField()
    cached = serializers.FloatField()
    output = serializers.FloatField()


class Spending(serializers.Serializer):
    max_calls = serializers.IntegerField(allow_null=True)
    max_tokens = serializers.IntegerField(allow_null=True)
    max_cost = serializers.FloatField(allow_null=True)
    prices = Prices(allow_null=True, help_text="of a million tokens")
    calls = serializers.IntegerField(help_text="of all workers, claims that failed included")
    prompt_tokens = serializers.IntegerField()
    cached_prompt_tokens = serializers.IntegerField(help_text="known to have been cached")
    completion_tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True, help_text="null without prices")
    reached = serializers.CharField(allow_null=True, help_text="the limit that jobs wait for")


class ConditionEstimate(serializers.Serializer):
    condition = serializers.CharField()
    claims = serializers.IntegerField(help_text="without a result")
    sampled = serializers.IntegerField(help_text="of them, the estimate looked at so many")
    calls = serializers.IntegerField(allow_null=True)
    prompt_tokens = serializers.IntegerField(allow_null=True)
    cached_prompt_tokens = serializers.IntegerField(allow_null=True)
    completion_tokens = serializers.IntegerField(allow_null=True, help_text="at most about")
    cost = serializers.FloatField(allow_null=True, help_text="null without prices")
    reason = serializers.CharField(allow_null=True, help_text="why nothing can be said")


class Estimates(serializers.Serializer):
    conditions = ConditionEstimate(many=True)


class Progress(serializers.Serializer):
    is_settled = serializers.BooleanField(
        help_text="nothing runs, and nothing waits for anything but a higher limit"
    )
    worker_answers = serializers.BooleanField()
    conditions = ConditionProgress(many=True)
    spending = Spending()
    notices = serializers.ListField(child=serializers.CharField())


class Failure(serializers.Serializer):
    condition = serializers.CharField()
    claim_id = serializers.CharField()
    attempts = serializers.IntegerField()
    error = serializers.CharField()
    raw_reply = serializers.CharField()


class Planned(serializers.Serializer):
    replication = serializers.IntegerField()
    slot = serializers.IntegerField()
    position = serializers.IntegerField()
    block = serializers.IntegerField()
    subset = serializers.IntegerField(allow_null=True)
    claim_id = serializers.CharField()
    condition = serializers.CharField()


class _SlotBalance(serializers.Serializer):
    replication = serializers.IntegerField()
    slot = serializers.IntegerField()
    n_trials = serializers.IntegerField()
    first_condition = serializers.CharField()
    subsets = serializers.DictField(child=serializers.ListField(child=serializers.IntegerField()))
    closed = serializers.BooleanField(help_text="given to nobody any more")


class SlotMoved(serializers.Serializer):
    replication = serializers.IntegerField()
    slot = serializers.IntegerField()
    closed = serializers.BooleanField(help_text="by itself, whatever its subsets are")


class SubsetMoved(serializers.Serializer):
    subset = serializers.IntegerField()
    closed = serializers.BooleanField()


class _SeenOnce(serializers.Serializer):
    replication = serializers.IntegerField()
    condition = serializers.CharField()
    claims = serializers.IntegerField(help_text="claims seen exactly once")


class Balance(serializers.Serializer):
    is_balanced = serializers.BooleanField()
    problems = serializers.ListField(child=serializers.CharField())
    n_slots = serializers.IntegerField()
    n_trials = serializers.IntegerField()
    subset_sizes = serializers.DictField(child=serializers.IntegerField())
    first_condition = serializers.DictField(child=serializers.IntegerField())
    mean_position = serializers.DictField(child=serializers.FloatField())
    claims_once = _SeenOnce(many=True)
    slots = _SlotBalance(many=True)


class Export(serializers.Serializer):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(choices=JobState.values)
    variant = serializers.ChoiceField(choices=ExportVariant.values)
    simulated = serializers.BooleanField()
    jsonl = serializers.BooleanField()
    spreadsheet = serializers.ChoiceField(choices=SpreadsheetCopies.values)
    asked_at = serializers.CharField()
    made_at = serializers.CharField(allow_null=True)
    rows = serializers.DictField(child=serializers.IntegerField(), help_text="by file of the zip")
    n_bytes = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    file = serializers.CharField(
        allow_null=True, help_text="the address of the file, once it is there, whole and sound"
    )
    error = serializers.CharField(allow_null=True, help_text="why it failed")
    worker_answers = serializers.BooleanField(help_text="whether a waiting one will be made now")


_NEXT = {"type": "string", "nullable": True, "description": "the next page's address"}


def page(row: type[serializers.Serializer]) -> serializers.Serializer:
    """The answer of a list whose rows look like ``row``."""
    next_page = serializers.CharField(allow_null=True, help_text=_NEXT["description"])
    return inline_serializer(f"{row.__name__}Page", {"results": row(many=True), "next": next_page})


def page_of_component(name: str) -> dict[str, Any]:
    """The same for rows that the schema describes under ``name`` (see ``schema.complete``)."""
    items = {"$ref": f"#/components/schemas/{name}"}
    return {
        "type": "object",
        "required": ["results", "next"],
        "properties": {"results": {"type": "array", "items": items}, "next": _NEXT},
    }

"""A study's settings from a file, checked field by field; the schema of study.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import transaction

from rankers.formats.lines import deep_text_problem, parse_json, text_problem
from studyapp.domain import audit
from studyapp.domain.access import add_member
from studyapp.domain.accounts import user_named
from studyapp.domain.condition_check import check_slug
from studyapp.domain.lifecycle import add_condition
from studyapp.domain.recruiting_settings import recruiting_problems
from studyapp.domain.sitting_settings import sitting_problems
from studyapp.enums import (
    AuditAction,
    ConditionPolicy,
    Decision,
    OrderPolicy,
    Protocol,
    Role,
)
from studyapp.errors import StudyError
from studyapp.models import Study

SLUG_LENGTH = Study._meta.get_field("slug").max_length
#: Fields of study.json that describe what happened, not what to set up; ignored when read.
DESCRIPTIVE = frozenset(
    {
        "deidentified",
        "format_version",
        "study_id",
        "trials_per_participant",
        "contrast",
        "hashes",
        "frozen",
        "software",
        "state",
        "created_at",
        "opened_at",
        "closed_at",
        "deviations",
        "schedule",
        "code",
        "slug",
        "n_claims",
        "roles",
        "withdrawn",
        "versions",
        "origin",
        "unblinded",
    }
)


def read_configuration(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``. Raises StudyError when it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror or error}") from None
    return parse_configuration(data, str(path))


def parse_configuration(data: bytes, name: str) -> dict[str, Any]:
    """The JSON object in the bytes of the file ``name``. Raises StudyError when it is none."""
    try:
        configuration = parse_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise StudyError(f"{name}: not UTF-8; save the file as UTF-8.") from None
    except ValueError as error:
        raise StudyError(f"{name}: {error}.") from None
    if not isinstance(configuration, dict):
        raise StudyError(f"{name}: the file must hold one JSON object.")
    return configuration


def create_study(
    slug: str,
    *,
    title: str | None = None,
    configuration: dict[str, Any] | None = None,
    owner_name: str | None = None,
) -> Study:
    """Create a draft with its conditions, all or nothing. Raises StudyError with every problem."""
    check_slug(slug, "slug")
    fields, conditions = check_configuration(configuration or {})
    if len(slug) > SLUG_LENGTH:
        raise StudyError(f"slug: use at most {SLUG_LENGTH} characters.")
    if title is not None:
        if not _is_short_text(title):
            raise StudyError("--title: must be a text of 1 to 200 characters.")
        fields["title"] = title
    fields.setdefault("title", slug)
    owner = user_named(owner_name) if owner_name else None
    with transaction.atomic():
        if Study.objects.filter(slug=slug).exists():
            raise StudyError(f"study {slug!r} exists already: choose another slug.")
        study = Study.objects.create(slug=slug, owner=owner, **fields)
        if owner is not None:
            add_member(study, owner, Role.OWNER)
        audit.record(AuditAction.STUDY_CREATED, study, member=owner_name or None)
        for condition in conditions:
            add_condition(study, **condition)
    return study


def check_configuration(
    configuration: dict[str, Any],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Split a configuration into model fields and conditions. Raises StudyError, a line a field."""
    problems: list[str] = []
    fields: dict[str, Any] = {}
    for name, value in configuration.items():
        if found := deep_text_problem([name, value]):
            problems.append(f"field {name!a}: {found}")
            continue
        if name in DESCRIPTIVE or name == "conditions":
            continue
        if name in _SETTINGS:
            problems += [f"field {problem}" for problem in _SETTINGS[name](value)]
            fields[name] = value
            continue
        check = _CHECKS.get(name)
        if check is None:
            known = ", ".join(sorted([*_CHECKS, *_SETTINGS, "conditions"]))
            problems.append(f"field {name}: not known; known are {known}")
            continue
        field_name, test, wanted = check
        if test(value):
            fields[field_name] = value
        else:
            problems.append(f"field {name}: must be {wanted}")
    conditions = _check_conditions(configuration.get("conditions", []), problems)
    if problems:
        raise StudyError(problems)
    # The counts of subsets and replications are set by the schedule; a draft only remembers them.
    fields.pop("n_replications", None)
    return fields, conditions


def field_problem(name: str, value: Any) -> str | None:
    """What is wrong with one setting (``sitting.X`` for one of the sitting), or None."""
    if name.startswith("sitting."):
        found = sitting_problems({name.removeprefix("sitting."): value})
        return found[0].partition(": ")[2] if found else None
    _, test, wanted = _CHECKS[name]
    return None if deep_text_problem(value) is None and test(value) else f"must be {wanted}"


def _check_conditions(given: Any, problems: list[str]) -> list[dict[str, Any]]:
    if not isinstance(given, list):
        problems.append("field conditions: must be a list")
        return []
    conditions = []
    for number, item in enumerate(given, start=1):
        if not isinstance(item, dict):
            problems.append(f"field conditions, number {number}: must be an object")
            continue
        unknown = set(item) - _CONDITION_FIELDS
        missing = {"name", "interface", "method"} - set(item)
        for name in sorted(unknown):
            problems.append(f"field conditions, number {number}: {name} is not known")
        for name in sorted(missing):
            problems.append(f"field conditions, number {number}: {name} is missing")
        wrong = _wrong_types(item)
        for name, wanted in wrong.items():
            problems.append(f"field conditions, number {number}: {name} must be {wanted}")
        if not unknown and not missing and not wrong:
            conditions.append(
                item
                | {
                    "model": item.get("model") or "",
                    "embedder": item.get("embedder") or "",
                    "params": item.get("params") or {},
                }
            )
    return conditions


def _wrong_types(item: dict[str, Any]) -> dict[str, str]:
    """The fields of a condition that are of another type, each with what it must be."""
    wrong = {
        name: "a text"
        for name in ("name", "interface", "method")
        if name in item and not _is_text(item[name])
    }
    for name in ("model", "embedder"):
        if item.get(name) is not None and not _is_text(item[name]):
            wrong[name] = "a text, or null"
    if item.get("params") is not None and not isinstance(item["params"], dict):
        wrong["params"] = "an object"
    return wrong


_CONDITION_FIELDS = {"name", "interface", "method", "model", "embedder", "params"}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and text_problem(value) is None


def _is_short_text(value: Any) -> bool:
    return _is_text(value) and bool(value.strip()) and len(value) <= 200


def _is_language(value: Any) -> bool:
    return _is_text(value) and 0 < len(value) <= 20


def _is_code(value: Any) -> bool:
    return _is_text(value) and len(value) <= 60


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(text) for text in value.values())


def _is_options(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(set(map(str, value))) == len(value)
        and set(map(str, value)) <= set(Decision.values)
        and {"supported", "refuted", "cant_decide"} <= set(map(str, value))
    )


def _is_margin(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1


def _is_lease(value: Any) -> bool:
    return _is_count(value) and value >= 1


#: Objects of settings, each with the function that lists what is wrong in it.
_SETTINGS = {"sitting": sitting_problems, "recruiting": recruiting_problems}
#: Objects of which a change holds only what changes.
MERGED = frozenset({*_SETTINGS, "preregistered"})
_CHECKS: dict[str, tuple[str, Any, str]] = {
    "title": ("title", _is_short_text, "a text of 1 to 200 characters"),
    "lang": ("lang", _is_language, "a language tag such as en, of at most 20 characters"),
    "protocol": ("protocol", lambda v: v in Protocol.values, " or ".join(Protocol.values)),
    "texts": ("texts", _is_texts, "an object of texts"),
    "completion_code": ("completion_code", _is_code, "a text of at most 60 characters"),
    "response_options": (
        "response_options",
        _is_options,
        "a list with supported, refuted, cant_decide and, if wanted, partially_supported",
    ),
    "shows_total": ("shows_total", lambda v: isinstance(v, bool), "true or false"),
    "confirms_decision": ("confirms_decision", lambda v: isinstance(v, bool), "true or false"),
    "lease_minutes": ("lease_minutes", _is_lease, "a whole number of minutes, 1 or more"),
    "order_policy": (
        "order_policy",
        lambda v: v in OrderPolicy.values,
        " or ".join(OrderPolicy.values),
    ),
    "condition_policy": (
        "condition_policy",
        lambda v: v in ConditionPolicy.values,
        " or ".join(ConditionPolicy.values),
    ),
    "subsets": ("n_subsets", _is_count, "a whole number"),
    "replications": ("n_replications", _is_count, "a whole number"),
    "seed": ("seed", _is_seed, "a whole number from 0 to 2**63 - 1"),
    "non_inferiority_margin": ("non_inferiority_margin", _is_margin, "between 0 and 1"),
    "preregistered": ("preregistered", lambda v: isinstance(v, dict), "an object"),
    "blind": ("blind", lambda v: isinstance(v, bool), "true or false"),
}

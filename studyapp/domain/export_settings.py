"""study.json: settings, texts, conditions, hashes, and the schedule slot by slot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, Max, Sum

from studyapp.domain.export_rows import CHUNK
from studyapp.domain.export_times import utc_text
from studyapp.domain.lifecycle import software_version
from studyapp.domain.queries import main_claims
from studyapp.domain.sitting_settings import shared_settings
from studyapp.domain.version_changes import changes_between, exported_changes, shared_content
from studyapp.enums import RunKind, TrialKind
from studyapp.models import Claim, PlannedTrial, Study
from studyapp.protocols.verification import default_options

#: Version of the export's files. A test holds it to the one that the analysis reads.
FORMAT_VERSION = "1"


def study_settings(study: Study) -> dict[str, Any]:
    """Everything of study.json but the schedule (statistics.md 1.3, and the schema of --config).

    The settings that hold codes stay out, also those of earlier versions. A text that repeats a
    code is told as participants saw it, code and all, here and in ``versions``; the de-identified
    export blots codes out of texts.
    """
    conditions = list(study.conditions.order_by("position"))
    labels = set(main_claims(study).values_list("label", flat=True).distinct())
    slots = study.slots.aggregate(most=Max("n_trials"))
    return {
        "format_version": FORMAT_VERSION,
        "software": f"suffice {software_version()}",
        "study_id": study.slug,
        "title": study.title,
        "protocol": study.protocol,
        "lang": study.lang,
        "state": study.state,
        "created_at": utc_text(study.created_at),
        "opened_at": utc_text(study.opened_at),
        "closed_at": utc_text(study.closed_at),
        "subsets": study.n_subsets,
        "replications": study.n_replications,
        "trials_per_participant": slots["most"] or 0,
        "order_policy": study.order_policy,
        "condition_policy": study.condition_policy,
        "seed": study.seed,
        "conditions": [
            {
                "name": condition.name,
                "interface": condition.interface,
                "method": condition.method,
                "model": condition.model or None,
                "embedder": condition.embedder or None,
                "params": condition.params,
            }
            for condition in conditions
        ],
        "contrast": f"{conditions[0]} - {conditions[1]}" if len(conditions) > 1 else None,
        "response_options": study.response_options or default_options(labels),
        "shows_total": study.shows_total,
        "confirms_decision": study.confirms_decision,
        "lease_minutes": study.lease_minutes,
        "sitting": shared_settings(study.sitting),
        "recruiting": study.recruiting,
        "non_inferiority_margin": study.non_inferiority_margin,
        "preregistered": study.preregistered,
        "blind": study.blind,
        "unblinded": _unblinded(study),
        "texts": study.texts,
        "roles": _roles(study),
        "n_claims": main_claims(study).count(),
        "frozen": study.frozen,
        "versions": exported_versions(study),
        "origin": study.origin or None,
        "withdrawn": _withdrawn(study),
    }


def study_versions(study: Study) -> dict[int, str]:
    """What trials call the version that they ran under, by its number. Empty for a draft."""
    return {version.number: version.name for version in study.versions.order_by("number")}


def asked_questions(study: Study) -> Iterator[dict[str, Any]]:
    """The questions of every version and of the study as it is now; a name may come with others."""
    for content in study.versions.order_by("number").values_list("content", flat=True):
        yield from content.get("sitting", {}).get("questionnaire", [])
    yield from study.sitting_setting("questionnaire")


def exported_versions(study: Study) -> list[dict[str, Any]]:
    """Every version with its hashes, its settings but the codes, and what it changed: one query.

    Who made it is the audit log's to know: an export names no researcher.
    """
    told: list[dict[str, Any]] = []
    before = None
    for version in study.versions.order_by("number"):
        made = changes_between(before, version.content) if before is not None else []
        told.append(
            {
                "number": version.number,
                "name": version.name,
                "created_at": utc_text(version.created_at),
                "reason": version.reason,
                "changes": exported_changes(made),
                "hashes": version.hashes,
                "settings": shared_content(version.content),
            }
        )
        before = version.content
    return told


def _unblinded(study: Study) -> dict[str, str | None] | None:
    """When somebody lifted the blindness of a running study, and in which role."""
    if study.unblinded_at is None:
        return None
    return {"at": utc_text(study.unblinded_at), "by": study.unblinded_by}


def _roles(study: Study) -> dict[str, list[str]]:
    """The claims kept for practice and for attention checks, by their ids, in order."""
    roles: dict[str, list[str]] = {TrialKind.PRACTICE.value: [], TrialKind.ATTENTION.value: []}
    claims = Claim.objects.filter(study=study).exclude(role=TrialKind.MAIN).order_by("position")
    for role, claim_id in claims.values_list("role", "claim_id"):
        roles[role].append(claim_id)
    return roles


def _withdrawn(study: Study) -> dict[str, dict[str, int]]:
    """What stays of people who withdrew: counts of people and deleted trials by kind of run."""
    counts = {kind: {"participants": 0, "trials": 0} for kind in RunKind.values}
    rows = (
        study.withdrawals.values("run_kind")
        .annotate(participants=Count("id"), trials=Sum("n_trials"))
        .order_by()
    )
    for row in rows:
        counts[row["run_kind"]] = {"participants": row["participants"], "trials": row["trials"]}
    return counts


def study_json(study: Study, settings: dict[str, Any]) -> Iterator[str]:
    """The text of study.json in pieces, the schedule one slot a line: bounded memory.

    ``settings`` is what ``study_settings`` gave, or what became of it.
    """
    text = json.dumps(settings, ensure_ascii=False, indent=1, allow_nan=False)
    yield text.removesuffix("\n}")
    yield ',\n "schedule": {\n  "subsets": ['
    yield from _lines(_subsets(study))
    yield '],\n  "slots": ['
    yield from _lines(_slots(study))
    yield "]\n }\n}\n"


def _lines(items: Iterator[Any]) -> Iterator[str]:
    for number, item in enumerate(items):
        text = json.dumps(item, ensure_ascii=False, allow_nan=False)
        yield f"{',' if number else ''}\n   {text}"


def _subsets(study: Study) -> Iterator[dict[str, Any]]:
    claims = (
        Claim.objects.filter(study=study, subset__isnull=False)
        .order_by("subset__number", "position")
        .values_list("subset__number", "subset__closed_at", "claim_id")
        .iterator(CHUNK)
    )
    for (number, closed_at), rows in groupby(claims, key=itemgetter(0, 1)):
        yield {
            "subset": number,
            "closed": closed_at is not None,
            "claims": [claim_id for *_, claim_id in rows],
        }


def _slots(study: Study) -> Iterator[dict[str, Any]]:
    planned = (
        PlannedTrial.objects.filter(slot__study=study)
        .order_by("slot__replication", "slot__number", "position")
        .values_list(
            "slot__replication",
            "slot__number",
            "slot__target",
            "slot__closed_at",
            "position",
            "block",
            "claim__claim_id",
            "condition__name",
        )
        .iterator(CHUNK)
    )
    for (replication, number, target, closed_at), rows in groupby(
        planned, key=itemgetter(0, 1, 2, 3)
    ):
        yield {
            "replication": replication,
            "slot": number,
            "target": target,
            "closed": closed_at is not None,
            "trials": [
                {
                    "position": position,
                    "block": block,
                    "claim_id": claim_id,
                    "condition": condition,
                }
                for *_, position, block, claim_id, condition in rows
            ],
        }

"""Hashes of stored rows: what is frozen at the opening, and the cycles that come later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from studyapp.models import PlannedTrial, Study


def digest_of(rows: Iterable[Any]) -> str:
    """SHA-256 of rows as JSON, one a line."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, ensure_ascii=False, sort_keys=True).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def schedule_digest(study: Study, first: int = 1, last: int | None = None) -> str:
    """The hash of the planned trials from replication ``first`` to ``last``, or to the end."""
    planned = PlannedTrial.objects.filter(slot__study=study, slot__replication__gte=first)
    if last is not None:
        planned = planned.filter(slot__replication__lte=last)
    return digest_of(
        planned.order_by("slot__replication", "slot__number", "position").values_list(
            "slot__replication",
            "slot__number",
            "position",
            "claim__claim_id",
            "condition__name",
        )
    )

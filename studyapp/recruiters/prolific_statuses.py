"""The statuses of a submission at Prolific, and which of two is the later one.

From docs.prolific.com/api-reference/submissions/submission-object; the partial approval from the
page of the transition. Answers write them with spaces or hyphens, filters with underscores.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import TextChoices


class SubmissionStatus(TextChoices):
    """Where a submission stands. ``unknown``: not told yet, or a word that we do not know."""

    UNKNOWN = "unknown", "not told yet"
    RESERVED = "reserved", "RESERVED"
    ACTIVE = "active", "ACTIVE"
    TIMED_OUT = "timed_out", "TIMED-OUT"
    AWAITING_REVIEW = "awaiting_review", "AWAITING REVIEW"
    RETURNED = "returned", "RETURNED"
    REJECTED = "rejected", "REJECTED"
    SCREENED_OUT = "screened_out", "SCREENED OUT"
    PARTIALLY_APPROVED = "partially_approved", "PARTIALLY APPROVED"
    APPROVED = "approved", "APPROVED"


#: How far a submission has come. Nothing leads back to an earlier stage; within one stage the
#: later message counts. A time-out may still be handed in, and anything may be approved in the end.
STAGES = {
    SubmissionStatus.UNKNOWN: 0,
    SubmissionStatus.RESERVED: 1,
    SubmissionStatus.ACTIVE: 2,
    SubmissionStatus.TIMED_OUT: 3,
    SubmissionStatus.AWAITING_REVIEW: 3,
    SubmissionStatus.RETURNED: 4,
    SubmissionStatus.REJECTED: 4,
    SubmissionStatus.SCREENED_OUT: 4,
    SubmissionStatus.PARTIALLY_APPROVED: 4,
    SubmissionStatus.APPROVED: 5,
}
#: Statuses in which the participant has the study before them at Prolific.
UNDER_WAY = (SubmissionStatus.UNKNOWN, SubmissionStatus.RESERVED, SubmissionStatus.ACTIVE)


def read_status(word: Any) -> SubmissionStatus:
    """The status of a word, however it is written."""
    name = str(word).strip().lower().replace("-", "_").replace(" ", "_")
    if name in SubmissionStatus.values:
        return SubmissionStatus(name)
    return SubmissionStatus.UNKNOWN


def supersedes(new: str, new_at: datetime, old: str, old_at: datetime | None) -> bool:
    """Whether a status told for ``new_at`` replaces the one that is known since ``old_at``."""
    new_stage, old_stage = STAGES[SubmissionStatus(new)], STAGES[SubmissionStatus(old)]
    if new == old or new_stage != old_stage:
        return new_stage > old_stage
    return old_at is None or new_at > old_at

"""What is done for studies at Prolific now and then: read, ask back, carry out calls.

A message of the broker is only a bell, and whoever looks may ring it: beat, and every worker.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from studyapp.domain.prolific_calls import fill_outbox, run_due
from studyapp.domain.prolific_setup import is_connected
from studyapp.domain.prolific_sync import sync
from studyapp.enums import StudyState
from studyapp.errors import BrokerAway
from studyapp.models import ProlificLink
from studyapp.recruiters.prolific_errors import ProlificError

logger = logging.getLogger(__name__)

#: How often a study is looked after while people come, and when it is closed.
EVERY = timedelta(seconds=60)
EVERY_CLOSED = timedelta(hours=1)
#: So long after its end a study is left alone: reviews at Prolific take three weeks at most.
AFTERWARDS = timedelta(days=30)


def ring_due() -> int:
    """Ring for every study that is due; returns the number of bells. Raises BrokerAway."""
    now = timezone.now()
    links = ProlificLink.objects.select_related("study").exclude(study__state=StudyState.DRAFT)
    return sum(_ring(link, now) for link in links if is_connected(link) and _is_due(link, now))


def _is_due(link: ProlificLink, now: datetime) -> bool:
    closed_at = link.study.closed_at
    if closed_at is not None and closed_at < now - AFTERWARDS:
        return False
    return link.rung_at is None or link.rung_at <= now - _every(link)


def _every(link: ProlificLink) -> timedelta:
    return EVERY_CLOSED if link.study.state == StudyState.CLOSED else EVERY


def _ring(link: ProlificLink, now: datetime) -> bool:
    from studyapp.tasks import tend_prolific

    row = ProlificLink.objects.filter(pk=link.pk)
    is_due = Q(rung_at__isnull=True) | Q(rung_at__lte=now - _every(link))
    # Marked first: of two callers at the same moment one rings.
    if not row.filter(is_due).update(rung_at=now):
        return False
    try:
        tend_prolific.delay(link.pk)
    except Exception as error:  # kombu raises its own and each transport's errors
        row.update(rung_at=link.rung_at)
        raise BrokerAway(
            f"The message broker cannot be reached ({error}). Prolific is asked once it answers."
        ) from error
    return True


def tend(link_id: int) -> bool:
    """Look after one study: read its submissions, ask silent people back, carry out calls.

    False where Prolific could not be read; the reason is kept on the study's page.
    """
    link = ProlificLink.objects.select_related("study").filter(pk=link_id).first()
    if link is None or not is_connected(link):
        return False
    study = link.study
    try:
        sync(study)
        is_read = True
    except ProlificError as error:
        logger.warning("submissions of study %s could not be read: %s", study.slug, error)
        is_read = False
    fill_outbox(study, timezone.now())
    run_due(study)
    return is_read

"""Claims on their way into a study: written in parts, and the study's all at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import F, Max
from django.utils import timezone

from studyapp.errors import BadUpload
from studyapp.models import Candidate, Claim, ClaimsImport, GoldSet, Study

#: An import that has written nothing for so long has ended without a word.
ABANDONED_AFTER = timedelta(minutes=15)
#: Claims deleted in one transaction.
PART = 25


@contextmanager
def arriving(study: Study) -> Iterator[ClaimsImport]:
    """Begin an import; what it has written is deleted unless ``arrive`` was its end."""
    clear_abandoned()
    importing = ClaimsImport.objects.create(study=study, alive_at=timezone.now())
    try:
        yield importing
    except BaseException:
        # A database that is gone keeps what was written: the next import clears it away.
        with suppress(DatabaseError):
            _clear(importing)
        raise


def renew(importing: ClaimsImport) -> None:
    """Say that the import goes on. Raises BadUpload where it may have been taken for dead."""
    now = timezone.now()
    rows = ClaimsImport.objects.filter(pk=importing.pk, alive_at__gte=now - ABANDONED_AFTER)
    if not rows.update(alive_at=now):
        raise BadUpload("The import was interrupted for too long: import the file again.")


def arrive(importing: ClaimsImport) -> None:
    """Give the claims to the study, behind those that it has; inside the caller's transaction.

    The caller holds the study's lock and has made sure that no id is there twice.
    """
    renew(importing)
    stored = Claim.objects.filter(study=importing.study_id)
    last = stored.aggregate(last=Max("position"))["last"] or 0
    Claim.objects.filter(arriving=importing).update(
        study=importing.study_id, arriving=None, position=F("position") + last
    )
    ClaimsImport.objects.filter(pk=importing.pk).delete()


def clear_abandoned() -> int:
    """Delete what imports of ended processes have left behind; how many of them there were."""
    begun_before = timezone.now() - ABANDONED_AFTER
    found = list(ClaimsImport.objects.filter(alive_at__lt=begun_before))
    for importing in found:
        _clear(importing)
    return len(found)


def _clear(importing: ClaimsImport) -> None:
    """Delete an import and its claims, a few at a time, so that nobody has to wait for long."""
    ids = list(Claim.objects.filter(arriving=importing).values_list("pk", flat=True))
    for start in range(0, len(ids), PART):
        part = ids[start : start + PART]
        with transaction.atomic():
            for table in (Candidate, GoldSet):
                table.objects.filter(claim__in=part).delete()
            Claim.objects.filter(pk__in=part, study=None).delete()
    importing.delete()

"""Results and files are not kept when somebody withdrew while they were made: they begin anew.

Who makes them reads a snapshot that may still hold the person. A withdrawal holds the row of the
study until its end; whoever stores waits for it, and compares how many there are with how many
there were before the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from studyapp.domain.leases import Lease, renew
from studyapp.errors import StudyError
from studyapp.models import Study

#: How often work begins anew before it is left to whoever asks for it once more.
MOST_TRIES = 5


class OvertakenError(Exception):
    """Somebody withdrew while data were read that may hold theirs: what was made is not kept."""


def withdrawals_of(study: Study) -> int:
    """How many runs were withdrawn until now; to be read before the data are."""
    return study.withdrawals.count()


def refuse_if_overtaken(study: Study, n_before: int) -> None:
    """Raise OvertakenError if anybody withdrew since there were ``n_before``.

    To be called first in the transaction that stores: until its end nobody withdraws.
    """
    Study.objects.select_for_update(no_key=True).filter(pk=study.pk).first()
    if withdrawals_of(study) != n_before:
        raise OvertakenError


def until_kept(lease: Lease, study: Study, attempt: Callable[[int], bool]) -> bool:
    """Call ``attempt`` with the number of withdrawals until none overtakes it; what it returned.

    An error during a withdrawal, which deletes files under way, is a reason to begin anew too.
    False when the lease was lost meanwhile. Raises what ``attempt`` raised, and StudyError after
    MOST_TRIES.
    """
    for _ in range(MOST_TRIES):
        if not renew(lease):
            return False
        n_before = withdrawals_of(study)
        try:
            return attempt(n_before)
        except OvertakenError:
            continue
        except Exception:
            if not _is_overtaken(study, n_before):
                raise
    raise StudyError(f"People withdrew while this was made, {MOST_TRIES} times over: try again.")


def _is_overtaken(study: Study, n_before: int) -> bool:
    try:
        with transaction.atomic():
            refuse_if_overtaken(study, n_before)
    except OvertakenError:
        return True
    return False

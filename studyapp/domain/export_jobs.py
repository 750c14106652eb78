"""Exports as jobs: asked for, made by a worker into a file of the data folder, kept for a while.

The row is the truth (see ``leases``). A small study is exported where it is asked for when no
worker answers, so that an installation without one exports all the same.
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from studyapp.codes import random_code
from studyapp.domain import audit, bells, export_files
from studyapp.domain.export import ExportSummary, Shape, export_study
from studyapp.domain.export_rows import exported_runs
from studyapp.domain.leases import NO_LEASE, Lease, finish, kept, renew, take
from studyapp.domain.overtaken import refuse_if_overtaken, until_kept
from studyapp.domain.progress import worker_answers
from studyapp.enums import AuditAction, ExportVariant, JobState, SpreadsheetCopies
from studyapp.errors import BrokerAway, NotEditable, StudyError
from studyapp.models import ExportJob, Study, Trial

logger = logging.getLogger(__name__)

#: Files kept of a study; an older one goes when a new one is made.
KEPT_FILES = 10
#: Exports of a study that may wait at once.
MOST_WAITING = 10
#: Trials and events together that are exported in the request when no worker answers: two seconds.
SMALL = 20_000


@dataclass(frozen=True)
class Wanted:
    """How an export is wanted."""

    variant: str = ExportVariant.RAW
    simulated: bool = False
    jsonl: bool = False
    spreadsheet: str = SpreadsheetCopies.NONE


def exports_of(study: Study) -> QuerySet[ExportJob]:
    """The study's exports with who asked for them, the newest first."""
    return study.exports.select_related("asked_by").order_by("-pk")


def is_small(study: Study, include_simulated: bool = False) -> bool:
    """Whether a request can wait for the study's export: one query."""
    trials = Trial.objects.filter(exported_runs(study, include_simulated, "enrolment__"))
    found = trials.aggregate(trials=Count("pk"), events=Sum("n_events"))
    return found["trials"] + (found["events"] or 0) < SMALL


def ask(study: Study, wanted: Wanted, by: Any = None) -> ExportJob:
    """Queue an export and ring for it; without a worker a small one is made here.

    Raises NotEditable while too many wait already.
    """
    if study.exports.exclude(state__in=bells.ENDED).count() >= MOST_WAITING:
        raise NotEditable(f"{MOST_WAITING} exports of this study wait already: let one be made.")
    job = ExportJob.objects.create(
        study=study,
        variant=wanted.variant,
        with_simulated=wanted.simulated,
        with_jsonl=wanted.jsonl,
        spreadsheet=wanted.spreadsheet,
        asked_by=by,
        asked_at=timezone.now(),
    )
    go_on(study)
    job.refresh_from_db()
    return job


def retry(job: ExportJob) -> None:
    """Queue an export that has failed, or whose file is lost. Raises NotEditable for another."""
    is_lost = job.state == JobState.DONE and export_files.sound_file(job) is None
    again = ExportJob.objects.filter(pk=job.pk)
    if not is_lost:
        again = again.filter(state=JobState.FAILED)
    emptied = {"file": "", "rows": {}, "n_bytes": None, "sha256": "", "made_at": None}
    if not bells.queue_again(again, asked_at=timezone.now(), finished_at=None, **emptied):
        raise NotEditable("Only an export that has failed or lost its file is made again.")
    if is_lost:
        export_files.delete_file(job.study, job.file)
    go_on(job.study)


def go_on(study: Study) -> list[str]:
    """See that waiting exports of the study are made; problems are returned, and lose nothing.

    Rings for those that were left behind, or makes small ones here when no worker answers.
    """
    waiting = study.exports.exclude(state__in=bells.ENDED)
    if not waiting.exists():
        return []
    if not worker_answers() and is_small(study, include_simulated=True):
        for job_id in list(waiting.order_by("pk").values_list("pk", flat=True)):
            run_job(job_id)
        return []
    try:
        ring_due(waiting)
    except BrokerAway as error:
        return list(map(str, error.problems))
    return []


def ring_due(jobs: Any = None) -> int:
    """Queue rows whose lease ran out, and ring for queued rows that no bell is known for.

    Returns the number of bells. Raises BrokerAway.
    """
    from studyapp.tasks import make_export

    jobs = ExportJob.objects.all() if jobs is None else jobs
    return bells.ring_due(jobs, make_export, "the exports")


def delete(job: ExportJob) -> None:
    """Delete an export with its file; who makes it at this moment finds its row gone."""
    with transaction.atomic():
        deleted, _ = ExportJob.objects.filter(pk=job.pk).delete()
        if not deleted:
            return
        audit.record(AuditAction.EXPORT_DELETED, job.study, export=job.pk, variant=job.variant)
    if job.file:
        export_files.delete_file(job.study, job.file)


def forget(study: Study) -> int:
    """Delete every file of the study, for the data of a person whose data are deleted.

    To be called inside the transaction that deletes the data. Exports that are being made begin
    anew, without these data: their workers have lost them. Returns how many files there were.
    """
    # These first: what is being made now must not become done in between.
    study.exports.filter(state=JobState.LEASED).update(
        state=JobState.QUEUED, rung_at=None, **NO_LEASE
    )
    done, _ = study.exports.filter(state=JobState.DONE).delete()
    export_files.delete_files(study)
    return done


# ---- making --------------------------------------------------------------------------------------


def run_job(job_id: int) -> bool:
    """Take the job, write its file and offer it; False for a second delivery or a failure."""
    lease = take(ExportJob, job_id)
    if lease is None:
        return False
    job = ExportJob.objects.select_related("study", "asked_by").filter(pk=job_id).first()
    if job is None:  # it was deleted at this moment
        return False
    with kept(lease):
        try:
            return until_kept(lease, job.study, lambda n_before: _make(lease, job, n_before))
        except (OSError, StudyError) as error:
            return bells.fail(lease, _without_path(error))
        except Exception as error:
            logger.exception("the export %s of study %s failed", job.pk, job.study.slug)
            return bells.fail(lease, f"{type(error).__name__}: {error}")


def _make(lease: Lease, job: ExportJob, n_before: int) -> bool:
    """Write the file beside its place, and move it there once; it stays if the row says so."""
    with transaction.atomic():
        # Whoever has the job now cannot lose it, and its folder, before this transaction ends.
        if not renew(lease):
            return False
        making = export_files.making_folder(job)
    try:
        made = export_study(job.study, making / "export.zip", job.with_simulated, shape=_shape(job))
        name = f"{job.pk}-{random_code(16)}.zip"
        made.path.replace(export_files.folder_of(job.study) / name)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    is_kept = False
    try:
        is_kept = store_result(lease, job, name, made, n_before)
    finally:
        if not is_kept:
            export_files.delete_file(job.study, name)
    return is_kept


def store_result(
    lease: Lease, job: ExportJob, name: str, made: ExportSummary, n_before: int
) -> bool:
    """End the job with its file, and let go of older ones; False when the lease was lost.

    ``n_before`` is the number of withdrawals before the data were read. Raises OvertakenError.
    """
    with transaction.atomic():
        refuse_if_overtaken(job.study, n_before)
        is_ours = finish(
            lease,
            JobState.DONE,
            file=name,
            rows=made.rows,
            n_bytes=made.n_bytes,
            sha256=made.sha256,
            made_at=timezone.now(),
        )
        if not is_ours:
            return False
        audit.record(
            AuditAction.STUDY_EXPORTED,
            job.study,
            by=job.asked_by,
            export=job.pk,
            variant=job.variant,
            simulated=job.with_simulated,
            hash=made.sha256,
        )
        old = list(job.study.exports.filter(state=JobState.DONE).order_by("-made_at", "-pk"))
    for each in old[KEPT_FILES:]:
        delete(each)
    export_files.remove_strays(job.study)
    return True


def _shape(job: ExportJob) -> Shape:
    return Shape(
        deidentified=job.variant == ExportVariant.DEIDENTIFIED,
        jsonl=job.with_jsonl,
        spreadsheet=job.spreadsheet != SpreadsheetCopies.NONE,
        has_bom=job.spreadsheet == SpreadsheetCopies.WITH_BOM,
    )


def _without_path(error: Exception) -> str:
    """The reason of a failure; where the data folder lies is nothing for a page."""
    reason = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(reason, OSError):
        return f"The file cannot be written ({reason.strerror or type(reason).__name__})."
    return str(error)


def download_name(job: ExportJob) -> str:
    """What the file is called by who downloads it: ``SLUG-raw-20260301-0905.zip``, in UTC."""
    runs = "-simulated" if job.with_simulated else ""
    at = f"-{job.made_at:%Y%m%d-%H%M}" if job.made_at else ""
    return f"{job.study.slug}-{job.variant}{runs}{at}.zip"


def note_download(job: ExportJob) -> None:
    """Write to the audit log that somebody downloads the file."""
    audit.record(
        AuditAction.EXPORT_DOWNLOADED,
        job.study,
        export=job.pk,
        variant=job.variant,
        hash=job.sha256,
    )

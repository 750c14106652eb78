"""A worker says that it is alive, and on its start rings for jobs that a dead one left behind."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import signals
from django.db import close_old_connections

from studyapp.domain import export_jobs, precompute, progress, prolific_work, results_jobs

logger = logging.getLogger(__name__)
_stopped = threading.Event()


def _stay_present(name: str) -> None:
    while True:
        try:
            progress.note_presence(name)
            precompute.ring_due()
            results_jobs.ring_due()
            prolific_work.ring_due()
            export_jobs.ring_due()
        except Exception:
            logger.exception("worker presence could not be written")
        finally:
            close_old_connections()
        if _stopped.wait(progress.PRESENCE_SECONDS):
            return


@signals.worker_ready.connect
def begin_presence(sender: Any = None, **_: Any) -> None:
    _stopped.clear()
    name = str(getattr(sender, "hostname", None) or "worker")
    threading.Thread(target=_stay_present, args=(name,), name="presence", daemon=True).start()


@signals.worker_shutdown.connect
def end_presence(sender: Any = None, **_: Any) -> None:
    _stopped.set()
    name = str(getattr(sender, "hostname", None) or "worker")
    try:
        progress.forget_presence(name)
    except Exception:
        logger.exception("worker presence could not be removed")

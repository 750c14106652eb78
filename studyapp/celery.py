"""The Celery app: a bell for precompute jobs, over files or Redis."""

from __future__ import annotations

import os

from celery import Celery
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyapp.settings")


def filesystem_options(data_dir: str) -> dict[str, str]:
    """Folders of the file-based transport: one for messages in both directions, one for control."""
    queue = os.path.join(data_dir, "broker", "queue")
    control = os.path.join(data_dir, "broker", "control")
    for folder in (queue, control):
        os.makedirs(folder, exist_ok=True)
    return {"data_folder_in": queue, "data_folder_out": queue, "control_folder": control}


#: What somebody waits for at a page does not stand behind a long precompute: its messages have a
#: queue of their own, and a worker takes from both in turn.
PRECOMPUTE_QUEUE, WAITED_FOR_QUEUE = "celery", "waited_for"

app = Celery("studyapp")
app.config_from_object("django.conf:settings", namespace="CELERY")


def _configure(sender: Celery, **_: object) -> None:
    from django.conf import settings

    sender.conf.update(
        task_ignore_result=True,
        # The job row is the truth: a message is acknowledged at once, a lost one is rung again.
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        task_serializer="json",
        accept_content=["json"],
        timezone="UTC",
        # Nothing depends on beat: workers, commands and pages look for expired leases themselves.
        task_default_queue=PRECOMPUTE_QUEUE,
        task_queues=[Queue(PRECOMPUTE_QUEUE), Queue(WAITED_FOR_QUEUE)],
        task_routes=(
            {"suffice.prepare": {"queue": PRECOMPUTE_QUEUE}},
            {"suffice.*": {"queue": WAITED_FOR_QUEUE}},
        ),
        beat_schedule={"ring-due": {"task": "suffice.ring_due", "schedule": 60.0}},
        beat_schedule_filename=str(settings.DATA_DIR / "celerybeat-schedule"),
    )
    if settings.CELERY_BROKER_URL.startswith("filesystem:"):
        sender.conf.broker_transport_options = filesystem_options(str(settings.DATA_DIR))
        # Files know no broadcast: mingle and gossip would only wait for answers that never come.
        sender.conf.worker_enable_remote_control = False


app.on_after_configure.connect(_configure)
app.autodiscover_tasks(["studyapp"])

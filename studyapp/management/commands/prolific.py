from __future__ import annotations

from typing import Any

from studyapp.domain.prolific_calls import ask_again, calls_of, run_call
from studyapp.domain.prolific_setup import link_of, set_up, try_connection, webhook_address
from studyapp.domain.prolific_submissions import differing
from studyapp.domain.queries import study_by_slug
from studyapp.enums import JobState
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand
from studyapp.models import Study


class Command(StudyCommand):
    help = "Tie a study to Prolific, and show what differs and what Prolific refused."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument(
            "--study-id", action="append", metavar="ID", help="of the study at Prolific; repeatable"
        )
        parser.add_argument("--screen-out-code", metavar="CODE")
        parser.add_argument(
            "--return-after", type=int, metavar="MINUTES", help="0: nobody is asked to return"
        )
        parser.add_argument("--test", action="store_true", help="ask Prolific for the study")
        parser.add_argument("--retry", type=int, metavar="N", help="do refused call N once more")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        changes = {
            "study_ids": options["study_id"],
            "screen_out_code": options["screen_out_code"],
            "return_after_minutes": options["return_after"],
        }
        if any(value is not None for value in changes.values()):
            set_up(study, **changes)
        if options["retry"] is not None:
            self._retry(study, options["retry"])
        if options["test"]:
            for found in try_connection(study):
                self.say(f"Prolific answers: {found.id}, {found.name!r}, {found.status}")
        self._show(study)

    def _retry(self, study: Study, call_id: int) -> None:
        call = ask_again(study, call_id)
        run_call(call.pk)
        call.refresh_from_db()
        if call.state in (JobState.QUEUED, JobState.FAILED):
            raise StudyError(f"call {call.pk}: {call.get_state_display().lower()}; {call.error}")
        self.say(f"call {call.pk}: {call.answer or 'under way'}")

    def _show(self, study: Study) -> None:
        link = link_of(study)
        self.say(f"studies at Prolific: {', '.join(link.study_ids) or 'none'}")
        self.say(f"screen-out code: {link.screen_out_code or 'none'}")
        minutes = study.recruiting_setting("return_after_minutes")
        self.say(f"asked to return after: {f'{minutes} minutes' if minutes else 'never'}")
        self.say(f"webhook: {webhook_address(study)}")
        self.say(
            f"last read: {link.synced_at:%Y-%m-%d %H:%M} UTC" if link.synced_at else "not read"
        )
        if link.sync_error:
            self.say(f"reading failed: {link.sync_error}")
        for row in differing(study):
            self.say(
                f"differs: {row.enrolment.participant.code}, slot {row.enrolment.slot}: "
                f"{row.enrolment.get_state_display().lower()} here, "
                f"{row.get_status_display()} at Prolific"
            )
        for call in calls_of(study).filter(state=JobState.FAILED):
            self.say(f"refused call {call.pk}: {call.get_kind_display().lower()}; {call.error}")

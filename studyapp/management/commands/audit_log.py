from __future__ import annotations

import json
from typing import Any

from studyapp.domain import audit
from studyapp.domain.queries import study_by_slug
from studyapp.enums import AuditAction
from studyapp.management.base import StudyCommand
from studyapp.models import AuditEntry


class Command(StudyCommand):
    help = "Print what researchers and commands did to a study, the newest first."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--action", choices=AuditAction.values, metavar="ACTION")
        parser.add_argument("--who", metavar="NAME")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        entries = audit.entries_of(study, action=options["action"] or "", who=options["who"] or "")
        for entry in entries.iterator():
            self.say(_json(entry) if options["json"] else _line(entry))


def _line(entry: AuditEntry) -> str:
    details = audit.details_text(entry)
    return f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.who}  {entry.action}" + (
        f"  {details}" if details else ""
    )


def _json(entry: AuditEntry) -> str:
    content = {
        "at": entry.at.isoformat(),
        "who": entry.who,
        "study": entry.study_slug,
        "action": entry.action,
        "details": entry.details,
    }
    return json.dumps(content, sort_keys=True, ensure_ascii=False)

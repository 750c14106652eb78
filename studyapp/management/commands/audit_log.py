from __future__ import annotations

import json
from typing import Any

from studyapp.domain import audit
from studyapp.domain.queries import study_by_slug
from studyapp.enums import AuditAction
from studyapp.management.base import StudyCommand
from studyapp.models import AuditEntry


class Command(StudyCommand):
    help = "Print what researchers and commands did to a study, or to all and to accounts."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug", nargs="?", help="without it, the log of the whole server")
        parser.add_argument("--action", choices=AuditAction.values, metavar="ACTION")
        parser.add_argument("--who", metavar="NAME")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"]) if options["slug"] else None
        entries = audit.entries_of(study, action=options["action"] or "", who=options["who"] or "")
        for entry in entries.iterator():
            self.say(_json(entry) if options["json"] else _line(entry, with_study=study is None))


def _line(entry: AuditEntry, *, with_study: bool) -> str:
    parts = [f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.who, entry.action]
    if with_study:
        parts.append(entry.study_slug or "-")
    return "  ".join([*parts, *filter(None, [audit.details_text(entry)])])


def _json(entry: AuditEntry) -> str:
    content = {
        "at": entry.at.isoformat(),
        "who": entry.who,
        "study": entry.study_slug,
        "action": entry.action,
        "details": entry.details,
    }
    return json.dumps(content, sort_keys=True, ensure_ascii=False)

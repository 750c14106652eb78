from __future__ import annotations

import json
from typing import Any

from studyapp.domain.consent import ConsentRecords, consent_records
from studyapp.domain.queries import study_by_slug
from studyapp.management.base import StudyCommand


class Command(StudyCommand):
    help = "Print who consented to which text and when, by pseudonym, with the texts."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("--json", action="store_true")

    def run(self, **options: Any) -> None:
        found = consent_records(study_by_slug(options["slug"]))
        if options["json"]:
            self.say(json.dumps(_content(found), indent=2, sort_keys=True, ensure_ascii=False))
            return
        for number, each in enumerate(found.texts, start=1):
            self.say(f"text {number}, sha256 {each.version}:\n{each.text}\n")
        for record in found.records:
            self.say(
                f"{record.participant}  {record.run_kind.lower()}  "
                f"{record.consented_at:%Y-%m-%d %H:%M:%S} UTC  "
                f"text {record.number or 'not kept'}  {record.version}"
            )
        self.say(f"{len(found.records)} consents; {found.n_withdrawn} withdrew and are deleted")


def _content(found: ConsentRecords) -> dict[str, Any]:
    return {
        "texts": [{"sha256": each.version, "text": each.text} for each in found.texts],
        "consents": [
            {
                "participant": record.participant,
                "run_kind": record.run_kind.lower(),
                "consented_at": record.consented_at.isoformat(),
                "text_sha256": record.version,
            }
            for record in found.records
        ],
        "withdrawn": found.n_withdrawn,
    }

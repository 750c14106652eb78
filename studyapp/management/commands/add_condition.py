from __future__ import annotations

from typing import Any

import rankers
from rankers.method_info import MODEL
from rankers.registry import method_needs
from studyapp.domain.lifecycle import add_condition
from studyapp.domain.queries import study_by_slug
from studyapp.enums import Interface
from studyapp.management.base import StudyCommand, parse_pairs


class Command(StudyCommand):
    help = "Add a condition: an interface and the method behind it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        parser.add_argument("name")
        parser.add_argument("--interface", required=True, choices=Interface.values)
        parser.add_argument("--method", required=True, help="see: python -m rankers methods")
        parser.add_argument("--model", default="", help="LLM, for methods that need one")
        parser.add_argument(
            "--embedder", default="", help="word vectors, for methods that use them"
        )
        parser.add_argument("--param", action="append", metavar="K=V", help="may be repeated")

    def run(self, **options: Any) -> None:
        condition = add_condition(
            study_by_slug(options["slug"]),
            options["name"],
            options["interface"],
            options["method"],
            model=options["model"],
            embedder=options["embedder"],
            params=parse_pairs(options["param"]),
        )
        for line in rankers.unused_options(
            options["method"], options["model"] or None, options["embedder"] or None
        ):
            self.note(line)
        if not condition.model and MODEL in method_needs(condition.method, condition.params):
            self.note(
                f"no --model given: {condition.method} will ask the workers' OPENAI_MODEL, "
                "so set it before precompute"
            )
        self.say(f"condition {condition.name}: {condition.interface}, {condition.method}")

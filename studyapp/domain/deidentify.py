"""The de-identified form of an export: no free text of people, no real times, other names.

What stays is what the measures are worked out from. A pseudonym is replaced by a keyed hash, which
is the same in every export of a study as long as the server keeps its secret key, and another one
in every other study. A participant's times are moved together, so that every difference between
them stays, to the millisecond.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Min
from django.utils.crypto import salted_hmac

from studyapp.domain.export_rows import exported_runs, kind_marks
from studyapp.domain.export_settings import asked_questions
from studyapp.domain.export_times import utc_text
from studyapp.domain.return_addresses import asks_for_code
from studyapp.domain.sitting_settings import SECRET_SETTINGS
from studyapp.enums import TrialKind, TrialState
from studyapp.models import Enrolment, Study, Trial

Row = dict[str, Any]

SALT = "suffice.deidentified-export"
#: When every participant begins.
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
LEFT_OUT = "left out"

#: Columns that name people and what they did, with the letter that the new names begin with.
NAMES = {"participant_id": "p", "trial_id": "t", "event_id": "e"}
TIMES = frozenset(
    {
        "started_at",
        "decided_at",
        "server_ts",
        "consented_at",
        "joined_at",
        "ended_at",
        "answered_at",
    }
)
#: Columns that people write into, and what stands there instead: a comment is gone, a void trial
#: still has a reason.
FREE_TEXT = {"reason": None, "void_reason": LEFT_OUT}

#: All columns that change.
_CHANGED = frozenset(NAMES) | TIMES | frozenset(FREE_TEXT)

#: What of study.json stays. What is new there has to be put here, or stays out.
KEPT_SETTINGS = frozenset(
    {
        "format_version",
        "software",
        "study_id",
        "title",
        "protocol",
        "lang",
        "state",
        "subsets",
        "replications",
        "trials_per_participant",
        "order_policy",
        "condition_policy",
        "seed",
        "conditions",
        "contrast",
        "response_options",
        "shows_total",
        "confirms_decision",
        "lease_minutes",
        "sitting",
        "non_inferiority_margin",
        "preregistered",
        "texts",
        "roles",
        "n_claims",
        "frozen",
        "withdrawn",
        "blind",
    }
)
#: What of the settings of the sitting and of the texts leads to people or their pay.
_SECRET_SITTING = frozenset({"return_url", "screened_out_url", "failed_checks_url"})
_SECRET_TEXTS = frozenset({"contact"})
#: A shorter code is a part of too many words to be looked for in texts.
_SHORTEST_CODE = 4


class Deidentified:
    """Changes the rows and the settings of one study's export; reads the beginnings first."""

    def __init__(self, study: Study, include_simulated: bool):
        self._key = salted_hmac(f"{SALT}:{study.code}", "", algorithm="sha256").digest()
        self._moves = _moves(study, include_simulated)
        self._orders = _slot_orders(study, include_simulated)
        self._open_questions = _open_questions(study)
        self._codes = _codes(study)

    def rows(self, table: str, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of a table of the export, changed. Event rows need their ``participant_id``."""
        for row in rows:
            if table == "questionnaire" and self._is_open(row["name"]):
                continue
            changed = self._row(row)
            if table == "trials":
                changed["slot_order"] = self._orders.get(_place(row))
            yield changed

    def settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The content of study.json without times, contact, codes, and where people came from."""
        kept = {name: value for name, value in settings.items() if name in KEPT_SETTINGS}
        return kept | {
            "deidentified": True,
            "title": self._without_codes(kept["title"]),
            "sitting": self._sitting(kept["sitting"]),
            "texts": {
                name: self._without_codes(text)
                for name, text in _without(kept["texts"], _SECRET_TEXTS).items()
            },
        }

    def _sitting(self, sitting: dict[str, Any]) -> dict[str, Any]:
        told = _without(sitting, _SECRET_SITTING)
        if "questionnaire" in told:
            told["questionnaire"] = [
                question | {"text": self._without_codes(question["text"])}
                for question in told["questionnaire"]
            ]
        return told

    def new_name(self, letter: str, name: str) -> str:
        """Another name for ``name``, which cannot be turned back without the server's key."""
        return letter + hmac.digest(self._key, name.encode(), "sha256").hex()[:20]

    def _row(self, row: Row) -> Row:
        move = self._moves.get(row.get("participant_id", ""), timedelta())
        changed = dict(row)
        for name in _CHANGED & row.keys():
            if row[name] is not None:
                changed[name] = self._value(name, row[name], move)
        return changed

    def _value(self, name: str, value: str, move: timedelta) -> str | None:
        if name in NAMES:
            return self.new_name(NAMES[name], value)
        return _moved(value, move) if name in TIMES else FREE_TEXT[name]

    def _is_open(self, question: str) -> bool:
        """Whether anything can be written as an answer; so it is with a question nobody knows."""
        return self._open_questions.get(question, True)

    def _without_codes(self, text: str) -> str:
        for code in self._codes:
            text = text.replace(code, f"[{LEFT_OUT}]")
        return text


def _moved(time: str, move: timedelta) -> str:
    """A time of the tables, earlier by ``move``, which is a number of whole milliseconds."""
    moment = datetime.fromisoformat(time.removesuffix("Z")) - move
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def _without(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _moves(study: Study, include_simulated: bool) -> dict[str, timedelta]:
    """How far back the times of every participant are moved, in whole milliseconds: one query."""
    runs = Enrolment.objects.filter(exported_runs(study, include_simulated))
    rows = (
        runs.values("participant__code", "participant__joined_at")
        .annotate(consented=Min("consented_at"), started=Min("started_at"))
        .order_by()
    )
    return {
        row["participant__code"]: _milliseconds_from_beginning(
            min(
                moment
                for moment in (row["consented"], row["started"], row["participant__joined_at"])
                if moment is not None
            )
        )
        for row in rows
    }


def _milliseconds_from_beginning(moment: datetime) -> timedelta:
    # The tables cut times to milliseconds; what is left over here would change their differences.
    return datetime.fromisoformat(utc_text(moment) or "") - BEGINNING


def _slot_orders(study: Study, include_simulated: bool) -> dict[tuple[Any, ...], int]:
    """Who began first in every slot, by the rule of the analysis for its holder: one query.

    The keys are those of ``_place``. Only people with a completed main trial have a number.
    """
    rows = (
        Trial.objects.filter(
            exported_runs(study, include_simulated, "enrolment__"),
            kind=TrialKind.MAIN,
            state=TrialState.COMPLETED,
        )
        .values_list(
            "enrolment__run_kind",
            "enrolment__slot__replication",
            "enrolment__slot__number",
            "participant__code",
        )
        .annotate(first=Min("started_at"))
        .order_by()
    )
    orders: dict[tuple[Any, ...], int] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for kind, replication, slot, person, _ in sorted(
        rows, key=lambda row: (*row[:3], utc_text(row[4]), row[3])
    ):
        place = (*kind_marks(kind).values(), replication, slot)
        seen[place] = orders[(*place, person)] = seen.get(place, 0) + 1
    return orders


def _place(row: Row) -> tuple[Any, ...]:
    return (
        row["simulated"],
        row["pilot"],
        row["replication"],
        row["slot"],
        row["participant_id"],
    )


def _open_questions(study: Study) -> dict[str, bool]:
    """Whether a question ever took any text, or a number without bounds, which may name somebody.

    Answers stay as they were given, whatever the question has become since.
    """
    found: dict[str, bool] = {}
    for question in asked_questions(study):
        is_open = question["kind"] == "text" or (
            question["kind"] == "number" and not {"min", "max"} <= set(question)
        )
        found[question["name"]] = is_open or found.get(question["name"], False)
    return found


def _codes(study: Study) -> list[str]:
    """Every code that the study has or had, the longest first, since one may hold another."""
    codes = {study.completion_code, *map(study.sitting_setting, SECRET_SETTINGS)}
    for content in study.versions.values_list("content", flat=True):
        sitting = content.get("sitting", {})
        codes |= {content.get("completion_code", "")}
        codes |= {sitting.get(name, "") for name in SECRET_SETTINGS}
        codes |= _secret_addresses(sitting)
    codes |= _secret_addresses(study.sitting)
    found = (code for code in codes if len(code) >= _SHORTEST_CODE)
    return sorted(found, key=lambda code: (-len(code), code))


def _secret_addresses(sitting: dict[str, Any]) -> set[str]:
    """Return addresses that say as a whole what a code says elsewhere."""
    addresses = {sitting.get(name, "") for name in _SECRET_SITTING}
    return {address for address in addresses if address and not asks_for_code(address)}

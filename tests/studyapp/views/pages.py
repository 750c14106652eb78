"""What a participant's browser does without JavaScript: read a form, fill it in, send it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client

from studyapp.models import (
    Enrolment,
    Event,
    Participant,
    QuestionnaireAnswer,
    Study,
    Trial,
    VerificationAnswer,
    Withdrawal,
)

HTMX = {"HX-Request": "true"}


class _Forms(HTMLParser):
    """Forms by action, with hidden values, buttons and the values of radios."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self.radios: list[tuple[str, bool]] = []
        self._ids: dict[str, str] = {}
        self._action: str | None = None
        self._elsewhere: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._action = values["action"]
            self.forms[self._action] = {}
            self._ids[values.get("id", "")] = self._action
        if tag == "input" and values.get("type") == "hidden":
            if "form" in values:
                self._elsewhere.append((values["form"], values["name"], values["value"]))
            elif self._action is not None:
                self.forms[self._action][values["name"]] = values["value"]
        if tag == "input" and values.get("type") == "radio":
            self.radios.append((values["value"], "checked" in values))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._action = None

    def close(self) -> None:
        super().close()
        for form_id, name, value in self._elsewhere:
            if form_id in self._ids:
                self.forms[self._ids[form_id]][name] = value


def forms_of(response: Any) -> _Forms:
    """The forms of a page."""
    parser = _Forms()
    parser.feed(response.content.decode())
    parser.close()
    return parser


def form_ending(response: Any, ending: str) -> tuple[str, dict[str, str]]:
    """The one form whose action ends so, with its hidden values."""
    found = [item for item in forms_of(response).forms.items() if item[0].endswith(ending)]
    assert len(found) == 1, f"{len(found)} forms end with {ending}"
    return found[0]


def has_form(response: Any, ending: str) -> bool:
    return any(action.endswith(ending) for action in forms_of(response).forms)


def field_of(response: Any, name: str) -> str:
    """The value of a hidden field of a page."""
    values = [form[name] for form in forms_of(response).forms.values() if name in form]
    assert len(values) == 1, f"{len(values)} fields {name}"
    return values[0]


def welcome_url(study: Study) -> str:
    return f"/p/{study.code}/"


def run_url(enrolment: Enrolment) -> str:
    return f"/p/{enrolment.slot.study.code}/r/{enrolment.token}/"


def trial_url(trial: Trial) -> str:
    return f"{run_url(trial.enrolment)}t/{trial.code}/"


def join(client: Client, study: Study, link: str | None = None) -> Any:
    """Open the study, tick the box, send the form."""
    form = field_of(client.get(link or welcome_url(study)), "form")
    return client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})


def decide(client: Client, trial: Trial, decision: str = "supported", **more: Any) -> Any:
    """Send the decision form of a trial as its page would."""
    data = {"decision": decision, "n_shown": trial.n_steps, **more}
    return client.post(trial_url(trial) + "decide", data)


def counts() -> dict[str, int]:
    """How many rows of each kind a participant can cause."""
    models = (
        Participant,
        Enrolment,
        Trial,
        Event,
        VerificationAnswer,
        QuestionnaireAnswer,
        Withdrawal,
    )
    return {model.__name__: model.objects.count() for model in models}

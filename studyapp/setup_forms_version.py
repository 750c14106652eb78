"""The one form of a new version: everything that may change after the opening, in sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms

from studyapp.domain.version_changes import Change
from studyapp.models import Study
from studyapp.setup_forms import TEXT_FIELDS, BasicsForm, SetupForm, TextsForm, plain_lines
from studyapp.setup_forms_questionnaire import (
    QuestionRow,
    checked_questions,
    rows_of,
    rows_posted,
)
from studyapp.setup_forms_recruiting import EndingForm, RecruitingForm
from studyapp.setup_forms_sitting import SittingForm


class VersionTitleForm(BasicsForm):
    """The title; the language is part of what is compared."""

    lang = None


class VersionSittingForm(SittingForm):
    """What of the sitting may change: not which answers there are, nor what a trial reveals."""

    answers = None
    shows_total = None
    PLAIN = ("confirms_decision", "lease_minutes")

    @classmethod
    def initial_of(cls, study: Study) -> dict[str, Any]:
        """The settings of a study, by field."""
        return {name: study.sitting_setting(name) for name in cls.SITTING} | {
            name: getattr(study, name) for name in cls.PLAIN
        }

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json."""
        data = self.cleaned_data
        return {name: data[name] for name in self.PLAIN} | {
            "sitting": {name: data[name] for name in self.SITTING}
        }


class VersionEndingForm(EndingForm):
    """Codes and return address of a study that has opened: it cannot do without a code."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        field = self.fields["completion_code"]
        field.required = True
        field.help_text = "Shown at the end. People under way are shown the one they began with."


class VersionReasonForm(SetupForm):
    """Why the study changes."""

    reason = forms.CharField(
        label="Reason",
        max_length=2000,
        help_text="In a sentence or two. The report prints it among the deviations.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


@dataclass(frozen=True)
class Section:
    """A part of the page with its own form; ``fields`` pairs each field with its template."""

    name: str
    title: str
    form: SetupForm

    @property
    def fields(self) -> list[tuple[Any, str]]:
        """The fields, each with the template that prints it."""
        return [(field, f"researcher/setup/{_template(field)}.html") for field in self.form]


class VersionForms:
    """Every section, filled from a study or from what was posted."""

    def __init__(self, study: Study, data: Any = None):
        self.study = study
        self.title = VersionTitleForm(data, initial={"title": study.title})
        self.texts = TextsForm(study, data)
        self.sitting = VersionSittingForm(data, initial=VersionSittingForm.initial_of(study))
        self.ending = VersionEndingForm(data, initial=EndingForm.initial_of(study))
        self.recruiting = RecruitingForm(study, data)
        stored = study.sitting_setting("questionnaire")
        self.rows: list[QuestionRow] = rows_of(stored) if data is None else rows_posted(data)
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[Section]:
        yield Section("title", "Title", self.title)
        yield Section("texts", "Texts", self.texts)
        yield Section("sitting", "Sitting", self.sitting)
        yield Section("ending", "Codes and return", self.ending)
        yield Section("recruiting", "Recruiting", self.recruiting)

    def changes(self) -> dict[str, Any] | None:
        """What was posted, named as in study.json; None where something is wrong with it."""
        are_valid = [section.form.is_valid() for section in self]
        questions, self.problems = checked_questions(self.rows)
        if not all(are_valid) or self.problems or any(row.errors for row in self.rows):
            return None
        sitting, ending = self.sitting.changes(), self.ending.changes()
        return {
            "title": self.title.cleaned_data["title"],
            "texts": {name: self._text(name) for name in TEXT_FIELDS},
            **sitting,
            **ending,
            "sitting": sitting["sitting"] | ending["sitting"] | self._questions(questions),
            **self.recruiting.changes(),
        }

    def _text(self, name: str) -> str | None:
        """A text as posted, or as stored where a browser changed no more than its line ends."""
        posted: str = self.texts.cleaned_data[name]
        stored: str = self.study.texts.get(name, "")
        if posted == plain_lines(stored):
            return stored or None
        return posted if posted.strip() else None

    def _questions(self, questions: list[dict[str, Any]]) -> dict[str, Any]:
        """The questions; as stored where the editor only spells them out."""
        stored = self.study.sitting_setting("questionnaire")
        again, _ = checked_questions(rows_of(stored))
        return {"questionnaire": stored if questions == again else questions}


def as_configuration(changes: list[Change]) -> dict[str, Any]:
    """The changes as ``publish`` and a file of ``publish_version`` take them."""
    told: dict[str, Any] = {}
    for change in changes:
        name, _, inner = change.setting.partition(".")
        if inner:
            told.setdefault(name, {})[inner] = change.new
        else:
            told[name] = change.new
    return told


def label_of(setting: str) -> str:
    """What the pages call a setting: ``texts.consent`` is the text “Consent”."""
    name, _, inner = setting.partition(".")
    if name == "texts":
        return f"Text: {TEXT_FIELDS[inner][0] if inner in TEXT_FIELDS else inner}"
    if inner == "questionnaire":
        return "Questionnaire"
    for form in (VersionTitleForm, VersionSittingForm, VersionEndingForm, RecruitingForm):
        field = form.base_fields.get(inner or name)
        if field is not None:
            return str(field.label or (inner or name).capitalize())
    return setting


def _template(field: Any) -> str:
    widget = field.field.widget
    if isinstance(widget, forms.RadioSelect):
        return "_radios"
    return "_check" if isinstance(widget, forms.CheckboxInput) else "_field"

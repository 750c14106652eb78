"""Forms of the sitting, of recruiting, and of the end of a run."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.recruiting_settings import (
    MAX_EXTRA_PLACES,
    MAX_REPEATS,
    recruiting_problems,
)
from studyapp.domain.sitting_settings import CODE_PLACE, MAX_TRIES
from studyapp.models import Study
from studyapp.setup_forms import SetupForm

THREE = ["supported", "refuted", "cant_decide"]
FOUR = ["supported", "refuted", "partially_supported", "cant_decide"]
#: What a study stores for each choice; an empty list is filled when it opens.
ANSWERS: dict[str, list[str]] = {"auto": [], "three": THREE, "four": FOUR}


def _radios(label: str, choices: list[tuple[str, str]], **more: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, widget=forms.RadioSelect, **more)


class SittingForm(SetupForm):
    """What lies around the main trials, and how a trial asks."""

    answers = _radios(
        "Answers offered",
        [
            (
                "auto",
                "Supported, Refuted, Can't decide; Partially supported if a claim has that label",
            ),
            ("three", "Supported, Refuted, Can't decide"),
            ("four", "Supported, Refuted, Partially supported, Can't decide"),
        ],
    )
    confirms_decision = forms.BooleanField(
        label="Ask to confirm every answer",
        required=False,
        help_text="A slip can be undone before it counts.",
    )
    shows_total = forms.BooleanField(
        label="Show how many sentences there are",
        required=False,
        help_text="In the one-at-a-time interface; off hides how much is left.",
    )
    practice_tries = forms.IntegerField(
        label="Tries of a practice claim",
        min_value=1,
        max_value=MAX_TRIES,
        help_text="A practice claim answered wrongly comes again this often at most.",
    )
    break_every = forms.IntegerField(
        label="Offer a break after every … trials",
        min_value=0,
        max_value=10_000,
        help_text="0 offers none.",
    )
    confidence = _radios(
        "Ask how sure the participant is",
        [
            ("off", "No"),
            ("optional", "Yes, may be left out"),
            ("required", "Yes, must be answered"),
        ],
    )
    reason = _radios(
        "Ask for a reason in words", [("off", "No"), ("optional", "Yes, may be left out")]
    )
    allows_translation = forms.BooleanField(
        label="Let browsers translate claims and evidence",
        required=False,
        help_text="Off keeps everybody reading the same words.",
    )
    lease_minutes = forms.IntegerField(
        label="Minutes a place is kept without a sign of life",
        min_value=1,
        max_value=100_000,
        help_text="Then it is given to somebody else; what was answered stays.",
    )

    SITTING = ("practice_tries", "break_every", "confidence", "reason", "allows_translation")
    PLAIN = ("confirms_decision", "shows_total", "lease_minutes")

    @classmethod
    def initial_of(cls, study: Study) -> dict[str, Any]:
        """The settings of a study, by field."""
        chosen = [name for name, options in ANSWERS.items() if options == study.response_options]
        return (
            {name: study.sitting_setting(name) for name in cls.SITTING}
            | {name: getattr(study, name) for name in cls.PLAIN}
            | {"answers": chosen[0] if chosen else "auto"}
        )

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json."""
        data = self.cleaned_data
        return {name: data[name] for name in self.PLAIN} | {
            "response_options": ANSWERS[data["answers"]] or None,
            "sitting": {name: data[name] for name in self.SITTING},
        }


class EndingForm(SetupForm):
    """Codes, and the way back to where participants were recruited."""

    completion_code = forms.CharField(
        label="Completion code",
        required=False,
        max_length=60,
        help_text="Shown at the end. Left empty, one is made when the study opens.",
        widget=forms.TextInput(attrs={"class": "short", "autocomplete": "off"}),
    )
    return_url = forms.CharField(
        label="Return address",
        required=False,
        max_length=500,
        help_text=f"Where participants go at the end: an https address with {CODE_PLACE} where the "
        "completion code belongs. Left empty, they stay.",
        widget=forms.TextInput(
            attrs={
                "spellcheck": "false",
                "autocapitalize": "none",
                "placeholder": "https://app.prolific.com/submissions/complete?cc={code}",
            }
        ),
    )
    declined_code = forms.CharField(
        label="Code for those who decline",
        required=False,
        max_length=60,
        help_text="Some recruiting sites want one; may stay empty.",
        widget=forms.TextInput(attrs={"class": "short", "autocomplete": "off"}),
    )

    def clean_completion_code(self) -> str:
        """A code that can be kept."""
        return str(self.checked("completion_code"))

    def clean_return_url(self) -> str:
        """An address with a place for the code."""
        return str(self.checked("return_url", "sitting.return_url"))

    def clean_declined_code(self) -> str:
        """A code that can be kept."""
        return str(self.checked("declined_code", "sitting.declined_code"))

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json."""
        data = self.cleaned_data
        return {
            "completion_code": data["completion_code"],
            "sitting": {name: data[name] for name in ("return_url", "declined_code")},
        }


class RecruitingForm(SetupForm):
    """How a recruiting site says who comes, and how often a person may take part."""

    id_parameter = forms.CharField(
        label="Parameter with the person's id",
        required=False,
        max_length=40,
        help_text="The name under which the site puts its id for a person into the link: "
        "PROLIFIC_PID on Prolific, workerId on Mechanical Turk. Left empty, the link is open to "
        "everybody. Ids are stored apart from the answers and never exported with them.",
        widget=forms.TextInput(
            attrs={"class": "short", "spellcheck": "false", "autocapitalize": "none"}
        ),
    )
    other_parameters = forms.CharField(
        label="Further parameters to keep",
        required=False,
        max_length=500,
        help_text="Separated by spaces, such as STUDY_ID SESSION_ID; kept apart like the id.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "none"}),
    )
    repeats = forms.IntegerField(
        label="Times a person may take part",
        min_value=1,
        max_value=MAX_REPEATS,
        help_text="More than once needs the person's id; every time brings other claims.",
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    extra_places = forms.IntegerField(
        label="Extra places in each slot",
        required=False,
        min_value=0,
        max_value=MAX_EXTRA_PLACES,
        help_text="Given out once every place is taken, to make up for people who will not finish. "
        "With 0, no slot ever gets more people than planned.",
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    @classmethod
    def initial_of(cls, study: Study) -> dict[str, Any]:
        """The settings of a study, by field."""
        return {
            "id_parameter": study.recruiting_setting("id_parameter"),
            "other_parameters": " ".join(study.recruiting_setting("other_parameters")),
            "repeats": study.recruiting_setting("repeats"),
            "extra_places": study.recruiting_setting("extra_places"),
        }

    def clean_other_parameters(self) -> list[str]:
        """The names, one by one."""
        return str(self.cleaned_data["other_parameters"]).replace(",", " ").split()

    def clean_extra_places(self) -> int:
        """No extra places where the field is left empty."""
        return self.cleaned_data["extra_places"] or 0

    def clean(self) -> dict[str, Any]:
        """Each setting by itself, then whether they go together."""
        cleaned: dict[str, Any] = super().clean() or {}
        for problem in recruiting_problems(cleaned):
            field, _, words = problem.removeprefix("recruiting.").partition(": ")
            subject = "This " if words.startswith("must") else ""
            self.add_error(field, f"{subject}{words}.")
        return cleaned

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json."""
        return {"recruiting": self.cleaned_data}

"""The form of the sitting: how a trial asks, and what lies around the trials."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.sitting_settings import MAX_TRIES
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
    practice_must_pass = forms.BooleanField(
        label="Screen out who never gets a practice claim right",
        required=False,
        help_text="The run ends after the last try of that claim, and its place is free at once.",
    )
    attention_failures_allowed = forms.IntegerField(
        label="Wrong attention checks allowed",
        required=False,
        min_value=0,
        max_value=10_000,
        help_text="One more ends the run. Left empty, no run ends by its checks.",
        widget=forms.NumberInput(attrs={"class": "short"}),
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

    SITTING = (
        "practice_tries",
        "practice_must_pass",
        "attention_failures_allowed",
        "break_every",
        "confidence",
        "reason",
        "allows_translation",
    )
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

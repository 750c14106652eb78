"""The form that ties a study to Prolific."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.prolific_setup import MAX_CODE
from studyapp.domain.recruiting_settings import MAX_RETURN_AFTER
from studyapp.models import ProlificLink, Study
from studyapp.setup_forms import SetupForm


class ProlificForm(SetupForm):
    """Ids of studies at Prolific, the screen-out code, and when silent people are asked back."""

    study_ids = forms.CharField(
        label="Study id at Prolific",
        required=False,
        max_length=2000,
        help_text="The 24 letters and digits in the study's address at Prolific. Several studies "
        "that send people here are separated by spaces.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "none"}),
    )
    screen_out_code = forms.CharField(
        label="Screen-out code to send",
        required=False,
        max_length=MAX_CODE,
        help_text="Sent by this server to Prolific, when it asks it to screen somebody out: the "
        "code of the study at Prolific whose actor is the researcher. Left empty, nothing is sent. "
        "The other way is the code that participants take back themselves, on the set-up page "
        "Codes and return; one of the two is enough.",
        widget=forms.TextInput(attrs={"class": "short", "autocomplete": "off"}),
    )
    return_after_minutes = forms.IntegerField(
        label="Ask back after … further minutes",
        min_value=0,
        max_value=MAX_RETURN_AFTER,
        help_text="Whoever gives no sign for as long as a place is kept, and for these minutes "
        "more, is asked at Prolific to return the study, and the place is free. 0: never.",
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    @classmethod
    def initial_of(cls, study: Study, link: ProlificLink) -> dict[str, Any]:
        """What is stored, by field."""
        return {
            "study_ids": " ".join(link.study_ids),
            "screen_out_code": link.screen_out_code,
            "return_after_minutes": study.recruiting_setting("return_after_minutes"),
        }

    def clean_study_ids(self) -> list[str]:
        """The ids, one by one."""
        return str(self.cleaned_data["study_ids"]).replace(",", " ").split()

"""The form that takes a claims file."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.conf import settings

from rankers.formats import FORMATS
from studyapp.enums import TrialKind
from studyapp.setup_forms import SetupForm

BY_ENDING = "by_ending"


def size_limit_text() -> str:
    """The largest upload, in words."""
    return f"{settings.MAX_UPLOAD_MB:,} MB"


class ClaimsForm(SetupForm):
    """A claims file, its format, and the trials that its claims are for."""

    file = forms.FileField(label="File", max_length=None, allow_empty_file=True)
    format = forms.ChoiceField(
        label="Format",
        initial=BY_ENDING,
        choices=[
            (BY_ENDING, "By the file's ending: .csv is flat CSV, all else JSON Lines"),
            *((one.name, f"{one.name}: {one.summary}") for one in FORMATS.values()),
        ],
    )
    role = forms.ChoiceField(
        label="These claims are for",
        initial=TrialKind.MAIN,
        choices=[
            (TrialKind.MAIN, "the trials that count"),
            (TrialKind.PRACTICE, "practice before them, with feedback"),
            (
                TrialKind.ATTENTION,
                "attention checks between them, where the label is the answer expected",
            ),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = f"At most {size_limit_text()}, in UTF-8."
        self.fields["file"].error_messages["required"] = "Choose a file."
        self.fields["file"].widget.attrs["data-limit-mb"] = settings.MAX_UPLOAD_MB

    def clean_file(self) -> Any:
        """A file within the limit."""
        file = self.cleaned_data["file"]
        if file.size > settings.MAX_UPLOAD_MB * 1_000_000:
            raise forms.ValidationError(f"The file has more than {size_limit_text()}, the limit.")
        return file

    def format_name(self) -> str:
        """The format to read the file in."""
        chosen: str = self.cleaned_data["format"]
        if chosen != BY_ENDING:
            return chosen
        ending = PurePath(self.cleaned_data["file"].name).suffix.lower()
        return "csv" if ending == ".csv" else "interchange"

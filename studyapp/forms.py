"""What researchers type: every input passes one of these forms."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from studyapp.models import Study


class LoginForm(AuthenticationForm):
    """Name and password of a researcher; which of the two was wrong is not said."""

    error_messages = {
        "invalid_login": "Name and password do not belong together. Capital letters matter.",
        "inactive": "This account is switched off. Ask whoever runs this server.",
    }

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"


class CloseForm(forms.Form):
    """Closing is for good, so it asks for the study's short name."""

    slug = forms.CharField(
        strip=True,
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.study = study
        self.fields["slug"].error_messages["required"] = self._wanted()

    def clean_slug(self) -> str:
        """The name typed, which must be this study's."""
        slug: str = self.cleaned_data["slug"]
        if slug != self.study.slug:
            raise forms.ValidationError(self._wanted())
        return slug

    def _wanted(self) -> str:
        return f"The study was not closed: type its short name, {self.study.slug}, to close it."


class RunsForm(forms.Form):
    """Whether simulated runs count too: in the measures and in the export."""

    simulated = forms.BooleanField(required=False)

    @classmethod
    def wants_simulated(cls, query: Any) -> bool:
        """The answer in a query string; anything odd counts as no."""
        form = cls(query)
        return form.is_valid() and form.cleaned_data["simulated"]


class ResultsForm(RunsForm):
    """How results are looked at: ``watch`` asks for nothing new, ``part`` is what is shown."""

    watch = forms.BooleanField(required=False)
    part = forms.ChoiceField(required=False, choices=[("", "page"), ("table", "table")])

    @classmethod
    def wanted(cls, query: Any) -> dict[str, Any]:
        """The answers in a query string; anything odd counts as not said."""
        form = cls(query)
        form.is_valid()
        nothing = {"simulated": False, "watch": False, "part": ""}
        return nothing | form.cleaned_data

"""What researchers type: every input passes one of these forms."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import validate_password

from studyapp.enums import AuditAction, ExportVariant, Role, SpreadsheetCopies
from studyapp.models import Study


class LoginForm(AuthenticationForm):
    """Name and password of a researcher; which of the two was wrong is not said."""

    error_messages = {
        "invalid_login": "Name and password do not belong together. Capital letters matter.",
        "inactive": "This account is switched off. Ask whoever runs this server.",
    }

    # The login page looks for a parameter of this name, and the throttle needs the request.
    def __init__(self, request: Any = None, *args: Any, **kwargs: Any):
        super().__init__(request, *args, **kwargs)
        self.fields["username"].label = "User name"


class TypedNameForm(forms.Form):
    """What is for good asks for the study's short name; ``undone`` and ``to_do`` say what it is."""

    undone = ""
    to_do = ""

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
        return (
            f"The study was not {self.undone}: type its short name, {self.study.slug}, to "
            f"{self.to_do} it."
        )


class CloseForm(TypedNameForm):
    """Closes a study."""

    undone, to_do = "closed", "close"


class DeleteForm(TypedNameForm):
    """Deletes a study."""

    undone, to_do = "deleted", "delete"


class DeletePersonForm(TypedNameForm):
    """Deletes one participant's data."""

    def _wanted(self) -> str:
        return (
            f"Nothing was deleted: type the study's short name, {self.study.slug}, to delete "
            "these data."
        )


class ImportForm(forms.Form):
    """An export to make a study from."""

    file = forms.FileField(
        label="Export",
        help_text="The zip file that an export of a study gave.",
        error_messages={"required": "Choose the zip file of an export."},
    )
    slug = forms.SlugField(
        label="Short name",
        max_length=60,
        required=False,
        help_text="Left empty, that of the export.",
        error_messages={"invalid": "Use letters, digits, hyphens and underscores."},
    )
    with_data = forms.BooleanField(
        label="With participants and trials",
        required=False,
        help_text="The study comes back as it was, paused if it was open. Without, it is a draft "
        "with the same claims, rankings and schedule, to run it again; so is every de-identified "
        "export.",
    )


class UnblindForm(CloseForm):
    """Unblinding is on the record for good, so it asks for the study's short name too."""

    def _wanted(self) -> str:
        return f"Nothing was unblinded: type the study's short name, {self.study.slug}."


class RunsForm(forms.Form):
    """Whether simulated runs count too: in the measures and in the export."""

    simulated = forms.BooleanField(required=False)

    @classmethod
    def wants_simulated(cls, query: Any) -> bool:
        """The answer in a query string; anything odd counts as no."""
        form = cls(query)
        return form.is_valid() and form.cleaned_data["simulated"]


class ExportForm(RunsForm):
    """How an export is wanted; what is not said is as in the plainest one."""

    variant = forms.ChoiceField(required=False, choices=ExportVariant.choices)
    jsonl = forms.BooleanField(required=False)
    spreadsheet = forms.ChoiceField(required=False, choices=SpreadsheetCopies.choices)

    def wanted(self) -> dict[str, Any]:
        """The fields of ``export_jobs.Wanted``."""
        given = self.cleaned_data
        return {
            "variant": given["variant"] or ExportVariant.RAW,
            "simulated": given["simulated"],
            "jsonl": given["jsonl"],
            "spreadsheet": given["spreadsheet"] or SpreadsheetCopies.NONE,
        }


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


class RoleForm(forms.Form):
    """A role in a study."""

    role = forms.ChoiceField(choices=Role.choices)


class NewAccountForm(forms.Form):
    """A new account for somebody who was invited: a name, and a password that passes the rules."""

    username = forms.CharField(max_length=150)
    password = forms.CharField(strip=False, max_length=4096)
    repeated = forms.CharField(strip=False, max_length=4096)

    def clean(self) -> dict[str, Any]:
        """The rules for passwords, with the name to compare with."""
        given = super().clean() or {}
        name, password = given.get("username"), given.get("password")
        if password and given.get("repeated") and password != given["repeated"]:
            self.add_error("repeated", "The two passwords differ: type the same one twice.")
        if name and password:
            try:
                validate_password(password, get_user_model()(username=name))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return given

    def name_and_password(self) -> tuple[str, str]:
        return self.cleaned_data["username"], self.cleaned_data["password"]


class AuditFilterForm(forms.Form):
    """The filter of the audit log, from the address."""

    action = forms.ChoiceField(choices=[("", ""), *AuditAction.choices], required=False)
    who = forms.CharField(max_length=150, required=False)
    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)

    @classmethod
    def chosen(cls, query: Any) -> dict[str, Any]:
        """Every filter; what is odd counts as not given."""
        form = cls(query)
        form.is_valid()
        return {
            "action": form.cleaned_data.get("action") or "",
            "who": form.cleaned_data.get("who") or "",
            "before": form.cleaned_data.get("before"),
        }

"""Forms of personal links: whom to make them for, and which to look at."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.link_lists import LinkState
from studyapp.domain.link_names import (
    KINDS,
    MAX_BYTES,
    NewLink,
    read_csv_names,
    read_typed_names,
)
from studyapp.enums import RunKind
from studyapp.errors import BadUpload
from studyapp.models.links import MAX_NAME


class NewLinksForm(forms.Form):
    """Names typed one a line, or a CSV file with them; one of the two."""

    names = forms.CharField(required=False, strip=False, max_length=200_000)
    file = forms.FileField(required=False)
    kind = forms.ChoiceField(choices=[(kind, RunKind(kind).label) for kind in KINDS])

    def people(self) -> list[NewLink]:
        """Whom to make links for. Raises BadUpload with a line for every problem."""
        if not self.is_valid():
            raise BadUpload("The form cannot be read: type the names once more, or send a file.")
        data = self.cleaned_data
        typed, file = data["names"], data["file"]
        if bool(typed.strip()) == bool(file):
            raise BadUpload("Type the names, or choose a file with them: one of the two.")
        if file is None:
            return read_typed_names(typed, data["kind"])
        if file.size > MAX_BYTES:
            raise BadUpload(f"{file.name}: the file has more than {MAX_BYTES // 1_000_000} MB.")
        return read_csv_names(file.read(), file.name, data["kind"])


class LinkFilterForm(forms.Form):
    """Which links are shown, from the address."""

    state = forms.ChoiceField(
        choices=[("", ""), *((state.value, state.value) for state in LinkState)], required=False
    )
    name = forms.CharField(max_length=MAX_NAME, required=False)
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)

    @classmethod
    def chosen(cls, query: Any) -> dict[str, Any]:
        """Every filter; what is odd counts as not given."""
        form = cls(query)
        form.is_valid()
        given = form.cleaned_data
        return {
            "state": given.get("state") or "",
            "name": given.get("name") or "",
            "page": given.get("page") or 1,
        }

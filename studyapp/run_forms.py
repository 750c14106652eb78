"""What researchers choose and type about runs: filters of the list, notes and minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from studyapp.domain.run_ends import MAX_EXTENSION, MAX_NOTE
from studyapp.domain.run_list import SORTS
from studyapp.enums import EnrolmentState, RunKind

#: A slot as it is written: cycle and number.
SLOT = r"[0-9]{1,9}\.[0-9]{1,9}"
#: The longest part of a pseudonym that is looked for.
MAX_PSEUDONYM = 20
FILTERS = ("state", "kind", "slot", "pseudonym")


@dataclass(frozen=True)
class RunFilter:
    """What a list of runs shows, and how: filters, order, page (from 1), kind of file."""

    filters: dict[str, str]
    sort: str = "joined"
    is_descending: bool = False
    page: int = 1
    format: str = ""

    def query(self, **changes: str) -> str:
        """The same as a query string, with other values where named; defaults are left out."""
        given = {
            **self.filters,
            "sort": ("-" if self.is_descending else "") + self.sort,
            "page": str(self.page),
            **changes,
        }
        defaults = {"sort": "joined", "page": "1"}
        query = QueryDict(mutable=True)
        query.update(
            {name: value for name, value in given.items() if value and defaults.get(name) != value}
        )
        return query.urlencode()


class RunFilterForm(forms.Form):
    """The filter of the list of runs, from the address."""

    state = forms.ChoiceField(choices=EnrolmentState.choices, required=False)
    kind = forms.ChoiceField(choices=RunKind.choices, required=False)
    slot = forms.RegexField(rf"\A{SLOT}\Z", required=False)
    pseudonym = forms.CharField(max_length=MAX_PSEUDONYM, required=False)
    sort = forms.ChoiceField(
        choices=[(sign + name, name) for name in SORTS for sign in ("", "-")], required=False
    )
    page = forms.IntegerField(min_value=1, max_value=10**6, required=False)
    format = forms.ChoiceField(choices=[("csv", "csv")], required=False)

    @classmethod
    def chosen(cls, query: Any) -> RunFilter:
        """Every filter; what is odd counts as not given."""
        form = cls(query)
        form.is_valid()
        clean = form.cleaned_data
        sort = clean.get("sort") or "joined"
        return RunFilter(
            filters={name: clean.get(name) or "" for name in FILTERS},
            sort=sort.removeprefix("-"),
            is_descending=sort.startswith("-"),
            page=clean.get("page") or 1,
            format=clean.get("format") or "",
        )


class KindForm(forms.Form):
    """Which kind of run the monitor counts, which page of it, and whether it renews itself."""

    kind = forms.ChoiceField(choices=RunKind.choices, required=False)
    page = forms.IntegerField(min_value=1, max_value=10**6, required=False)
    live = forms.ChoiceField(choices=[("off", "off")], required=False)

    @classmethod
    def chosen(cls, query: Any) -> dict[str, Any]:
        """The choices; what is odd counts as not given."""
        form = cls(query)
        form.is_valid()
        return {
            "kind": form.cleaned_data.get("kind") or RunKind.REAL.value,
            "page": form.cleaned_data.get("page") or 1,
            "is_live": not form.cleaned_data.get("live"),
        }


class RunActionForm(forms.Form):
    """What an action asks for; ``back`` is the page that the researcher came from."""

    note = forms.CharField(
        required=False, max_length=MAX_NOTE, widget=forms.Textarea(attrs={"rows": 3})
    )
    minutes = forms.IntegerField(required=False, min_value=1, max_value=MAX_EXTENSION)
    #: The run that the page was about. A page of before it was asked for names none.
    run = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    back = forms.ChoiceField(required=False, choices=[("monitor", "monitor")])

    def __init__(self, *args: Any, needs_note: bool, needs_minutes: bool, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["note"].required = needs_note
        self.fields["note"].error_messages |= {
            "required": "Nothing was changed: write what was wrong with the run.",
            "max_length": f"Nothing was changed: the note may have {MAX_NOTE} characters.",
        }
        self.fields["minutes"].required = needs_minutes
        for kind in ("required", "invalid", "min_value", "max_value"):
            self.fields["minutes"].error_messages[kind] = (
                f"Nothing was changed: minutes must be a number from 1 to {MAX_EXTENSION:,}."
            )

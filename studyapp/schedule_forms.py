"""Forms of the schedule pages: filters in the address, and the number of further cycles."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.enums import Label, SlotState
from studyapp.setup_forms import SetupForm

#: The largest number that a filter or a page may name.
MOST = 1_000_000


class FilterForm(forms.Form):
    """A filter from the address: what is odd counts as not given."""

    page = forms.IntegerField(min_value=1, max_value=MOST, required=False)

    @classmethod
    def chosen(cls, query: Any) -> dict[str, Any]:
        """Every filter by name; None or an empty text where it is not given."""
        form = cls(query)
        form.is_valid()
        return {name: form.cleaned_data.get(name) for name in form.fields}


class SlotFilterForm(FilterForm):
    """Slots of one cycle, in one state, with one subset."""

    cycle = forms.IntegerField(min_value=1, max_value=MOST, required=False)
    state = forms.ChoiceField(choices=[("", ""), *SlotState.choices], required=False)
    subset = forms.IntegerField(min_value=1, max_value=MOST, required=False)


class ClaimFilterForm(FilterForm):
    """Claims of one subset or label, or with a text in their id, in one cycle."""

    cycle = forms.IntegerField(min_value=1, max_value=MOST, required=False)
    subset = forms.IntegerField(min_value=1, max_value=MOST, required=False)
    label = forms.ChoiceField(choices=[("", ""), *Label.choices], required=False)
    claim = forms.CharField(max_length=200, required=False)


class CyclesForm(SetupForm):
    """How many further cycles; ``before`` is how many there were when the form was shown."""

    further = forms.IntegerField(
        label="Further cycles",
        min_value=1,
        max_value=1000,
        widget=forms.NumberInput(attrs={"class": "short"}),
        help_text="In every cycle (replication) each claim is seen once more under each condition.",
    )
    before = forms.IntegerField(
        min_value=1, max_value=MOST, required=False, widget=forms.HiddenInput
    )

"""The form of what is fixed before the data come."""

from __future__ import annotations

from typing import Any

from django import forms

from analysis.comparison.compared import FAMILY
from studyapp.models import Study
from studyapp.setup_forms import SetupForm, plain_lines


class AnalysisForm(SetupForm):
    """What is decided before the first participant; the report prints it."""

    reference_condition = forms.ChoiceField(
        label="Reference condition",
        required=False,
        help_text="What the others are compared with in words; the contrast stays the first "
        "condition minus the second.",
    )
    non_inferiority_margin = forms.FloatField(
        label="Non-inferiority margin",
        help_text="The largest loss of success that still counts as no worse, between 0 and 1: "
        "0.1 is ten percentage points.",
        widget=forms.NumberInput(attrs={"class": "short", "step": "any"}),
    )
    family = forms.MultipleChoiceField(
        label="Family of tests",
        required=False,
        choices=[(measure.key, measure.label) for measure in FAMILY],
        widget=forms.CheckboxSelectMultiple,
        help_text="The measures that are tested together and corrected for it. None ticked: all.",
    )
    time_cap_s = forms.FloatField(
        label="Time cap",
        required=False,
        help_text="Seconds of active time that a trial counts for at most. Empty: no cap.",
        widget=forms.NumberInput(attrs={"class": "short", "step": "any"}),
    )
    exclusion_rule = forms.CharField(
        label="Exclusion rule",
        required=False,
        max_length=4000,
        strip=True,
        help_text="In words: which participants or trials you will leave out, and why. It is "
        "printed; you apply it yourself.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    blind = forms.BooleanField(
        label="Stay blind while the study runs",
        required=False,
        help_text="Results by condition are hidden from everybody until the study is closed. An "
        "owner can lift this; the report then says when.",
    )

    KEPT = ("reference_condition", "family", "time_cap_s", "exclusion_rule")

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        registered = study.preregistered
        names = list(study.conditions.order_by("position").values_list("name", flat=True))
        stored = registered.get("reference_condition", registered.get("reference"))
        kwargs["initial"] = {name: registered.get(name) for name in self.KEPT} | {
            "reference_condition": stored,
            "non_inferiority_margin": study.non_inferiority_margin,
            "blind": study.blind,
        }
        super().__init__(*args, **kwargs)
        if isinstance(stored, str) and stored not in names:
            self.missing_reference = stored
            kwargs["initial"]["reference_condition"] = ""
        else:
            self.missing_reference = ""
        field = self.fields["reference_condition"]
        field.choices = [("", "None"), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def clean_non_inferiority_margin(self) -> float:
        """A share between 0 and 1."""
        return float(self.checked("non_inferiority_margin"))

    def clean_time_cap_s(self) -> float | None:
        """Seconds above 0, or none."""
        value: float | None = self.cleaned_data["time_cap_s"]
        if value is not None and value <= 0:
            raise forms.ValidationError("Write a number of seconds above 0, or leave it empty.")
        return value

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json; None takes a statement back."""
        data = self.cleaned_data
        stated = {name: data[name] or None for name in self.KEPT}
        if stated["exclusion_rule"]:
            stated["exclusion_rule"] = plain_lines(stated["exclusion_rule"])
        return {
            "non_inferiority_margin": data["non_inferiority_margin"],
            "blind": data["blind"],
            # An older name of the same statement would contradict it.
            "preregistered": stated | {"reference": None},
        }

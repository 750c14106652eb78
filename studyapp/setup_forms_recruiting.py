"""Forms of recruiting, and of the codes and ways back at the end of a run."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.recruiting_settings import MAX_EXTRA_PLACES, MAX_REPEATS, recruiting_problems
from studyapp.enums import PersonalLinks, RecruitingSource
from studyapp.models import Study
from studyapp.setup_forms import SetupForm


def _code(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=60,
        help_text=help_text,
        widget=forms.TextInput(attrs={"class": "short", "autocomplete": "off"}),
    )


def _address(label: str, help_text: str, example: str = "") -> forms.CharField:
    hints = {"spellcheck": "false", "autocapitalize": "none"}
    return forms.CharField(
        label=label,
        required=False,
        max_length=500,
        help_text=help_text,
        widget=forms.TextInput(attrs=hints | ({"placeholder": example} if example else {})),
    )


def _names(**attributes: str) -> forms.TextInput:
    return forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "none", **attributes})


class EndingForm(SetupForm):
    """Codes, and the ways back to where participants were recruited."""

    completion_code = _code(
        "Completion code", "Shown at the end. Left empty, one is made when the study opens."
    )
    return_url = _address(
        "Return address",
        "Where participants go at the end: an https address with {code} where the code belongs, or "
        "{id} where the id that the recruiter's link brought belongs ({id:NAME} for another "
        "parameter of the link). Left empty, they stay, or go back to Prolific if they come from "
        "there.",
        "https://app.prolific.com/submissions/complete?cc={code}",
    )
    screened_out_code = _code(
        "Code for those who are screened out",
        "By practice that was never right, or by you. Shown to participants, who take it back "
        "themselves. At Prolific there is another way, a code that this server sends, on the page "
        "Prolific; one of the two is enough.",
    )
    screened_out_url = _address(
        "Return address for those who are screened out",
        "Left empty, they go to the return address above if it has a place for their code.",
    )
    failed_checks_code = _code("Code for those who fail the checks", "Never that of finished runs.")
    failed_checks_url = _address(
        "Return address for those who fail the checks", "Left empty, as with those screened out."
    )
    declined_code = _code(
        "Code for those who decline", "Some recruiting sites want one; may stay empty."
    )

    SITTING = (
        "return_url",
        "screened_out_code",
        "screened_out_url",
        "failed_checks_code",
        "failed_checks_url",
        "declined_code",
    )

    @classmethod
    def initial_of(cls, study: Study) -> dict[str, Any]:
        """The settings of a study, by field."""
        settings = {name: study.sitting_setting(name) for name in cls.SITTING}
        return settings | {"completion_code": study.completion_code}

    def clean_completion_code(self) -> str:
        """A code that can be kept."""
        return str(self.checked("completion_code"))

    def clean(self) -> dict[str, Any]:
        """Addresses with a place for what they are to bring back, and codes that can be kept."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name in self.SITTING:
            if name in cleaned:
                self._check_one(name)
        if cleaned.get("completion_code"):
            self._refuse_equal_codes(cleaned)
        return cleaned

    def _check_one(self, name: str) -> None:
        try:
            self.checked(name, f"sitting.{name}")
        except forms.ValidationError as error:
            self.add_error(name, error)

    def _refuse_equal_codes(self, cleaned: dict[str, Any]) -> None:
        """A code that also ends finished runs would pay for what was not done."""
        for name in ("screened_out_code", "failed_checks_code"):
            if cleaned.get(name) == cleaned["completion_code"]:
                self.add_error(name, "This is the completion code: choose another one.")

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json."""
        data = self.cleaned_data
        return {
            "completion_code": data["completion_code"],
            "sitting": {name: data[name] for name in self.SITTING},
        }


class RecruitingForm(SetupForm):
    """Where people come from, how they are known, and how often a person may take part."""

    source = forms.ChoiceField(
        label="People come from",
        choices=RecruitingSource.choices,
        widget=forms.RadioSelect,
        help_text="Choosing another site and saving fills in what that site puts into its links.",
    )
    id_parameter = forms.CharField(
        label="Parameter with the person's id",
        required=False,
        max_length=40,
        help_text="The name under which the site puts its id for a person into the link. Left "
        "empty, the link is open to everybody. Ids are stored apart from the answers and never "
        "exported with them.",
        widget=_names(**{"class": "short"}),
    )
    other_parameters = forms.CharField(
        label="Further parameters to keep",
        required=False,
        max_length=500,
        help_text="Separated by spaces, such as STUDY_ID SESSION_ID; kept apart like the id.",
        widget=_names(),
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
    personal_links = forms.ChoiceField(
        label="Personal links",
        choices=PersonalLinks.choices,
        widget=forms.RadioSelect,
        help_text="One link a person, for people whom you invite by name. Links for pilot runs of "
        "your team work in any case.",
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        kwargs["initial"] = self.initial_of(study)
        super().__init__(*args, **kwargs)
        self.study = study

    @classmethod
    def initial_of(cls, study: Study) -> dict[str, Any]:
        """The settings of a study, by field."""
        names = ("source", "id_parameter", "repeats", "extra_places", "personal_links")
        return {name: study.recruiting_setting(name) for name in names} | {
            "other_parameters": " ".join(study.recruiting_setting("other_parameters"))
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
        if self._changes_source(cleaned):
            # What the fields still show is that of the source before.
            cleaned["id_parameter"] = cleaned["other_parameters"] = None
        given = {name: value for name, value in cleaned.items() if value is not None}
        for problem in recruiting_problems(given):
            field, _, words = problem.removeprefix("recruiting.").partition(": ")
            subject = "This " if words.startswith("must") else ""
            self.add_error(field, f"{subject}{words}.")
        return cleaned

    def _changes_source(self, cleaned: dict[str, Any]) -> bool:
        """Whether another source was chosen and its parameters were left as they stood."""
        fields = ("id_parameter", "other_parameters")
        is_new = cleaned.get("source") != self.initial["source"]
        return is_new and not any(name in self.changed_data for name in fields)

    def changes(self) -> dict[str, Any]:
        """What to change, named as in study.json; None is left to the source."""
        return {"recruiting": self.cleaned_data}

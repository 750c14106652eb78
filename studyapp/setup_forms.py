"""Forms of setting a study up: title, texts, schedule. The rules are the domain's."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.text import slugify

from studyapp.domain.configuration import SLUG_LENGTH, field_problem
from studyapp.domain.texts import with_default_texts
from studyapp.enums import ConditionPolicy, OrderPolicy
from studyapp.models import Study

#: The longest text of a study; a consent form of ten pages fits in.
MAX_TEXT = 40_000
MAX_CONFIGURATION_MB = 5
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


class SetupForm(forms.Form):
    """What the forms share: no browser check that would speak before ours."""

    use_required_attribute = False

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.error_messages["required"] = "Fill this in."

    def checked(self, name: str, setting: str | None = None) -> Any:
        """The value of a field if a study can keep it. Raises ValidationError otherwise."""
        value = self.cleaned_data[name]
        if problem := field_problem(setting or name, value):
            raise forms.ValidationError(f"This {problem}.")
        return value


class BasicsForm(SetupForm):
    """Title and language."""

    title = forms.CharField(
        max_length=200,
        help_text="Participants read it at the top of every page; it should not give away what you "
        "compare.",
    )
    lang = forms.CharField(
        label="Language",
        max_length=20,
        initial="en",
        help_text="The language of claims and texts, as a tag: en, de, pt-BR. Buttons and messages "
        "are there in English and German; other languages see them in English.",
        widget=forms.TextInput(
            attrs={"list": "languages", "class": "short", "autocapitalize": "none"}
        ),
    )

    def clean_title(self) -> str:
        """A title that can be kept."""
        return str(self.checked("title"))

    def clean_lang(self) -> str:
        """A language tag."""
        lang: str = self.cleaned_data["lang"]
        if not _LANGUAGE.fullmatch(lang):
            raise forms.ValidationError("Write a language tag, such as en, de or pt-BR.")
        return lang


class NewStudyForm(BasicsForm):
    """A new study: title and short name, or the settings of another one."""

    slug = forms.CharField(
        label="Short name",
        max_length=SLUG_LENGTH,
        required=False,
        help_text="For addresses, commands and file names: letters, digits, hyphens. Left empty, "
        "it is made from the title.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    configuration = forms.FileField(
        label="Settings of another study",
        required=False,
        help_text="Optional: a study.json, as every export holds one. Texts, conditions and "
        "settings are taken from it; title and language only where you leave them empty above.",
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )
    field_order = ("title", "slug", "lang", "configuration")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        # A file can say both.
        self.fields["title"].required = self.fields["lang"].required = False
        self.fields["lang"].initial = ""
        self.fields["lang"].widget.attrs["placeholder"] = "en"

    def clean_title(self) -> str:
        """The title; empty only where a file can bring it."""
        if self.cleaned_data["title"]:
            return super().clean_title()
        if not self.files.get("configuration"):
            raise forms.ValidationError("Write a title.")
        return ""

    def clean_lang(self) -> str:
        """The language; empty for the file's own, or English."""
        return super().clean_lang() if self.cleaned_data["lang"] else ""

    def clean_slug(self) -> str:
        """A short name that is free, made from the title where none was written."""
        slug: str = self.cleaned_data["slug"]
        if not slug:
            return free_slug(self.cleaned_data.get("title", ""))
        if not re.fullmatch(r"[A-Za-z0-9_-]+", slug):
            raise forms.ValidationError("Use letters, digits, hyphens and underscores only.")
        if Study.objects.filter(slug=slug).exists():
            raise forms.ValidationError(f"There is a study {slug} already: choose another name.")
        return slug

    def clean_configuration(self) -> Any:
        """A file of sensible size."""
        file = self.cleaned_data["configuration"]
        if file and file.size > MAX_CONFIGURATION_MB * 1_000_000:
            raise forms.ValidationError(
                f"The file has more than {MAX_CONFIGURATION_MB} MB: a study.json is far smaller."
            )
        return file


def free_slug(title: str) -> str:
    """A short name made from a title that no study has yet."""
    base = slugify(title)[: SLUG_LENGTH - 4].strip("-_") or "study"
    taken = set(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    names = [base, *(f"{base}-{number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


TEXT_FIELDS = {
    "welcome": ("Welcome", "The first thing people read, before they agree."),
    "consent": ("Consent", "What they agree to. Its exact wording is recorded with each consent."),
    "instructions": ("Instructions", "Before the first trial, and under Help in every trial."),
    "completion": ("Thanks", "On the last page, above the completion code."),
    "debriefing": ("Debriefing", "On the last page: what the study was about. May stay empty."),
    "screened_out": ("Screened out", "For those whose run ends because practice was never right."),
    "failed_checks": (
        "Failed checks",
        "For those whose run ends after too many wrong attention checks.",
    ),
    "declined": ("Declined", "For those who do not want to take part."),
    "contact": ("Contact", "Whom to ask, at the foot of the pages. May stay empty."),
}


class TextsForm(SetupForm):
    """Every text of a study; one equal to the standard text is not stored, so that it follows
    the study's language."""

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        kwargs["initial"] = with_default_texts(study.texts, study.lang)
        super().__init__(*args, **kwargs)
        self.study = study
        for name, (label, help_text) in TEXT_FIELDS.items():
            self.fields[name] = forms.CharField(
                label=label,
                help_text=help_text,
                required=False,
                max_length=MAX_TEXT,
                strip=False,
                widget=forms.Textarea(attrs={"rows": 7, "lang": study.lang, "dir": "auto"}),
            )

    def clean(self) -> dict[str, Any]:
        """Line ends as they are stored."""
        cleaned: dict[str, Any] = super().clean() or {}
        return {name: plain_lines(text) for name, text in cleaned.items()}

    def texts(self) -> dict[str, str]:
        """What to store: the texts that are not the standard ones."""
        standard = with_default_texts({}, self.study.lang)
        return {
            name: text
            for name, text in self.cleaned_data.items()
            if text.strip() and text != standard[name]
        }


def plain_lines(text: str) -> str:
    """A typed text with its line ends as ``\\n`` and no blank lines around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


class ScheduleForm(SetupForm):
    """How claims are dealt into subsets and slots."""

    subsets = forms.IntegerField(
        label="Subsets",
        min_value=1,
        max_value=1000,
        help_text="Parts that the claims are dealt into; each participant sees one under each "
        "condition.",
    )
    replications = forms.IntegerField(
        label="Cycles (replications)",
        min_value=1,
        max_value=1000,
        help_text="One copy of the Latin square each: every claim once under every condition. "
        "Files and commands call it replication. More can be added later.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**63 - 1,
        help_text="Any number; the same one always gives the same schedule.",
    )
    order_policy = forms.ChoiceField(
        label="Order of the trials",
        choices=[
            (OrderPolicy.BLOCKED, "Blocked: one condition after the other, the first alternating"),
            (OrderPolicy.INTERLEAVED, "Interleaved: all conditions mixed"),
        ],
        widget=forms.RadioSelect,
    )
    condition_policy = forms.ChoiceField(
        label="Conditions a participant meets",
        choices=[
            (ConditionPolicy.WITHIN, "All of them, each with other claims"),
            (ConditionPolicy.BETWEEN, "One condition a participant"),
        ],
        widget=forms.RadioSelect,
    )


class SlugForm(SetupForm):
    """Something is deleted, so the study's short name is asked for."""

    slug = forms.CharField(
        max_length=SLUG_LENGTH,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}
        ),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.study = study
        wanted = f"Nothing was deleted: type the study's short name, {study.slug}."
        self.fields["slug"].label = f"Type {study.slug} to confirm"
        self.fields["slug"].error_messages["required"] = wanted
        self.wanted = wanted

    def clean_slug(self) -> str:
        """The name typed, which must be this study's."""
        if self.cleaned_data["slug"] != self.study.slug:
            raise forms.ValidationError(self.wanted)
        return self.study.slug

"""The form of one condition, made from what the registry says about its method."""

from __future__ import annotations

from typing import Any

from django import forms

import rankers
from rankers import embedders
from rankers.method_info import EMBEDDER, GOLD, LOCAL_MODEL, MODEL, MethodInfo
from rankers.params import Param
from rankers.registry import METHODS
from studyapp.domain.condition_check import KIND_OF_INTERFACE, check_slug
from studyapp.errors import StudyError
from studyapp.models import Condition
from studyapp.setup_forms import SetupForm

PREFIX = "param_"
#: What a method needs, in words for whoever chooses it.
NEED_WORDS = {
    EMBEDDER: "word vectors; those that ship with Suffice will do",
    MODEL: "a language model: the workers need OPENAI_BASE_URL and OPENAI_API_KEY, and it costs "
    "money",
    LOCAL_MODEL: "a model that runs in the worker: it is loaded from a folder or downloaded there",
    GOLD: "the gold sets: it is the best order possible, an upper bound rather than a method",
}


def interface_of(info: MethodInfo) -> str:
    """The interface that a method's results are shown in."""
    return next(str(name) for name, kind in KIND_OF_INTERFACE.items() if kind == info.kind)


def needs_of(info: MethodInfo) -> list[str]:
    """What a method needs, in words."""
    return [NEED_WORDS[need] for need in info.needs]


class ConditionForm(SetupForm):
    """Name, model, embedder and every parameter of one method, with defaults and limits."""

    name = forms.CharField(
        max_length=Condition._meta.get_field("name").max_length,
        help_text="As it shall stand in tables and in the paper: letters, digits, hyphens.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(
        self, info: MethodInfo, *args: Any, condition: Condition | None = None, **kwargs: Any
    ):
        kwargs.setdefault("initial", _initial(condition))
        super().__init__(*args, **kwargs)
        self.info = info
        if {MODEL, LOCAL_MODEL} & set(info.needs):
            self.fields["model"] = _name_field("Model", _model_help(info))
        if EMBEDDER in info.needs:
            self.fields["embedder"] = _name_field("Embedder", _embedder_help(info))
        for param in info.params:
            self.fields[PREFIX + param.name] = _param_field(param)

    def clean_name(self) -> str:
        """A name of the letters that tables and files can take."""
        name: str = self.cleaned_data["name"]
        try:
            check_slug(name, "The name")
        except StudyError as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean_embedder(self) -> str:
        """The name of an embedder that there is; no server is asked."""
        name: str = self.cleaned_data["embedder"].strip()
        try:
            embedders.make_embedder(name or None)
        except rankers.MissingDependency:
            return name  # the workers have the key, or will
        except rankers.BadInput as error:
            raise forms.ValidationError(f"{error}.") from None
        return name

    def clean(self) -> dict[str, Any]:
        """Parameters that a single field cannot judge, such as the base of ``top_k``."""
        cleaned: dict[str, Any] = super().clean() or {}
        for param in self.info.params:
            field = PREFIX + param.name
            value = cleaned.get(field)
            if field in self.errors or value in (None, ""):
                continue
            try:
                param.parse(value)
            except (ValueError, KeyError, TypeError, OverflowError):
                self.add_error(field, f"This must be {param.allowed}.")
        return cleaned

    def condition_fields(self) -> dict[str, Any]:
        """What the domain takes: name, interface, method, model, embedder, params."""
        data = self.cleaned_data
        given = {
            param.name: data[PREFIX + param.name]
            for param in self.info.params
            if data[PREFIX + param.name] not in (None, "")
        }
        return {
            "name": data["name"],
            "interface": interface_of(self.info),
            "method": self.info.name,
            "model": data.get("model", "").strip(),
            "embedder": data.get("embedder", "").strip(),
            "params": given,
        }

    def param_fields(self) -> list[Any]:
        """The fields of the parameters, to print apart from the others."""
        return [self[PREFIX + param.name] for param in self.info.params]


def _initial(condition: Condition | None) -> dict[str, Any]:
    if condition is None:
        return {}
    return {
        "name": condition.name,
        "model": condition.model,
        "embedder": condition.embedder,
        **{PREFIX + name: value for name, value in condition.params.items()},
    }


def _name_field(label: str, help_text: str) -> forms.CharField:
    attrs = {"autocapitalize": "none", "spellcheck": "false"}
    return forms.CharField(
        label=label,
        required=False,
        max_length=200,
        help_text=help_text,
        widget=forms.TextInput(attrs=attrs),
    )


def _model_help(info: MethodInfo) -> str:
    if MODEL in info.needs:
        return "The model's name at your server. Left empty, the workers' OPENAI_MODEL is asked."
    return "The model's name or folder. Left empty, the method's own."


def _embedder_help(info: MethodInfo) -> str:
    use = "It orders what the model leaves open. " if MODEL in info.needs else ""
    return (
        f"{use}Left empty: {embedders.DEFAULT_EMBEDDER}, which ships with Suffice. "
        "Others: sentence-transformers:NAME, openai:MODEL."
    )


def _param_field(param: Param) -> forms.Field:
    help_text = f"{param.help[:1].upper()}{param.help[1:]}: {param.allowed}."
    common: dict[str, Any] = {"label": param.name, "initial": param.default, "required": False}
    if param.name == "base":
        rankers_ = [(info.name, info.name) for info in METHODS.values() if info.kind == "ranker"]
        return forms.ChoiceField(choices=rankers_, help_text=help_text, **common)
    if param.choices:
        choices = [(choice, str(choice)) for choice in param.choices]
        return forms.ChoiceField(choices=choices, help_text=help_text, **common)
    if param.type is bool:
        return forms.BooleanField(help_text=help_text, **common)
    if param.type in (int, float):
        kind = forms.IntegerField if param.type is int else forms.FloatField
        field = kind(
            min_value=param.minimum, max_value=param.maximum, help_text=help_text, **common
        )
        field.widget.attrs |= {"class": "short"} | ({"step": "any"} if param.type is float else {})
        return field
    return forms.CharField(max_length=200, help_text=help_text, **common)

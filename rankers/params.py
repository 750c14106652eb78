"""Parameters of methods: their types and bounds, and reading them from ``key=value`` texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rankers.errors import BadInput

_TYPE_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_BOOLS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Param:
    """One parameter: ``type`` is int, float, str or bool; bounds include their ends."""

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[Any, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        words = _TYPE_WORDS[self.type]
        if self.minimum is not None and self.maximum is not None:
            return f"{words} from {self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"{words}, at least {self.minimum:g}"
        if self.maximum is not None:
            return f"{words}, at most {self.maximum:g}"
        return words

    def parse(self, value: Any) -> Any:
        """Return ``value``, a text or already typed, as this parameter's type.

        Raises ValueError when it is not allowed.
        """
        parsed = self._typed(value)
        if self.choices and parsed not in self.choices:
            raise ValueError
        if isinstance(parsed, float) and not math.isfinite(parsed):
            raise ValueError
        if self.minimum is not None and parsed < self.minimum:
            raise ValueError
        if self.maximum is not None and parsed > self.maximum:
            raise ValueError
        return parsed

    def describe(self) -> dict[str, Any]:
        """Return the parameter as JSON-serialisable values; bounds and choices where there are."""
        described: dict[str, Any] = {
            "name": self.name,
            "type": self.type.__name__,
            "default": self.default,
            "help": self.help,
        }
        for key, value in (
            ("choices", None if self.choices is None else list(self.choices)),
            ("minimum", self.minimum),
            ("maximum", self.maximum),
        ):
            if value is not None:
                described[key] = value
        return described

    def _typed(self, value: Any) -> Any:
        if self.type is bool:
            return value if isinstance(value, bool) else _BOOLS[_text(value).lower()]
        if isinstance(value, bool):
            raise ValueError
        if self.type is int and isinstance(value, float):
            raise ValueError
        if self.type is str:
            return _text(value)
        return self.type(value)


def parse_params(owner: str, known: Iterable[Param], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every known parameter with the given value or its default.

    ``owner`` opens the messages, e.g. ``method bm25``. Raises BadInput with one line a problem.
    """
    by_name = {param.name: param for param in known}
    values = {name: param.default for name, param in by_name.items()}
    problems = []
    for name, value in given.items():
        param = by_name.get(name)
        if param is None:
            names = ", ".join(by_name) or "none"
            problems.append(f"{owner} has no parameter {name!r} (its parameters: {names})")
            continue
        try:
            values[name] = param.parse(value)
        except (ValueError, KeyError, TypeError, OverflowError):
            problems.append(f"{owner}: parameter {name} must be {param.allowed}, not {value!r}")
    if problems:
        raise BadInput(problems)
    return values


def split_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Read ``key=value`` texts. Raises BadInput for one without ``=`` and for a repeated key."""
    values: dict[str, str] = {}
    problems = []
    for pair in pairs:
        name, sign, value = pair.partition("=")
        name = name.strip()
        if not sign or not name:
            problems.append(f"parameter {pair!r}: write it as key=value")
        elif name in values:
            problems.append(f"parameter {name!r} is given twice")
        values[name] = value.strip()
    if problems:
        raise BadInput(problems)
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value

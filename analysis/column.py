"""One column of an export: the row that the codebook prints for it."""

from __future__ import annotations

from dataclasses import dataclass

RECORDED = "recorded"
DERIVED = "derived"
NEVER_MISSING = "never missing"


@dataclass(frozen=True, slots=True)
class Column:
    """Name, type and meaning of one column (statistics.md 1.4).

    ``kind`` is one of ``string``, ``category``, ``int``, ``bool``, ``time``, ``list``; ``origin``
    says whether the value was recorded or is derived by ``formula``; an ``optional`` column may be
    absent from a file, every other one must be there even when all of its cells are empty.
    ``minimum`` is the smallest allowed whole number.
    """

    table: str
    name: str
    kind: str
    meaning: str
    unit: str = ""
    allowed: tuple[str, ...] = ()
    rule: str = ""
    missing: str = NEVER_MISSING
    origin: str = RECORDED
    formula: str = ""
    optional: bool = False
    minimum: int | None = None

    @property
    def may_be_empty(self) -> bool:
        """Whether an empty cell is allowed somewhere; ``missing`` says what it means there."""
        return self.missing != NEVER_MISSING

    @property
    def allowed_text(self) -> str:
        """Allowed values for a reader: the categories, or the rule in words."""
        return " | ".join(self.allowed) if self.allowed else self.rule

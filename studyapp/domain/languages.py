"""The language that a study's participants are spoken to in, and the direction of its script."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

#: Languages that are usually written from right to left, and scripts that always are.
RIGHT_TO_LEFT = frozenset(
    ["ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"]
)
RIGHT_TO_LEFT_SCRIPTS = frozenset(["adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"])


@lru_cache(maxsize=256)
def interface_language(tag: str) -> str:
    """The language of the interface for a study whose language is ``tag`` (BCP 47).

    Its base language where there is a translation (``de-CH``: ``de``), else English.
    """
    base = _parts(tag)[0]
    translated = {code.partition("-")[0]: code for code, _ in settings.LANGUAGES}
    return translated.get(base, settings.LANGUAGE_CODE)


@lru_cache(maxsize=256)
def direction(tag: str) -> str:
    """``rtl`` or ``ltr``: by the script where the tag names one (``az-Arab``), else by language."""
    base, *others = _parts(tag)
    script = next((part for part in others if len(part) == 4 and part.isalpha()), "")
    if script:
        return "rtl" if script in RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if base in RIGHT_TO_LEFT else "ltr"


def _parts(tag: str) -> list[str]:
    return tag.strip().lower().replace("_", "-").split("-")

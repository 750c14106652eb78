"""The texts of a study, with a default for each."""

from __future__ import annotations

from django.utils.translation import gettext_lazy, override

from studyapp.domain.languages import interface_language

DEFAULT_TEXTS = {
    "welcome": gettext_lazy(
        "Thank you for your interest. In this study you read evidence and judge whether it "
        "supports or refutes a claim."
    ),
    "consent": gettext_lazy(
        "Taking part is voluntary. You can stop and withdraw at any time; your answers are then "
        "deleted.\n\nWe record your answers, the sentences you read and the times of both, under a "
        "random pseudonym. Your name is not stored with them."
    ),
    "instructions": gettext_lazy(
        "You will see one claim after another, each with sentences of evidence.\n\n"
        "Sometimes the sentences appear one at a time: ask for the next sentence until you know "
        "enough, then decide. Sometimes a set of sentences is shown at once.\n\n"
        "Judge only by the evidence shown, not by what you know. If the evidence does not settle "
        "the claim, choose “Can't decide”."
    ),
    "completion": gettext_lazy("You have finished. Thank you for taking part."),
    "debriefing": "",
    "screened_out": gettext_lazy(
        "Thank you for your time. This study does not suit everybody, and it ends here for you. "
        "The answers you gave are stored."
    ),
    "failed_checks": gettext_lazy(
        "Thank you for your time. This study needs every claim and its evidence to be read with "
        "care. Some of your answers did not fit what was shown, so it ends here for you. The "
        "answers you gave are stored."
    ),
    "declined": gettext_lazy("Nothing about you was stored. Thank you for your time."),
    "contact": "",
}


def with_default_texts(texts: dict[str, str], lang: str) -> dict[str, str]:
    """``texts`` with a default for every one that is missing, in the study's language ``lang``."""
    return _defaults(lang) | {name: text for name, text in texts.items() if text}


def own_texts(texts: dict[str, str], lang: str) -> dict[str, str]:
    """Those of ``texts`` that are not the default one, which opening fills in."""
    defaults = _defaults(lang)
    return {name: text for name, text in texts.items() if text and text != defaults.get(name)}


def _defaults(lang: str) -> dict[str, str]:
    with override(interface_language(lang)):
        return {name: str(text) for name, text in DEFAULT_TEXTS.items()}

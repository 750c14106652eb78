"""The texts of a study, with a default for each."""

from __future__ import annotations

DEFAULT_TEXTS = {
    "welcome": (
        "Thank you for your interest. In this study you read evidence and judge whether it "
        "supports or refutes a claim."
    ),
    "consent": (
        "Taking part is voluntary. You can stop and withdraw at any time; your answers are then "
        "deleted.\n\nWe record your answers, the sentences you read and the times of both, under a "
        "random pseudonym. Your name is not stored with them."
    ),
    "instructions": (
        "You will see one claim after another, each with sentences of evidence.\n\n"
        "Sometimes the sentences appear one at a time: ask for the next sentence until you know "
        "enough, then decide. Sometimes a set of sentences is shown at once.\n\n"
        "Judge only by the evidence shown, not by what you know. If the evidence does not settle "
        "the claim, choose “Can't decide”."
    ),
    "completion": "You have finished. Thank you for taking part.",
    "debriefing": "",
    "declined": "Nothing about you was stored. Thank you for your time.",
    "contact": "",
}


def with_default_texts(texts: dict[str, str]) -> dict[str, str]:
    """``texts`` with a default for every one that is missing."""
    return DEFAULT_TEXTS | {key: value for key, value in texts.items() if value}

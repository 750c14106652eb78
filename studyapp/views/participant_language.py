"""Speaking the study's language: the words of a participant's page, and its direction.

A request learns which study it is about only inside its view, so the view says so with ``speak``;
participant_guard.py returns to English when the request is over.
"""

from __future__ import annotations

from functools import lru_cache

from django.http import HttpRequest
from django.utils import translation
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from studyapp.domain.languages import direction, interface_language
from studyapp.enums import Decision
from studyapp.models import Study


def speak(study: Study) -> None:
    """Answer this request in the study's language. Takes no query."""
    translation.activate(interface_language(study.lang))


def speak_to(request: HttpRequest) -> dict[str, str]:
    """The same where no study is known: the language that the browser asks for. Takes no query."""
    lang = translation.get_language_from_request(request)
    translation.activate(lang)
    return page_language(lang)


@lru_cache(maxsize=256)
def page_language(lang: str) -> dict[str, str]:
    """What a whole page of a study in ``lang`` needs beside its region; not to be changed.

    ``page_lang`` and ``page_dir`` are for the element html, ``script_texts`` are the attributes
    that hold the script's texts. The direction is that of the study's language also where the
    interface falls back to English.
    """
    language = interface_language(lang)
    return {
        "page_lang": html_tag(language),
        "page_dir": direction(lang),
        "script_texts": _script_texts(language),
    }


def _script_texts(language: str) -> SafeString:
    with translation.override(language):
        texts = {
            "trying": gettext("Not saved yet. Trying again …"),
            "offline": gettext(
                "Not saved yet: you seem to be offline. Keep this page open; it goes on by itself."
            ),
            "copied": gettext("Copied"),
            "uncopied": gettext("Select and copy by hand"),
            "again": gettext("Try now"),
            "failed": gettext(
                "Not saved. Something went wrong on the way. Please try again in a moment."
            ),
            "submit": gettext("Submit"),
            "confirm": gettext("Confirm: {answer}"),
            "more": gettext("Show the whole claim"),
            "less": gettext("Show less of the claim"),
        }
    return format_html_join(" ", 'data-{}="{}"', texts.items())


def html_tag(code: str) -> str:
    """A language code as it is written in HTML: ``en-gb`` as ``en-GB``."""
    base, _, region = code.partition("-")
    return f"{base}-{region.upper()}" if region else base


@lru_cache(maxsize=16)
def trial_words(language: str) -> dict[str, SafeString]:
    """The words of the trial page in an interface language, escaped; not to be changed.

    Looked up once instead of at every click, because this page is asked for most often.
    """
    with translation.override(language):
        words = {
            "study": gettext("Study"),
            "help": gettext("Help"),
            "withdraw": gettext("Withdraw"),
            "is_practice": gettext("This is practice: your answer does not count."),
            "claim": gettext("Claim"),
            "evidence": gettext("Evidence"),
            "next": gettext("Show next sentence"),
            "from": gettext("from:"),
            "question": gettext("What does the evidence say about the claim?"),
            "hint": gettext("Choose one. Nothing is sent before you confirm."),
            "missing": gettext("Choose one of the answers."),
            "submit": gettext("Submit"),
            "saving": gettext("Saving…"),
        }
        return {name: escape(text) for name, text in words.items()}


@lru_cache(maxsize=16)
def trial_phrases(language: str) -> dict[str, str]:
    """What the trial page says with numbers in it, to be filled in by ``%``."""
    with translation.override(language):
        return {
            "trial": gettext("Trial %(number)s of %(n_all)s"),
            "practice": gettext("Practice %(number)s of %(n_all)s"),
            "shown": gettext("%(n_shown)s of %(n_total)s shown"),
            "all_shown": gettext("All the evidence has been shown."),
            "all_shown_of": gettext(
                "All the evidence has been shown (%(n_total)s of %(n_total)s)."
            ),
        }


@lru_cache(maxsize=16)
def decision_labels(language: str) -> dict[str, str]:
    """What the decisions are called in an interface language."""
    with translation.override(language):
        return {value: str(label) for value, label in Decision.choices}

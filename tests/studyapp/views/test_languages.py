"""The interface in the study's language: complete, in its direction, and in no stored value."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation
from django.utils.translation.template import templatize

from studyapp.domain.languages import direction, interface_language
from studyapp.domain.texts import DEFAULT_TEXTS, with_default_texts
from studyapp.enums import Interface
from studyapp.models import Claim, Study, Trial, VerificationAnswer
from studyapp.views.participant_language import page_language
from tests import factories
from tests.studyapp.views.pages import (
    HTMX,
    decide,
    form_ending,
    join,
    run_url,
    trial_url,
    welcome_url,
)

pytestmark = pytest.mark.django_db

ROOT = Path(settings.BASE_DIR)
LOCALES = ROOT / "studyapp" / "locale"
CATALOGUES = sorted(LOCALES.glob("*/LC_MESSAGES/django.po"))
TEMPLATES = [ROOT / "templates" / "base.html", *sorted(ROOT.glob("templates/participant/*.html"))]
SOURCES = sorted(ROOT.glob("studyapp/**/*.py"))

#: One text of a catalogue: the singular, and the plural or None.
Message = tuple[str, str | None]


# ---- catalogues ----------------------------------------------------------------------------------


def read_catalogue(path: Path) -> dict[Message, list[str]]:
    """The translations of a .po file by message; fuzzy and obsolete ones are refused."""
    messages: dict[Message, list[str]] = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        assert not any(line.startswith("#~") for line in lines), f"obsolete: {block}"
        assert not any(line.startswith("#,") and "fuzzy" in line for line in lines), block
        parts: dict[str, str] = {}
        keyword = ""
        for line in lines:
            if line.startswith("#"):
                continue
            if not line.startswith('"'):
                keyword, line = line.split(" ", 1)
            parts[keyword] = parts.get(keyword, "") + ast.literal_eval(line)
        message = parts.pop("msgid"), parts.pop("msgid_plural", None)
        assert message not in messages, f"twice: {message}"
        messages[message] = list(parts.values())
    return messages


def messages_of_python(path: Path) -> Iterator[Message]:
    """What a module gives to gettext, under the names by which it imports its functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
        for alias in node.names
        if alias.name.startswith(("gettext", "ngettext"))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in names:
            is_plural = names[node.func.id].startswith("n")
            one, *others = [ast.literal_eval(given) for given in node.args[: 1 + is_plural]]
            yield one, others[0] if others else None


_STRING = r"""(u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*")"""


def messages_of_template(path: Path) -> Iterator[Message]:
    """What a template's tags translate, as Django's own extraction sees it."""
    source = templatize(path.read_text(encoding="utf-8"), origin=str(path))
    for one in re.findall(rf"(?<!n)gettext\({_STRING}\)", source):
        yield ast.literal_eval(one), None
    for one, many in re.findall(rf"ngettext\({_STRING},\s*{_STRING}", source):
        yield ast.literal_eval(one), ast.literal_eval(many)


def messages_of_the_interface() -> set[Message]:
    """Every text of the participants' interface, as the catalogues must have it."""
    found = {message for path in SOURCES for message in messages_of_python(path)}
    return found | {message for path in TEMPLATES for message in messages_of_template(path)}


def test_every_language_but_english_has_a_catalogue() -> None:
    others = {code for code, _ in settings.LANGUAGES} - {settings.LANGUAGE_CODE}
    assert {path.parent.parent.name for path in CATALOGUES} == others
    assert others == {"de"}


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
def test_a_catalogue_has_every_text_and_no_other(path: Path) -> None:
    wanted = messages_of_the_interface()
    assert ("Show next sentence", None) in wanted  # from Python
    assert ("Before you begin", None) in wanted  # from a template
    assert ("There is %(n)s trial.", "There are %(n)s trials.") in wanted
    assert set(read_catalogue(path)) - {("", None)} == wanted


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
def test_every_text_is_translated_with_its_values_kept(path: Path) -> None:
    catalogue = read_catalogue(path)
    header = catalogue.pop(("", None))[0]
    n_plurals = int(re.search(r"nplurals=(\d)", header)[1])  # type: ignore[index]
    for (one, many), given in catalogue.items():
        assert len(given) == (1 if many is None else n_plurals), one
        assert all(text.strip() for text in given), f"untranslated: {one}"
        for text in given[-1:] if many else given:
            assert values_in(text) == values_in(many or one), one
        assert "!" not in "".join(given), one


def values_in(text: str) -> set[str]:
    """The places that are filled in."""
    return set(re.findall(r"%\(\w+\)s|\{\w+\}", text))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
def test_the_compiled_catalogue_says_what_its_source_says(path: Path) -> None:
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    source: dict[Any, str] = {}
    for (one, many), given in read_catalogue(path).items():
        if many is None:
            source[one] = given[0]
        else:
            source |= {(one, number): text for number, text in enumerate(given)}
    assert compiled == source, f"compile it anew: msgfmt -o {path.stem}.mo {path.name}"


# ---- templates -----------------------------------------------------------------------------------

_TAGS = re.compile(
    r"\{%\s*blocktrans(?:late)?\b.*?%\}.*?\{%\s*endblocktrans(?:late)?\s*%\}"
    r"|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}",
    re.DOTALL,
)
#: Attributes that are read to people.
SPOKEN = ("aria-label", "alt", "title", "placeholder")


class Words(HTMLParser):
    """Letters between the tags and in the attributes that are read out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in SPOKEN and has_word(value or "")]

    def handle_data(self, data: str) -> None:
        if has_word(data):
            self.found.append(data.strip())


def has_word(text: str) -> bool:
    return re.search(r"[^\W\d_]", text) is not None


def hard_coded_words(source: str) -> list[str]:
    """Visible text of a template that no tag translates and no variable brings."""
    words = Words()
    words.feed(_TAGS.sub("", source))
    words.close()
    return words.found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_participants_template_has_no_words_of_its_own(path: Path) -> None:
    allowed = ["Suffice"] if path.name == "base.html" else []
    assert hard_coded_words(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Hello {{ name }}</p>", ["Hello"]),
        ('<nav aria-label="Study">{% translate "Help" %}</nav>', ["Study"]),
        ("<b>{% if a %}yes{% else %}{{ no }}{% endif %}</b>", ["yes"]),
        ("<p>{{ n }} / 3 {% blocktranslate %}of all{% endblocktranslate %}…</p>", []),
        ('<p class="label">{# a note #}{{ words.claim }}</p>', []),
    ],
)
def test_the_check_sees_words_between_tags_and_in_spoken_attributes(
    source: str, found: list[str]
) -> None:
    assert hard_coded_words(source) == found


def test_the_script_brings_no_words() -> None:
    script = (ROOT / "static/js/participant.js").read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL)
    texts = re.findall(r"""(?:"([^"\n]*)"|`([^`]*)`)""", code)
    assert [text for pair in texts for text in pair if re.search(r"[A-Z][a-z]+ [a-z]", text)] == []
    given = re.findall(r"data-(\w+)=", page_language("de")["script_texts"])
    assert set(re.findall(r"\btexts\.(\w+)", code)) == set(given)


# ---- pages ---------------------------------------------------------------------------------------

GERMAN = {
    "break_every": 2,
    "confidence": "required",
    "reason": "optional",
    "questionnaire": [
        {"name": "age", "text": "Wie alt sind Sie?", "kind": "number", "min": 16, "required": True}
    ],
}


def words_of(response: Any) -> str:
    """The text of a page in one line."""
    text = re.sub(r"<head>.*?</head>|<[^>]+>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(text.split())


def html_tag(response: Any) -> str:
    return re.search(r"<html[^>]*>", response.content.decode())[0]  # type: ignore[index]


#: Common English words of the interface that are no German ones.
ENGLISH = re.compile(
    r"\b(the|and|you|your|this|is|are|of|evidence|claim|trials?|saved|stored|continue|help)\b", re.I
)


def english_words_of(response: Any) -> list[str]:
    """English left on a page, apart from the claims and sentences of the test's study."""
    body = re.sub(r"(Claim number|Sentence) \d[^<]*", "", response.content.decode())
    text = re.sub(r"<head>.*?</head>|<[^>]+>", " ", body, flags=re.DOTALL)
    spoken = re.findall(r'(?:aria-label|data-\w+)="([^"/]*)"', body)
    return ENGLISH.findall(" ".join([text, *spoken]))


def test_a_whole_sitting_is_german_and_stores_english_keys(client: Client) -> None:
    study = factories.sitting_study(
        4, n_practice=1, lang="de-AT", title="Studie", sitting=GERMAN, shows_total=True
    )
    pages = [client.get(welcome_url(study))]
    assert "Bevor Sie zustimmen" in words_of(pages[0])
    run = join(client, study).headers["Location"]
    pages.append(client.get(run))
    assert (
        "Zuerst kommt 1 Aussage zur Übung, die nicht zählt. Dann folgen 4 Aufgaben. Dazwischen "
        "gibt es Pausen. Am Ende folgt eine Frage."
    ) in words_of(pages[-1])
    pages.append(client.get(run + "help"))
    pages.append(client.post(run + "begin", follow=True))
    assert "Übung 1 von 1" in words_of(pages[-1])
    for _ in range(2):
        pages.append(decide(client, Trial.objects.get(state="open"), "refuted", confidence=3))
        pages[-1] = client.get(run)
        pages.append(client.post(run + "begin", follow=True))
    assert "Aufgabe 1 von 4" in words_of(pages[-1])
    seen = set()
    while trial := Trial.objects.filter(state="open").first():
        pages.append(decide(client, trial, "cant_decide"))
        assert "Geben Sie an, wie sicher Sie sind, und bestätigen Sie dann." in words_of(pages[-1])
        decide(client, trial, "cant_decide", confidence=3)
        pages.append(client.get(run))
        if "Zeit für eine Pause" in words_of(pages[-1]):
            seen.add("break")
            assert "2 von 4 erledigt" in words_of(pages[-1])
            pages.append(client.post(run + "begin", follow=True))
    assert seen == {"break"}
    assert "Noch eine Frage" in words_of(pages[-1])
    pages.append(client.get(run + "withdraw"))
    assert "Ihre Antworten zu 4 Aufgaben, Ihre Antworten in der Übung," in words_of(pages[-1])
    pages.append(client.post(run + "questionnaire", {"q-age": "7"}))
    assert "Geben Sie eine Zahl von mindestens 16 an." in words_of(pages[-1])
    client.post(run + "questionnaire", {"q-age": "47"})
    pages.append(client.get(run))
    assert "Alle 4 Aufgaben sind erledigt" in words_of(pages[-1])
    for page in pages:
        assert html_tag(page).startswith('<html lang="de" dir="ltr"')
        assert english_words_of(page) == []
    stored = VerificationAnswer.objects.values_list("decision", flat=True)
    assert set(stored) == {"refuted", "cant_decide"}


def test_a_reveal_answers_in_german(client: Client) -> None:
    study = factories.open_study(lang="de", shows_total=True)
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    answer = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    assert "2 von 5 gezeigt" in answer.content.decode()
    for rank in (3, 4, 5):
        answer = client.post(trial_url(trial) + "reveal", {"rank": rank}, headers=HTMX)
    assert '<bdi lang="de">aus:</bdi> <bdi>Page ' in answer.content.decode()
    assert "Alle Belege wurden gezeigt (5 von 5)." in answer.content.decode()


def test_refusals_speak_the_language_of_the_address(client: Client) -> None:
    study = factories.open_study(lang="de")
    enrolment, trial = factories.started(study)
    nowhere = f"/p/{study.code}/r/{'x' * 20}/"
    other = {"Origin": "https://elsewhere.example"}
    answers = {
        404: client.get(nowhere),
        405: client.put(run_url(enrolment)),
        403: client.post(run_url(enrolment) + "begin", headers=other),
        400: client.post(run_url(enrolment) + "begin", headers={"Content-Length": "200001"}),
        422: client.post(trial_url(trial) + "seen", {"kind": "nonsense"}),
    }
    assert {status: answer.status_code for status, answer in answers.items()} == {
        status: status for status in answers
    }
    for answer in answers.values():
        assert html_tag(answer).startswith('<html lang="de" dir="ltr"')
        assert english_words_of(answer) == []


@pytest.mark.parametrize(("state", "words"), [("paused", "unterbrochen"), ("closed", "beendet")])
def test_a_study_that_takes_nobody_says_so_in_its_language(
    client: Client, state: str, words: str
) -> None:
    study = factories.open_study(lang="de")
    Study.objects.update(state=state)
    page = client.get(welcome_url(study))
    assert f"Diese Studie ist {words}" in words_of(page)
    assert english_words_of(page) == []


def test_the_way_out_is_german(client: Client) -> None:
    study = factories.open_study(lang="de", sitting={"declined_code": "NEIN"})
    page = client.get(f"/p/{study.code}/declined")
    assert "Sie nehmen nicht teil" in words_of(page)
    enrolment, _ = factories.started(study)
    client.post(run_url(enrolment) + "withdraw")
    gone = client.get(run_url(enrolment))
    assert "Sie haben Ihre Teilnahme an dieser Studie zurückgezogen" in words_of(gone)
    for answer in (page, gone):
        assert html_tag(answer).startswith('<html lang="de" dir="ltr"')
        assert english_words_of(answer) == []


def test_a_request_leaves_no_language_behind(client: Client, admin_client: Client) -> None:
    study = factories.open_study(lang="de")
    enrolment, _ = factories.started(study)
    assert "Aufgabe 1 von 4" in words_of(client.get(run_url(enrolment)))
    assert translation.get_language() == "en-gb"
    client.get(f"/p/{study.code}/r/{'x' * 20}/")
    assert translation.get_language() == "en-gb"
    page = admin_client.get("/")
    assert html_tag(page).startswith('<html lang="en-GB" dir="ltr"')
    assert "Skip to the content" in words_of(page)


def test_two_studies_do_not_mix_their_languages(client: Client) -> None:
    pages = [
        run_url(factories.started(factories.open_study(lang=lang))[0]) for lang in ("de", "en")
    ]
    for _ in range(2):
        assert "Aussage" in words_of(client.get(pages[0]))
        assert "Aussage" not in words_of(client.get(pages[1]))


@pytest.mark.parametrize("lang", ["en", "en-US", "fr", "tlh", "", "not a tag"])
def test_a_language_without_a_translation_gets_english(client: Client, lang: str) -> None:
    study = factories.open_study(lang=lang)
    page = client.get(welcome_url(study))
    assert html_tag(page).startswith('<html lang="en-GB" dir="ltr"')
    assert "Before you agree" in words_of(page)


# ---- default texts -------------------------------------------------------------------------------


def test_default_texts_are_frozen_in_the_studys_language() -> None:
    texts = with_default_texts({"completion": "Danke."}, "de")
    assert texts["completion"] == "Danke."
    assert texts["declined"] == "Über Sie wurde nichts gespeichert. Vielen Dank für Ihre Zeit."
    assert "„Nicht entscheidbar“" in texts["instructions"]
    assert (texts["debriefing"], texts["contact"]) == ("", "")
    assert all(type(text) is str for text in texts.values())


def test_an_opened_study_keeps_its_german_texts() -> None:
    study = Study.objects.get(pk=factories.open_study(lang="de").pk)
    assert study.texts == with_default_texts({}, "de")
    assert study.texts != with_default_texts({}, "en")
    assert set(study.texts) == set(DEFAULT_TEXTS)


# ---- direction -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("ar", "rtl"),
        ("ar-EG", "rtl"),
        ("he", "rtl"),
        ("fa_IR", "rtl"),
        ("UR", "rtl"),
        ("az-Arab", "rtl"),
        ("az", "ltr"),
        ("ar-Latn", "ltr"),
        ("en", "ltr"),
        ("de-AT", "ltr"),
        ("", "ltr"),
    ],
)
def test_the_direction_follows_language_and_script(tag: str, expected: str) -> None:
    assert direction(tag) == expected


@pytest.mark.parametrize(
    ("tag", "expected"), [("de", "de"), ("DE-ch", "de"), ("en-US", "en-gb"), ("ar", "en-gb")]
)
def test_the_interface_speaks_the_base_language_or_english(tag: str, expected: str) -> None:
    assert interface_language(tag) == expected


def test_an_arabic_study_runs_from_right_to_left(client: Client) -> None:
    study = factories.ready_study(lang="ar", title="دراسة")
    Claim.objects.update(lang="ar", text="المنارة أقدم من الميناء.")
    study = factories.lifecycle.open_study(study)
    enrolment, _ = factories.started(study)
    for page in (client.get(welcome_url(study)), client.get(run_url(enrolment))):
        assert html_tag(page).startswith('<html lang="en-GB" dir="rtl"')
    body = page.content.decode()
    assert '<span class="claim-text" dir="auto" lang="ar" translate="no">' in body
    assert (
        form_ending(page, "/decide")[0]
        == body.split('id="decide"')[1].split('action="')[1].split('"')[0]
    )


# The alignment of a page that is known to be mirrored is the one exception.
_MIRRORED = '[dir="rtl"] body {\n  text-align: right;\n}'
_PHYSICAL = re.compile(
    r"^\s*(?:(?:margin|padding|border)-(?:left|right)\b|left:|right:|"
    r"(?:text-align|float|clear):\s*(?:left|right))",
    re.M,
)


@pytest.mark.parametrize("name", ["base.css", "participant.css"])
def test_styles_name_no_physical_side(name: str) -> None:
    style = (ROOT / "static/css" / name).read_text(encoding="utf-8")
    assert _PHYSICAL.findall(style.replace(_MIRRORED, "")) == []

"""The settings of a sitting: every wrong one is named, and an export carries them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studyapp.domain import importing, lifecycle
from studyapp.domain.configuration import create_study
from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
from studyapp.domain.return_addresses import filled_address
from studyapp.domain.sitting_settings import sitting_problems
from studyapp.enums import TrialKind
from studyapp.errors import BadUpload, NotReady, StudyError
from studyapp.models import Claim, Study
from tests import factories
from tests.studyapp.domain import exported

pytestmark = pytest.mark.django_db

QUESTIONS: list[dict[str, Any]] = [
    {"name": "ease", "text": "How easy was it?", "kind": "scale", "min": 1, "max": 5},
    {"name": "age", "text": "How old are you?", "kind": "number", "min": 16, "max": 120},
    {
        "name": "device",
        "text": "What did you use?",
        "kind": "choice",
        "options": ["A computer", "A phone"],
        "required": True,
    },
    {"name": "remarks", "text": "Anything else?", "kind": "text"},
]
SITTING: dict[str, Any] = {
    "practice_tries": 3,
    "break_every": 10,
    "confidence": "required",
    "reason": "optional",
    "questionnaire": QUESTIONS,
    "return_url": "https://app.example.org/done?cc={code}&lang=en",
    "declined_code": "NO-1",
    "allows_translation": True,
    "practice_must_pass": True,
    "attention_failures_allowed": 1,
    "screened_out_code": "OUT-1",
    "screened_out_url": "https://app.example.org/out?cc={code}",
    "failed_checks_code": "FAILED-1",
    "failed_checks_url": "https://app.example.org/failed?cc={code}",
}


def test_a_study_keeps_the_sitting_it_was_given_and_has_defaults_for_the_rest():
    study = create_study("full", configuration={"sitting": SITTING})
    assert Study.objects.get(pk=study.pk).sitting == SITTING
    plain = create_study("plain")
    assert plain.sitting == {}
    assert [plain.sitting_setting(name) for name in SITTING] == [
        2, 0, "off", "off", [], "", "", False, False, None, "", "", "", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("practice_tries", 0),
        ("practice_tries", True),
        ("practice_tries", "2"),
        ("break_every", -1),
        ("break_every", 1.5),
        ("confidence", True),
        ("confidence", ["off"]),
        ("reason", "required"),
        ("questionnaire", {}),
        ("return_url", "http://example.org/{code}"),
        ("return_url", "https://example.org/"),
        ("return_url", "https://{code}.example.org/"),
        ("return_url", "https://user@example.org/{code}"),
        ("return_url", "https://example.org:x/{code}"),
        ("return_url", "https://[example.org/{code}"),
        ("return_url", "https://example.org/{code}/{other}"),
        ("return_url", 'https://example.org/{code}"'),
        ("return_url", "javascript:alert('{code}')"),
        ("return_url", "https:///{code}"),
        ("return_url", None),
        ("return_url", "https://example.org/?id={id:}"),
        ("return_url", "https://example.org/?id={id:a-b}"),
        ("return_url", "https://{id}.example.org/"),
        ("screened_out_url", "https://example.org/"),
        ("failed_checks_url", "http://example.org/{code}"),
        ("declined_code", "x" * 61),
        ("screened_out_code", "x" * 61),
        ("failed_checks_code", None),
        ("practice_must_pass", 1),
        ("attention_failures_allowed", -1),
        ("attention_failures_allowed", True),
        ("attention_failures_allowed", "1"),
        ("allows_translation", "yes"),
        ("pauses", 3),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name: str, value: Any):
    with pytest.raises(StudyError) as caught:
        create_study("new", configuration={"sitting": {name: value}})
    (problem,) = caught.value.problems
    assert problem.startswith(f"field sitting.{name}: ")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "slider"}, "kind must be choice, scale, text, number"),
        ({"kind": ["scale"]}, "kind must be"),
        ({"name": "1st"}, "name must begin with a letter"),
        ({"name": None}, "name must begin with a letter"),
        ({"text": " "}, "text must be a text"),
        ({"required": 1}, "required must be true or false"),
        ({"options": ["a", "b"]}, "options is not known for kind scale"),
        ({"max": 1}, "a scale of 2 to 11"),
        ({"max": 99}, "a scale of 2 to 11"),
        ({"min": "1"}, "a scale of 2 to 11"),
        ({"kind": "number", "min": 9, "max": 1}, "min not above max"),
        ({"kind": "choice"}, "max is not known for kind choice"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named(change: dict[str, Any], words: str):
    problems = sitting_problems({"questionnaire": [QUESTIONS[1], QUESTIONS[0] | change]})
    assert all(p.startswith("sitting.questionnaire, number 2: ") for p in problems)
    assert words in "\n".join(problems)


@pytest.mark.parametrize("options", [None, ["one"], ["a", "a "], ["a", 2], ["a", ""]])
def test_a_choice_needs_different_options(options: Any):
    question = {"name": "q", "text": "Which?", "kind": "choice", "options": options}
    (problem,) = sitting_problems({"questionnaire": [question]})
    assert "options must be a list of 2 to 100 different texts" in problem


def test_a_name_is_used_for_one_question_and_long_answers_are_few():
    text = {"text": "Why?", "kind": "text"}
    problems = sitting_problems(
        {
            "questionnaire": [
                *QUESTIONS,
                *({"name": f"t{n}"} | text for n in range(10)),
                QUESTIONS[0],
            ]
        }
    )
    assert problems == [
        "sitting.questionnaire, number 15: name 'ease' is there twice",
        "sitting.questionnaire: at most 10 questions may be of kind text",
    ]
    assert sitting_problems([]) == ["sitting: must be an object"]
    assert sitting_problems({"questionnaire": ["why"]}) == [
        "sitting.questionnaire, number 1: must be an object"
    ]


def test_the_code_stands_url_encoded_in_the_filled_address():
    assert filled_address("https://example.org/?cc={code}", "A/B &c") == (
        "https://example.org/?cc=A%2FB%20%26c"
    )
    assert filled_address("", "A") == ""


# ---- claims for practice and attention -----------------------------------------------------------


def test_claims_are_imported_for_the_trials_they_are_named_for(tmp_path: Path, capsys):
    study = factories.draft_study("named")
    meta = {"explanation": "Sentence 1 says so.", "interface": "all_at_once"}
    path = exported.claims_file(tmp_path, [{"id": "p1", "claim": "Practice.", "meta": meta}])
    call_command("import_claims", "named", path, role="practice")
    assert "1 practice claim imported" in capsys.readouterr().out
    assert list(Claim.objects.values_list("claim_id", "role", "meta")) == [("p1", "practice", meta)]
    again = importing.import_claims(study, path, role=TrialKind.PRACTICE)
    assert (again.n_imported, again.n_repeated) == (0, 1)
    with pytest.raises(BadUpload, match="already with the role practice"):
        importing.import_claims(study, path)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"explanation": 5}, "line 1, field meta.explanation: must be a text"),
        ({"explanation": " "}, "line 1, field meta.explanation: must be a text"),
        ({"interface": "both"}, "line 1, field meta.interface: must be incremental or all_at_once"),
    ],
)
def test_a_practice_claim_that_cannot_be_shown_is_refused(tmp_path: Path, meta, words: str):
    study = factories.draft_study()
    path = exported.claims_file(tmp_path, [{"id": "p1", "claim": "Practice.", "meta": meta}])
    with pytest.raises(BadUpload, match=words):
        importing.import_claims(study, path, role=TrialKind.PRACTICE)
    assert importing.import_claims(study, path).n_imported == 1


def test_practice_claims_may_follow_the_schedule_but_main_claims_may_not(tmp_path: Path):
    study = factories.ready_study()
    path = exported.claims_file(tmp_path, [{"id": "p1", "claim": "Practice."}])
    assert importing.import_claims(study, path, role=TrialKind.PRACTICE).n_imported == 1
    opened = lifecycle.open_study(study)
    assert (opened.n_practice, opened.n_attention) == (1, 0)


def test_only_main_claims_are_ranked_scheduled_and_balanced(tmp_path: Path):
    study = exported.ready_study(tmp_path)
    factories.add_claims(study, 1, role=TrialKind.PRACTICE, label="partially_supported")
    factories.add_claims(study, 2, role=TrialKind.ATTENTION)
    assert lifecycle.opening_problems(study) == []
    opened = lifecycle.open_study(study)
    assert opened.response_options == ["supported", "refuted", "cant_decide"]
    assert (opened.n_practice, opened.n_attention) == (1, 2)


def test_a_practice_claim_that_asks_for_a_missing_interface_keeps_the_study_shut():
    study = factories.draft_study()
    factories.add_claims(study, 4)
    lifecycle.add_condition(study, "ranking", "incremental", "document_order")
    factories.add_claims(study, 1, role=TrialKind.PRACTICE, meta={"interface": "all_at_once"})
    with pytest.raises(NotReady, match="practice claim c5: meta"):
        lifecycle.open_study(study)


def test_a_return_address_is_named_before_the_opening():
    study = factories.ready_study(sitting={"return_url": SITTING["return_url"]})
    assert any("app.example.org" in warning for warning in lifecycle.opening_warnings(study))


# ---- the round trip ------------------------------------------------------------------------------


@pytest.fixture
def original(tmp_path: Path) -> Study:
    study = exported.ready_study(tmp_path, sitting=SITTING)
    more = [
        {"id": "p1", "claim": "Practice one.", "meta": {"explanation": "Sentence 1 says so."}},
        {"id": "p2", "claim": "Practice two.", "label": "refuted"},
    ]
    importing.import_claims(study, exported.claims_file(tmp_path, more), role=TrialKind.PRACTICE)
    check = exported.claims_file(tmp_path, [{"id": "a1", "claim": "Check."}])
    importing.import_claims(study, check, role=TrialKind.ATTENTION)
    return lifecycle.open_study(study)


def test_an_export_carries_sitting_and_roles_and_no_code(original: Study, tmp_path: Path):
    path = tmp_path / "export.zip"
    export_study(original, path)
    content = exported.records(path, "study.json")[0]
    secret = {"declined_code", "screened_out_code", "failed_checks_code"}
    assert content["sitting"] == {k: v for k, v in SITTING.items() if k not in secret}
    assert content["roles"] == {"practice": ["p1", "p2"], "attention": ["a1"]}
    assert content["n_claims"] == 6
    assert "NO-1" not in exported.member(path, "study.json")
    made = import_study(path, "copy")
    assert made.notes == []
    assert made.n_claims == 9
    assert made.study.sitting == content["sitting"]
    roles = Claim.objects.filter(study=made.study).order_by("position")
    assert list(roles.values_list("claim_id", "role"))[6:] == [
        ("p1", "practice"),
        ("p2", "practice"),
        ("a1", "attention"),
    ]
    assert lifecycle.open_study(made.study).frozen == original.frozen


def test_roles_and_sitting_are_part_of_what_was_frozen(original: Study, tmp_path: Path):
    path = tmp_path / "export.zip"
    export_study(original, path)

    def swap(content):
        content[0]["roles"] = {"practice": ["p1", "a1"], "attention": ["p2"]}
        content[0]["sitting"]["break_every"] = 5

    notes = import_study(exported.changed(path, "study.json", swap), "copy").notes
    assert [note.split(":")[0] for note in notes] == ["claims", "sitting"]


def test_an_export_from_before_there_were_sittings_is_still_read(original: Study, tmp_path: Path):
    Claim.objects.filter(study=original).exclude(role="main").delete()
    Study.objects.filter(pk=original.pk).update(sitting={})
    path = tmp_path / "export.zip"
    export_study(original, path)

    def older(content):
        del content[0]["sitting"], content[0]["roles"], content[0]["frozen"]["sitting"]

    made = import_study(exported.changed(path, "study.json", older), "copy")
    assert [note.split(":")[0] for note in made.notes] == ["claims"]  # three were deleted here
    assert made.study.sitting == {}


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ([], None),
        ({"practice": "p1"}, "lists of claim ids"),
        ({"practice": [1]}, "lists of claim ids"),
        ({"main": ["p1"]}, "lists of claim ids"),
        ({"practice": ["p1"], "attention": ["p1"]}, "there twice"),
        ({"practice": ["nobody"]}, "'nobody' is no claim"),
        ("practice", "lists of claim ids"),
    ],
)
def test_roles_that_do_not_fit_the_claims_refuse_the_export(
    original: Study, tmp_path: Path, roles: Any, words: str | None
):
    path = tmp_path / "export.zip"
    export_study(original, path)
    archive = exported.changed(path, "study.json", lambda content: content[0].update(roles=roles))
    if words is None:
        roles_given = json.loads(exported.member(archive, "study.json"))["roles"]
        assert roles_given == []
        words = "subsets"  # every claim would be a main one, and three are in no subset
    with pytest.raises(BadUpload, match=words):
        import_study(archive, "copy")
    assert Study.objects.count() == 1

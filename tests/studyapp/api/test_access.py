"""Who may ask, held against every address of the API there is."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from studyapp.api.schema import document
from studyapp.domain import export_jobs
from studyapp.domain.access import add_member, at_least
from studyapp.enums import EnrolmentState, Role, StudyState
from studyapp.models import AuditEntry, Claim, Enrolment, Participant, Study
from tests import factories
from tests.shared_data import ROOT
from tests.studyapp.api.asking import Api, a_claim, error_of, researcher

pytestmark = pytest.mark.django_db

OPERATIONS = sorted(
    (method.upper(), path) for path, methods in document()["paths"].items() for method in methods
)
OF_STUDIES = [one for one in OPERATIONS if "{slug}" in one[1]]
READING = [path for method, path in OF_STUDIES if method == "GET"]
ONE = "/api/v1/studies/{slug}/"
#: The smallest role that may change something; every member may read.
WRITING = {
    ("PATCH", ONE): Role.EDITOR,
    ("POST", ONE + "claims/"): Role.EDITOR,
    ("POST", ONE + "close/"): Role.OWNER,
    ("POST", ONE + "conditions/"): Role.EDITOR,
    ("POST", ONE + "exports/"): Role.VIEWER,
    ("POST", ONE + "open/"): Role.EDITOR,
    ("POST", ONE + "participants/{participant}/{action}/"): Role.EDITOR,
    ("POST", ONE + "pause/"): Role.EDITOR,
    ("PATCH", ONE + "precompute/spending/"): Role.EDITOR,
    ("POST", ONE + "precompute/"): Role.EDITOR,
    ("POST", ONE + "precompute/retry/"): Role.EDITOR,
    ("POST", ONE + "resume/"): Role.EDITOR,
    ("POST", ONE + "schedule/"): Role.EDITOR,
    ("POST", ONE + "schedule/cycles/"): Role.EDITOR,
    ("POST", ONE + "slots/{replication}.{number}/close/"): Role.EDITOR,
    ("POST", ONE + "slots/{replication}.{number}/reopen/"): Role.EDITOR,
    ("POST", ONE + "subsets/{number}/close/"): Role.EDITOR,
    ("POST", ONE + "subsets/{number}/reopen/"): Role.EDITOR,
    ("POST", ONE + "versions/"): Role.EDITOR,
}


@pytest.fixture
def owned() -> Study:
    """An open study of ``ann`` with a participant in the first trial, and an export."""
    study = factories.open_study(owner=researcher("ann"))
    factories.started(study)
    export_jobs.ask(study, export_jobs.Wanted())
    return study


def filled(path: str, study: Study, participant: str = "p1", export: int = 1) -> str:
    """The address for a study, its first slot and subset, a participant and an export."""
    names = {"slug": study.slug, "participant": participant, "action": "release"}
    return path.format(**names, replication=1, number=1, export_id=export)


def send(api: Api, method: str, path: str, study: Study) -> Any:
    """A request that would do something if it were let in."""
    code = Participant.objects.get(enrolments__slot__study=study).code
    export = study.exports.get().pk if "{export_id}" in path else 0
    address = filled(path, study, code, export)
    body = {} if "{action}" in path else {"slug": study.slug}
    return api.ask(method, address, body if method != "GET" else None)


def is_untouched(study: Study) -> bool:
    found = Study.objects.get(pk=study.pk)
    runs = Enrolment.objects.filter(slot__study=study, participant__trials__isnull=False)
    is_running = {run.state for run in runs} == {EnrolmentState.ACTIVE}
    return is_running and found.state == StudyState.OPEN and found.title == study.title


def test_every_part_of_a_study_has_an_address() -> None:
    assert len(OPERATIONS) == 40
    assert len(OF_STUDIES) == 38


def test_one_module_alone_decides_which_studies_a_token_opens() -> None:
    folder = ROOT / "studyapp" / "api"
    asking = [path.name for path in folder.glob("*.py") if "studyapp.access" in path.read_text()]
    assert asking == ["permissions.py"]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_without_a_token_nothing_is_answered(method: str, path: str, owned: Study) -> None:
    answer = send(Api(), method, path, owned)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Token"
    assert error_of(answer)["code"] == "not_authenticated"
    assert is_untouched(owned)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_wrong_token_is_refused(method: str, path: str, owned: Study) -> None:
    answer = send(Api(token="wrong"), method, path, owned)
    assert (answer.status_code, error_of(answer)["code"]) == (401, "not_authenticated")
    assert is_untouched(owned)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_R113_a_participants_key_is_refused_everywhere(
    method: str, path: str, owned: Study
) -> None:
    enrolment = factories.joined(owned)
    answer = Api(token=enrolment.token).ask(method, filled(path, owned))
    assert (answer.status_code, error_of(answer)["code"]) == (403, "forbidden")
    assert is_untouched(owned)


@pytest.mark.parametrize("path", ["", "claims/", "participants/", "trials/"])
def test_R113_nobody_deletes_with_a_participants_session(path: str, owned: Study) -> None:
    enrolment = factories.joined(owned)
    before = (Study.objects.count(), Claim.objects.count(), Participant.objects.count())
    answer = Api(token=enrolment.token).ask("DELETE", f"studies/{owned.slug}/{path}")
    assert answer.status_code == 403
    assert (Study.objects.count(), Claim.objects.count(), Participant.objects.count()) == before


@pytest.mark.parametrize("path", READING)
def test_R111_no_answer_tells_a_participant_the_label(path: str, owned: Study) -> None:
    enrolment = factories.joined(owned)
    for headers in (
        {"Authorization": f"Token {enrolment.token}"},
        {"Authorization": f"Bearer {enrolment.token}"},
        {"Cookie": f"run-{owned.code}={enrolment.token}; sessionid={enrolment.token}"},
    ):
        answer = Client().get(filled(path, owned), headers=headers)
        assert answer.status_code in (401, 403)
        text = answer.content.decode()
        assert not any(word in text for word in ("supported", "refuted", "gold", owned.title))


def test_R113_there_is_no_address_to_sign_up() -> None:
    assert not any("user" in path or "token" in path for _, path in OPERATIONS)


def test_a_login_alone_opens_nothing(owned: Study) -> None:
    client = Client()
    client.force_login(owned.owner)
    assert client.get(f"/api/v1/studies/{owned.slug}/").status_code == 401


@pytest.mark.parametrize(("method", "path"), OF_STUDIES)
def test_another_researchers_study_does_not_exist(method: str, path: str, owned: Study) -> None:
    answer = send(Api(researcher("bob")), method, path, owned)
    assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")
    assert owned.title not in answer.content.decode()
    assert is_untouched(owned)


@pytest.mark.parametrize(("method", "path"), OF_STUDIES)
def test_the_owner_and_a_superuser_are_let_in(
    method: str, path: str, owned: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    for user in (owned.owner, researcher("root", is_superuser=True)):
        answer = send(Api(user), method, path, owned)
        assert answer.status_code not in (401, 403, 404, 405, 500)


def test_every_change_has_a_smallest_role() -> None:
    assert sorted(WRITING) == [one for one in OF_STUDIES if one[0] != "GET"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.OWNER])
@pytest.mark.parametrize(("method", "path"), OF_STUDIES)
def test_a_member_is_let_in_as_far_as_the_role_goes(
    method: str, path: str, role: Role, owned: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    member = researcher("kim")
    add_member(owned, member, role)
    api = Api(member)
    before = AuditEntry.objects.count()
    answer = send(api, method, path, owned)
    least = WRITING.get((method, path), Role.VIEWER)
    if role in at_least(least):
        assert answer.status_code not in (401, 403, 404, 405, 500)
        return
    error = error_of(answer)
    assert (answer.status_code, error["code"]) == (403, "forbidden")
    a_role = "a viewer" if role == Role.VIEWER else "an editor"
    assert error["message"].startswith(f"You are {a_role} of this study; this takes {least}s.")
    assert is_untouched(owned)
    assert AuditEntry.objects.count() == before


def test_the_list_holds_the_studies_of_a_member_and_no_others(owned: Study) -> None:
    member = researcher("kim")
    add_member(owned, member, Role.VIEWER)
    factories.draft_study(owner=owned.owner)
    assert [row["slug"] for row in Api(member).get("studies/").json()["results"]] == [owned.slug]


def test_who_makes_a_study_owns_it() -> None:
    api = Api(researcher("kim"))
    assert api.post("studies/", {"slug": "mine"}).status_code == 201
    [member] = Study.objects.get(slug="mine").memberships.all()
    assert (member.user.username, member.role) == ("kim", Role.OWNER)


def test_what_a_token_changes_is_logged_under_its_user(owned: Study) -> None:
    api = Api(owned.owner)
    draft = factories.draft_study(owner=owned.owner)
    where = f"studies/{draft.slug}/"
    condition = {"name": "a", "interface": "incremental", "method": "coverage"}
    assert api.ask("PATCH", where, {"title": "New"}).status_code == 200
    assert api.post(where + "conditions/", condition).status_code == 201
    assert api.upload(draft, [a_claim("x1")]).status_code == 201
    assert api.post(f"studies/{owned.slug}/pause/").status_code == 200
    assert api.get(f"studies/{owned.slug}/export.zip").status_code == 200
    assert api.post(where + "open/").status_code == 409
    made = api.post(f"studies/{owned.slug}/exports/", {"variant": "deidentified"}).json()
    assert api.get(made["file"]).status_code == 200
    logged = AuditEntry.objects.filter(who="ann").order_by("pk")
    assert [(entry.action, entry.study_slug) for entry in logged] == [
        ("settings_changed", draft.slug),
        ("condition_added", draft.slug),
        ("claims_imported", draft.slug),
        ("study_paused", owned.slug),
        ("study_exported", owned.slug),
        ("study_exported", owned.slug),
        ("export_downloaded", owned.slug),
    ]


def test_a_new_token_is_logged_without_the_token() -> None:
    token = Api(researcher("kim")).token
    entry = AuditEntry.objects.get(action="api_token_made")
    assert (entry.who, entry.details) == ("command", {"member": "kim"})
    assert token not in str(entry.details)


def test_a_token_needs_no_second_factor(owned: Study, settings: Any) -> None:
    settings.REQUIRE_2FA = True
    assert Api(owned.owner).get(f"studies/{owned.slug}/").status_code == 200


def test_a_user_who_is_switched_off_is_refused_at_once(owned: Study) -> None:
    api = Api(owned.owner)
    assert api.get("studies/").status_code == 200
    get_user_model().objects.filter(pk=owned.owner.pk).update(is_active=False)
    assert api.get("studies/").status_code == 401


@pytest.mark.parametrize("words", ["Token", "Token a b", "Basic YTpi", "Token \xff", "Token \0"])
def test_a_strange_header_is_refused(words: str) -> None:
    answer = Client().get("/api/v1/studies/", headers={"Authorization": words})
    assert (answer.status_code, error_of(answer)["code"]) == (401, "not_authenticated")


def test_bearer_is_taken_as_well(owned: Study) -> None:
    headers = {"Authorization": f"bearer {Api(owned.owner).token}"}
    assert Client().get("/api/v1/studies/", headers=headers).status_code == 200


@pytest.mark.parametrize("path", READING)
def test_answers_are_not_kept_by_browsers_and_proxies(path: str, owned: Study) -> None:
    answer = send(Api(owned.owner), "GET", path, owned)
    assert answer.headers["Cache-Control"] == "no-store"

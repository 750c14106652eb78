"""People with a link of their own: one run a link, names apart, and links that open nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from studyapp.domain import lifecycle
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.join_forms import invite, issue_join_form
from studyapp.domain.link_lists import links_of, make_links, renew_link, revoke_link, state_words
from studyapp.domain.link_names import NewLink
from studyapp.domain.run_ends import return_run
from studyapp.enums import EnrolmentState, RunKind, StudyState
from studyapp.errors import NotEditable, NotReady
from studyapp.models import Enrolment, Participant, PersonalLink, RefusedId, Study
from tests import factories
from tests.studyapp.domain.test_trials import in_threads
from tests.studyapp.views.pages import counts, field_of, has_form, join, run_url, welcome_url
from tests.studyapp.views.test_languages import english_words_of, words_of
from tests.studyapp.views.test_participant_load import at_the_same_moment, n_queries
from tests.studyapp.views.test_recruiting import finish

NAMES = ("Ann Lee", "Bo", "Cy")


def linked(kind: str = RunKind.REAL, names: tuple[str, ...] = NAMES, **options: Any) -> Study:
    """An open study with a link for everybody in ``names``."""
    study = factories.open_study(n_replications=2, **options)
    make_links(study, [NewLink(n, name, kind) for n, name in enumerate(names, start=2)])
    return study


@pytest.fixture
def study(db: None) -> Study:
    return linked()


def of(name: str = "Ann Lee") -> PersonalLink:
    return PersonalLink.objects.get(name=name)


def address(link: PersonalLink | None = None) -> str:
    link = link or of()
    return f"{welcome_url(link.study)}?link={link.token}"


def consent(link: PersonalLink | None = None) -> Any:
    link = link or of()
    return join(Client(), link.study, address(link))


def states(study: Study) -> dict[str, str]:
    return {link.name: state_words(link) for link in links_of(study)}


# ---- one run a link ------------------------------------------------------------------------------


def test_a_link_leads_to_one_run_in_any_browser_and_at_any_stage(study: Study) -> None:
    run = consent().headers["Location"]
    enrolment = Enrolment.objects.get()

    def arrives() -> str:
        answer = Client().get(address())
        assert (answer.status_code, answer.headers["Location"]) == (302, run)
        return words_of(Client().get(run))

    assert "Before you begin" in arrives()
    Client().post(run + "begin")
    assert "Trial 1 of 4" in arrives()
    finish(enrolment)
    assert study.completion_code in arrives()
    lifecycle.set_state(study, StudyState.CLOSED, allowed_from=[StudyState.OPEN])
    assert study.completion_code in arrives()
    assert (Participant.objects.count(), of().participant) == (1, enrolment.participant)


def test_forms_of_one_link_opened_before_lead_to_one_run(study: Study) -> None:
    forms = [field_of(Client().get(address()), "form") for _ in range(3)]
    answers = [
        Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"}) for form in forms
    ]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert Enrolment.objects.count() == 1


def test_consents_of_one_link_at_once_make_one_run(committed_db: None) -> None:
    study = linked()
    forms = [field_of(Client().get(address()), "form") for _ in range(5)]
    url = f"/p/{study.code}/join"
    answers = at_the_same_moment(
        [lambda form=form: Client().post(url, {"form": form, "consent": "yes"}) for form in forms]
    )
    assert [answer.status_code for answer in answers] == [303] * 5
    assert Enrolment.objects.count() == Participant.objects.count() == 1


def test_two_links_in_one_browser_are_two_people(study: Study, client: Client) -> None:
    runs = [join(client, study, address(of(name))).headers["Location"] for name in ("Bo", "Cy")]
    assert len(set(runs)) == 2
    assert client.get(address(of("Bo"))).headers["Location"] == runs[0]


def test_a_pilot_link_fills_a_copy_of_the_places_of_its_own(db: None) -> None:
    study = linked(RunKind.PILOT)
    for name in NAMES:
        assert consent(of(name)).status_code == 303
    assert set(Enrolment.objects.values_list("run_kind", flat=True)) == {RunKind.PILOT}
    assert [factories.joined(study).slot.number for _ in range(4)] == [1, 2, 1, 2]


def test_a_look_stores_a_first_seen_time_and_a_preview_nothing(study: Study) -> None:
    before = counts()
    Client().head(address())
    Client().get(address(), headers={"Sec-Purpose": "prefetch"})
    assert of().first_seen is None
    robot = {"User-Agent": "Slackbot-LinkExpanding 1.0"}
    assert has_form(Client().get(address(), headers=robot), "join")
    first_seen = of().first_seen
    assert first_seen is not None
    Client().get(address())
    assert of().first_seen == first_seen
    assert counts() == before
    assert states(study) == {"Ann Lee": "opened", "Bo": "not opened", "Cy": "not opened"}


def test_the_way_over_declining_and_a_forgotten_tick_keeps_the_link(study: Study) -> None:
    page = Client().get(address())
    query = f"?link={of().token}"
    assert f"/p/{study.code}/declined{query}" in page.content.decode()
    declined = Client().get(f"/p/{study.code}/declined{query}")
    assert f"{welcome_url(study)}{query}" in declined.content.decode()
    unticked = Client().post(f"/p/{study.code}/join", {"form": field_of(page, "form")})
    assert unticked.status_code == 422
    assert f"declined{query}" in unticked.content.decode()
    data = {"form": field_of(unticked, "form"), "consent": "yes"}
    Client().post(f"/p/{study.code}/join", data)
    assert of().participant == Participant.objects.get()


def test_a_link_costs_few_queries(study: Study) -> None:
    url = address()
    # The study, the link, and once the time of the first look.
    assert [n_queries(lambda: Client().get(url)) for _ in range(2)] == [3, 2]
    consent()
    # The study, the link with its person, and the run.
    assert n_queries(lambda: Client().get(url), status=302) == 3


# ---- who may come in -----------------------------------------------------------------------------


def test_where_only_links_open_the_study_the_plain_one_is_refused_kindly(db: None) -> None:
    study = linked(recruiting={"personal_links": "only"})
    before = counts()
    page = Client().get(welcome_url(study))
    assert page.status_code == 400
    assert "This study needs your own link" in words_of(page)
    Client().head(welcome_url(study))
    form = issue_join_form(study, None)
    answer = Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 400
    assert counts() == before
    assert dict(RefusedId.objects.values_list("kind", "n")) == {"no_link": 1}
    assert consent().status_code == 303
    pilot = f"{welcome_url(study)}?run={invite(study, RunKind.PILOT)}"
    assert join(Client(), study, pilot).status_code == 303


def test_a_browser_that_has_a_run_finds_back_without_the_link(db: None, client: Client) -> None:
    study = linked(recruiting={"personal_links": "only"})
    run = join(client, study, address()).headers["Location"]
    assert client.get(welcome_url(study)).headers["Location"] == run
    assert "the link you were given" in words_of(client.get(run))
    assert not RefusedId.objects.exists()


def test_where_links_are_off_only_pilot_runs_have_them(db: None) -> None:
    study = factories.open_study(recruiting={"personal_links": "off"})
    with pytest.raises(NotEditable, match="links are for pilot runs only"):
        make_links(study, [NewLink(2, "Ann Lee", RunKind.REAL)])
    make_links(study, [NewLink(2, "Ann Lee", RunKind.PILOT)])
    assert consent().status_code == 303
    PersonalLink.objects.update(run_kind=RunKind.REAL)
    assert Client().get(address()).status_code == 400


def test_a_link_beside_recruiter_ids_needs_no_id(db: None) -> None:
    linked(recruiting={"id_parameter": "PROLIFIC_PID"})
    assert consent().status_code == 303


@pytest.mark.parametrize(
    "token", ["nobody", "{{link}}", "<link>", "x" * 5000, "%00", "%ED%A0%80", "é", "a&link=b"]
)
def test_a_link_that_is_none_is_refused_kindly_and_counted(study: Study, token: str) -> None:
    before = counts()
    page = Client().get(f"{welcome_url(study)}?link={token}")
    assert page.status_code == 400
    assert "ask them for a new one" in words_of(page)
    assert counts() == before
    assert dict(RefusedId.objects.values_list("kind", "n")) == {"bad_link": 1}


def test_a_link_of_another_study_opens_nothing(study: Study) -> None:
    other = factories.open_study()
    assert Client().get(f"{welcome_url(other)}?link={of().token}").status_code == 400
    draft = factories.ready_study()
    assert "has not opened yet" in words_of(Client().get(f"{welcome_url(draft)}?link=x"))


def test_an_empty_link_is_none(study: Study) -> None:
    assert has_form(Client().get(f"{welcome_url(study)}?link="), "join")


# ---- revoked and renewed -------------------------------------------------------------------------


def test_a_revoked_link_opens_nothing_and_its_run_goes_on(study: Study) -> None:
    form = field_of(Client().get(address(of("Bo"))), "form")
    run = consent().headers["Location"]
    for name in ("Ann Lee", "Bo"):
        revoke_link(study, of(name).pk)
    assert Client().get(address()).status_code == 400
    answer = Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 404
    assert Client().post(run + "begin").status_code == 303
    assert states(study) == {"Ann Lee": "under way", "Bo": "revoked", "Cy": "not opened"}
    with pytest.raises(NotEditable, match="revoked already"):
        revoke_link(study, of().pk)


def test_a_renewed_link_leads_to_the_same_run_and_the_old_one_nowhere(study: Study) -> None:
    old = address()
    run = consent().headers["Location"]
    revoke_link(study, of().pk)
    renew_link(study, of().pk)
    assert Client().get(old).status_code == 400
    assert Client().get(address()).headers["Location"] == run
    assert of().revoked_at is None


def test_states_say_where_everybody_stands(study: Study) -> None:
    for name in NAMES:
        consent(of(name))
    runs = {name: of(name).participant.enrolments.get() for name in NAMES}
    finish(runs["Bo"])
    return_run(study, runs["Cy"].participant.code)
    assert states(study) == {"Ann Lee": "under way", "Bo": "completed", "Cy": "returned"}


# ---- names apart ---------------------------------------------------------------------------------


def test_who_withdraws_is_forgotten_and_the_link_starts_nothing(study: Study) -> None:
    link, url = of(), address()
    form = field_of(Client().get(url), "form")
    run = Enrolment.objects.get(token=consent().headers["Location"].rstrip("/").split("/")[-1])
    question = words_of(Client().get(run_url(run) + "withdraw"))
    assert "Your name is deleted with it. A checksum of your link stays" in question
    withdraw(run.token)
    kept = PersonalLink.objects.get(pk=link.pk)
    assert (kept.name, kept.token, kept.participant, kept.first_seen) == ("", "", None, None)
    before = counts()
    page = Client().get(url)
    assert page.status_code == 410
    assert "Everything recorded in your run is deleted" in words_of(page)
    assert "Your name is deleted with it" in words_of(page)
    answer = Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 410
    assert counts() == before
    assert set(states(study)) == {"Bo", "Cy"}


def test_consent_and_withdrawal_of_one_link_at_once_agree_in_the_end(committed_db: None) -> None:
    for _ in range(4):
        study = linked(names=("Ann Lee",))
        form = field_of(Client().get(address()), "form")
        consent()
        token = Enrolment.objects.get(slot__study=study).token

        def one(index: int, study: Study = study, form: str = form, token: str = token) -> Any:
            if index:
                return withdraw(token)
            url = f"/p/{study.code}/join"
            return Client().post(url, {"form": form, "consent": "yes"}).status_code

        answers = in_threads(one, 2)
        assert answers[0] in (303, 410)
        assert not Enrolment.objects.filter(slot__study=study).exists()
        assert PersonalLink.objects.get(study=study).has_withdrawn


def test_no_export_holds_a_name_or_a_link(study: Study, tmp_path: Path) -> None:
    finish(Enrolment.objects.get(token=consent().headers["Location"].rstrip("/").split("/")[-1]))
    export_study(study, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    for secret in ("Ann Lee", of().token, of().digest):
        assert secret.encode() not in content


def test_the_database_keeps_no_name_of_who_withdrew_and_no_name_twice(study: Study) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        PersonalLink.objects.filter(name="Bo").update(has_withdrawn=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        PersonalLink.objects.create(study=study, name="Bo", digest="x", created_at=timezone.now())


def test_the_pages_are_german_in_a_german_study(db: None) -> None:
    study = linked(lang="de", title="Studie", recruiting={"personal_links": "only"})
    for url in (welcome_url(study), f"{welcome_url(study)}?link=nobody"):
        page = Client().get(url)
        assert "Diese Studie braucht Ihren eigenen Link" in words_of(page)
        assert english_words_of(page) == []
    run = consent().headers["Location"]
    question = Client().get(run + "withdraw")
    assert "Ihr Name wird damit gelöscht" in words_of(question)
    assert english_words_of(question) == []


def test_links_only_do_not_go_with_ids_or_without_places(db: None) -> None:
    draft = factories.draft_study(recruiting={"personal_links": "only"})
    with pytest.raises(NotReady):
        lifecycle.open_study(draft)
    full = linked(names=tuple("abcdef"))
    for name in "abcd":
        assert consent(of(name)).status_code == 303
    assert consent(of("e")).status_code == 409
    assert of("e").participant is None
    assert Enrolment.objects.filter(state=EnrolmentState.CONSENTED).count() == 4
    assert full.slots.count() == 4

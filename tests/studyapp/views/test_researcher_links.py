"""The recruiting page: links made, listed, downloaded, revoked and renewed."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from studyapp.domain.link_lists import make_links
from studyapp.domain.link_names import NewLink
from studyapp.enums import Role, RunKind, StudyState
from studyapp.models import AuditEntry, Enrolment, Membership, PersonalLink, Study
from studyapp.views.researcher_links import PAGE
from tests import factories
from tests.studyapp.views.pages import join, welcome_url
from tests.studyapp.views.setup_pages import client_of, researcher, words
from tests.studyapp.views.test_participant_load import n_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def study() -> Study:
    return factories.open_study(slug="bridges", n_replications=2, owner=researcher())


def url(name: str, *more: Any) -> str:
    return reverse(name, args=["bridges", *more])


def make(client: Client, names: str = "", file: bytes | None = None, kind: str = "real") -> Any:
    data: dict[str, Any] = {"names": names, "kind": kind}
    if file is not None:
        data["file"] = SimpleUploadedFile("people.csv", file)
    return client.post(url("links-make"), data)


def named(study: Study, n: int) -> None:
    make_links(study, [NewLink(line, f"Person {line}", RunKind.REAL) for line in range(1, n + 1)])


def table(response: Any) -> list[dict[str, str]]:
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_typed_names_and_a_file_become_links(client: Client, study: Study) -> None:
    assert make(client, "Ann Lee\r\nBo\r\n").status_code == 302
    assert make(client, file=b"name,kind\nBo,\nCy,pilot\n").status_code == 302
    page = client.get(url("study-recruiting"))
    assert "1 link made; 1 person had one." in words(page)
    assert "3 in all: 3 not opened." in words(page)
    links = PersonalLink.objects.order_by("pk").values_list("name", "run_kind", "token")
    assert [link[:2] for link in links] == [("Ann Lee", "real"), ("Bo", "real"), ("Cy", "pilot")]
    for *_, token in links:
        assert f"/p/{study.code}/?link={token}" in page.content.decode()
    entries = AuditEntry.objects.filter(action="links_made").order_by("pk")
    assert [entry.details for entry in entries] == [{"links": 2}, {"links": 1}]


def test_a_file_with_a_fault_makes_no_link_and_says_every_one(client: Client, study: Study) -> None:
    page = make(client, file=b"name,kind\nAnn,\n,real\nBo,staff\n")
    assert page.status_code == 422
    assert "Nothing was changed" in words(page)
    assert "people.csv, line 3, field name: is empty" in words(page)
    assert "people.csv, line 4, field kind: must be real or pilot, or empty." in words(page)
    assert not PersonalLink.objects.exists()
    assert not AuditEntry.objects.filter(action="links_made").exists()


@pytest.mark.parametrize(
    ("names", "file", "said"),
    [
        ("", None, "Type the names, or choose a file with them: one of the two."),
        ("Ann", b"name\nBo\n", "Type the names, or choose a file with them: one of the two."),
        ("Ann\nAnn", None, "the list, line 2, field name: 'Ann' is on line 1 already"),
    ],
)
def test_what_cannot_be_made_is_said_and_what_was_typed_stays(
    client: Client, study: Study, names: str, file: bytes | None, said: str
) -> None:
    page = make(client, names, file)
    assert page.status_code == 422
    assert said in words(page)
    assert not PersonalLink.objects.exists()
    assert names in page.content.decode()


def test_a_name_with_a_link_for_another_kind_of_run_is_refused(
    client: Client, study: Study
) -> None:
    make(client, "Ann")
    page = make(client, "Bo\nAnn", kind="pilot")
    assert "line 2, field kind: 'Ann' has a link for a real run" in words(page)
    assert PersonalLink.objects.count() == 1


def test_a_name_sent_twice_has_one_link(client: Client, study: Study) -> None:
    make(client, "Ann")
    make(client, "Ann")
    assert PersonalLink.objects.count() == 1


def test_the_download_is_safe_in_a_spreadsheet(client: Client, study: Study) -> None:
    names = ["=1+1", "+1", "-1", "@x", "＝1", "Zoë, the 2nd"]
    make(client, "\n".join(names))
    response = client.get(url("links-csv"))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = table(response)
    told = [f"'{name}" for name in names[:-1]] + names[-1:]
    assert sorted(row["name"] for row in rows) == sorted(told)
    assert list(rows[0]) == ["name", "kind", "link", "state"]
    assert {row["state"] for row in rows} == {"not opened"}
    links = PersonalLink.objects.order_by("pk").values_list("token", flat=True)
    assert [row["link"].split("?link=")[1] for row in rows] == list(links)


def test_the_list_is_filtered_by_state_and_name_and_so_is_the_download(
    client: Client, study: Study
) -> None:
    named(study, 4)
    link = PersonalLink.objects.get(name="Person 2")
    join(Client(), study, f"{welcome_url(study)}?link={link.token}")
    Client().get(f"{welcome_url(study)}?link={PersonalLink.objects.get(name='Person 3').token}")
    assert Enrolment.objects.count() == 1
    page = words(client.get(url("study-recruiting")))
    assert "4 in all: 2 not opened, 1 opened, 1 under way." in page
    chosen = client.get(url("study-recruiting"), {"state": "under way"}).content.decode()
    assert re.findall(r'<th scope="row">(.*?)</th>', chosen) == ["Person 2"]
    assert f"{url('links-csv')}?state=under+way" in chosen
    rows = table(client.get(url("links-csv"), {"state": "under way"}))
    assert [(row["name"], row["state"]) for row in rows] == [("Person 2", "under way")]
    assert len(table(client.get(url("links-csv"), {"name": "PERSON 3"}))) == 1
    odd = client.get(url("study-recruiting"), {"state": "odd", "page": "x"})
    assert odd.content.decode().count('<th scope="row">') == 4


def test_a_long_list_has_pages_and_takes_the_same_queries(client: Client, study: Study) -> None:
    named(study, 1)
    few = n_queries(lambda: client.get(url("study-recruiting")))
    named(study, PAGE + 1)
    assert n_queries(lambda: client.get(url("study-recruiting"))) == few
    page = client.get(url("study-recruiting"))
    assert "1 to 100 of 101" in words(page)
    assert 'href="?page=2#list"' in page.content.decode()
    last = client.get(url("study-recruiting"), {"page": "2"})
    assert re.findall(r'<th scope="row">(.*?)</th>', last.content.decode()) == ["Person 101"]


def test_a_link_is_revoked_and_renewed_on_the_page(client: Client, study: Study) -> None:
    named(study, 1)
    link = PersonalLink.objects.get()
    assert client.post(url("link-revoke", link.pk)).status_code == 302
    page = client.get(url("study-recruiting"))
    assert "The link of Person 1 is revoked: it opens nothing any more." in words(page)
    assert link.token not in page.content.decode()
    again = client.post(url("link-revoke", link.pk))
    assert again.status_code == 409
    assert "revoked already" in words(again)
    client.post(url("link-renew", link.pk))
    page = client.get(url("study-recruiting"))
    assert "Person 1 has a new link" in words(page)
    assert PersonalLink.objects.get().token in page.content.decode()
    actions = AuditEntry.objects.order_by("pk").values_list("action", "details")
    assert list(actions)[-2:] == [("link_revoked", {"links": 1}), ("link_renewed", {"links": 1})]
    assert "Person" not in str(list(AuditEntry.objects.values()))


def test_a_link_of_another_study_is_not_touched(client: Client, study: Study) -> None:
    other = factories.open_study(slug="other")
    named(other, 1)
    link = PersonalLink.objects.get()
    assert client.post(url("link-revoke", link.pk)).status_code == 400
    assert PersonalLink.objects.get().revoked_at is None


def test_a_pilot_link_is_shown_once_and_starts_one_pilot_run(client: Client, study: Study) -> None:
    page = client.post(url("pilot-link")).content.decode()
    [link] = re.findall(r'id="new-pilot-link" readonly value="([^"]*)"', page)
    assert join(Client(), study, link.split("testserver")[-1].replace("&amp;", "&")) is not None
    assert Enrolment.objects.get().run_kind == RunKind.PILOT
    assert "new-pilot-link" not in client.get(url("study-recruiting")).content.decode()
    assert AuditEntry.objects.filter(action="pilot_link_made").count() == 1


def test_a_draft_makes_links_and_a_closed_study_none(client: Client) -> None:
    draft = factories.draft_study("bridges", owner=researcher())
    assert make(client, "Ann").status_code == 302
    assert "It works once the study is open." in words(client.get(url("study-recruiting")))
    assert "Pilot links work from the opening on" in words(client.get(url("study-recruiting")))
    made = words(client.post(url("pilot-link")))
    assert "It works from the opening on; until then it says that the study is not open." in made
    Study.objects.filter(pk=draft.pk).update(state=StudyState.OPEN, opened_at="2026-01-01T00:00Z")
    assert "from the opening on" not in words(client.get(url("study-recruiting")))
    Study.objects.filter(pk=draft.pk).update(state=StudyState.CLOSED, opened_at="2026-01-01T00:00Z")
    assert make(client, "Bo").status_code == 422
    assert client.post(url("pilot-link")).status_code == 409
    page = client.get(url("study-recruiting"))
    assert "The study is closed: no further links are made." in words(page)
    assert "Make a pilot link" not in words(page)


def test_links_that_were_turned_away_are_counted_here(client: Client, study: Study) -> None:
    for query in ("?link=nobody", "?link=nobody", "?link={{link}}"):
        Client().get(welcome_url(study) + query)
    page = words(client.get(url("study-recruiting")))
    assert "Links turned away 3 (3 with a personal link that is unknown or revoked)" in page
    assert "Stopped at consent" not in page


def test_the_study_page_says_that_only_personal_links_open_the_study(client: Client) -> None:
    factories.open_study(slug="own", owner=researcher(), recruiting={"personal_links": "only"})
    page = client.get(reverse("study", args=["own"]))
    assert "everybody needs a link of their own" in words(page)


def test_viewers_see_no_name_and_no_way_there(study: Study) -> None:
    named(study, 1)
    Membership.objects.create(study=study, user=researcher("vi"), role=Role.VIEWER)
    viewer = client_of("vi")
    assert viewer.get(url("study-recruiting")).status_code == 403
    assert viewer.get(url("links-csv")).status_code == 403
    home = viewer.get(reverse("study", args=["bridges"])).content.decode()
    assert url("study-recruiting") not in home
    assert "Person 1" not in home
    owner = client_of().get(reverse("study", args=["bridges"])).content.decode()
    assert url("study-recruiting") in owner


def test_the_page_says_how_each_source_is_used(client: Client) -> None:
    said = {
        "plain": "Everybody gets the same one",
        "prolific": "Prolific fills it in.",
        "mturk": "<ExternalQuestion",
        "sona": "SONA fills it in.",
    }
    for source, expected in said.items():
        factories.draft_study(f"by-{source}", owner=researcher(), recruiting={"source": source})
        page = client.get(reverse("study-recruiting", args=[f"by-{source}"]))
        assert expected in words(page)
    factories.draft_study("own", owner=researcher(), recruiting={"personal_links": "only"})
    page = client.get(reverse("study-recruiting", args=["own"]))
    assert "its plain link opens nothing" in words(page)

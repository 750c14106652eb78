"""A study changes while people are in it: each finishes on the version that they began under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from studyapp.domain.assignment import consent_version
from studyapp.domain.join_forms import invite
from studyapp.domain.link_lists import make_links
from studyapp.domain.link_names import NewLink
from studyapp.domain.versions import publish
from studyapp.enums import EnrolmentState, Interface, RunKind
from studyapp.errors import StudyError
from studyapp.models import (
    Enrolment,
    Participant,
    PersonalLink,
    RecruiterId,
    Study,
    StudyVersion,
    Trial,
)
from tests import factories
from tests.studyapp.views import test_recruiting
from tests.studyapp.views.pages import (
    HTMX,
    counts,
    field_of,
    form_ending,
    join,
    run_url,
    trial_url,
    welcome_url,
)
from tests.studyapp.views.test_participant_load import at_the_same_moment, n_queries

pytestmark = pytest.mark.django_db

QUESTION = {"name": "age", "text": "Old question?", "kind": "text", "required": True}
OLD = {
    "title": "Old title",
    "texts": {"instructions": "Read slowly.", "completion": "Old thanks.", "contact": "Old Ann"},
    "completion_code": "OLDCODE",
    "sitting": {"questionnaire": [QUESTION], "break_every": 2},
}
NEW = {
    "title": "New title",
    "texts": {"instructions": "Read fast.", "completion": "New thanks.", "contact": "New Ann"},
    "completion_code": "NEWCODE",
    "sitting": {
        "questionnaire": [QUESTION | {"text": "New question?", "name": "years"}],
        "break_every": 0,
        "confidence": "required",
        "return_url": "https://app.prolific.com/complete?cc={code}",
    },
}


def act(client: Client, page: Any) -> Any:
    """Do what a run's page asks for, whatever it is; the next page."""
    html = page.content.decode()
    if "/decide" in html:
        action, values = form_ending(page, "decide")
        values |= {"decision": "supported"}
        if 'name="confidence"' in html:
            values["confidence"] = "3"
    elif "/questionnaire" in html:
        action, values = form_ending(page, "questionnaire")
        name = "q-age" if 'name="q-age"' in html else "q-years"
        values[name] = "40"
    else:
        action, values = form_ending(page, "begin")
    return client.get(client.post(action, values).headers["Location"])


def read_to_the_end(client: Client, enrolment: Enrolment) -> list[str]:
    """Every page of a run from where it stands to the end."""
    page = client.get(run_url(enrolment))
    pages = [page.content.decode()]
    while Enrolment.objects.get(pk=enrolment.pk).state != EnrolmentState.COMPLETED:
        page = act(client, page)
        pages.append(page.content.decode())
        assert len(pages) < 20
    return [*pages, client.get(run_url(enrolment) + "help").content.decode()]


def test_R135_five_open_runs_finish_on_their_version_and_new_arrivals_get_the_new_one() -> None:
    """Editing a study changed what people in the middle of a run read."""
    study = factories.open_study(n_replications=3, **OLD)
    browsers = []
    for number in range(5):
        browser = Client()
        join(browser, study)
        enrolment = Enrolment.objects.latest("pk")
        page = browser.get(run_url(enrolment))
        for _ in range(number):  # none, the first trial, the second, a break, the third
            page = act(browser, page)
        browsers.append((browser, enrolment))
    publish(study, NEW, "The instructions were wrong.")
    for browser, enrolment in browsers:
        pages = "".join(read_to_the_end(browser, enrolment))
        assert "Old title" in pages
        assert "Read slowly." in pages
        assert "Old question?" in pages
        assert "Old thanks." in pages
        assert "OLDCODE" in pages
        assert "New" not in pages.replace("New window", "")
        assert "NEWCODE" not in pages
        assert 'name="confidence"' not in pages
    late = Client()
    join(late, study)
    enrolment = Enrolment.objects.latest("pk")
    assert enrolment.version == 2
    pages = "".join(read_to_the_end(late, enrolment))
    assert "Old" not in pages
    for text in ("New title", "Read fast.", "New question?", "New thanks.", "NEWCODE"):
        assert text in pages
    assert 'name="confidence"' in pages


def test_who_withdraws_from_an_older_version_reads_that_it_is_done() -> None:
    study = factories.open_study(**OLD)
    browser = Client()
    join(browser, study)
    enrolment = Enrolment.objects.get()
    publish(study, NEW, "Why not.")
    assert "Old title" in browser.get(run_url(enrolment) + "withdraw").content.decode()
    browser.post(run_url(enrolment) + "withdraw")
    assert "You have withdrawn" in browser.get(run_url(enrolment)).content.decode()
    assert StudyVersion.objects.count() == 2


def test_a_run_of_the_open_link_is_not_told_of_ids_that_came_later() -> None:
    study = factories.open_study()
    browser = Client()
    join(browser, study)
    enrolment = Enrolment.objects.get()
    publish(study, {"recruiting": {"id_parameter": "PID"}}, "We recruit elsewhere now.")
    page = browser.get(run_url(enrolment)).content.decode()
    assert "the address of this page brings you back" in page
    assert browser.get(f"{welcome_url(study)}?PID=5a9d64f5").status_code == 200


# ---- consent -------------------------------------------------------------------------------------


def sent(client: Client, study: Study, form: str, **more: str) -> Any:
    return client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes", **more})


def test_a_form_under_an_old_consent_text_shows_the_new_one_and_keeps_nothing(
    study: Study, client: Client
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    publish(study, {"texts": {"consent": "We now also film you."}}, "Another ethics vote.")
    before = counts()
    answer = sent(client, study, form)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "We now also film you." in page
    assert "was changed while this page was open" in page
    assert "run-" not in str(answer.cookies)
    assert counts() == before
    # Not ticking the box changes nothing; agreeing to what is shown now does.
    again = client.post(f"/p/{study.code}/join", {"form": field_of(answer, "form")})
    assert again.status_code == 422
    assert sent(client, study, field_of(again, "form")).status_code == 303
    enrolment = Enrolment.objects.get()
    assert (enrolment.version, enrolment.consent_version) == (2, consent_version(study))


def test_an_unticked_form_shows_the_new_text_and_is_then_of_it(
    study: Study, client: Client
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    publish(study, {"texts": {"consent": "We now also film you."}}, "Another ethics vote.")
    answer = client.post(f"/p/{study.code}/join", {"form": form})
    assert "We now also film you." in answer.content.decode()
    assert sent(client, study, field_of(answer, "form")).status_code == 303


def test_a_form_under_the_same_consent_text_joins_the_newest_version(
    study: Study, client: Client
) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    publish(study, {"texts": {"instructions": "Read fast."}}, "A typing error.")
    answer = sent(client, study, form)
    assert answer.status_code == 303
    assert "Read fast." in client.get(answer.headers["Location"]).content.decode()


def test_a_form_sent_before_the_change_leads_back_to_its_run(study: Study, client: Client) -> None:
    form = field_of(client.get(welcome_url(study)), "form")
    first = sent(client, study, form)
    publish(study, {"texts": {"consent": "We now also film you."}}, "Another ethics vote.")
    assert sent(client, study, form).headers["Location"] == first.headers["Location"]
    assert Participant.objects.count() == 1


def test_whoever_comes_by_an_id_agrees_to_the_new_text_as_the_same_person() -> None:
    study = test_recruiting.recruiting_study()
    client = Client()
    form = field_of(client.get(test_recruiting.link(study)), "form")
    publish(study, {"texts": {"consent": "We now also film you."}}, "Another ethics vote.")
    answer = sent(client, study, form)
    assert answer.status_code == 409
    assert sent(client, study, field_of(answer, "form")).status_code == 303
    person = Participant.objects.get()
    assert person.recruiter_id.value == test_recruiting.PID


def _by_plain_link() -> tuple[Study, str]:
    study = factories.open_study()
    return study, welcome_url(study)


def _by_id() -> tuple[Study, str]:
    study = test_recruiting.recruiting_study()
    return study, test_recruiting.link(study)


def _by_personal_link(kind: str = RunKind.REAL, **options: Any) -> tuple[Study, str]:
    study = factories.open_study(**options)
    make_links(study, [NewLink(2, "Ann Lee", kind)])
    return study, f"{welcome_url(study)}?link={PersonalLink.objects.get().token}"


def _by_pilot_link() -> tuple[Study, str]:
    study = factories.open_study()
    return study, f"{welcome_url(study)}?run={invite(study, RunKind.PILOT)}"


def _from_mturk() -> tuple[Study, str]:
    study = factories.open_study(recruiting={"source": "mturk"})
    sent_along = {
        "workerId": "A1",
        "assignmentId": "3A",
        "hitId": "3H",
        "turkSubmitTo": "https://www.mturk.com",
    }
    return study, f"{welcome_url(study)}?{urlencode(sent_along)}"


@pytest.mark.parametrize(
    "way",
    [
        _by_plain_link,
        _by_id,
        _by_personal_link,
        lambda: _by_personal_link(RunKind.PILOT),
        lambda: _by_personal_link(recruiting={"personal_links": "only"}),
        _by_pilot_link,
        _from_mturk,
    ],
    ids=["plain", "id", "personal link", "personal pilot link", "links only", "pilot", "mturk"],
)
def test_no_way_of_joining_records_a_consent_that_nobody_gave(
    client: Client, way: Callable[[], tuple[Study, str]]
) -> None:
    """Personal links let a form of the old consent text join under the new one."""
    study, link = way()
    form = field_of(client.get(link), "form")
    publish(study, {"texts": {"consent": "We now also film you."}}, "Another ethics vote.")
    before = counts()
    people = [list(table.objects.values()) for table in (PersonalLink, RecruiterId)]
    answer = sent(client, study, form)
    assert answer.status_code == 409
    assert "We now also film you." in answer.content.decode()
    assert "run-" not in str(answer.cookies)
    assert counts() == before
    assert people == [list(table.objects.values()) for table in (PersonalLink, RecruiterId)]
    assert sent(client, study, field_of(answer, "form")).status_code == 303
    enrolment = Enrolment.objects.get()
    study.refresh_from_db()
    assert (enrolment.version, enrolment.consent_version) == (2, consent_version(study))


# ---- load ----------------------------------------------------------------------------------------


def test_a_newest_run_takes_no_further_query_and_an_older_one_takes_one(
    study: Study, client: Client
) -> None:
    _, old = factories.started_in(study, Interface.INCREMENTAL)
    page, reveal = run_url(old.enrolment), trial_url(old) + "reveal"
    decide = {"decision": "supported", "n_shown": 3}
    assert n_queries(lambda: client.get(page)) == 3
    publish(study, {"title": "New"}, "Another title.")
    assert n_queries(lambda: client.get(page)) == 4
    assert n_queries(lambda: client.post(reveal, {"rank": 2}, headers=HTMX)) == 5
    client.post(reveal, {"rank": 3})
    assert n_queries(lambda: client.post(trial_url(old) + "decide", decide, headers=HTMX)) == 11
    _, new = factories.started_in(study, Interface.ALL_AT_ONCE)
    assert new.enrolment.version == 2
    assert n_queries(lambda: client.get(run_url(new.enrolment))) == 3
    data = {"decision": "supported", "n_shown": new.n_steps}
    assert n_queries(lambda: client.post(trial_url(new) + "decide", data, headers=HTMX)) == 10


def test_publishing_while_people_join_gives_each_one_whole_version(committed_db: None) -> None:
    study = factories.open_study(12, n_subsets=4, n_replications=3)
    forms = [field_of(Client().get(welcome_url(study)), "form") for _ in range(12)]

    def arrive(form: str) -> Any:
        return Client().post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})

    def change(number: int) -> Any:
        try:
            return publish(Study.objects.get(), {"title": f"Title {number}"}, "At once.")
        except StudyError as error:
            return error

    actions = [lambda form=form: arrive(form) for form in forms]
    for number in range(3):
        actions.insert(number * 4, lambda number=number: change(number))
    answers = at_the_same_moment(actions)
    versions = [answer for answer in answers if isinstance(answer, StudyVersion)]
    assert sorted(version.number for version in versions) == [2, 3, 4]
    assert sum(getattr(answer, "status_code", 0) == 303 for answer in answers) == 12
    stored = dict(StudyVersion.objects.values_list("number", "created_at"))
    assert sorted(stored) == [1, 2, 3, 4]
    for enrolment in Enrolment.objects.all():
        # Whoever joined under a version came after it was made, and before the next.
        assert enrolment.consented_at >= stored[enrolment.version] or enrolment.version == 1
        following = stored.get(enrolment.version + 1)
        assert following is None or enrolment.consented_at <= following
    newest = Study.objects.get()
    assert newest.title == StudyVersion.objects.get(number=4).content["title"]


def test_simulated_runs_have_their_version_too(study: Study) -> None:
    enrolment = factories.joined(study, RunKind.SIMULATED)
    publish(study, {"title": "New"}, "Another title.")
    assert Client().get(run_url(enrolment)).content.decode().count("New") == 0
    assert not Trial.objects.exists()

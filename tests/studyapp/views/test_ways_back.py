"""How a run's last page leads back to where the study was found: Prolific, MTurk, SONA."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from studyapp.domain import lifecycle
from studyapp.domain.endings import WayBack, way_back_of
from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
from studyapp.domain.join_forms import invite
from studyapp.domain.link_lists import make_links
from studyapp.domain.link_names import NewLink
from studyapp.domain.mturk import external_question, submit_address
from studyapp.domain.recruiting import study_link
from studyapp.domain.run_ends import pay_run_partly, screen_out_run
from studyapp.domain.trials import start_next_trial
from studyapp.enums import RunKind, TrialKind
from studyapp.errors import NotReady
from studyapp.middleware import PARTICIPANT_POLICY
from studyapp.models import Enrolment, RecruiterId, RefusedId, Study, Trial
from tests import factories
from tests.studyapp.views.pages import (
    HTMX,
    counts,
    decide,
    form_ending,
    has_form,
    join,
    run_url,
    welcome_url,
)
from tests.studyapp.views.test_languages import english_words_of, words_of
from tests.studyapp.views.test_participant_load import n_queries
from tests.studyapp.views.test_recruiting import finish

pytestmark = pytest.mark.django_db

SANDBOX = "https://workersandbox.mturk.com"
TURK = {
    "workerId": "A1B2C3D4E5F6G7",
    "assignmentId": "3ABC+/=",
    "hitId": "3HIT",
    "turkSubmitTo": SANDBOX,
}
PROLIFIC_END = "https://app.prolific.com/submissions/complete?cc="
CODES = {"screened_out_code": "OUT-1", "failed_checks_code": "NOT READ"}
MUST_PASS = {"practice_must_pass": True, "practice_tries": 1}


def turk_link(study: Study, **changes: Any) -> str:
    given = {name: value for name, value in (TURK | changes).items() if value is not None}
    return f"{welcome_url(study)}?{urlencode(given)}"


def turk_study(**options: Any) -> Study:
    return factories.open_study(recruiting={"source": "mturk"}, completion_code="DONE-1", **options)


def run_of(answer: Any) -> Enrolment:
    token = answer.headers["Location"].rstrip("/").split("/")[-1]
    return Enrolment.objects.select_related("slot__study").get(token=token)


def sent_back(page: Any) -> tuple[str, dict[str, str]]:
    return form_ending(page, "externalSubmit")


def screened_out(client: Client, study: Study, link: str) -> Enrolment:
    """Somebody whose one try of a practice claim is wrong."""
    run = run_of(join(client, study, link))
    trial = start_next_trial(run.token)
    assert trial is not None
    assert trial.kind == TrialKind.PRACTICE
    decide(client, trial, "cant_decide")
    return run


# ---- early ends ----------------------------------------------------------------------------------


def early_study(**options: Any) -> Study:
    sitting = MUST_PASS | CODES | {"attention_failures_allowed": 0} | options.pop("sitting", {})
    return factories.sitting_study(n_practice=1, n_attention=1, sitting=sitting, **options)


def test_r039_who_is_screened_out_sees_a_friendly_end_with_a_code(client: Client) -> None:
    """The end page of a screened-out participant was an error of the platform's call."""
    study = early_study(sitting={"return_url": "https://app.example.org/done?cc={code}"})
    run = screened_out(client, study, welcome_url(study))
    page = client.get(run_url(run))
    assert page.status_code == 200
    assert "The study ends here for you" in words_of(page)
    assert "This study does not suit everybody" in words_of(page)
    assert "Your code OUT-1" in words_of(page)
    address = "https://app.example.org/done?cc=OUT-1"
    assert f'href="{address}"' in page.content.decode()
    refresh = rf'http-equiv="refresh" content="\d+;url={re.escape(address)}"'
    assert re.search(refresh, page.content.decode())
    stays = client.get(run_url(run) + "?notice=stay").content.decode()
    assert "refresh" not in stays
    assert study.completion_code not in page.content.decode()


def test_the_end_says_nothing_of_which_trial_was_a_check(client: Client) -> None:
    study = early_study(texts={"failed_checks": "Sorry, **enough**."})
    run = run_of(join(client, study))
    trial = start_next_trial(run.token)
    before = []
    while trial is not None and trial.kind != TrialKind.ATTENTION:
        decide(client, trial, trial.claim.label)
        trial = Trial.objects.filter(enrolment=run, state="open").first()
        if trial is None:
            client.post(run_url(run) + "begin")
            trial = Trial.objects.filter(enrolment=run, state="open").first()
        before.append(client.get(run_url(run)).content.decode())
    assert not any("NOT READ" in page or "attention" in page.lower() for page in before)
    decide(client, trial, "cant_decide")
    page = client.get(run_url(run))
    assert "Sorry, <strong>enough</strong>." in page.content.decode()
    assert "Your code NOT READ" in words_of(page)
    assert trial.claim.text not in page.content.decode()
    assert "attention" not in words_of(page).lower()


def test_with_htmx_the_end_is_a_region_or_a_whole_page_that_leads_on(client: Client) -> None:
    for sitting, is_whole in (({}, False), ({"return_url": "https://a.example/{code}"}, True)):
        study = early_study(sitting=sitting)
        run = run_of(join(Client(), study))
        trial = start_next_trial(run.token)
        data = {"decision": "cant_decide", "n_shown": trial.n_steps}
        url = run_url(run) + f"t/{trial.code}/decide"
        for _ in range(2):
            answer = client.post(url, data, headers=HTMX)
            assert ("HX-Redirect" in answer.headers) is is_whole
            assert is_whole or "The study ends here for you" in words_of(answer)
        assert Enrolment.objects.get(pk=run.pk).state == "screened_out"


def test_the_link_leads_to_the_end_again_and_nothing_begins_anew(client: Client) -> None:
    study = early_study(recruiting={"source": "prolific"})
    link = f"{welcome_url(study)}?PROLIFIC_PID=A1"
    run = screened_out(client, study, link)
    assert Client().get(link).headers["Location"] == run_url(run)
    before = counts()
    assert Client().post(run_url(run) + "begin").status_code == 303
    assert counts() == before
    page = client.get(run_url(run)).content.decode()
    assert f'href="{PROLIFIC_END}OUT-1"' in page


@pytest.mark.parametrize(
    ("sitting", "address"),
    [
        ({"return_url": "https://a.example/{code}", "screened_out_code": ""}, ""),
        ({"return_url": "https://a.example/?id={id}"}, ""),
        ({"screened_out_url": "https://a.example/out?id={id}"}, "https://a.example/out?id=A1"),
        ({}, f"{PROLIFIC_END}OUT-1"),
    ],
)
def test_an_early_end_never_leads_to_what_pays_for_a_whole_run(
    client: Client, sitting: dict[str, str], address: str
) -> None:
    study = early_study(recruiting={"source": "prolific"}, sitting=sitting)
    run = screened_out(client, study, f"{welcome_url(study)}?PROLIFIC_PID=A1")
    run.refresh_from_db()
    assert way_back_of(run).return_to == address


def test_a_researcher_s_end_shows_the_same_page_but_not_for_partial_pay(client: Client) -> None:
    study = early_study(n_replications=2)
    runs = [run_of(join(Client(), study)) for _ in range(2)]
    screen_out_run(study, runs[0].participant.code)
    pay_run_partly(study, runs[1].participant.code)
    assert "OUT-1" in words_of(client.get(run_url(runs[0])))
    assert "OUT-1" not in words_of(client.get(run_url(runs[1])))


def test_early_ends_are_german_in_a_german_study(client: Client) -> None:
    study = early_study(lang="de", title="Studie", recruiting={"source": "prolific"})
    run = screened_out(client, study, f"{welcome_url(study)}?PROLIFIC_PID=A1")
    page = client.get(run_url(run))
    assert "Die Studie endet hier für Sie" in words_of(page)
    assert english_words_of(page) == []


# ---- Prolific ------------------------------------------------------------------------------------


def test_the_source_prolific_brings_its_parameters_and_its_way_back(client: Client) -> None:
    study = factories.open_study(recruiting={"source": "prolific"}, completion_code="C/1 X")
    assert study_link(study).endswith(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    run = run_of(join(client, study, f"{welcome_url(study)}?PROLIFIC_PID=A1&SESSION_ID=s1"))
    assert RecruiterId.objects.get().others == {"SESSION_ID": "s1"}
    finish(run)
    assert f'href="{PROLIFIC_END}C%2F1%20X"' in client.get(run_url(run)).content.decode()


# ---- MTurk ---------------------------------------------------------------------------------------


def test_r031_a_preview_of_mturk_shows_the_study_and_takes_no_slot(client: Client) -> None:
    study = turk_study()
    before = counts()
    preview = turk_link(study, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None)
    page = client.get(preview)
    assert "This is a preview" in words_of(page)
    assert not has_form(page, "join")
    client.head(preview)
    client.head(turk_link(study))
    client.get(turk_link(study), headers={"User-Agent": "Slackbot-LinkExpanding 1.0"})
    assert counts() == before
    assert not RefusedId.objects.exists()
    assert list(RecruiterId.objects.values_list("value", "participant")) == [("", None)]


def test_finished_work_is_sent_to_mturk_by_a_button(client: Client) -> None:
    study = turk_study()
    run = run_of(join(client, study, turk_link(study)))
    known = RecruiterId.objects.get()
    assert known.value == TURK["workerId"]
    assert known.others == {name: TURK[name] for name in ("assignmentId", "hitId", "turkSubmitTo")}
    assert client.get(run_url(run)).headers["Content-Security-Policy"] == PARTICIPANT_POLICY
    finish(run)
    page = client.get(run_url(run))
    assert sent_back(page) == (
        f"{SANDBOX}/mturk/externalSubmit",
        {"assignmentId": TURK["assignmentId"], "code": "DONE-1"},
    )
    assert "Send to Mechanical Turk" in words_of(page)
    assert "refresh" not in page.content.decode()
    policy = page.headers["Content-Security-Policy"]
    assert policy == PARTICIPANT_POLICY.replace(
        "form-action 'self'", f"form-action 'self' {SANDBOX}"
    )
    assert "X-Frame-Options" not in page.headers


def test_with_htmx_the_last_page_is_a_whole_one_whose_policy_lets_the_form_go(
    client: Client,
) -> None:
    study = turk_study(n_claims=2)
    run = run_of(join(client, study, turk_link(study)))
    client.post(run_url(run) + "begin")
    while trial := Trial.objects.filter(enrolment=run, state="open").first():
        data = {"decision": "supported", "n_shown": trial.n_steps}
        answer = client.post(run_url(run) + f"t/{trial.code}/decide", data, headers=HTMX)
    assert answer.headers["HX-Redirect"] == run_url(run)


@pytest.mark.parametrize(
    "changes",
    [
        {"turkSubmitTo": None},
        {"turkSubmitTo": ""},
        {"turkSubmitTo": "https://evil.example"},
        {"turkSubmitTo": "http://www.mturk.com"},
        {"turkSubmitTo": "https://www.mturk.com.evil.example"},
        {"turkSubmitTo": "https://evil.example/www.mturk.com"},
        {"turkSubmitTo": "https://www.mturk.com@evil.example"},
        {"turkSubmitTo": "https://user@www.mturk.com"},
        {"turkSubmitTo": "https://www.mturk.com:8443"},
        {"turkSubmitTo": "https://www.mturk.com:x"},
        {"turkSubmitTo": "//www.mturk.com"},
        {"turkSubmitTo": "javascript:alert(1)//www.mturk.com"},
        {"turkSubmitTo": "https://www.mturk.com/a?b=c"},
        {"turkSubmitTo": "${turkSubmitTo}"},
        {"assignmentId": None},
        {"assignmentId": "{{assignmentId}}"},
        {"assignmentId": "x" * 101},
    ],
)
def test_a_link_whose_work_could_not_be_sent_back_is_refused_and_counted(
    client: Client, changes: dict[str, str | None]
) -> None:
    study = turk_study()
    before = counts()
    page = client.get(turk_link(study, **changes))
    assert page.status_code == 400
    assert "Your link lacks a part" in words_of(page)
    assert "evil" not in page.content.decode()
    assert counts() == before
    assert dict(RefusedId.objects.values_list("kind", "n")) == {"incomplete": 1}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"workerId": None}, "missing"),
        ({"workerId": "${workerId}"}, "placeholder"),
        ({"workerId": "x" * 101}, "too_long"),
        ({"workerId": "a\x00b"}, "unreadable"),
    ],
)
def test_a_link_of_mturk_without_a_usable_worker_is_refused_and_counted(
    client: Client, changes: dict[str, str | None], kind: str
) -> None:
    study = turk_study()
    assert client.get(turk_link(study, **changes)).status_code == 400
    assert dict(RefusedId.objects.values_list("kind", "n")) == {kind: 1}


def test_a_task_accepted_again_is_sent_back_with_its_new_assignment(client: Client) -> None:
    study = turk_study()
    run = run_of(join(client, study, turk_link(study)))
    again = turk_link(study, assignmentId="3NEW")
    client.head(again)
    assert RecruiterId.objects.get().others["assignmentId"] == TURK["assignmentId"]
    assert client.get(again).headers["Location"] == run_url(run)
    finish(run)
    assert sent_back(client.get(run_url(run)))[1]["assignmentId"] == "3NEW"


def test_an_early_end_is_sent_back_with_its_code_and_not_without(client: Client) -> None:
    for code in ("OUT-1", ""):
        study = early_study(recruiting={"source": "mturk"}, sitting={"screened_out_code": code})
        run = screened_out(client, study, turk_link(study))
        page = client.get(run_url(run))
        assert has_form(page, "externalSubmit") is bool(code)
        if code:
            assert sent_back(page)[1]["code"] == "OUT-1"
        else:
            assert page.headers["Content-Security-Policy"] == PARTICIPANT_POLICY


def test_a_pilot_run_of_a_study_on_mturk_ends_with_its_code(client: Client) -> None:
    study = turk_study()
    run = factories.joined(study, RunKind.PILOT)
    finish(run)
    page = client.get(run_url(run))
    assert not has_form(page, "externalSubmit")
    assert "DONE-1" in words_of(page)


def test_the_link_for_a_hit_is_plain_and_stands_in_its_question(db: None) -> None:
    study = turk_study()
    assert study_link(study).endswith(f"/p/{study.code}/")
    assert f"<ExternalURL>{study_link(study)}</ExternalURL>" in external_question(study_link(study))
    assert submit_address("https://www.mturk.com/") == "https://www.mturk.com/mturk/externalSubmit"


def test_the_button_is_german_in_a_german_study(client: Client) -> None:
    study = turk_study(lang="de", title="Studie")
    run = run_of(join(client, study, turk_link(study)))
    finish(run)
    page = client.get(run_url(run))
    assert "An Mechanical Turk senden" in words_of(page)
    refused = client.get(turk_link(study, turkSubmitTo=None))
    assert english_words_of(refused) == []


# ---- SONA ----------------------------------------------------------------------------------------

CREDIT = (
    "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=12&credit_token=ab12"
    "&survey_code={id}"
)


def test_r035_credit_at_sona_is_granted_by_the_id_of_the_link_url_encoded(client: Client) -> None:
    study = factories.open_study(recruiting={"source": "sona"}, sitting={"return_url": CREDIT})
    assert study_link(study).endswith("?survey_code=%SURVEY_CODE%")
    assert client.get(f"{welcome_url(study)}?survey_code=%25SURVEY_CODE%25").status_code == 400
    assert dict(RefusedId.objects.values_list("kind", "n")) == {"placeholder": 1}
    run = run_of(join(client, study, f"{welcome_url(study)}?survey_code=a%2Fb%261%20%C3%A9"))
    finish(run)
    address = CREDIT.replace("{id}", "a%2Fb%261%20%C3%A9").replace("&", "&amp;")
    assert f'href="{address}"' in client.get(run_url(run)).content.decode()


def test_an_address_that_grants_credit_as_it_stands_is_in_no_export(tmp_path: Path) -> None:
    sitting = {"return_url": CREDIT, "screened_out_url": "https://a.example/{code}"}
    study = factories.open_study(recruiting={"source": "sona"}, sitting=sitting)
    export_study(study, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        content = json.loads(archive.read("study.json"))
    assert content["sitting"] == {"screened_out_url": "https://a.example/{code}"}
    assert "ab12" not in json.dumps(content)
    made = import_study(tmp_path / "x.zip", "copy")
    assert made.study.recruiting == {"source": "sona"}


def test_any_parameter_that_is_kept_can_go_back(client: Client) -> None:
    recruiting = {"id_parameter": "id", "other_parameters": ["group"]}
    url = "https://panel.example/end?r={id:id}&g={id:group}&cc={code}"
    study = factories.open_study(
        recruiting=recruiting, sitting={"return_url": url}, completion_code="C"
    )
    ends = []
    for query in ("?id=A&group=x%26y", "?id=B"):
        run = run_of(join(Client(), study, welcome_url(study) + query))
        finish(run)
        ends.append(way_back_of(run).return_to)
    # Who came without what the address asks for stays, with the code.
    assert ends == ["https://panel.example/end?r=A&g=x%26y&cc=C", ""]


def test_an_address_that_asks_for_what_is_not_kept_keeps_the_study_shut() -> None:
    study = factories.ready_study(sitting={"return_url": CREDIT})
    problem = "the return address asks for an id, which is no parameter that recruiting keeps"
    assert problem in lifecycle.opening_problems(study)
    with pytest.raises(NotReady, match="asks for an id"):
        lifecycle.open_study(study)
    study.recruiting = {"source": "sona"}
    study.sitting = {"return_url": "https://a.example/{id:group}"}
    assert "the return address asks for group, which is no parameter that recruiting keeps" in (
        lifecycle.opening_problems(study)
    )
    study.sitting = {}
    assert any("SONA grants credit" in words for words in lifecycle.opening_warnings(study))


# ---- who did not come from the site --------------------------------------------------------------

OWN_END = "https://lab.example.org/thanks?cc={code}"
SITES = {
    "prolific": {"PROLIFIC_PID": "A1", "STUDY_ID": "s"},
    "mturk": TURK,
    "sona": {"survey_code": "A1"},
}


def _from_the_site(study: Study) -> Enrolment:
    query = urlencode(SITES[study.recruiting_setting("source")])
    return run_of(join(Client(), study, f"{welcome_url(study)}?{query}"))


def _by_personal_link(study: Study, kind: str = RunKind.REAL) -> Enrolment:
    make_links(study, [NewLink(2, "Ann Lee", kind)])
    link = study.personal_links.get()
    return run_of(join(Client(), study, f"{welcome_url(study)}?link={link.token}"))


def _by_pilot_link(study: Study) -> Enrolment:
    return run_of(join(Client(), study, f"{welcome_url(study)}?run={invite(study, RunKind.PILOT)}"))


GUESTS = pytest.mark.parametrize(
    "comes",
    [_by_personal_link, lambda study: _by_personal_link(study, RunKind.PILOT), _by_pilot_link],
    ids=["personal link", "personal pilot link", "pilot link"],
)


@GUESTS
@pytest.mark.parametrize(
    ("source", "return_url", "leads_to"),
    [
        ("prolific", "", ""),
        ("prolific", f"{PROLIFIC_END}{{code}}", ""),
        ("prolific", OWN_END, "https://lab.example.org/thanks?cc=DONE-1"),
        ("prolific", OWN_END + "&id={id}", ""),
        ("mturk", "", ""),
        ("mturk", OWN_END, "https://lab.example.org/thanks?cc=DONE-1"),
        ("sona", CREDIT, ""),
        ("sona", CREDIT.replace("{id}", "{code}"), ""),
        ("sona", OWN_END, "https://lab.example.org/thanks?cc=DONE-1"),
    ],
)
def test_who_did_not_come_from_a_site_is_not_sent_to_it(
    comes: Any, source: str, return_url: str, leads_to: str
) -> None:
    study = factories.open_study(
        recruiting={"source": source},
        sitting={"return_url": return_url},
        completion_code="DONE-1",
        n_claims=2,
    )
    run = comes(study)
    finish(run)
    run.refresh_from_db()
    assert way_back_of(run) == WayBack("DONE-1", return_to=leads_to)
    page = Client().get(run_url(run))
    html = page.content.decode()
    assert "DONE-1" in words_of(page)
    assert not any(site in html for site in ("prolific", "mturk", "sona-systems"))
    assert ("refresh" in html) is bool(leads_to)


@pytest.mark.parametrize(
    ("source", "return_url", "leads_to"),
    [
        ("prolific", "", f"{PROLIFIC_END}DONE-1"),
        ("prolific", OWN_END, "https://lab.example.org/thanks?cc=DONE-1"),
        ("mturk", "", f"{SANDBOX}/mturk/externalSubmit"),
        ("mturk", OWN_END, f"{SANDBOX}/mturk/externalSubmit"),
        ("sona", "", ""),
        ("sona", CREDIT, CREDIT.replace("{id}", "A1")),
    ],
)
def test_who_came_from_a_site_is_sent_back_to_it(
    source: str, return_url: str, leads_to: str
) -> None:
    study = factories.open_study(
        recruiting={"source": source},
        sitting={"return_url": return_url},
        completion_code="DONE-1",
        n_claims=2,
    )
    run = _from_the_site(study)
    finish(run)
    run.refresh_from_db()
    way = way_back_of(run)
    assert (way.code, way.return_to or way.submit_to) == ("DONE-1", leads_to)


@GUESTS
def test_an_early_end_of_who_came_otherwise_leads_to_no_site(comes: Any) -> None:
    for source in SITES:
        sitting = {"screened_out_url": f"{PROLIFIC_END}{{code}}"}
        study = early_study(recruiting={"source": source}, sitting=sitting)
        run = comes(study)
        screen_out_run(study, run.participant.code)
        run.refresh_from_db()
        assert way_back_of(run) == WayBack("OUT-1")


@GUESTS
def test_a_study_set_up_by_hand_sends_only_whom_it_knows_by_an_id(comes: Any) -> None:
    study = factories.open_study(
        recruiting={"id_parameter": "PROLIFIC_PID"},
        sitting={"return_url": f"{PROLIFIC_END}{{code}}"},
        completion_code="DONE-1",
        n_claims=2,
        n_replications=2,
    )
    guest = comes(study)
    sent = run_of(join(Client(), study, f"{welcome_url(study)}?PROLIFIC_PID=A1"))
    for run in (guest, sent):
        finish(run)
        run.refresh_from_db()
    assert way_back_of(guest) == WayBack("DONE-1")
    assert way_back_of(sent).return_to == f"{PROLIFIC_END}DONE-1"


def test_a_plain_study_s_own_address_is_for_everybody() -> None:
    study = factories.open_study(
        sitting={"return_url": f"{PROLIFIC_END}{{code}}"}, completion_code="DONE-1", n_claims=2
    )
    run = factories.joined(study)
    finish(run)
    run.refresh_from_db()
    assert way_back_of(run).return_to == f"{PROLIFIC_END}DONE-1"


def test_the_last_page_takes_few_queries(client: Client) -> None:
    study = turk_study()
    run = run_of(join(client, study, turk_link(study)))
    finish(run)
    # The run, the study's recruiting, and what the recruiter sent along.
    assert n_queries(lambda: client.get(run_url(run))) <= 5

"""People whom a recruiter sends: one run an id, no id anywhere else, and links that are wrong."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client

from studyapp.domain import lifecycle
from studyapp.domain.assignment import withdraw
from studyapp.domain.export import export_study
from studyapp.domain.import_archive import import_study
from studyapp.domain.join_forms import invite, issue_join_form
from studyapp.domain.recruiting import MAX_SEEN, digest_of
from studyapp.domain.run_ends import return_run
from studyapp.enums import ConditionPolicy, EnrolmentState, RunKind, StudyState, TrialKind
from studyapp.errors import NotReady, StudyError
from studyapp.models import (
    Enrolment,
    Participant,
    PlannedTrial,
    RecruiterId,
    RefusedId,
    Study,
    Trial,
)
from tests import factories
from tests.studyapp.domain.test_trials import in_threads
from tests.studyapp.views.pages import counts, decide, field_of, has_form, run_url, welcome_url
from tests.studyapp.views.test_languages import english_words_of, words_of
from tests.studyapp.views.test_participant_load import at_the_same_moment, n_queries

PID = "5a9d64f5f6dfdd0001eaa73d"
RECRUITING = {"id_parameter": "PROLIFIC_PID", "other_parameters": ["STUDY_ID", "SESSION_ID"]}


def recruiting_study(repeats: int = 1, **options: Any) -> Study:
    return factories.open_study(recruiting=RECRUITING | {"repeats": repeats}, **options)


@pytest.fixture
def recruiting(db: None) -> Study:
    return recruiting_study()


def link(study: Study, pid: str = PID, more: str = "") -> str:
    return f"{welcome_url(study)}?PROLIFIC_PID={quote(pid, safe='')}{more}"


def consent(client: Client, study: Study, pid: str = PID, more: str = "") -> Any:
    form = field_of(client.get(link(study, pid, more)), "form")
    return client.post(f"/p/{study.code}/join", {"form": form, "consent": "yes"})


def finish(enrolment: Enrolment) -> None:
    """Begin a run if need be and decide all its trials."""
    Client().post(run_url(enrolment) + "begin")
    while trial := Trial.objects.filter(enrolment=enrolment, state="open").first():
        decide(Client(), trial)
    enrolment.refresh_from_db()
    assert enrolment.state == EnrolmentState.COMPLETED


def claims_of(enrolment: Enrolment) -> set[int]:
    return set(PlannedTrial.objects.filter(slot=enrolment.slot).values_list("claim_id", flat=True))


# ---- one run an id -------------------------------------------------------------------------------


def test_consent_keeps_the_id_apart_and_what_came_with_it(recruiting: Study) -> None:
    consent(Client(), recruiting, PID, "&STUDY_ID=s1&SESSION_ID={{%SESSION_ID%}}&color=red")
    known = RecruiterId.objects.get()
    assert (known.value, known.others) == (PID, {"STUDY_ID": "s1"})
    assert known.participant == Participant.objects.get()
    assert known.digest == digest_of(recruiting, PID)


def test_an_id_leads_to_its_run_in_any_browser_and_at_any_stage(recruiting: Study) -> None:
    address = consent(Client(), recruiting).headers["Location"]
    enrolment = Enrolment.objects.get()

    def arrives() -> str:
        answer = Client().get(link(recruiting))
        assert (answer.status_code, answer.headers["Location"]) == (302, address)
        return Client().get(address).content.decode()

    assert "Before you begin" in arrives()
    Client().post(address + "begin")
    assert "Trial 1 of 4" in arrives()
    finish(enrolment)
    assert recruiting.completion_code in arrives()
    lifecycle.set_state(recruiting, StudyState.CLOSED, allowed_from=[StudyState.OPEN])
    assert recruiting.completion_code in arrives()


def test_forms_opened_before_the_run_began_lead_to_it_as_well(recruiting: Study) -> None:
    forms = [field_of(Client().get(link(recruiting)), "form") for _ in range(3)]
    answers = [
        Client().post(f"/p/{recruiting.code}/join", {"form": form, "consent": "yes"})
        for form in forms
    ]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert (Participant.objects.count(), RecruiterId.objects.count()) == (1, 1)


def test_consents_of_one_id_at_once_make_one_participant(committed_db: None) -> None:
    study = recruiting_study(n_replications=3)
    forms = [field_of(Client().get(link(study)), "form") for _ in range(5)]
    url = f"/p/{study.code}/join"
    answers = at_the_same_moment(
        [lambda form=form: Client().post(url, {"form": form, "consent": "yes"}) for form in forms]
    )
    assert [answer.status_code for answer in answers] == [303] * 5
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert Participant.objects.count() == Enrolment.objects.count() == 1
    assert RecruiterId.objects.get().participant == Participant.objects.get()


def test_looks_of_one_new_id_at_once_make_one_row(committed_db: None) -> None:
    study = recruiting_study()
    answers = at_the_same_moment([lambda: Client().get(link(study))] * 5)
    assert [answer.status_code for answer in answers] == [200] * 5
    assert RecruiterId.objects.count() == 1


def test_consent_and_withdrawal_of_one_id_at_once_agree_in_the_end(committed_db: None) -> None:
    for _ in range(4):
        study = recruiting_study(2, n_claims=8, n_subsets=4)
        consent(Client(), study)
        first = Enrolment.objects.get(slot__study=study)
        finish(first)
        form = field_of(Client().get(link(study)), "form")

        def one(index: int, study: Study = study, form: str = form, token: str = first.token):
            if index:
                return withdraw(token)
            url = f"/p/{study.code}/join"
            return Client().post(url, {"form": form, "consent": "yes"}).status_code

        answers = in_threads(one, 2)
        assert answers[0] in (303, 410)
        assert answers[1] is None
        known = RecruiterId.objects.get(study=study)
        assert known.has_withdrawn
        assert (known.value, known.participant) == ("", None)
        assert not Enrolment.objects.filter(slot__study=study).exists()
        # A run that began a moment before is withdrawn with the first one.
        assert study.withdrawals.count() == (2 if answers[0] == 303 else 1)


def test_two_ids_in_one_browser_are_two_people(recruiting: Study, client: Client) -> None:
    addresses = [consent(client, recruiting, pid).headers["Location"] for pid in (PID, "other-id")]
    assert len(set(addresses)) == 2
    for pid, address in zip((PID, "other-id"), addresses, strict=True):
        assert client.get(link(recruiting, pid)).headers["Location"] == address


def test_the_same_id_in_two_studies_is_not_linked(recruiting: Study) -> None:
    other = recruiting_study()
    for study in (recruiting, other):
        consent(Client(), study)
    digests = set(RecruiterId.objects.values_list("digest", flat=True))
    assert len(digests) == 2
    assert Participant.objects.count() == 2


def test_a_link_without_the_id_leads_back_a_browser_that_has_a_run(
    recruiting: Study, client: Client
) -> None:
    address = consent(client, recruiting).headers["Location"]
    answer = client.get(welcome_url(recruiting))
    assert (answer.status_code, answer.headers["Location"]) == (302, address)
    assert not RefusedId.objects.exists()


def test_the_id_cannot_be_changed_in_the_form(recruiting: Study, client: Client) -> None:
    page = client.get(link(recruiting))
    form = field_of(page, "form")
    assert (
        PID
        not in page.content.decode().split("<form", 1)[1].split("</form>")[0].split("declined")[0]
    )
    data, rest = form.split(":", 1)
    changed = data[:-4] + ("AAAA" if data[-4:] != "AAAA" else "BBBB") + ":" + rest
    answer = client.post(f"/p/{recruiting.code}/join", {"form": changed, "consent": "yes"})
    assert answer.status_code == 404
    answer = client.post(
        f"/p/{recruiting.code}/join?PROLIFIC_PID=other",
        {"form": form, "consent": "yes", "PROLIFIC_PID": "other"},
    )
    assert answer.status_code == 303
    assert RecruiterId.objects.get(participant__isnull=False).value == PID


def test_the_way_over_declining_and_a_forgotten_tick_keeps_the_id(
    recruiting: Study, client: Client
) -> None:
    page = client.get(link(recruiting, "a b&c", "&STUDY_ID=s1"))
    [declined] = re.findall(r'href="([^"]*declined[^"]*)"', page.content.decode())
    back = client.get(declined.replace("&amp;", "&")).content.decode()
    [again] = re.findall(rf'href="({welcome_url(recruiting)}[^"]*)"', back)
    form = field_of(client.get(again.replace("&amp;", "&")), "form")
    unticked = client.post(f"/p/{recruiting.code}/join", {"form": form})
    assert "STUDY_ID=s1" in unticked.content.decode()
    form = field_of(unticked, "form")
    client.post(f"/p/{recruiting.code}/join", {"form": form, "consent": "yes"})
    known = RecruiterId.objects.get()
    assert (known.value, known.others) == ("a b&c", {"STUDY_ID": "s1"})


def test_invitations_need_no_id(recruiting: Study, client: Client) -> None:
    page = client.get(f"{welcome_url(recruiting)}?run={invite(recruiting, RunKind.PILOT)}")
    data = {"form": field_of(page, "form"), "consent": "yes"}
    assert client.post(f"/p/{recruiting.code}/join", data).status_code == 303
    assert Enrolment.objects.get().run_kind == RunKind.PILOT
    assert not RecruiterId.objects.exists()


@pytest.mark.parametrize("run", ["?run=", "?run=%20", "?run=&run="])
def test_an_empty_invitation_is_none(recruiting: Study, client: Client, run: str) -> None:
    address = welcome_url(recruiting) + run
    assert client.get(address).status_code == 400
    assert dict(RefusedId.objects.values_list("kind", "n")) == {"missing": 1}
    form = field_of(client.get(f"{address}&PROLIFIC_PID={PID}"), "form")
    client.post(f"/p/{recruiting.code}/join", {"form": form, "consent": "yes"})
    assert RecruiterId.objects.get().value == PID
    lead = Client().get(f"{address}&PROLIFIC_PID={PID}")
    assert lead.headers["Location"] == run_url(Enrolment.objects.get())


def test_an_empty_invitation_opens_a_study_without_ids(study: Study, client: Client) -> None:
    assert has_form(client.get(f"{welcome_url(study)}?run="), "join")


def test_several_invitations_are_refused_kindly(recruiting: Study, client: Client) -> None:
    one, two = (invite(recruiting, RunKind.PILOT) for _ in range(2))
    answer = client.get(f"{welcome_url(recruiting)}?run={one}&run={two}")
    assert answer.status_code == 404
    assert "This invitation is not valid. Ask for a new link." in words_of(answer)
    assert has_form(client.get(f"{welcome_url(recruiting)}?run={one}&run={one}"), "join")


def test_a_form_without_an_id_starts_no_run(recruiting: Study, client: Client) -> None:
    """Such as one that was handed out before the study asked for ids."""
    before = counts()
    form = issue_join_form(recruiting, None)
    answer = client.post(f"/p/{recruiting.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 400
    assert "has no participant id" in words_of(answer)
    assert counts() == before


def test_the_database_refuses_what_the_code_should_never_do(recruiting: Study) -> None:
    consent(Client(), recruiting)
    known = RecruiterId.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        RecruiterId.objects.create(
            study=recruiting, digest=known.digest, first_seen=known.first_seen
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        RecruiterId.objects.create(
            study=recruiting, digest="x", value=PID, first_seen=known.first_seen
        )
    run = Enrolment.objects.get()
    other_slot = recruiting.slots.exclude(pk=run.slot_id)[0]
    run.pk, run.token, run.join_nonce, run.slot = None, "another", "another", other_slot
    with pytest.raises(IntegrityError), transaction.atomic():
        run.save(force_insert=True)


# ---- ends ----------------------------------------------------------------------------------------


def test_after_a_withdrawal_the_id_is_gone_and_starts_nothing(recruiting: Study) -> None:
    consent(Client(), recruiting, PID, "&STUDY_ID=s1")
    form = field_of(Client().get(link(recruiting, "late")), "form")
    question = Client().get(run_url(Enrolment.objects.get()) + "withdraw").content.decode()
    assert "Your participant id is deleted with it" in question
    withdraw(Enrolment.objects.get().token)
    before = counts()
    page = Client().get(link(recruiting))
    assert page.status_code == 410
    assert "Everything recorded in your run is deleted" in page.content.decode()
    assert "A checksum stays" in page.content.decode()
    known = RecruiterId.objects.get(has_withdrawn=True)
    assert (known.value, known.others, known.participant) == ("", {}, None)
    # A consent form that was open in another tab at the time.
    assert counts() == before
    data = {"form": form, "consent": "yes"}
    assert Client().post(f"/p/{recruiting.code}/join", data).status_code == 303


def test_a_consent_form_opened_before_the_withdrawal_starts_nothing(recruiting: Study) -> None:
    form = field_of(Client().get(link(recruiting)), "form")
    consent(Client(), recruiting)
    withdraw(Enrolment.objects.get().token)
    answer = Client().post(f"/p/{recruiting.code}/join", {"form": form, "consent": "yes"})
    assert answer.status_code == 410
    assert Enrolment.objects.count() == 0


def test_a_returned_run_frees_its_place_keeps_its_data_and_begins_no_more(
    recruiting: Study, client: Client, tmp_path: Path
) -> None:
    consent(Client(), recruiting)
    mine = Enrolment.objects.get()
    client.post(run_url(mine) + "begin")
    decide(client, Trial.objects.get())
    consent(Client(), recruiting, "second")
    assert consent(Client(), recruiting, "third").status_code == 409
    call_command("return_run", recruiting.slug, mine.participant.code)
    assert consent(Client(), recruiting, "third").status_code == 303
    assert Enrolment.objects.latest("pk").slot_id == mine.slot_id
    assert client.get(link(recruiting)).headers["Location"] == run_url(mine)
    assert "This study was returned, so your place" in client.get(run_url(mine)).content.decode()
    assert client.post(run_url(mine) + "begin").status_code == 303
    states = Trial.objects.filter(enrolment=mine).order_by("pk").values_list("state", flat=True)
    assert list(states) == ["completed", "incomplete"]
    export_study(recruiting, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        people = archive.read("participants.csv").decode()
    [row] = [line for line in people.splitlines() if mine.participant.code in line]
    assert ",dropped_out,returned," in row


def test_only_a_run_under_way_can_be_returned(recruiting: Study) -> None:
    consent(Client(), recruiting)
    enrolment = Enrolment.objects.get()
    finish(enrolment)
    for code in (enrolment.participant.code, "nobody"):
        with pytest.raises(StudyError, match="no run under way"):
            return_run(recruiting, code)


# ---- repeats -------------------------------------------------------------------------------------


def test_a_repeat_begins_after_a_finished_run_and_meets_no_claim_again(db: None) -> None:
    study = recruiting_study(2, n_claims=8, n_subsets=4)
    consent(Client(), study)
    first = Enrolment.objects.get()
    assert Client().get(link(study)).status_code == 302
    finish(first)
    consent(Client(), study)
    second = Enrolment.objects.latest("pk")
    assert second.pk != first.pk
    assert second.participant == first.participant
    assert not claims_of(first) & claims_of(second)
    finish(second)
    # Both are used up: the link shows the last one's end.
    assert Client().get(link(study)).headers["Location"] == run_url(second)
    # The next slots went to nobody else, and others still take them.
    taken = {first.slot_id, second.slot_id}
    consent(Client(), study, "other")
    assert Enrolment.objects.latest("pk").slot_id not in taken


def test_who_has_met_the_claims_of_every_free_place_reads_so(recruiting: Study) -> None:
    study = recruiting_study(3)  # two slots, which share all four claims
    consent(Client(), study)
    finish(Enrolment.objects.get(slot__study=study))
    answer = consent(Client(), study)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "There is nothing left for you" in page
    assert run_url(Enrolment.objects.get(slot__study=study)) in page
    assert Enrolment.objects.filter(slot__study=study).count() == 1
    assert consent(Client(), study, "other").status_code == 303


def test_a_repeat_whose_place_expired_is_moved_to_claims_that_are_new(db: None) -> None:
    study = recruiting_study(2, n_claims=8, n_subsets=4, n_replications=4)
    consent(Client(), study)
    first = Enrolment.objects.get()
    finish(first)
    consent(Client(), study)
    second = Enrolment.objects.latest("pk")
    lost = second.slot_id
    second.state, second.ended_at = EnrolmentState.TIMED_OUT, second.consented_at
    second.save()
    others = [consent(Client(), study, pid) and Enrolment.objects.latest("pk") for pid in "ab"]
    assert lost in [other.slot_id for other in others]
    assert Client().post(run_url(second) + "begin").status_code == 303
    second.refresh_from_db()
    assert second.slot_id != lost
    assert not claims_of(first) & claims_of(second)


def test_a_repeat_goes_through_practice_and_attention_checks_again(db: None) -> None:
    study = factories.sitting_study(
        8, n_subsets=4, n_practice=1, n_attention=1, recruiting=RECRUITING | {"repeats": 2}
    )
    for _ in range(2):
        consent(Client(), study)
        run = Enrolment.objects.latest("pk")
        client = Client()
        client.post(run_url(run) + "begin")
        while trial := Trial.objects.filter(enrolment=run, state="open").first():
            decide(client, trial, trial.claim.label)
            if trial.kind == TrialKind.PRACTICE:
                client.post(run_url(run) + "begin")
        run.refresh_from_db()
        assert run.state == EnrolmentState.COMPLETED
    assert Participant.objects.count() == 1
    assert Trial.objects.filter(kind=TrialKind.ATTENTION).count() == 2


def two_runs(**options: Any) -> tuple[Study, list[Enrolment]]:
    """A study whose only id has finished two of three runs, of two answers each."""
    study = recruiting_study(3, n_claims=8, n_subsets=4, **options)
    runs = []
    for _ in range(2):
        consent(Client(), study)
        runs.append(Enrolment.objects.latest("pk"))
        finish(runs[-1])
    return study, runs


@pytest.mark.parametrize("which", [0, 1])
def test_a_withdrawal_from_one_of_two_runs_deletes_both(db: None, which: int) -> None:
    study, runs = two_runs()
    consent(Client(), study, "somebody else")
    Client().post(run_url(runs[which]) + "withdraw")
    known = RecruiterId.objects.get(has_withdrawn=True)
    assert (known.value, known.others, known.participant) == ("", {}, None)
    assert [run.participant.recruiter_id.value for run in Enrolment.objects.all()] == [
        "somebody else"
    ]
    assert Participant.objects.count() == 1
    assert not Trial.objects.exists()
    # One row an enrolment, so that the counts of runs and of places stay what they are.
    assert sorted(study.withdrawals.values_list("enrolment_number", "n_trials")) == [
        (run.pk, 4) for run in runs
    ]
    for address in (link(study), *map(run_url, runs)):
        page = Client().get(address)
        assert page.status_code == 410
        assert "Everything recorded in all your runs of this study is deleted" in words_of(page)


def test_the_question_before_a_withdrawal_says_how_many_runs_go(db: None) -> None:
    _, runs = two_runs()
    page = words_of(Client().get(run_url(runs[0]) + "withdraw"))
    assert "You have taken part 2 times. This deletes everything recorded in all 2 runs" in page
    assert "your answers to 8 trials," in page
    assert "Only the fact that 2 runs were withdrawn is counted." in page
    assert "Your participant id is deleted with it." in page


def test_the_question_and_the_end_of_several_runs_are_said_in_german(db: None) -> None:
    _, runs = two_runs(lang="de", title="Studie")
    question = Client().get(run_url(runs[1]) + "withdraw")
    assert "Sie haben 2 Mal teilgenommen." in words_of(question)
    assert english_words_of(question) == []
    Client().post(run_url(runs[1]) + "withdraw")
    end = Client().get(run_url(runs[0]))
    assert "zu allen Ihren Teilnahmen an dieser Studie" in words_of(end)
    assert english_words_of(end) == []


def test_withdrawals_of_two_runs_at_once_delete_both_once(committed_db: None) -> None:
    study, runs = two_runs()
    in_threads(lambda index: Client().post(run_url(runs[index]) + "withdraw").status_code, 2)
    assert not Participant.objects.exists()
    assert study.withdrawals.count() == 2


def test_a_study_of_one_condition_a_person_takes_no_repeats(db: None) -> None:
    study = factories.ready_study(
        recruiting=RECRUITING | {"repeats": 2}, condition_policy=ConditionPolicy.BETWEEN
    )
    with pytest.raises(NotReady, match=r"recruiting\.repeats"):
        lifecycle.open_study(study)


# ---- looks, previews, wrong links ----------------------------------------------------------------


def test_a_look_keeps_a_keyed_hash_and_the_first_time_only(recruiting: Study) -> None:
    before = counts()
    for _ in range(3):
        assert Client().get(link(recruiting, PID, "&STUDY_ID=s1")).status_code == 200
    known = RecruiterId.objects.get()
    assert (known.value, known.others, known.participant) == ("", {}, None)
    assert PID not in json.dumps([known.digest, str(known)])
    assert counts() == before


@pytest.mark.parametrize(
    ("method", "more", "headers"),
    [
        ("head", "", {}),
        ("get", "&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE", {}),
        ("get", "", {"Sec-Purpose": "prefetch;prerender"}),
        ("get", "", {"Purpose": "prefetch"}),
    ],
)
def test_previews_keep_nothing(
    recruiting: Study, client: Client, method: str, more: str, headers: dict[str, str]
) -> None:
    for address in (link(recruiting, PID, more), f"{welcome_url(recruiting)}?a=b{more}"):
        answer = getattr(client, method)(address, headers=headers)
        assert answer.status_code in (200, 400)
    assert (RecruiterId.objects.count(), RefusedId.objects.count()) == (0, 0)


def test_a_preview_shows_the_study_without_a_form(recruiting: Study, client: Client) -> None:
    page = client.get(f"{welcome_url(recruiting)}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    assert "This is a preview" in page.content.decode()
    assert not has_form(page, "join")


WRONG = [
    ("", "missing", "has no participant id"),
    ("?PROLIFIC_PID=", "missing", "has no participant id"),
    ("?PROLIFIC_PID=%20%09", "missing", "has no participant id"),
    ("?prolific_pid=abc", "missing", "has no participant id"),
    ("?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID={{%PROLIFIC_PID%}}", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=${e://Field/PROLIFIC_PID}", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=ASSIGNMENT_ID_NOT_AVAILABLE", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=%25SURVEY_CODE%25", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=<PROLIFIC_PID>", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=PROLIFIC_PID", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=undefined", "placeholder", "has a placeholder"),
    ("?PROLIFIC_PID=" + "x" * 101, "too_long", "more than 100 characters"),
    ("?PROLIFIC_PID=a%00b", "unreadable", "cannot be read"),
    ("?PROLIFIC_PID=a%E2%80%8Bb", "unreadable", "cannot be read"),
    ("?PROLIFIC_PID=a%FFb", "unreadable", "cannot be read"),
    ("?PROLIFIC_PID=a&PROLIFIC_PID=b", "unreadable", "cannot be read"),
]


@pytest.mark.parametrize(("query", "kind", "words"), WRONG)
def test_a_link_without_a_usable_id_is_refused_kindly_and_counted(
    recruiting: Study, client: Client, query: str, kind: str, words: str
) -> None:
    before = counts()
    for _ in range(2):
        answer = client.get(welcome_url(recruiting) + query)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "Your link is not complete" in page
    assert words in page
    assert "Go back to the site where you found this study" in page
    assert not has_form(answer, "join")
    assert dict(RefusedId.objects.values_list("kind", "n")) == {kind: 2}
    assert counts() == before
    assert not RecruiterId.objects.exists()


@pytest.mark.parametrize("pid", ["x" * 100, "Müller 7", "a@b.example", "A1-B2_c3.d+e=/", "0"])
def test_ids_of_any_other_form_are_taken(recruiting: Study, pid: str) -> None:
    assert consent(Client(), recruiting, pid).status_code == 303
    assert RecruiterId.objects.get().value == pid
    assert Client().get(link(recruiting, f" {pid} ")).status_code == 302


def test_spaces_around_an_id_are_no_part_of_it(recruiting: Study) -> None:
    address = consent(Client(), recruiting).headers["Location"]
    assert Client().get(link(recruiting, f"{PID}\n")).headers["Location"] == address


@pytest.mark.parametrize("state", [StudyState.PAUSED, StudyState.CLOSED])
def test_a_study_that_is_not_open_says_so_first_and_keeps_nothing(
    recruiting: Study, client: Client, state: str
) -> None:
    lifecycle.set_state(recruiting, state, allowed_from=[StudyState.OPEN])
    for address in (link(recruiting), welcome_url(recruiting)):
        assert "Not open now" in client.get(address).content.decode()
    assert (RecruiterId.objects.count(), RefusedId.objects.count()) == (0, 0)


def test_made_up_ids_fill_no_disk(recruiting: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studyapp.domain.recruiting.MAX_SEEN", 3)
    for number in range(5):
        assert Client().get(link(recruiting, f"made-up-{number}")).status_code == 200
    assert RecruiterId.objects.count() == 3 < MAX_SEEN
    assert consent(Client(), recruiting, "made-up-4").status_code == 303


def test_looking_by_id_takes_few_queries_and_none_in_other_studies(
    recruiting: Study, study: Study, client: Client
) -> None:
    """The study and the id, and twice the id's row the first time."""
    assert n_queries(lambda: client.get(link(recruiting))) == 4
    assert n_queries(lambda: client.get(link(recruiting))) == 2
    assert n_queries(lambda: client.get(link(study))) == 1


# ---- where ids are, and are not ------------------------------------------------------------------


def test_no_file_of_an_export_holds_an_id_or_its_hash(recruiting: Study, tmp_path: Path) -> None:
    consent(Client(), recruiting, PID, "&STUDY_ID=study-77&SESSION_ID=session-88")
    finish(Enrolment.objects.get())
    Client().get(link(recruiting, "stopped-at-consent"))
    export_study(recruiting, tmp_path / "x.zip", include_simulated=True)
    known = RecruiterId.objects.get(value=PID)
    secrets = [PID, known.digest, "study-77", "session-88", "stopped-at-consent"]
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert len(files) >= 10
    assert known.participant.code in files["participants.csv"]
    assert [(name, s) for name, text in files.items() for s in secrets if s in text] == []


def test_the_settings_go_out_and_come_in_again(recruiting: Study, tmp_path: Path) -> None:
    export_study(recruiting, tmp_path / "x.zip")
    again = import_study(tmp_path / "x.zip", slug="again")
    assert again.study.recruiting == recruiting.recruiting == RECRUITING | {"repeats": 1}


def test_no_page_of_a_run_holds_the_id(recruiting: Study) -> None:
    address = consent(Client(), recruiting).headers["Location"]
    Client().post(address + "begin")
    digest = RecruiterId.objects.get().digest
    for page in ("", "help", "withdraw"):
        text = Client().get(address + page).content.decode()
        assert PID not in text
        assert digest not in text


@pytest.fixture
def ann(client: Client) -> Any:
    user = get_user_model().objects.create_superuser("ann", password="x")
    client.force_login(user)
    return user


def test_the_researcher_sees_the_link_and_who_did_not_come_in(
    recruiting: Study, client: Client, ann: Any
) -> None:
    consent(Client(), recruiting)
    for query in ("?PROLIFIC_PID=second", "?PROLIFIC_PID=third", "", "?PROLIFIC_PID=<x>"):
        Client().get(welcome_url(recruiting) + query)
    page = client.get(f"/studies/{recruiting.slug}/").content.decode()
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    parameters = "PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}"
    assert f"{welcome_url(recruiting)}?{parameters}&amp;SESSION_ID={{{{%SESSION_ID%}}}}" in page
    assert "Stopped at consent 2 (the last one came first just now)" in text
    assert "Links turned away 2 (1 without an id and 1 with a placeholder instead of an id)" in text
    for secret in (PID, "second", "third"):
        assert f">{secret}" not in page
        assert f"={secret}" not in page


def test_a_link_with_the_place_left_in_is_refused(db: None, client: Client, ann: Any) -> None:
    study = factories.open_study(recruiting={"id_parameter": "workerId"})
    page = client.get(f"/studies/{study.slug}/").content.decode()
    assert "?workerId=&lt;workerId&gt;" in page
    assert client.get(f"{welcome_url(study)}?workerId=<workerId>").status_code == 400


def test_a_study_without_ids_shows_the_plain_link(study: Study, client: Client, ann: Any) -> None:
    page = client.get(f"/studies/{study.slug}/").content.decode()
    assert f'{welcome_url(study)}"' in page
    assert "Stopped at consent" not in page

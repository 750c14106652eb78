"""Who may see and change what: a table of every address outside the participants' part.

The addresses of the API have a table of their own, in api/test_access.py. Those that other services
call know no researcher, but a signature: views/test_prolific_hooks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from studyapp.access import rights, studies_for, study_or_404
from studyapp.domain import export_jobs, invitations, results_jobs, uploads
from studyapp.domain.access import add_member
from studyapp.domain.link_lists import make_links
from studyapp.domain.link_names import NewLink
from studyapp.domain.results_report import folder_of
from studyapp.enums import CallKind, JobState, ResultsKind, Role, RunKind, StudyState, TrialKind
from studyapp.models import (
    AuditEntry,
    Enrolment,
    PrecomputeJob,
    Ranking,
    RecruiterCall,
    RecruiterId,
    RecruiterSubmission,
    ResultsJob,
    Study,
)
from tests import factories

pytestmark = pytest.mark.django_db

PUBLIC, LOGGED_IN, SECOND_FACTOR = "public", "logged in", "second factor"
VIEWER, EDITOR, OWNER = Role.VIEWER, Role.EDITOR, Role.OWNER

#: Who may use an address, by method. What is not named here must answer 405.
RULES: dict[str, dict[str, str]] = {
    "healthz": {"GET": PUBLIC},
    "login": {"GET": PUBLIC, "POST": PUBLIC},
    "logout": {"POST": PUBLIC},
    "password-set": {"GET": PUBLIC, "POST": PUBLIC},
    "invitation": {"GET": PUBLIC, "POST": PUBLIC},
    "password-change": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "two_factor:profile": {"GET": LOGGED_IN},
    "two_factor:setup": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "two_factor:qr": {"GET": LOGGED_IN},
    "two_factor:setup_complete": {"GET": SECOND_FACTOR},
    "two_factor:backup_tokens": {"GET": SECOND_FACTOR, "POST": SECOND_FACTOR},
    "two_factor:disable": {"GET": SECOND_FACTOR, "POST": SECOND_FACTOR},
    "study-list": {"GET": LOGGED_IN},
    "study": {"GET": VIEWER},
    "study-precompute": {"GET": VIEWER, "POST": EDITOR},
    "job-retry": {"POST": EDITOR},
    "job-reply": {"GET": VIEWER},
    "study-rankings": {"GET": VIEWER, "POST": EDITOR},
    "rankings-estimate": {"GET": VIEWER},
    "study-spending": {"POST": EDITOR},
    "rankings-preview": {"GET": VIEWER},
    "study-open": {"POST": EDITOR},
    "study-pause": {"POST": EDITOR},
    "study-resume": {"POST": EDITOR},
    "study-close": {"POST": OWNER},
    "study-export": {"GET": VIEWER},
    "study-exports": {"GET": VIEWER, "POST": VIEWER},
    "export-download": {"GET": VIEWER},
    "export-retry": {"POST": VIEWER},
    "export-delete": {"POST": EDITOR},
    "study-measures": {"GET": VIEWER, "POST": VIEWER},
    "study-power": {"GET": VIEWER},
    "study-report": {"GET": VIEWER, "POST": VIEWER},
    "report-download": {"GET": VIEWER},
    "study-members": {"GET": VIEWER},
    "study-invite": {"POST": OWNER},
    "invitation-revoke": {"POST": OWNER},
    "member-role": {"POST": OWNER},
    "member-remove": {"POST": OWNER},
    "member-leave": {"POST": VIEWER},
    "study-prolific": {"GET": VIEWER, "POST": EDITOR},
    "prolific-test": {"POST": EDITOR},
    "prolific-sync": {"POST": EDITOR},
    "prolific-call-retry": {"POST": EDITOR},
    "study-recruiting": {"GET": EDITOR},
    "links-make": {"POST": EDITOR},
    "links-csv": {"GET": EDITOR},
    "pilot-link": {"POST": EDITOR},
    "link-revoke": {"POST": EDITOR},
    "link-renew": {"POST": EDITOR},
    "study-unblind": {"POST": OWNER},
    "study-versions": {"GET": VIEWER},
    "version-new": {"GET": VIEWER, "POST": EDITOR},
    "study-log": {"GET": VIEWER},
    "study-consent": {"GET": VIEWER},
    "study-schedule": {"GET": VIEWER},
    "schedule-claims": {"GET": VIEWER},
    "schedule-subsets": {"GET": VIEWER},
    "schedule-table": {"GET": VIEWER},
    "schedule-cycles": {"GET": EDITOR, "POST": EDITOR},
    "slot-close": {"GET": EDITOR, "POST": EDITOR},
    "slot-reopen": {"GET": EDITOR, "POST": EDITOR},
    "subset-close": {"GET": EDITOR, "POST": EDITOR},
    "subset-reopen": {"GET": EDITOR, "POST": EDITOR},
    "study-monitor": {"GET": VIEWER},
    "monitor-claims": {"GET": VIEWER},
    "study-participants": {"GET": VIEWER},
    "study-payments": {"GET": EDITOR},
    "study-participant": {"GET": VIEWER},
    "participant-recruiter-id": {"POST": EDITOR},
    "participant-action": {"GET": EDITOR, "POST": EDITOR},
    "participant-delete": {"GET": OWNER, "POST": OWNER},
    "setup-new": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "import-export": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "api-token": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "study-delete": {"GET": OWNER, "POST": OWNER},
    "setup": {"GET": VIEWER},
    "setup-basics": {"GET": VIEWER, "POST": EDITOR},
    "setup-texts": {"GET": VIEWER, "POST": EDITOR},
    "setup-text-preview": {"POST": EDITOR},
    "setup-claims": {"GET": VIEWER, "POST": EDITOR},
    "setup-claims-remove": {"POST": EDITOR},
    "setup-claims-report": {"GET": VIEWER, "POST": EDITOR},
    "setup-claims-problems": {"GET": VIEWER},
    "setup-claims-notices": {"GET": VIEWER},
    "setup-conditions": {"GET": VIEWER},
    "setup-condition-new": {"GET": VIEWER, "POST": EDITOR},
    "setup-condition": {"GET": VIEWER, "POST": EDITOR},
    "setup-condition-move": {"POST": EDITOR},
    "setup-condition-remove": {"GET": VIEWER, "POST": EDITOR},
    "setup-schedule": {"GET": VIEWER, "POST": EDITOR},
    "setup-schedule-remove": {"POST": EDITOR},
    "setup-sitting": {"GET": VIEWER, "POST": EDITOR},
    "setup-questionnaire": {"GET": VIEWER, "POST": EDITOR},
    "setup-recruiting": {"GET": VIEWER, "POST": EDITOR},
    "setup-ending": {"GET": VIEWER, "POST": EDITOR},
    "setup-analysis": {"GET": VIEWER, "POST": EDITOR},
    "setup-review": {"GET": VIEWER},
}
#: What somebody may do who is not logged in, is no member, or has a role.
ACTORS = ("anonymous", "participant", "stranger", "viewer", "editor", "owner", "superuser")
STUDY_RULES = {
    name: rules for name, rules in RULES.items() if {VIEWER, EDITOR, OWNER} & set(rules.values())
}


def names_of(patterns: list[Any], namespace: str = "") -> Iterator[str]:
    """The name of every address below ``patterns`` outside the participants' part and the API."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if str(pattern.pattern) not in ("p/", "api/", "hooks/"):
                inner = f"{pattern.namespace}:" if pattern.namespace else ""
                yield from names_of(pattern.url_patterns, namespace + inner)
        elif isinstance(pattern, URLPattern):
            yield namespace + str(pattern.name)


def researcher(name: str, **fields: Any) -> Any:
    return get_user_model().objects.create_user(name, **fields)


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def owned(settings: Any, tmp_path: Path) -> Study:
    """An open study of ``ann`` with an editor, a viewer, an invitation, a run of a recruiter's id,
    a failed job, a claims file that waits and a report."""
    """An open study of ``ann`` with an editor, a viewer, an invitation, a run, one failed job, a
    claims file that waits, a report, an export and a call that Prolific refused."""
    settings.DATA_DIR = tmp_path
    study = factories.open_study(owner=researcher("ann"))
    add_member(study, researcher("ed"), EDITOR)
    add_member(study, researcher("vi"), VIEWER)
    invitations.invite(study, EDITOR)
    job = PrecomputeJob.objects.filter(condition__study=study).earliest("pk")
    PrecomputeJob.objects.filter(pk=job.pk).update(state=JobState.FAILED, raw_reply="raw")
    run = factories.joined(study)
    RecruiterId.objects.create(
        study=study, digest="0", value="w1", participant=run.participant, first_seen=timezone.now()
    )
    refused_call(study, run)
    make_links(study, [NewLink(1, "Bo", RunKind.REAL)])
    with being_a_draft(study):
        uploads.take_file(study, "bad.jsonl", [b"{}\n"], "interchange", TrialKind.PRACTICE)
    results_jobs.build(study, ResultsKind.REPORT, False)
    report = {"file": "real.zip", "n_trials": 0, "n_files": 1, "n_bytes": 1, "sha256": "0"}
    ResultsJob.objects.filter(study=study).update(content=report, computed_at=timezone.now())
    folder_of(study).mkdir(parents=True)
    (folder_of(study) / "real.zip").write_bytes(b"0")
    export_jobs.ask(study, export_jobs.Wanted())
    return study


def refused_call(study: Study, run: Enrolment) -> None:
    """A call about a run that Prolific refused."""
    at = timezone.now()
    submission = RecruiterSubmission.objects.create(
        study=study, submission_id="s1", enrolment=run, seen_at=at
    )
    RecruiterCall.objects.create(
        submission=submission, kind=CallKind.SCREEN_OUT, state=JobState.FAILED, asked_at=at
    )


@contextmanager
def being_a_draft(study: Study) -> Iterator[None]:
    """The study as a draft for a while, so that the pages of setting up would change it."""
    Study.objects.filter(pk=study.pk).update(state=StudyState.DRAFT)
    study.refresh_from_db()
    yield
    Study.objects.filter(pk=study.pk).update(state=StudyState.OPEN)
    study.refresh_from_db()


def as_needed(name: str, study: Study) -> Any:
    """The study in the state in which an address has something to do."""
    return being_a_draft(study) if name.startswith("setup") else nullcontext()


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    monkeypatch.setattr("studyapp.tasks.compute_results.delay", lambda job_id: None)


def client_for(actor: str, study: Study) -> Client:
    if actor == "anonymous":
        return Client()
    if actor == "participant":
        client = Client()
        enrolment = Enrolment.objects.get(slot__study=study)
        client.cookies[f"run-{study.code}"] = enrolment.token
        return client
    if actor == "stranger":
        return client_of(researcher("bob"))
    if actor == "superuser":
        return client_of(researcher("root", is_superuser=True))
    return client_of(study.memberships.get(role=actor).user)


def address(name: str, study: Study) -> str:
    """The address of a page, with the ids of what the study holds (1 where it holds nothing)."""
    arguments: list[Any] = [study.slug] if name in STUDY_RULES else []
    if name in ("job-retry", "job-reply"):
        arguments.append(PrecomputeJob.objects.filter(condition__study=study).earliest("pk").pk)
    if name == "prolific-call-retry":
        arguments.append(_id_of(RecruiterCall.objects.filter(submission__study=study)))
    if name == "rankings-preview":
        arguments += [_id_of(study.conditions.order_by("position"), "name"), 1]
    if name in ("member-role", "member-remove"):
        arguments.append(_id_of(study.memberships.filter(role=VIEWER)))
    if name in ("slot-close", "slot-reopen"):
        arguments += [1, 1]
    if name in ("subset-close", "subset-reopen"):
        arguments.append(1)
    if name in ("export-download", "export-retry", "export-delete"):
        arguments.append(_id_of(study.exports))
    if name == "invitation-revoke":
        arguments.append(_id_of(study.invitations))
    if name in ("link-revoke", "link-renew"):
        arguments.append(_id_of(study.personal_links))
    if name in ("setup-condition", "setup-condition-move", "setup-condition-remove"):
        arguments.append(_id_of(study.conditions))
    if name == "setup-condition-new":
        arguments.append("coverage")
    if name in ("setup-claims-report", "setup-claims-problems"):
        waiting = uploads.waiting_files(study)
        arguments.append(waiting[0].token if waiting else "no-such-token")
    if name == "setup-claims-notices":
        arguments.append(uploads.keep_notices(study, "claims.jsonl", ["line 1: mended"]))
    if name in (
        "study-participant",
        "participant-recruiter-id",
        "participant-action",
        "participant-delete",
    ):
        run = Enrolment.objects.filter(slot__study=study).select_related("participant").first()
        arguments.append(run.participant.code if run else "nobody")
    if name == "participant-action":
        arguments.append("release")
    if name == "invitation":
        arguments.append("no-such-token")
    if name == "password-set":
        arguments += ["MQ", "no-such-token"]
    return reverse(name, args=arguments)


def _id_of(rows: Any, field: str = "pk") -> Any:
    return rows.values_list(field, flat=True).first() or 1


def ask(client: Client, method: str, name: str, study: Study, **headers: str) -> Any:
    """A request whose form is filled in for any of the pages."""
    form = {"slug": study.slug, "role": VIEWER.value}
    send = client.post if method == "POST" else client.get
    return send(address(name, study), form, headers=headers)


def verdict(response: Any) -> str:
    """What an answer says about access."""
    if response.headers.get("Location", "").startswith(f"{reverse('login')}?next="):
        return "log in"
    if response.headers.get("Location", "") == reverse("two_factor:profile"):
        return "set up"
    return {403: "refused", 404: "not found", 405: "no such method"}.get(
        response.status_code, "server error" if response.status_code >= 500 else "in"
    )


def expected(rule: str | None, actor: str) -> str:
    if rule is None:
        return "no such method"
    if rule == PUBLIC:
        return "in"
    if actor in ("anonymous", "participant"):
        return "log in"
    if rule == LOGGED_IN:
        return "in"
    if rule == SECOND_FACTOR:
        return "set up"
    if actor == "stranger":
        return "not found"
    roles = ["viewer", "editor", "owner", "superuser"]
    return "in" if roles.index(actor) >= roles.index(rule) else "refused"


def test_every_address_has_a_rule() -> None:
    names = sorted(names_of(get_resolver().url_patterns))
    assert names == sorted(RULES)


#: Answers "not found" for what it shows, not for who asks.
EMPTY_HERE = {"invitation", "two_factor:qr"}


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_address_lets_in_whom_its_rule_names_and_nobody_else(name: str, owned: Study) -> None:
    found, wanted = {}, {}
    for actor in ACTORS:
        client = client_for(actor, owned)
        for method in ("GET", "POST"):
            with as_needed(name, owned), transaction.atomic():
                answer = verdict(ask(client, method, name, owned))
                transaction.set_rollback(True)
            if name in EMPTY_HERE and answer == "not found":
                answer = "in"
            found[actor, method] = answer
            wanted[actor, method] = expected(RULES[name].get(method), actor)
    assert found == wanted


@pytest.mark.parametrize("name", sorted(STUDY_RULES))
def test_who_is_kept_out_changes_nothing_and_learns_nothing(name: str, owned: Study) -> None:
    before = what_there_is(owned)
    for actor in ("anonymous", "stranger", "viewer"):
        client = client_for(actor, owned)
        for method, rule in RULES[name].items():
            if expected(rule, actor) == "in":
                continue
            with as_needed(name, owned):
                response = ask(client, method, name, owned)
            assert actor == "viewer" or owned.title not in response.content.decode()
    assert what_there_is(owned) == before
    assert PrecomputeJob.objects.filter(state=JobState.FAILED).count() == 1


def what_there_is(study: Study) -> Any:
    """Everything that an address could change."""
    stored = Study.objects.filter(pk=study.pk).values().get()
    counted = [
        rows.count()
        for rows in (
            study.memberships,
            study.conditions,
            study.claims,
            study.slots,
            study.invitations,
            study.personal_links,
            study.exports,
        )
    ]
    jobs = list(ResultsJob.objects.order_by("pk").values())
    runs = list(Enrolment.objects.order_by("pk").values("state", "lease_until"))
    calls = list(RecruiterCall.objects.order_by("pk").values())
    waiting = uploads.waiting_files(study)
    return stored, counted, runs, jobs, calls, waiting, AuditEntry.objects.count()


def test_a_researcher_sees_the_studies_of_which_they_are_a_member(owned: Study) -> None:
    other = factories.draft_study(owner=researcher("bob"))
    unowned = factories.draft_study()
    editor = get_user_model().objects.get(username="ed")
    assert [(s, s.role) for s in studies_for(owned.owner)] == [(owned, OWNER)]
    assert [(s, s.role) for s in studies_for(editor)] == [(owned, EDITOR)]
    assert list(studies_for(editor, OWNER)) == []
    assert list(studies_for(other.owner)) == [other]
    assert set(studies_for(researcher("root", is_superuser=True))) == {owned, other, unowned}
    assert not studies_for(AnonymousUser()).exists()


def test_a_study_of_somebody_else_does_not_exist_for_a_researcher(owned: Study) -> None:
    assert study_or_404(owned.owner, owned.slug, OWNER) == owned
    with pytest.raises(Http404):
        study_or_404(researcher("bob"), owned.slug)
    with pytest.raises(Http404):
        study_or_404(owned.owner, "no-such-study")
    with pytest.raises(
        PermissionDenied, match="You are a viewer of this study; this takes editors"
    ):
        study_or_404(get_user_model().objects.get(username="vi"), owned.slug, EDITOR)


def test_a_page_offers_what_the_role_may_do(owned: Study) -> None:
    offers = {}
    for actor in ("viewer", "editor", "owner"):
        html = ask(client_for(actor, owned), "GET", "study", owned).content.decode()
        offers[actor] = [name for name in STUDY_RULES if f'action="{address(name, owned)}"' in html]
    assert offers == {
        "viewer": [],
        "editor": ["study-precompute", "study-pause"],
        "owner": ["study-precompute", "study-pause", "study-close"],
    }
    Ranking.objects.filter(claim__jobs__state=JobState.FAILED, condition__study=owned).delete()
    for actor, posts in (("viewer", []), ("editor", ["study-rankings", "job-retry"])):
        html = ask(client_for(actor, owned), "GET", "study-rankings", owned).content.decode()
        found = {name for name in STUDY_RULES if f'action="{address(name, owned)}"' in html}
        assert found == set(posts)
    assert rights(owned) == {"may_edit": False, "may_own": False}


def test_the_role_that_counts_is_the_one_in_this_study(owned: Study) -> None:
    elsewhere = factories.open_study(owner=get_user_model().objects.get(username="vi"))
    client = client_for("viewer", owned)
    assert verdict(ask(client, "POST", "study-pause", owned)) == "refused"
    assert verdict(ask(client, "POST", "study-pause", elsewhere)) == "in"
    elsewhere.refresh_from_db()
    assert elsewhere.state == StudyState.PAUSED


@pytest.mark.parametrize(
    "name", sorted(name for name, rules in STUDY_RULES.items() if "POST" in rules)
)
def test_a_post_without_the_csrf_token_is_refused(name: str, owned: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owned.owner)
    before = what_there_is(owned)
    with as_needed(name, owned):
        assert ask(client, "POST", name, owned).status_code == 403
    assert what_there_is(owned) == before


def test_after_the_login_a_visitor_is_back_where_something_can_be_read(owned: Study) -> None:
    page = ask(Client(), "GET", "study-log", owned)
    assert page.url == f"{reverse('login')}?next={reverse('study-log', args=[owned.slug])}%3F" + (
        f"slug%3D{owned.slug}%26role%3Dviewer"
    )
    form = ask(Client(), "POST", "study-pause", owned)
    assert form.url == f"{reverse('login')}?next={reverse('study', args=[owned.slug])}"


def test_a_fragment_for_an_ended_session_takes_the_whole_page_to_the_login(owned: Study) -> None:
    response = ask(Client(), "GET", "study-precompute", owned, **{"HX-Request": "true"})
    assert response.status_code == 401
    assert response.headers["HX-Redirect"] == reverse("login")
    assert response.content == b""


def test_a_job_of_another_study_is_not_found(owned: Study) -> None:
    other = factories.open_study(owner=researcher("bob"))
    job = PrecomputeJob.objects.filter(condition__study=other).earliest("pk")
    client = client_of(owned.owner)
    assert client.get(reverse("job-reply", args=[owned.slug, job.pk])).status_code == 404
    assert client.post(reverse("job-retry", args=[owned.slug, job.pk])).status_code == 404

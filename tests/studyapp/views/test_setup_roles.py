"""Setting up by role: who owns a new study, what a viewer is shown, and what the log keeps."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from studyapp.domain.access import add_member
from studyapp.enums import Role
from studyapp.models import AuditEntry, Condition, Study
from studyapp.views.researcher_setup_pages import STEPS
from tests import factories
from tests.studyapp.views.accounts import client_of, researcher
from tests.studyapp.views.setup_pages import url

pytestmark = pytest.mark.django_db

VIEWER_NOTE = "You are a viewer of this study"


@pytest.fixture
def draft() -> Study:
    """A draft of ``ann`` with claims, two conditions and a viewer ``vi``."""
    study = factories.draft_study("bridges", owner=researcher("ann"))
    factories.add_claims(study, 8)
    factories.add_conditions(study)
    add_member(study, researcher("vi"), Role.VIEWER)
    return study


def member(study: Study, role: Role) -> Client:
    return client_of(study.memberships.get(role=role).user)


def logged(study: Study, who: str) -> list[tuple[str, dict[str, object]]]:
    entries = AuditEntry.objects.filter(study_number=study.pk, who=who).order_by("pk")
    return [(entry.action, entry.details) for entry in entries]


def test_who_makes_a_study_in_the_browser_owns_it() -> None:
    ann = researcher("ann")
    answer = client_of(ann).post(reverse("setup-new"), {"title": "Bridges", "slug": "bridges"})
    assert answer.status_code == 303
    study = Study.objects.get(slug="bridges")
    assert [(each.user, each.role) for each in study.memberships.all()] == [(ann, Role.OWNER)]
    assert logged(study, "ann") == [("study_created", {"member": "ann"})]


@pytest.mark.parametrize("step", [step.name for step in STEPS])
def test_a_viewer_reads_every_page_of_setting_up_and_can_send_none(draft: Study, step: str) -> None:
    page = member(draft, Role.VIEWER).get(url(draft, step)).content.decode()
    assert VIEWER_NOTE in page
    content = page.partition("</header>")[2]
    assert not re.findall(r"<button(?! disabled)[^>]*>", content)
    assert VIEWER_NOTE not in member(draft, Role.OWNER).get(url(draft, step)).content.decode()


def test_the_page_of_a_draft_offers_setting_up_to_who_may(draft: Study) -> None:
    offers = {}
    for role in (Role.VIEWER, Role.OWNER):
        page = member(draft, role).get(reverse("study", args=[draft.slug])).content.decode()
        offers[role] = [words for words in ("Set up step by step", "All settings") if words in page]
        assert ("Lay out the schedule" in page) is (role == Role.OWNER)
    assert offers == {Role.VIEWER: ["All settings"], Role.OWNER: ["Set up step by step"]}


def test_what_is_changed_in_the_browser_is_logged_under_the_researchers_name(draft: Study) -> None:
    ann = member(draft, Role.OWNER)
    first, second = Condition.objects.filter(study=draft).order_by("position")
    laid_out = {"subsets": "4", "replications": "1", "seed": "3"}
    policies = {"condition_policy": "within", "order_policy": "blocked"}
    sent = [
        ("basics", {"title": "Spans", "lang": "en"}, ()),
        ("condition-move", {"to": "up"}, (second.pk,)),
        ("condition", {"name": "renamed"}, (first.pk,)),
        ("condition-remove", {}, (second.pk,)),
        ("schedule", laid_out | policies, ()),
        ("schedule-remove", {}, ()),
        ("claims-remove", {"slug": draft.slug}, ()),
    ]
    for name, form, more in sent:
        assert ann.post(url(draft, name, *more), form).status_code == 303, name
    assert logged(draft, "ann") == [
        ("settings_changed", {"settings": "lang, title"}),
        ("condition_moved", {"condition": second.name, "position": 1}),
        (
            "condition_changed",
            {"condition": "renamed", "interface": first.interface, "method": first.method},
        ),
        ("condition_removed", {"condition": second.name}),
        ("scheduled", {"subsets": 4, "replications": 1, "seed": 3}),
        ("schedule_removed", {}),
        ("claims_removed", {"claims": 8, "rankings": 0}),
    ]


def test_what_is_refused_is_not_logged(draft: Study) -> None:
    Study.objects.filter(pk=draft.pk).update(state="open", opened_at=timezone.now())
    ann = member(draft, Role.OWNER)
    before = AuditEntry.objects.count()
    for name in ("schedule-remove", "claims-remove", "basics"):
        assert ann.post(url(draft, name), {"slug": draft.slug}).status_code == 409
    assert AuditEntry.objects.count() == before


def test_what_a_command_changes_is_logged_as_a_commands(draft: Study) -> None:
    second = Condition.objects.filter(study=draft).order_by("position")[1]
    call_command("remove_condition", draft.slug, second.name)
    call_command("remove_claims", draft.slug)
    assert logged(draft, "command")[-2:] == [
        ("condition_removed", {"condition": second.name}),
        ("claims_removed", {"claims": 8, "rankings": 0}),
    ]

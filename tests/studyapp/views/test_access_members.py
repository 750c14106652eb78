"""Members of a study and invitations to it: pages, links, and what the last owner cannot do."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from studyapp.domain import access, invitations
from studyapp.domain.lifecycle import set_state
from studyapp.enums import AuditAction, Role, StudyState
from studyapp.errors import BadLink, NotEditable
from studyapp.models import AuditEntry, Invitation, Membership, Study
from tests import factories
from tests.studyapp.views.accounts import QUICK_HASHERS, client_of, is_logged_in, researcher

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = QUICK_HASHERS


@pytest.fixture
def owned() -> Study:
    study = factories.open_study(owner=researcher("ann"), title="Evidence & claims")
    access.add_member(study, researcher("ed"), Role.EDITOR)
    return study


@pytest.fixture
def ann(owned: Study) -> Client:
    return client_of(owned.owner)


def roles(study: Study) -> dict[str, str]:
    return {each.user.username: each.role for each in access.members_of(study)}


def actions(study: Study) -> list[tuple[str, str, dict]]:
    """What the audit log says happened to the members."""
    kinds = ("member_invited", "invitation_revoked", "member_joined", "role_changed",
             "member_removed", "member_left")  # fmt: skip
    entries = AuditEntry.objects.filter(study_number=study.pk, action__in=kinds).order_by("pk")
    return [(each.who, each.action, each.details) for each in entries]


def invited_link(client: Client, study: Study, role: str = "editor") -> str:
    """Make an invitation on the page and read its link."""
    response = client.post(reverse("study-invite", args=[study.slug]), {"role": role})
    found = re.search(
        r'id="invitation-link" readonly value="[^/]+//[^/]+([^"]+)"', response.content.decode()
    )
    assert found
    return found.group(1)


# ---- roles ---------------------------------------------------------------------------------------


def test_an_owner_changes_a_role_and_removes_a_member(owned: Study, ann: Client) -> None:
    member = owned.memberships.get(role=Role.EDITOR)
    ann.post(reverse("member-role", args=[owned.slug, member.pk]), {"role": "viewer"})
    assert roles(owned) == {"ann": "owner", "ed": "viewer"}
    ann.post(reverse("member-remove", args=[owned.slug, member.pk]))
    assert roles(owned) == {"ann": "owner"}
    assert actions(owned) == [
        ("ann", "role_changed", {"member": "ed", "old_role": "editor", "new_role": "viewer"}),
        ("ann", "member_removed", {"member": "ed", "old_role": "viewer"}),
    ]


def test_the_last_owner_can_neither_leave_nor_become_less(owned: Study, ann: Client) -> None:
    me = owned.memberships.get(role=Role.OWNER)
    for name, arguments in (
        ("member-leave", []),
        ("member-remove", [me.pk]),
        ("member-role", [me.pk]),
    ):
        response = ann.post(reverse(name, args=[owned.slug, *arguments]), {"role": "viewer"})
        assert response.status_code == 409
        assert "ann is the last owner of this study" in response.content.decode()
    assert roles(owned) == {"ann": "owner", "ed": "editor"}
    assert actions(owned) == []


def test_with_a_second_owner_the_first_may_leave(owned: Study, ann: Client) -> None:
    access.change_role(owned, owned.memberships.get(role=Role.EDITOR).pk, Role.OWNER)
    response = ann.post(reverse("member-leave", args=[owned.slug]))
    assert response.url == reverse("study-list")
    assert roles(owned) == {"ed": "owner"}
    assert ann.get(reverse("study", args=[owned.slug])).status_code == 404


def test_a_viewer_may_leave(owned: Study) -> None:
    viewer = researcher("vi")
    access.add_member(owned, viewer, Role.VIEWER)
    client_of(viewer).post(reverse("member-leave", args=[owned.slug]))
    assert "vi" not in roles(owned)
    assert actions(owned)[-1] == ("vi", "member_left", {"member": "vi", "old_role": "viewer"})


def test_a_member_of_another_study_cannot_be_changed_from_here(owned: Study, ann: Client) -> None:
    other = factories.draft_study(owner=researcher("bob"))
    stranger = other.memberships.get()
    for name in ("member-role", "member-remove"):
        response = ann.post(reverse(name, args=[owned.slug, stranger.pk]), {"role": "viewer"})
        assert response.status_code == 400
    assert roles(other) == {"bob": "owner"}


def test_a_role_that_is_none_is_refused(owned: Study, ann: Client) -> None:
    member = owned.memberships.get(role=Role.EDITOR)
    for name, arguments in (("member-role", [member.pk]), ("study-invite", [])):
        response = ann.post(reverse(name, args=[owned.slug, *arguments]), {"role": "king"})
        assert response.status_code == 422
    assert roles(owned) == {"ann": "owner", "ed": "editor"}
    assert not Invitation.objects.exists()


def test_the_page_takes_as_many_queries_for_many_members_as_for_two(
    owned: Study, ann: Client
) -> None:
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert ann.get(reverse("study-members", args=[owned.slug])).status_code == 200
        return len(captured)

    before = n_queries()
    for number in range(4):
        access.add_member(owned, researcher(f"r{number}"), Role.VIEWER)
        invitations.invite(owned, Role.VIEWER)
    assert n_queries() == before == 5


# ---- invitations ---------------------------------------------------------------------------------


def test_a_new_researcher_joins_by_a_link_once(owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned)
    guest = Client()
    page = guest.get(link).content.decode()
    assert "Join “Evidence &amp; claims”" in page
    assert "ann invites you as <strong>editor</strong>" in page
    form = {"username": "new", "password": "nine green bottles", "repeated": "nine green bottles"}
    response = guest.post(link, form)
    assert response.url == reverse("study", args=[owned.slug])
    assert is_logged_in(guest)
    assert roles(owned) == {"ann": "owner", "ed": "editor", "new": "editor"}
    again = Client().post(link, form | {"username": "second"})
    assert again.status_code == 404
    assert "does not work any more" in again.content.decode()
    assert not get_user_model().objects.filter(username="second").exists()
    assert actions(owned) == [
        ("ann", "member_invited", {"role": "editor"}),
        ("new", "member_joined", {"member": "new", "role": "editor"}),
    ]


def test_an_existing_researcher_joins_with_one_press(owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned, "viewer")
    client = client_of(researcher("bob"))
    assert "You are logged in as bob" in client.get(link).content.decode()
    assert client.post(link).status_code == 302
    assert roles(owned)["bob"] == "viewer"
    assert Client().get(link).status_code == 404


def test_a_member_does_not_use_up_an_invitation_or_change_role(owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned, "viewer")
    response = ann.post(link)
    assert response.status_code == 409
    assert "ann is owner of this study already" in response.content.decode()
    assert roles(owned)["ann"] == "owner"
    assert Client().get(link).status_code == 200


def test_looking_at_a_link_stores_nothing(owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned)
    before = (get_user_model().objects.count(), Membership.objects.count())
    for client in (Client(), client_of(researcher("bob"))):
        client.get(link)
        client.head(link)
    assert (get_user_model().objects.count() - 1, Membership.objects.count()) == before
    assert Invitation.objects.get().used_at is None


@pytest.mark.parametrize("kind", ["revoked", "too old", "changed", "no token"])
def test_a_link_that_does_not_hold_lets_nobody_in(kind: str, owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned)
    if kind == "revoked":
        number = Invitation.objects.get().pk
        ann.post(reverse("invitation-revoke", args=[owned.slug, number]))
    if kind == "too old":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    if kind == "changed":
        link = link[:-3] + ("a" if link[-3] != "a" else "b") + link[-2:]
    if kind == "no token":
        link = reverse("invitation", args=["anything"])
    client = client_of(researcher("bob"))
    assert client.get(link).status_code == 404
    assert client.post(link).status_code == 404
    assert "bob" not in roles(owned)


def test_the_link_is_stored_nowhere_and_shown_once(owned: Study, ann: Client) -> None:
    link = invited_link(ann, owned)
    secret = link.split("/")[2].split(":")[0]
    stored = Invitation.objects.values().get()
    assert secret not in str(stored)
    assert secret not in str(list(AuditEntry.objects.values()))
    assert secret not in ann.get(reverse("study-members", args=[owned.slug])).content.decode()


def test_an_invitation_is_revoked_once(owned: Study) -> None:
    invitations.invite(owned, Role.VIEWER)
    number = Invitation.objects.get().pk
    invitations.revoke(owned, number)
    with pytest.raises(NotEditable):
        invitations.revoke(owned, number)
    other = factories.draft_study()
    invitations.invite(other, Role.VIEWER)
    with pytest.raises(NotEditable):
        invitations.revoke(owned, other.invitations.get().pk)
    assert other.invitations.get().revoked_at is None


def test_of_two_who_open_a_link_at_once_one_joins(owned: Study) -> None:
    """The second has read the invitation as good before the first one used it."""
    invitation = invitations.find(invitations.invite(owned, Role.VIEWER).split("/")[-2])
    invitations._join(invitation, researcher("first"))
    with pytest.raises(BadLink):
        invitations._join(invitation, researcher("second"))
    assert "second" not in roles(owned)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"password": "short", "repeated": "short"}, "at least 12 characters"),
        ({"repeated": "another one altogether"}, "The two passwords differ"),
        ({"username": "ED"}, "There is a user &#x27;ED&#x27; already"),
        ({"username": "no spaces"}, "name: "),
        ({"username": ""}, "This field is required"),
        ({"username": "nine.green.bottle"}, "too similar"),
    ],
)
def test_an_account_that_cannot_be_made_leaves_the_invitation_good(
    fields: dict[str, str], complaint: str, owned: Study, ann: Client
) -> None:
    link = invited_link(ann, owned)
    good = {"username": "new", "password": "nine.green.bottles", "repeated": "nine.green.bottles"}
    response = Client().post(link, good | fields)
    assert response.status_code in (400, 422)
    html = response.content.decode()
    assert complaint in html
    assert "nine.green.bottles" not in html
    assert set(roles(owned)) == {"ann", "ed"}
    assert get_user_model().objects.count() == 2
    assert Client().get(link).status_code == 200


def test_nothing_is_logged_for_what_was_refused(owned: Study) -> None:
    n_before = AuditEntry.objects.count()
    with pytest.raises(NotEditable):
        set_state(owned, StudyState.OPEN, allowed_from=(StudyState.PAUSED,))
    assert AuditEntry.objects.count() == n_before
    set_state(owned, StudyState.PAUSED, allowed_from=(StudyState.OPEN,))
    assert AuditEntry.objects.first().action == AuditAction.STUDY_PAUSED

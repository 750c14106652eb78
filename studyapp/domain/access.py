"""Members of a study: who they are, and the changes of their roles."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from studyapp.domain import audit
from studyapp.enums import AuditAction, Role
from studyapp.errors import NotEditable, StudyError
from studyapp.models import Membership, Study

#: From the smallest to the largest; a role may do all that the ones before it may.
ROLES = (Role.VIEWER, Role.EDITOR, Role.OWNER)


def at_least(role: str) -> list[str]:
    """``role`` and every larger one."""
    return [str(each) for each in ROLES[ROLES.index(Role(role)) :]]


def members_of(study: Study) -> QuerySet[Membership]:
    """The members with their users, in the order they joined."""
    return study.memberships.select_related("user").order_by("joined_at", "pk")


def add_member(study: Study, user: Any, role: str) -> Membership:
    """Make ``user`` a member, inside the caller's transaction. Raises NotEditable for a member."""
    _known(role)
    membership, is_new = Membership.objects.get_or_create(
        study=study, user=user, defaults={"role": role}
    )
    if not is_new:
        raise NotEditable(
            f"{user.get_username()} is {membership.get_role_display().lower()} of this study "
            "already; an owner can change the role on the members page."
        )
    return membership


def change_role(study: Study, member_id: int, role: str) -> Membership:
    """Give a member another role. Raises NotEditable for the last owner, StudyError for nobody."""
    _known(role)
    with transaction.atomic():
        membership = _locked_member(study, member_id)
        if membership.role == role:
            return membership
        _keep_an_owner(study, membership)
        old, membership.role = membership.role, role
        membership.save(update_fields=["role"])
        audit.record(
            AuditAction.ROLE_CHANGED,
            study,
            member=membership.user.get_username(),
            old_role=str(old),
            new_role=str(role),
        )
    return membership


def remove_member(study: Study, member_id: int) -> str:
    """Take a member out and return the name. Raises NotEditable for the last owner."""
    return _take_out(study, member_id, AuditAction.MEMBER_REMOVED)


def leave(study: Study, user: Any) -> None:
    """Leave a study. Raises NotEditable for the last owner, StudyError for who is no member."""
    membership = Membership.objects.filter(study=study, user_id=user.pk).first()
    if membership is None:
        raise StudyError("You are no member of this study.")
    _take_out(study, membership.pk, AuditAction.MEMBER_LEFT)


def _take_out(study: Study, member_id: int, action: AuditAction) -> str:
    with transaction.atomic():
        membership = _locked_member(study, member_id)
        _keep_an_owner(study, membership)
        name = membership.user.get_username()
        membership.delete()
        audit.record(action, study, member=name, old_role=str(membership.role))
    return name


def _locked_member(study: Study, member_id: int) -> Membership:
    """The member, read behind the study's lock: of two last owners only one can go."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    membership = members_of(study).filter(pk=member_id).first()
    if membership is None:
        raise StudyError("This person is no member of the study any more.")
    return membership


def _keep_an_owner(study: Study, going: Membership) -> None:
    others = study.memberships.filter(role=Role.OWNER).exclude(pk=going.pk)
    if going.role == Role.OWNER and not others.exists():
        raise NotEditable(
            f"{going.user.get_username()} is the last owner of this study: "
            "make another member owner first."
        )


def _known(role: str) -> None:
    if role not in Role.values:
        raise StudyError(f"role {role!r}: use {', '.join(Role.values)}.")

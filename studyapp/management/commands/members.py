from __future__ import annotations

from typing import Any

from django.db import transaction

from studyapp.domain import access, accounts, audit, invitations
from studyapp.domain.queries import study_by_slug
from studyapp.enums import AuditAction, Role
from studyapp.errors import StudyError
from studyapp.management.base import StudyCommand
from studyapp.models import Membership, Study


class Command(StudyCommand):
    help = "List the members of a study and its open invitations, or change them."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("slug")
        change = parser.add_mutually_exclusive_group()
        change.add_argument(
            "--invite", choices=Role.values, metavar="ROLE", help="print a link: " + _ROLES
        )
        change.add_argument("--revoke", type=int, metavar="N", help="make invitation N worthless")
        change.add_argument("--add", nargs=2, metavar=("NAME", "ROLE"), help="add an account")
        change.add_argument("--role", nargs=2, metavar=("NAME", "ROLE"), help="change a role")
        change.add_argument("--remove", metavar="NAME")

    def run(self, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["invite"]:
            self.note("This link works once, for 7 days. Send it to one person.")
            self.say(invitations.invite(study, options["invite"]))
            return
        if options["revoke"] is not None:
            invitations.revoke(study, options["revoke"])
        if options["add"]:
            _add(study, *options["add"])
        if options["role"]:
            name, role = options["role"]
            access.change_role(study, _member(study, name).pk, role)
        if options["remove"]:
            access.remove_member(study, _member(study, options["remove"]).pk)
        self._list(study)

    def _list(self, study: Study) -> None:
        for member in access.members_of(study):
            self.say(f"{member.user.get_username()}: {member.role}")
        for each in invitations.open_invitations(study):
            self.say(
                f"invitation {each.pk}: {each.role}, by {each.created_by}, "
                f"until {each.expires_at:%Y-%m-%d %H:%M} UTC"
            )


_ROLES = ", ".join(Role.values)


def _add(study: Study, name: str, role: str) -> None:
    user = accounts.user_named(name)
    with transaction.atomic():
        access.add_member(study, user, role)
        audit.record(AuditAction.MEMBER_JOINED, study, member=name, role=role)


def _member(study: Study, name: str) -> Membership:
    for member in access.members_of(study):
        if member.user.get_username() == name:
            return member
    raise StudyError(f"{name!r} is no member of {study.slug}.")

"""Personal links: each leads one person to one run. Names are kept here and nowhere else."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from studyapp.enums import PersonalLinks, RunKind
from studyapp.errors import AlreadyWithdrawn, BadLink
from studyapp.models import Enrolment, Participant, PersonalLink, Study

#: The parameter of the study's link that holds the token.
LINK_PARAMETER = "link"
_TOKEN = re.compile(r"[a-z0-9]{1,40}")


def takes_personal_links_only(study: Study) -> bool:
    """Whether nobody comes in without a link of their own."""
    return bool(study.recruiting_setting("personal_links") == PersonalLinks.ONLY)


def takes_link(study: Study, run_kind: str) -> bool:
    """Whether the study takes links for runs of that kind: those of the team always."""
    return (
        run_kind != RunKind.REAL or study.recruiting_setting("personal_links") != PersonalLinks.OFF
    )


def digest_of_token(token: str) -> str:
    """What a link is found by, and all that stays of it after a withdrawal."""
    return hashlib.sha256(token.encode()).hexdigest()


def address_of(study: Study, token: str) -> str:
    """The address to send to one person."""
    return f"{settings.PUBLIC_URL}/p/{study.code}/?{LINK_PARAMETER}={token}"


def usable_link(study: Study, token: str) -> PersonalLink:
    """The link with this token: one query. Raises BadLink, AlreadyWithdrawn."""
    found = None
    if _TOKEN.fullmatch(token):
        links = PersonalLink.objects.select_related("participant")
        found = links.filter(study=study, digest=digest_of_token(token)).first()
    if found is not None and found.has_withdrawn:
        raise AlreadyWithdrawn("The person of this link has withdrawn.")
    if found is None or found.revoked_at or not takes_link(study, found.run_kind):
        raise BadLink(_("This link is not one of the study, or it was replaced by a new one."))
    return found


def run_of_link(link: PersonalLink) -> Enrolment | None:
    """The run that a link leads to, or None before consent: at most one query."""
    if link.participant is None:
        return None
    return link.participant.enrolments.order_by("pk").last()


def note_opened(link: PersonalLink, now: datetime) -> None:
    """Remember when a link was opened first."""
    PersonalLink.objects.filter(pk=link.pk, first_seen=None).update(first_seen=now)


def give_link_person(link: PersonalLink) -> Participant:
    """The participant of a link, made at consent. The caller holds the lock of the study."""
    link.participant = Participant.objects.create(study=link.study)
    link.save(update_fields=["participant"])
    return link.participant


def has_link(participant_id: int) -> bool:
    """Whether a participant came by a personal link: one query."""
    return PersonalLink.objects.filter(participant=participant_id).exists()


def forget_name(participant: Participant) -> None:
    """After a withdrawal: name and token are gone, and the token's hash starts no new run."""
    PersonalLink.objects.filter(participant=participant).update(
        has_withdrawn=True, participant=None, name="", token="", first_seen=None
    )

"""Personal links as researchers handle them: made, listed, revoked, renewed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction
from django.db.models import Case, CharField, Count, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from studyapp.codes import link_token
from studyapp.domain import audit
from studyapp.domain.join_forms import invite
from studyapp.domain.link_names import NewLink
from studyapp.domain.personal_links import address_of, digest_of_token, takes_link
from studyapp.domain.spreadsheet import without_formula
from studyapp.enums import AuditAction, EnrolmentState, RunKind, StudyState
from studyapp.errors import BadUpload, NotEditable, StudyError
from studyapp.models import Enrolment, PersonalLink, Study
from studyapp.models.assignment import RUNNING

CHUNK = 500


class LinkState(StrEnum):
    """Where the person of a link stands."""

    NOT_OPENED = "not opened"
    OPENED = "opened"
    UNDER_WAY = "under way"
    COMPLETED = "completed"
    ENDED = "ended"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Made:
    """How many links were made, and how many people had one already."""

    n_new: int
    n_known: int


def make_links(study: Study, people: list[NewLink]) -> Made:
    """Make a link for everybody who has none, all or nothing.

    Raises NotEditable for a closed study or one without personal links, BadUpload where somebody
    has a link for another kind of run.
    """
    with transaction.atomic():
        study = _locked(study)
        for run_kind in {each.run_kind for each in people}:
            if not takes_link(study, run_kind):
                raise NotEditable(
                    "recruiting.personal_links is off in this study: links are for pilot runs only."
                )
        known = dict(_present(study).values_list("name", "run_kind"))
        _refuse_other_kinds(people, known)
        new = [each for each in people if each.name not in known]
        PersonalLink.objects.bulk_create([_row(study, each) for each in new], batch_size=CHUNK)
        if new:
            audit.record(AuditAction.LINKS_MADE, study, links=len(new))
    return Made(len(new), len(people) - len(new))


def _row(study: Study, person: NewLink) -> PersonalLink:
    token = link_token()
    return PersonalLink(
        study=study,
        name=person.name,
        run_kind=person.run_kind,
        token=token,
        digest=digest_of_token(token),
        created_at=timezone.now(),
    )


def _refuse_other_kinds(people: list[NewLink], known: dict[str, str]) -> None:
    problems = [
        f"line {each.line}, field kind: {each.name!r} has a link for a {known[each.name]} run; "
        "use another name for the other one."
        for each in people
        if known.get(each.name, each.run_kind) != each.run_kind
    ]
    if problems:
        raise BadUpload(problems)


def revoke_link(study: Study, link_id: int) -> PersonalLink:
    """Let a link open nothing any more; a run that began stays. Raises StudyError."""
    with transaction.atomic():
        link = _link_of(_locked(study), link_id)
        if link.revoked_at:
            raise NotEditable("The link is revoked already.")
        link.revoked_at = timezone.now()
        link.save(update_fields=["revoked_at"])
        audit.record(AuditAction.LINK_REVOKED, study, links=1)
        return link


def renew_link(study: Study, link_id: int) -> PersonalLink:
    """Replace a link by a new one for the same person and run. Raises StudyError."""
    with transaction.atomic():
        link = _link_of(_locked(study), link_id)
        link.token = link_token()
        link.digest = digest_of_token(link.token)
        link.revoked_at = link.first_seen = None
        link.save(update_fields=["token", "digest", "revoked_at", "first_seen"])
        audit.record(AuditAction.LINK_RENEWED, study, links=1)
        return link


def make_pilot_link(study: Study) -> str:
    """The address of one pilot run; it works once. Raises NotEditable for a closed study."""
    with transaction.atomic():
        study = _locked(study)
        audit.record(AuditAction.PILOT_LINK_MADE, study)
        return address_of(study, "").split("?")[0] + f"?run={invite(study, RunKind.PILOT)}"


def _locked(study: Study) -> Study:
    """The study, locked, so that nobody joins meanwhile. Raises NotEditable for a closed one."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.state == StudyState.CLOSED:
        raise NotEditable("The study is closed: nobody can join, so it makes no links.")
    return study


def _link_of(study: Study, link_id: int) -> PersonalLink:
    link = _present(study).filter(pk=link_id).first()
    if link is None:
        raise StudyError("There is no such link; its person may have withdrawn.")
    return link


def _present(study: Study) -> QuerySet[PersonalLink]:
    return PersonalLink.objects.filter(study=study, has_withdrawn=False)


def link_named(study: Study, name: str) -> PersonalLink:
    """The link of a person. Raises StudyError."""
    link = _present(study).filter(name=name.strip()).first()
    if link is None:
        raise StudyError(f"{name!r} has no link in {study.slug}.")
    return link


def links_of(study: Study, *, state: str = "", name: str = "") -> QuerySet[PersonalLink]:
    """The links of a study in the order of their making, each with where its person stands.

    ``run_state`` is the state of the run, None before consent; ``state`` a LinkState. Empty
    filters let everything through; ``name`` is any part of a name.
    """
    last = Enrolment.objects.filter(participant=OuterRef("participant")).order_by("-pk")
    links = _present(study).annotate(run_state=Subquery(last.values("state")[:1]))
    links = links.annotate(state=_STATE).order_by("pk")
    if state:
        links = links.filter(state=state)
    return links.filter(name__icontains=name) if name else links


_STATE = Case(
    When(run_state__in=RUNNING, then=Value(LinkState.UNDER_WAY.value)),
    When(run_state=EnrolmentState.COMPLETED, then=Value(LinkState.COMPLETED.value)),
    When(run_state__isnull=False, then=Value(LinkState.ENDED.value)),
    When(revoked_at__isnull=False, then=Value(LinkState.REVOKED.value)),
    When(Q(first_seen__isnull=False), then=Value(LinkState.OPENED.value)),
    default=Value(LinkState.NOT_OPENED.value),
    output_field=CharField(),
)


def state_words(link: PersonalLink) -> str:
    """Where the person of a link stands, in words; of an ended run, how it ended."""
    if link.state == LinkState.ENDED:  # type: ignore[attr-defined]
        return str(EnrolmentState(link.run_state).label).lower()  # type: ignore[attr-defined]
    return str(link.state)  # type: ignore[attr-defined]


def link_counts(study: Study) -> dict[str, int]:
    """How many links are in each state: one query."""
    counts = {state.value: 0 for state in LinkState}
    rows = links_of(study).order_by().values_list("state").annotate(n=Count("pk"))
    return counts | dict(rows)


def n_forgotten(study: Study) -> int:
    """How many people with a link have withdrawn: one query."""
    return PersonalLink.objects.filter(study=study, has_withdrawn=True).count()


def csv_of_links(study: Study, links: Iterable[PersonalLink]) -> Iterator[str]:
    """The lines of a table of people and their links, safe to open in a spreadsheet."""
    yield _csv_line(["name", "kind", "link", "state"])
    for link in links:
        address = "" if link.revoked_at else address_of(study, link.token)
        yield _csv_line([without_formula(link.name), link.run_kind, address, state_words(link)])


def _csv_line(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()

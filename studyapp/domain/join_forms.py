"""What a consent form carries, signed: which run it may start, once, and for whom."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.core import signing
from django.utils.translation import gettext_lazy as _

from studyapp.codes import random_code
from studyapp.domain.consent import consent_version
from studyapp.domain.recruiting import Recruited
from studyapp.enums import RunKind
from studyapp.errors import BadLink
from studyapp.models import Study

JOIN_SALT = "suffice.join"
INVITATION_SALT = "suffice.invitation"


@dataclass(frozen=True)
class JoinForm:
    """What a consent form carries: which run it may start, a one-time nonce, and who comes.

    ``link`` is the token of a personal link, which says of what kind the run is.
    ``consent_version`` names the consent text that the form was shown with.
    """

    nonce: str
    run_kind: str = RunKind.REAL
    invitation: str | None = None
    recruited: Recruited | None = None
    link: str | None = None
    consent_version: str | None = None


def invite(study: Study, run_kind: str) -> str:
    """A signed text that starts one run of ``run_kind``; it works once."""
    content = {"study": study.code, "kind": run_kind, "nonce": random_code(20)}
    return signing.dumps(content, salt=INVITATION_SALT, compress=False)


def issue_join_form(
    study: Study,
    invitation: str | None,
    recruited: Recruited | None = None,
    link: str | None = None,
) -> str:
    """The hidden token of a consent form. Raises BadLink for an invitation that is not ours.

    Signed instead of a cookie pair, so that it works in frames and with cookies refused, and after
    a week; a link preview that fetches the page stores nothing.
    """
    form: dict[str, Any] = {
        "study": study.code,
        "nonce": random_code(20),
        "kind": RunKind.REAL.value,
        "consent": consent_version(study),
    }
    if recruited is not None:
        form["recruited"] = asdict(recruited)
    if link is not None:
        form["link"] = link
    if invitation is not None:
        try:
            invited = signing.loads(invitation, salt=INVITATION_SALT)
        except signing.BadSignature:
            raise BadLink(_("This invitation is not valid. Ask for a new link.")) from None
        if invited["study"] != study.code:
            raise BadLink(_("This invitation belongs to another study."))
        form |= {"kind": invited["kind"], "invitation": invited["nonce"]}
    return signing.dumps(form, salt=JOIN_SALT, compress=False)


def form_under_present_text(study: Study, signed: str) -> str:
    """The same form once more, to be shown with the study's present consent text.

    ``signed`` was read before, so it is ours.
    """
    form = signing.loads(signed, salt=JOIN_SALT)
    form["consent"] = consent_version(study)
    return signing.dumps(form, salt=JOIN_SALT, compress=False)


def read_join_form(study: Study, signed: str) -> JoinForm:
    """The content of a consent form that this study handed out. Raises BadLink."""
    try:
        form = signing.loads(signed, salt=JOIN_SALT)
    except signing.BadSignature:
        form = {}
    if form.get("study") != study.code:
        raise BadLink(_("This form is not from this study. Open the study's link again."))
    recruited = Recruited(**form["recruited"]) if "recruited" in form else None
    return JoinForm(
        form["nonce"],
        form["kind"],
        form.get("invitation"),
        recruited,
        form.get("link"),
        form.get("consent"),
    )

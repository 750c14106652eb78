"""Pages for people whom a recruiter sent and who cannot begin: each says what to do."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studyapp.enums import RefusedIdKind
from studyapp.models import Study
from studyapp.models.recruiting import MAX_ID
from studyapp.views.htmx import Region
from studyapp.views.participant_guard import message_region
from studyapp.views.participant_values import run_url, study_values

_WHAT_IS_WRONG: dict[str, Promise] = {
    RefusedIdKind.MISSING: gettext_lazy(
        "Your link has no participant id, so we cannot tell who you are. This happens when only a "
        "part of the link was copied."
    ),
    RefusedIdKind.PLACEHOLDER: gettext_lazy(
        "Your link has a placeholder where your participant id should be: the site that sent you "
        "here has not filled it in."
    ),
    RefusedIdKind.TOO_LONG: gettext_lazy(
        "The participant id in your link has more than {limit} characters, which no real one has."
    ),
    RefusedIdKind.UNREADABLE: gettext_lazy("The participant id in your link cannot be read."),
    RefusedIdKind.INCOMPLETE: gettext_lazy(
        "Your link lacks a part that the site where you found this study puts into it. Without it "
        "your work could not be sent back there."
    ),
    RefusedIdKind.NO_LINK: gettext_lazy(
        "In this study everybody has a link of their own, and this is none of them."
    ),
    RefusedIdKind.BAD_LINK: gettext_lazy(
        "This link is not one of the study, or it was replaced by a new one."
    ),
}
#: What is wrong with the link of somebody whom the researchers wrote to.
_PERSONAL = (RefusedIdKind.NO_LINK, RefusedIdKind.BAD_LINK)


def refused_id_region(study: Study, kind: str) -> Region:
    """What somebody reads whose link does not say who comes."""
    if kind in _PERSONAL:
        return message_region(
            _("This study needs your own link"),
            str(_WHAT_IS_WRONG[kind]),
            _(
                "Open the whole link that the researchers sent you; a part of it may have been "
                "left out. If it does not work, ask them for a new one."
            ),
            status=400,
            **study_values(study),
        )
    return message_region(
        _("Your link is not complete"),
        str(_WHAT_IS_WRONG[kind]).replace("{limit}", str(MAX_ID)),
        _(
            "Go back to the site where you found this study and open it from there once more. "
            "Please do not type or change the address yourself."
        ),
        _(
            "If you see this page again, tell the researchers, or send the task back there. "
            "You have not taken part, and nothing about you was stored."
        ),
        status=400,
        **study_values(study),
    )


def nothing_left_region(study: Study, run_token: str) -> Region:
    """What somebody reads who has met the claims of every free place; leads to the last code."""
    return message_region(
        _("There is nothing left for you in this study"),
        _(
            "You have read the claims of every place that is free now, and nobody reads a claim "
            "twice. What you did before is stored. Thank you for coming back."
        ),
        status=409,
        link=run_url(study.code, run_token),
        link_text=_("Show the end of your last run and its code"),
        **study_values(study),
    )

"""What the participants card says of recruiting: the link with its id, and who did not come in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from studyapp.domain.recruiting import PROLIFIC, arrivals_of, recruits_by_id
from studyapp.enums import RefusedIdKind
from studyapp.models import Study
from studyapp.views.researcher_words import ago, counted, number


def recruiting_content(study: Study, now: datetime) -> dict[str, Any]:
    """For the card: how ids work here, and what became of the links. Empty without ids."""
    if not recruits_by_id(study):
        return {}
    arrivals = arrivals_of(study)
    name = study.recruiting_setting("id_parameter")
    repeats = study.recruiting_setting("repeats")
    return {
        "id_note": f"Every person needs a link with their own {name}. "
        + ("Prolific fills it in. " if name in PROLIFIC else "Your recruiter has to fill it in. ")
        + f"One {name} has {counted(repeats, 'run')}"
        + (", none with a claim met before." if repeats > 1 else ", in any browser."),
        "stopped": number(arrivals.n_stopped),
        "last_stopped": ago(arrivals.last_stopped, now) if arrivals.last_stopped else "",
        "refused": [
            (kind.label, number(arrivals.refused[kind]))
            for kind in RefusedIdKind
            if arrivals.refused.get(kind)
        ],
    }

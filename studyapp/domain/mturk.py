"""Amazon Mechanical Turk: what its links carry, and how finished work is sent back to it.

A worker's task is a page of ours in a frame of theirs. It ends with a form that goes to them, with
the assignment and at least one more field (MTurk API reference, "ExternalQuestion").
"""

from __future__ import annotations

from urllib.parse import urlsplit

#: Sent while somebody only looks at the task.
PREVIEW = ("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE")
ASSIGNMENT = "assignmentId"
SUBMIT_TO = "turkSubmitTo"
#: The only sites that work is sent to: the address comes with the link, so anybody can write it.
HOSTS = ("www.mturk.com", "workersandbox.mturk.com")


def submit_origin(submit_to: str) -> str:
    """The site in the parameter ``turkSubmitTo`` if it is one of MTurk's; else empty."""
    try:
        parts = urlsplit(submit_to)
        if parts.port is not None:
            return ""
    except ValueError:
        return ""
    is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment)
    if parts.scheme != "https" or parts.netloc not in HOSTS or not is_plain:
        return ""
    return f"https://{parts.netloc}"


def submit_address(submit_to: str) -> str:
    """Where the form of finished work goes; empty for an address that is not MTurk's."""
    origin = submit_origin(submit_to)
    return f"{origin}/mturk/externalSubmit" if origin else ""


def external_question(link: str) -> str:
    """The question of a HIT that shows the study, to paste where MTurk wants it."""
    return (
        '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/'
        'AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">\n'
        f"  <ExternalURL>{link}</ExternalURL>\n"
        "  <FrameHeight>0</FrameHeight>\n"
        "</ExternalQuestion>"
    )

"""Addresses that lead back to a recruiting site, with places for a code and for its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

#: Where the code of a run's end goes, and the id of its person.
CODE_PLACE = "{code}"
ID_PLACE = "{id}"
#: The same, or a parameter of the recruiter's link by its name: ``{id:survey_code}``.
_PLACE = re.compile(r"\{code\}|\{id(?::([A-Za-z0-9_]{1,40}))?\}")

#: Sites that bring participants, and want back those that they brought and nobody else.
RECRUITING_HOSTS = (
    "prolific.com",
    "prolific.co",
    "mturk.com",
    "sona-systems.com",
    "sona-systems.net",
    "cloudresearch.com",
)
#: Where participants are usually sent back to.
KNOWN_HOSTS = (*RECRUITING_HOSTS, "qualtrics.com")


def is_return_address(value: Any) -> bool:
    """Whether it is empty, or an https address whose only braces are those of places.

    There is at least one place, and none in the host.
    """
    if value == "":
        return True
    if not isinstance(value, str) or len(value) > 500 or not _PLACE.search(value):
        return False
    if re.search(r"[\s{}\\<>\"]", _PLACE.sub("", value)) or not value.isascii():
        return False
    try:
        parts = urlsplit(value)
        has_odd_port = parts.port == 0
    except ValueError:
        return False
    is_plain = "@" not in parts.netloc and "{" not in parts.netloc and bool(parts.hostname)
    return parts.scheme == "https" and is_plain and not has_odd_port


def asks_for_code(address: str) -> bool:
    """Whether the address has a place for a code."""
    return CODE_PLACE in address


def asked_parameters(address: str, id_parameter: str) -> list[str]:
    """The recruiter's parameters that the address has places for, the id under its own name."""
    found = (match for match in _PLACE.finditer(address) if match.group() != CODE_PLACE)
    return sorted({match.group(1) or id_parameter for match in found})


def filled_address(
    address: str, code: str, given: Mapping[str, str] | None = None, id_parameter: str = ""
) -> str:
    """The address with its places filled in, each value url-encoded.

    ``given`` are the recruiter's parameters by name. Empty where there is no address, or one of
    them is missing.
    """
    values = given or {}
    if any(not values.get(name) for name in asked_parameters(address, id_parameter)):
        return ""

    def fill(match: re.Match[str]) -> str:
        is_code = match.group() == CODE_PLACE
        value = code if is_code else values[match.group(1) or id_parameter]
        return quote(value, safe="")

    return _PLACE.sub(fill, address)


def return_host(address: str) -> str:
    """The host that participants are sent to."""
    return urlsplit(address).hostname or ""


def is_known_host(host: str) -> bool:
    """Whether ``host`` belongs to a recruiting site that we know; others may be mistyped."""
    return _is_among(host, KNOWN_HOSTS)


def is_recruiting_host(host: str) -> bool:
    """Whether ``host`` belongs to a site that sends people of its own to a study."""
    return _is_among(host, RECRUITING_HOSTS)


def _is_among(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == known or host.endswith(f".{known}") for known in hosts)

"""Addresses of servers: what may be shown of one, and what is wrong with one."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit

from rankers.plain_text import clean


def shown(address: str) -> str:
    """``address`` without the name and password that it may hold."""
    try:
        parts = urlsplit(address)
    except ValueError:
        scheme, mark, rest = address.partition("//")
        return scheme + mark + rest.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def origin(address: str) -> str:
    """Scheme, host and port of ``address``, for errors."""
    try:
        parts = urlsplit(clean(address))
    except ValueError:
        return "an address that cannot be read"
    if not parts.netloc:
        return "another path of its own"
    return f"{parts.scheme or 'http'}://{parts.netloc.rpartition('@')[2]}"[:200]


def problem(address: str) -> str | None:
    """What makes ``address`` useless as a server's, in words; None when nothing does."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - read for the error it raises
    except ValueError as error:
        return f"cannot be read ({error})"
    if parts.scheme not in ("http", "https"):
        return "is no address: begin it with http:// or https://"
    if not parts.hostname:
        return "names no server"
    if any(not char.isprintable() or char.isspace() for char in address):
        return "has blanks or control characters in it"
    if parts.query or parts.fragment:
        return "has a query or a fragment (? or #), which no such address has"
    return None


def credentials(address: str) -> tuple[str, str] | None:
    """Name and password that ``address`` holds, None without any."""
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")

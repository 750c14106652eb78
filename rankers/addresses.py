"""Addresses of servers: what may be shown of one, and what is wrong with one."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit


def shown(address: str) -> str:
    """``address`` without the name and password that it may hold."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def credentials(address: str) -> tuple[str, str] | None:
    """Name and password that ``address`` holds, None without any."""
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")

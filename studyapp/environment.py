"""Typed reading of environment variables; a bad value stops the start with a clear message."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


def env_str(name: str, default: str = "") -> str:
    """The variable's text, stripped; an empty one counts as unset."""
    return os.environ.get(name, "").strip() or default


def env_bool(name: str, default: bool) -> bool:
    """True or False from the usual words; anything else is refused."""
    value = env_str(name)
    if not value:
        return default
    if value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r}: use one of true, false, 1, 0, yes, no, on, off.")


def env_int(name: str, default: int, *, minimum: int = 0) -> int:
    """A whole number of at least ``minimum``."""
    value = env_str(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: use a whole number.") from None
    if number < minimum:
        raise ImproperlyConfigured(f"{name}={value!r}: use {minimum} or more.")
    return number


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of ``choices``."""
    value = env_str(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: use one of {', '.join(choices)}.")
    return value


def env_list(name: str) -> list[str]:
    """Items separated by commas."""
    return [item.strip() for item in env_str(name).split(",") if item.strip()]


def env_url(name: str, default: str = "") -> str:
    """An http(s) address without a trailing slash."""
    value = env_str(name, default).rstrip("/")
    if value:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ImproperlyConfigured(
                f"{name}={value!r}: use a full address such as https://x.org."
            )
    return value


def kept_secret(path: Path) -> str:
    """A random key made once and kept in ``path``, readable by its owner only."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    key = secrets.token_urlsafe(50)
    try:
        # Exclusive: of two processes that start at once, one writes and the other reads.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as handle:
        handle.write(key)
    return key

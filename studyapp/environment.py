"""Typed reading of environment variables; a bad value stops the start with a clear message."""

from __future__ import annotations

import os
import re
import secrets
import sys
from pathlib import Path
from types import TracebackType
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
LARGEST = 2**31 - 1
RATE = re.compile(r"[1-9]\d{0,8}/(s|min|hour|day)")
SECRET = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
SLUG = re.compile(r"[A-Za-z0-9_-]+")
HOST = re.compile(r"\*|\.?[\w.-]+|\[[0-9a-fA-F:.]+\]")


class BadEnvironment(ImproperlyConfigured):
    """A variable that is missing or cannot be used. The text names it and the fix."""


def say_bad_environment_in_one_line() -> None:
    """End a command that meets a BadEnvironment with its text alone, and status 1 as ever.

    Every other exception keeps its traceback: only this kind is the reader's to mend.
    """
    usual = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, BadEnvironment):
            print(error, file=sys.stderr)
        else:
            usual(kind, error, traceback)

    sys.excepthook = hook


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
    raise BadEnvironment(f"{name}={value!r}: use one of true, false, 1, 0, yes, no, on, off.")


def env_int(name: str, default: int, *, minimum: int = 0) -> int:
    """A whole number of at least ``minimum`` and at most 2147483647."""
    value = env_str(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise BadEnvironment(f"{name}={value!r}: use a whole number.") from None
    if not minimum <= number <= LARGEST:
        raise BadEnvironment(f"{name}={value!r}: use a number from {minimum} to {LARGEST}.")
    return number


def env_rate(name: str, default: str) -> str:
    """A number of requests in a period, such as ``600/min``; the periods are s, min, hour, day."""
    value = env_str(name, default)
    if not RATE.fullmatch(value):
        raise BadEnvironment(f"{name}={value!r}: write it as 600/min (periods: s, min, hour, day).")
    return value


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of ``choices``."""
    value = env_str(name, default)
    if value not in choices:
        raise BadEnvironment(f"{name}={value!r}: use one of {', '.join(choices)}.")
    return value


def env_hosts(name: str) -> list[str]:
    """Host names separated by commas."""
    hosts = [item.strip() for item in env_str(name).split(",") if item.strip()]
    for host in hosts:
        if not HOST.fullmatch(host):
            raise BadEnvironment(
                f"{name}: {host!r} is no host name; write it as study.example.org."
            )
    return hosts


def env_origin(name: str, default: str = "") -> str:
    """An address of scheme, host and perhaps a port: pages live at the root of their host."""
    value = env_str(name, default).rstrip("/")
    if value and not _is_origin(value):
        raise BadEnvironment(
            f"{name}={value!r}: use scheme and host alone, such as https://study.example.org."
        )
    return value


def _is_origin(address: str) -> bool:
    parts = _split(address)
    return (
        parts is not None
        and parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and HOST.fullmatch(parts.netloc.removesuffix(f":{parts.port}")) is not None
        and address == f"{parts.scheme}://{parts.netloc}"
    )


def env_api(name: str, default: str) -> str:
    """The address of an API, perhaps with a path. Keys go there: https, but on this machine."""
    value = env_str(name, default).rstrip("/")
    parts = _split(value)
    is_local = parts is not None and parts.hostname in ("127.0.0.1", "::1", "localhost")
    is_safe = parts is not None and (
        parts.scheme == "https" or (parts.scheme == "http" and is_local)
    )
    if parts is None or not parts.hostname or not is_safe or "@" in parts.netloc or parts.query:
        raise BadEnvironment(f"{name}: use an address such as {default}; keys go there, so https.")
    return value


def env_secrets(name: str) -> dict[str, tuple[str, ...]]:
    """Secrets separated by commas, by the slug of a study before a colon; "" is for all others.

    No secret is repeated in an error.
    """
    found: dict[str, tuple[str, ...]] = {}
    for item in filter(None, (part.strip() for part in env_str(name).split(","))):
        slug, colon, secret = item.rpartition(":")
        slug, secret = slug.strip(), secret.strip()
        if not SECRET.fullmatch(secret) or (colon and not SLUG.fullmatch(slug)):
            raise BadEnvironment(f"{name}: write secret, or slug:secret, separated by commas.")
        found[slug] = (*found.get(slug, ()), secret)
    return found


def env_broker(name: str, default: str) -> str:
    """The address of Celery's broker: files or Redis. A password in it is not repeated."""
    value = env_str(name, default)
    parts = _split(value)
    if parts is None or parts.scheme not in ("filesystem", "redis", "rediss"):
        raise BadEnvironment(f"{name}: use redis://host:6379/0 or leave it unset.")
    return value


def _split(address: str) -> SplitResult | None:
    """The parts of an address, or None when it is none (a port that is no number, say)."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def made_folder(name: str, path: Path) -> Path:
    """``path``, made if it is missing. ``name`` is the variable that it comes from."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadEnvironment(
            f"{name}: the folder {path} cannot be made ({error.strerror}); choose another."
        ) from None
    return path


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

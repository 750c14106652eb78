"""What can go wrong, each kind saying what to do next."""

from __future__ import annotations

from rankers.values import Usage


class RankerError(Exception):
    """Base of all errors of this package; ``retryable`` says whether trying again can help."""

    retryable = False

    @property
    def is_about_server(self) -> bool:
        """Whether any other claim would fail in the same way."""
        return False


class BadInput(RankerError):
    """A file or an option is wrong. ``problems`` holds one readable line each.

    ``count`` is how many there were, where more were found than are listed.
    """

    def __init__(self, problems: list[str] | str, *, count: int | None = None):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        self.count = len(self.problems) if count is None else count
        super().__init__("\n".join(self.problems))


class UnknownMethod(RankerError):
    """The registry has no method of that name."""


class MissingDependency(RankerError):
    """A method needs a package or a setting that is not there; the text says what to install."""


class TransportError(RankerError):
    """The server could not be reached, was busy or too slow, within the whole deadline."""

    retryable = True

    @property
    def is_about_server(self) -> bool:
        """A server that is away is away for every claim."""
        return True


class TruncatedReply(RankerError):
    """The answer ran into the token limit even with the larger budget.

    ``raw`` is what came, ``usage`` what it cost: truncated answers are paid for as well.
    """

    def __init__(self, message: str, raw: str = "", usage: Usage | None = None):
        self.raw = raw
        self.usage = usage or Usage()
        super().__init__(message)


class MalformedReply(RankerError):
    """No valid answer within the correction budget. ``raw`` is the last reply as it came."""

    def __init__(self, message: str, raw: str = ""):
        self.raw = raw
        super().__init__(message)


class SpendLimitReached(RankerError):
    """The run has spent what it was allowed to; nothing was sent, the claim is still to do."""


class StoreError(RankerError):
    """An answer could not be kept (full disk, no permission, locked store), so it was not used.

    The next answers would be lost alike: a run stops at once and pays for no more. What was stored
    before is safe, and the run goes on from there once the trouble is mended.
    """


class PermanentError(RankerError):
    """The server refused for good (4xx): ``status`` and its own words."""

    def __init__(self, message: str, status: int | None = None):
        self.status = status
        super().__init__(message)

    @property
    def is_about_server(self) -> bool:
        """Whether key, address or account is refused, and not this one request."""
        return self.status in (401, 402, 403, 404)

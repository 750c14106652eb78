"""What a run may spend: limits on calls, tokens and money, and the account of what it spent."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from rankers.errors import BadInput, SpendLimitReached
from rankers.processes import PerProcess
from rankers.values import Usage

_MILLION = 1_000_000
# Seconds after which a pause looks whether the run was stopped.
_LOOK = 0.1


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in any one currency: sent, sent and found in a cache, received.

    Raises BadInput for anything but numbers, 0 or more.
    """

    input: float
    cached_input: float
    output: float

    def __post_init__(self) -> None:
        for name in ("input", "cached_input", "output"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise BadInput(f"price of {name}: {value} is not a number, 0 or more")

    @classmethod
    def from_text(cls, text: str) -> Prices:
        """Prices from ``IN,CACHED,OUT``, such as ``0.15,0.075,0.6``."""
        try:
            given, cached, received = map(float, text.split(","))
        except ValueError:
            raise BadInput(
                f"prices {text!r}: write IN,CACHED,OUT, the prices of a million tokens each, "
                "such as 0.15,0.075,0.6"
            ) from None
        return cls(given, cached, received)

    def cost(self, usage: Usage) -> float:
        """The price of ``usage``; where the cached part is unknown, nothing counts as cached."""
        cached = min(usage.cached_prompt_tokens or 0, usage.prompt_tokens)
        return (
            (usage.prompt_tokens - cached) * self.input
            + cached * self.cached_input
            + usage.completion_tokens * self.output
        ) / _MILLION


class Spending:
    """The account of one run, shared by its threads; None means no limit.

    A call is taken off the limit before it is sent, so that ``max_calls`` is exact. What an answer
    costs is known when it is there, so ``max_tokens`` (sent and received) and ``max_cost`` can be
    overshot by the answers that are under way when they are reached. A request that the server
    refused (status 4xx), or that never reached it, is given back. Any other without an answer (5xx,
    broken off, too late, no completion) may be billed, so it counts as a call, and what was sent
    with it as in ``count``. Answers from a store cost nothing.
    Forked processes count each for itself.
    Raises BadInput for limits that are no such numbers, and for ``max_cost`` without ``prices``.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        prices: Prices | None = None,
    ):
        limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost}
        problems = [
            f"{name}: {value} is not a number, 0 or more"
            for name, value in limits.items()
            if value is not None and not 0 <= value < math.inf
        ]
        if max_cost is not None and prices is None:
            problems.append("max_cost: a limit in money needs prices (IN,CACHED,OUT)")
        if problems:
            raise BadInput(problems)
        self.max_calls = max_calls
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.prices = prices
        self.calls = 0
        self.tokens = 0
        self.cost = 0.0
        self.estimated = 0
        self._stopped: str | None = None
        self._lock = PerProcess(threading.Lock)

    def reserve(self) -> None:
        """Take one call off the limit, before it is sent.

        Raises SpendLimitReached, having taken nothing, when any limit is reached or after ``stop``.
        """
        with self._lock():
            if self._stopped is not None:
                raise SpendLimitReached(
                    f"{self._stopped}: nothing more was sent ({self.report()}); "
                    "answers so far are kept: start again to go on"
                )
            reached = self._reached()
            if reached:
                raise SpendLimitReached(
                    f"the limit of {reached} is reached, nothing more was sent "
                    f"({self.report()}); answers so far are kept"
                )
            self.calls += 1

    def stop(self, reason: str) -> None:
        """Let no further call be sent, for good; threads that pause between tries wake up.

        Takes no lock, so that a signal handler may call it. Calls under way go on to their end.
        """
        self._stopped = reason

    def pause(self, seconds: float) -> None:
        """Sleep, but not on after ``stop``."""
        end = time.monotonic() + seconds
        while self._stopped is None and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK))

    def give_back(self) -> None:
        """Return a call that cost nothing."""
        with self._lock():
            self.calls -= 1

    def count(self, usage: Usage, *, sent: int, said: int) -> None:
        """Add what an answer used. ``sent`` and ``said`` are its lengths in characters.

        A server that does not say its tokens is taken to have used one for each character, which
        is several times too many for most texts: a limit has to hold for such a server too.
        """
        usage, is_estimate = counted_usage(usage, sent, said)
        with self._lock():
            self.estimated += is_estimate
            self.tokens += usage.prompt_tokens + usage.completion_tokens
            if self.prices is not None:
                self.cost += self.prices.cost(usage)

    def report(self) -> str:
        """One line: what was spent, and of how much."""
        parts = [
            f"{self.calls:,}{_of(self.max_calls)} calls",
            f"{self.tokens:,}{_of(self.max_tokens)} tokens",
        ]
        if self.prices is not None:
            parts.append(f"cost {self.cost:,.4f}{_of(self.max_cost)}")
        if self.estimated:
            parts.append(f"{self.estimated:,} answers without token counts estimated")
        return "spent: " + ", ".join(parts)

    def _reached(self) -> str | None:
        """The limit that leaves no room for a call, in words."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"{self.max_calls:,} calls"
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"{self.max_tokens:,} tokens"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"{self.max_cost:,} in money"
        return None


def counted_usage(usage: Usage, sent: int, said: int) -> tuple[Usage, bool]:
    """What an answer counts as, and whether that is an estimate: see ``Spending.count``."""
    if usage.prompt_tokens:
        return usage, False
    return Usage(usage.calls, sent, None, said), True


def _of(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:,}"

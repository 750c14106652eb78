"""What was spent and what is still to come, ready to print."""

from __future__ import annotations

from dataclasses import dataclass

from studyapp.domain.estimating import ConditionEstimate
from studyapp.domain.spending import Account
from studyapp.views.researcher_words import counted, number


@dataclass(frozen=True)
class EstimateRow:
    """A condition's estimate; ``reason`` stands in place of the numbers where there are none."""

    name: str
    claims: str
    calls: str
    prompt_tokens: str
    cached_tokens: str
    completion_tokens: str
    money: str
    reason: str
    sampled: str


def spent_facts(account: Account) -> list[tuple[str, str]]:
    """What the study has spent on servers, each with the limit that it counts towards."""
    usage = account.usage
    if not usage.calls and not account.has_limit:
        return []
    n_tokens = usage.prompt_tokens + usage.completion_tokens
    facts = [
        ("Calls", f"{number(usage.calls)}{_of(account.max_calls)}"),
        (
            "Tokens",
            f"{number(n_tokens)}{_of(account.max_tokens)}: {number(usage.prompt_tokens)} sent, "
            f"{number(usage.cached_prompt_tokens or 0)} of them known to be cached, "
            f"{number(usage.completion_tokens)} received",
        ),
    ]
    if account.cost is not None:
        most = "" if account.max_cost is None else f" of {account.max_cost:,g}"
        facts.append(("Money", f"{money(account.cost)}{most}, at the prices below"))
    if account.n_estimated:
        facts.append(
            (
                "Estimated",
                f"{counted(account.n_estimated, 'answer')} came without token counts; "
                "a token was counted for every character",
            )
        )
    return facts


def estimate_rows(estimates: list[ConditionEstimate]) -> list[EstimateRow]:
    """A line for each condition that asks a server."""
    return [_row(one) for one in estimates]


def money(value: float) -> str:
    """An amount with at least two places, with four below ten."""
    return f"{value:,.2f}" if value >= 10 else f"{value:.4f}"


def _row(one: ConditionEstimate) -> EstimateRow:
    found = one.found
    return EstimateRow(
        name=one.condition.name,
        claims=number(one.n_claims),
        calls="" if found is None else number(found.calls),
        prompt_tokens="" if found is None else number(found.prompt_tokens),
        cached_tokens="" if found is None else number(found.cached_tokens),
        completion_tokens="" if found is None else number(found.completion_tokens),
        money="–" if one.money is None else money(one.money),
        reason=one.reason if one.n_claims else "nothing is left to ask",
        sampled=number(one.n_sampled) if one.n_sampled < one.n_claims else "",
    )


def _of(limit: int | None) -> str:
    return "" if limit is None else f" of {number(limit)}"

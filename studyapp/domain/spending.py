"""What a study may spend on language models: its limits, and the account that all workers share.

The account is one row. A call is taken off by a guarded update before it is sent, so that the limit
of calls is exact, whatever number of workers asks, is killed or starts again. What an answer costs
is known when it is there: limits of tokens and money are overshot by the requests under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, FloatField, Q, QuerySet, Value
from django.db.models.functions import Cast
from django.db.models.lookups import LessThan

from rankers.embedders import is_paid as is_paid_embedder
from rankers.errors import BadInput, RankerError, SpendLimitReached
from rankers.method_info import EMBEDDER, MODEL
from rankers.registry import method_needs
from rankers.spending import Prices, Spending, counted_usage
from rankers.values import Usage
from studyapp.domain import audit
from studyapp.enums import AuditAction
from studyapp.errors import StudyError
from studyapp.models import Condition, SpendingAccount, Study

_MILLION = 1_000_000
#: The largest number a limit can have: what every database keeps.
LARGEST = 2**63 - 1
LIMITS = ("max_calls", "max_tokens", "max_cost")


def _float(name: str) -> Cast:
    return Cast(F(name), FloatField())


_COST = (
    (_float("prompt_tokens") - _float("cached_prompt_tokens")) * F("price_input")
    + _float("cached_prompt_tokens") * F("price_cached")
    + _float("completion_tokens") * F("price_output")
)
_HAS_ROOM = (
    (Q(max_calls=None) | Q(calls__lt=F("max_calls")))
    & (Q(max_tokens=None) | Q(max_tokens__gt=F("prompt_tokens") + F("completion_tokens")))
    & (
        Q(max_cost=None)
        | Q(LessThan(_COST, F("max_cost") * Value(float(_MILLION), output_field=FloatField())))
    )
)


@dataclass(frozen=True)
class Account:
    """The limits of a study and what it has spent; ``cost`` is None without prices.

    ``reached`` names the limit that leaves no room for a call, and is empty while there is room.
    """

    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    prices: Prices | None
    usage: Usage
    n_estimated: int
    cost: float | None
    reached: str

    @property
    def has_limit(self) -> bool:
        return any(limit is not None for limit in (self.max_calls, self.max_tokens, self.max_cost))


def account_of(study: Study) -> Account:
    """Read a study's account as it stands now: one query."""
    row = SpendingAccount.objects.filter(study=study).first()
    return _account(row or SpendingAccount(study=study))


def set_limits(study: Study, **changes: Any) -> Account:
    """Set ``max_calls``, ``max_tokens``, ``max_cost`` or ``prices``; None takes one away.

    Limits are for all that the study ever spends, not for one run. Raises StudyError for a number
    that is no limit, and for ``max_cost`` without prices; nothing is changed then.
    """
    with transaction.atomic():
        SpendingAccount.objects.get_or_create(study=study)
        row = SpendingAccount.objects.select_for_update().get(study=study)
        for name, value in changes.items():
            if name == "prices":
                _set_prices(row, value)
            else:
                setattr(row, name, value)
        account = _checked(row)
        # The account itself is not written: workers count in it at this moment.
        row.save(update_fields=[*LIMITS, "price_input", "price_cached", "price_output"])
        audit.record(AuditAction.SPENDING_LIMITED, study, **_told(account))
    return account


def is_paid(condition: Condition) -> bool:
    """Whether the condition's method asks a server that may send a bill."""
    needs = method_needs(condition.method, condition.params)
    return MODEL in needs or (EMBEDDER in needs and is_paid_embedder(condition.embedder))


def held_conditions(study: Study | None = None, account: Account | None = None) -> list[int]:
    """Ids of the conditions whose jobs wait because their study's limit is reached.

    Of one study, whose ``account`` may have been read already, or of all: one query while there is
    room, two otherwise.
    """
    if study is not None:
        held = [study.pk] if (account or account_of(study)).reached else []
    else:
        limited = SpendingAccount.objects.exclude(max_calls=None, max_tokens=None, max_cost=None)
        held = [row.study_id for row in limited if _account(row).reached]
    if not held:
        return []
    return [row.pk for row in Condition.objects.filter(study__in=held) if is_paid(row)]


def is_held(condition: Condition) -> bool:
    """Whether the condition's jobs have to wait: its study's limit is reached."""
    return is_paid(condition) and bool(account_of(condition.study).reached)


class StudySpending(Spending):
    """The account of a study as the rankers see it, kept in the database."""

    def __init__(self, study: Study):
        super().__init__()
        self._study_id = study.pk
        SpendingAccount.objects.get_or_create(study=study)

    def reserve(self) -> None:
        """Take one call off the limit, before it is sent. Raises SpendLimitReached."""
        if self._rows().filter(_HAS_ROOM).update(calls=F("calls") + 1):
            return
        row = self._rows().first()
        reached = "nothing: the study was removed" if row is None else _account(row).reached
        raise SpendLimitReached(f"the study's limit of {reached or 'spending'} is reached")

    def give_back(self) -> None:
        """Return a call that cost nothing."""
        self._rows().filter(calls__gt=0).update(calls=F("calls") - 1)

    def count(self, usage: Usage, *, sent: int, said: int) -> None:
        """Add what an answer used; lengths in characters where the server does not say."""
        usage, is_estimate = counted_usage(usage, sent, said)
        cached = min(usage.cached_prompt_tokens or 0, usage.prompt_tokens)
        self._rows().update(
            prompt_tokens=F("prompt_tokens") + usage.prompt_tokens,
            cached_prompt_tokens=F("cached_prompt_tokens") + cached,
            completion_tokens=F("completion_tokens") + usage.completion_tokens,
            n_estimated=F("n_estimated") + int(is_estimate),
        )

    def _rows(self) -> QuerySet[SpendingAccount]:
        return SpendingAccount.objects.filter(study_id=self._study_id)


def _account(row: SpendingAccount) -> Account:
    prices = None
    if row.price_input is not None:
        prices = Prices(row.price_input, row.price_cached, row.price_output)
    usage = Usage(row.calls, row.prompt_tokens, row.cached_prompt_tokens, row.completion_tokens)
    cost = None if prices is None else prices.cost(usage)
    return Account(
        max_calls=row.max_calls,
        max_tokens=row.max_tokens,
        max_cost=row.max_cost,
        prices=prices,
        usage=usage,
        n_estimated=row.n_estimated,
        cost=cost,
        reached=_reached(row, usage, cost),
    )


def _reached(row: SpendingAccount, usage: Usage, cost: float | None) -> str:
    if row.max_calls is not None and usage.calls >= row.max_calls:
        return f"{row.max_calls:,} calls"
    n_tokens = usage.prompt_tokens + usage.completion_tokens
    if row.max_tokens is not None and n_tokens >= row.max_tokens:
        return f"{row.max_tokens:,} tokens"
    if row.max_cost is not None and cost is not None and cost >= row.max_cost:
        return f"{row.max_cost:,} in money"
    return ""


def _set_prices(row: SpendingAccount, prices: Prices | None) -> None:
    row.price_input = None if prices is None else prices.input
    row.price_cached = None if prices is None else prices.cached_input
    row.price_output = None if prices is None else prices.output


def _checked(row: SpendingAccount) -> Account:
    """The account with its new limits. Raises StudyError."""
    try:
        account = _account(row)
        Spending(
            max_calls=row.max_calls,
            max_tokens=row.max_tokens,
            max_cost=row.max_cost,
            prices=account.prices,
        )
    except BadInput as error:
        raise StudyError(error.problems) from None
    too_large = [name for name in LIMITS if (getattr(row, name) or 0) > LARGEST]
    if too_large:
        raise StudyError([f"{name}: at most {LARGEST:,}" for name in too_large])
    return account


def _told(account: Account) -> dict[str, Any]:
    """The limits as details of the audit log, which takes no fractions."""
    prices = account.prices
    return {
        "max_calls": account.max_calls,
        "max_tokens": account.max_tokens,
        "max_cost": None if account.max_cost is None else f"{account.max_cost:g}",
        "prices": prices and f"{prices.input:g},{prices.cached_input:g},{prices.output:g}",
    }


def prices_from(text: str) -> Prices:
    """Prices typed as ``IN,CACHED,OUT``. Raises StudyError."""
    try:
        return Prices.from_text(text)
    except RankerError as error:
        raise StudyError(str(error).splitlines()) from None

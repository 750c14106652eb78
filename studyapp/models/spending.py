"""What a study may spend on language models, and what it has spent."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from studyapp.models.study import Study

PRICES = ("price_input", "price_cached", "price_output")
_NO_PRICES = Q(**{f"{name}__isnull": True for name in PRICES})
# A comparison with null is no refusal in SQL, so that both are said.
_ALL_PRICES = Q(**{f"{name}__isnull": False for name in PRICES}) & Q(
    **{f"{name}__gte": 0 for name in PRICES}
)


class SpendingAccount(models.Model):
    """One study's limits (null: none) and its account, counted over all workers and restarts.

    Prices are those of a million tokens: sent, sent and found in a cache, received. A call is
    counted before it is sent; its tokens once the answer is there.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="spending")
    max_calls = models.PositiveBigIntegerField(null=True, blank=True)
    max_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    max_cost = models.FloatField(null=True, blank=True)
    price_input = models.FloatField(null=True, blank=True)
    price_cached = models.FloatField(null=True, blank=True)
    price_output = models.FloatField(null=True, blank=True)
    calls = models.PositiveBigIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    cached_prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    #: Answers whose server did not say its tokens.
    n_estimated = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="spending_prices_all_or_none", condition=_NO_PRICES | _ALL_PRICES
            ),
            models.CheckConstraint(
                name="spending_cost_needs_prices",
                condition=Q(max_cost__isnull=True) | (Q(max_cost__gte=0) & _ALL_PRICES),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.calls} calls of study {self.study_id}"

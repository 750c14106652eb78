"""What is typed on the rankings page: the filter of its list, and the limits of spending."""

from __future__ import annotations

from typing import Any

from django import forms

from studyapp.domain.claim_states import EvidenceState
from studyapp.domain.spending import LARGEST, Account, prices_from
from studyapp.errors import StudyError
from studyapp.setup_forms import SetupForm


class ListForm(forms.Form):
    """The filter of the list of claims, from the address."""

    state = forms.ChoiceField(choices=[(state.value, "") for state in EvidenceState])
    condition = forms.SlugField(max_length=40)
    page = forms.IntegerField(min_value=1, max_value=10**9)

    @classmethod
    def chosen(cls, query: Any) -> dict[str, Any]:
        """The answers in a query string; anything odd counts as not said."""
        form = cls(query)
        form.is_valid()
        return {"state": "", "condition": "", "page": 1} | form.cleaned_data


class LimitsForm(SetupForm):
    """What a study may spend: empty fields are no limit."""

    max_calls = forms.IntegerField(
        label="Calls", required=False, min_value=0, max_value=LARGEST, localize=False
    )
    max_tokens = forms.IntegerField(
        label="Tokens",
        required=False,
        min_value=0,
        max_value=LARGEST,
        help_text="Sent and received together.",
    )
    max_cost = forms.FloatField(
        label="Money", required=False, min_value=0, help_text="In the currency of the prices."
    )
    prices = forms.CharField(
        label="Prices of a million tokens",
        required=False,
        max_length=100,
        help_text="Sent, sent and found in a cache, received: such as 0.15,0.075,0.6. "
        "With them, costs are shown in money.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    @classmethod
    def of(cls, account: Account) -> LimitsForm:
        """The form with the limits as they are."""
        prices = account.prices
        return cls(
            initial={
                "max_calls": account.max_calls,
                "max_tokens": account.max_tokens,
                "max_cost": account.max_cost,
                "prices": prices and f"{prices.input:g},{prices.cached_input:g},{prices.output:g}",
            }
        )

    def clean_prices(self) -> Any:
        """The prices as a value, None without them."""
        text = self.cleaned_data["prices"].replace(" ", "")
        if not text:
            return None
        try:
            return prices_from(text)
        except StudyError as error:
            raise forms.ValidationError(error.problems) from None

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        lacks_prices = not given.get("prices") and "prices" not in self.errors
        if given.get("max_cost") is not None and lacks_prices:
            self.add_error("prices", "A limit in money needs prices.")
        return given

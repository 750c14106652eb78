"""LLM answers kept in the database: the response store of the workers."""

from __future__ import annotations

from typing import Any

from studyapp.models import LlmResponse


class DatabaseStore:
    """Implements ``rankers.store.ResponseStore``. An answer is committed before it is used.

    Must be called outside a transaction: an answer inside one would be lost with it.
    """

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored answer, or None."""
        return LlmResponse.objects.filter(key=key).values_list("response", flat=True).first()

    def put(self, key: str, response: dict[str, Any]) -> None:
        """Keep an answer; the first one stays."""
        LlmResponse.objects.bulk_create(
            [LlmResponse(key=key, response=response)], ignore_conflicts=True
        )

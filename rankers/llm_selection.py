"""An LLM chooses one sufficient set of candidates, to be shown at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rankers.asking import ask
from rankers.base import PlannedCall, Selector
from rankers.errors import BadInput, MalformedReply
from rankers.llm import LLM, Reply
from rankers.prompts import SELECTION_VERSION, ids_schema, selection_messages, stable_prefix
from rankers.replies import parse_ids
from rankers.values import Selection

#: Three tokens a number, and room for a short remark.
_TOKENS_AT_LEAST = 256
#: A guess at the tokens of a set: three numbers and what is around them.
_EXPECTED_TOKENS = 12


class LLMSelection(Selector):
    """One question for the smallest sufficient set (evidence-ranking paper, study condition B).

    Repeated numbers count once and the order of the reply means nothing. A reply without numbers,
    or with ones that no candidate has, is asked for again, ``attempts`` requests in all. Then the
    valid numbers of the last reply that had any count; without one ``fallback`` chooses and the
    selection says so. A reply cut even with the larger budget ends the asking and counts for
    nothing: half a set is no set. A single candidate is the selection, without a question.
    """

    name: ClassVar[str] = "llm_selection"
    prompt_version = SELECTION_VERSION

    def __init__(
        self, llm: LLM, *, fallback: Selector, attempts: int = 5, temperature: float = 0.0
    ):
        if attempts < 1:
            raise BadInput(f"attempts: {attempts} is below 1")
        self.llm = llm
        self.fallback = fallback
        self.attempts = attempts
        self.temperature = temperature
        self.model = llm.model

    @property
    def params(self) -> Mapping[str, Any]:
        """Attempts, temperature and the selector that steps in."""
        return {
            "attempts": self.attempts,
            "temperature": self.temperature,
            "fallback": repr(self.fallback),
        }

    def select(self, claim: str, candidates: Sequence[str]) -> Selection:
        """Ask for one set. TransportError and PermanentError end the attempt as they come."""
        n = len(candidates)
        if n == 0:
            raise ValueError("there are no candidates to select from")
        if n == 1:
            return Selection((0,), 1)
        valid: tuple[int, ...] = ()

        def parse(reply: Reply) -> tuple[int, ...]:
            nonlocal valid
            parsed = parse_ids(
                reply.text, n, finish_reason=reply.finish_reason, reasoning=reply.reasoning
            )
            valid = parsed.ids or valid
            if not parsed.ids:
                raise MalformedReply(f"it names no number from 1 to {n}", raw=reply.text)
            if parsed.rejected:
                raise MalformedReply(f"some of it is no number from 1 to {n}", raw=reply.text)
            return parsed.ids

        numbers, usage = ask(
            self.llm,
            selection_messages(claim, candidates),
            parse,
            max_tokens=max(_TOKENS_AT_LEAST, 6 * n + 32),
            attempts=self.attempts,
            temperature=self.temperature,
            schema=ids_schema(n),
            prefix=stable_prefix(claim, candidates),
        )
        chosen = numbers or valid
        if chosen:
            return Selection(tuple(sorted(k - 1 for k in chosen)), n, usage=usage)
        substitute = self.fallback.select(claim, candidates)
        return replace(substitute, is_fallback=True, usage=usage + substitute.usage)

    def plan(self, claim: str, candidates: Sequence[str]) -> Sequence[PlannedCall]:
        """One call, none for a single candidate."""
        if len(candidates) <= 1:
            return ()
        return (PlannedCall(selection_messages(claim, candidates), _EXPECTED_TOKENS),)

"""Prompt texts of the methods that ask an LLM, each with a version, and what fills them.

Two layouts for choosing one sentence at a time and for ordering all of them in one call:

* ``stable``: what the reader needs, the claim and all candidates with their fixed numbers come
  first and are the same bytes in every request, so that a server can reuse its work on them; the
  question and the numbers already chosen come last.
* ``paper``: the structure of the evidence-ranking paper (Appendix C.1 and C.2). One at a time: a
  first prompt of its own, then the sentences already chosen as bullets and the remaining ones
  renumbered from 1. All at once: a JSON object from number to text, so that the answer repeats
  every sentence.

A reranker sees a part of the candidates, numbered from 1, in a prompt of its own (C.3).

Ids are written ``[k]``. The texts ask which sentences are *sufficient*, since that is what the
measures look at. A change of any text below needs a new version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = dict[str, str]

STABLE = "stable"
PAPER = "paper"
LAYOUTS = (STABLE, PAPER)

SYSTEM = "system"
USER = "user"
TURNS = (SYSTEM, USER)

STABLE_VERSION = "next-stable-2"
PAPER_VERSION = "next-paper-2"
SELECTION_VERSION = "selection-2"
LIST_VERSION = "list-stable-1"
PAPER_LIST_VERSION = "list-paper-1"
FIRST_TOKEN_VERSION = "first-token-1"
RERANK_VERSION = "rerank-1"

CLAIM_LABEL = "Claim:"
CANDIDATES_HEADING = "Candidate sentences:"
USED_HEADING = "Sentences the reader has already seen:"
REMAINING_HEADING = "Remaining sentences:"
SHOWN_LABEL = "Already shown, in this order:"
NOTHING_SHOWN = "none"

PREFACE = """\
A reader has to decide whether a claim is supported or refuted and may use only sentences from a \
numbered list. Sentences are sufficient when, read together, they settle every part of the claim \
and leave nothing to guess. A sentence that speaks against the claim is worth as much as one that \
speaks for it. A sentence that says again what is already known, or merely shares the topic, is \
worth nothing. Call a sentence by its number in square brackets."""

NEXT_QUESTION = """\
The reader sees one sentence after another and stops as soon as those seen are sufficient. Choose \
the one sentence to show next: the one that, together with those already shown, comes closest to \
being sufficient. If those already shown are sufficient, choose the most useful of the others. \
Never choose a number twice. Reply with one number in square brackets and nothing else."""

SELECTION_QUESTION = """\
The reader sees one set of sentences, all at the same time. Choose the smallest set that is \
sufficient for the decision and leave out every sentence the decision does not need. Reply with a \
list of numbers in square brackets, separated by commas, and nothing else."""

LIST_QUESTION = """\
The reader sees one sentence after another, in the order you give, and stops as soon as those seen \
are sufficient. Order all {n} sentences so that this happens as early as possible: at each place, \
put the sentence that, together with those before it, comes closest to being sufficient; behind a \
sufficient start, put the most useful of the others. Name every number from 1 to {n} and none of \
them twice. Reply with one list of numbers in square brackets, separated by commas, and nothing \
else."""

FIRST_TOKEN_QUESTION = """\
The reader sees one sentence after another and stops as soon as those seen are sufficient. Choose \
the sentence to show first: the one that comes closest to being sufficient by itself. This time \
reply with its number alone, in digits, without brackets or any word."""

PAPER_FIRST = """\
Below are a claim and a numbered list of sentences. Choose the one sentence that does most, on its \
own and explicitly, to settle whether the claim is supported or refuted. You must choose one, even \
if none is sufficient alone."""

PAPER_NEXT = """\
Below are a claim, the sentences a reader has already seen, and a numbered list of the remaining \
sentences. Choose the one remaining sentence that, together with those already seen, comes closest \
to being sufficient to settle whether the claim is supported or refuted. It has to speak about the \
claim explicitly and add something new. You must choose one, even if nothing is missing."""

PAPER_REMINDER = "Reply with the number of one sentence in square brackets and nothing else."

PAPER_LIST = """\
Below are a claim and a numbered list of sentences. Order all the sentences so that a reader who \
goes through them from the top has seen, as early as possible, sentences that together are \
sufficient to settle whether the claim is supported or refuted. Sentences that speak about the \
claim explicitly and add something new come first, those that add nothing come last."""

PAPER_LIST_REMINDER = """\
Reply with one JSON object and nothing else. Its keys are all the numbers from 1 to {n}, each once \
and in your order, and the value of each is the text of that sentence: {{"number": "text", ...}}"""

RERANK_INSTRUCTIONS = """\
You order sentences for a reader who has to decide whether a claim is supported or refuted. \
Sentences are sufficient when, read together, they settle every part of the claim and leave \
nothing to guess. The reader goes through your order from the start and stops as soon as the \
sentences seen are sufficient, so put first those that together are sufficient, in as small a \
number as possible, whether they speak for the claim or against it. A sentence that says again \
what one before it says, or merely shares the topic, comes behind. Think first, between <think> \
and </think>. Then give the order between <answer> and </answer>, with numbers in square brackets \
and > between them."""

RERANK_QUESTION = """\
Order all {n} sentences above, the one to read first at the start. Name every number from 1 to {n} \
and none of them twice, in the form <answer>[number] > [number] > ...</answer>"""

CORRECTION = """\
That reply cannot be used: {problem}. This is request {attempt} of at most {attempts}. Answer the \
question above again, in exactly the form it asks for and without any remark."""

# A bracket that holds nothing but numbers, as footnote marks in encyclopedia text do.
_BRACKETED_NUMBERS = re.compile(r"""\[(\s*["'“”]?\d[\d\s,;.\-–"'“”]*)\]""")


@dataclass(frozen=True, slots=True)
class Question:
    """One request for one sentence.

    ``options[k - 1]`` is the candidate position that number ``k`` stands for; ``used`` holds the
    numbers that may not be chosen again. ``prefix`` is what all requests of the claim begin with.
    """

    messages: tuple[Message, ...]
    options: tuple[int, ...]
    used: frozenset[int] = frozenset()
    prefix: str | None = None


def display(text: str) -> str:
    """``text`` on one line, with bracketed numbers such as ``[12]`` turned into ``(12)``.

    Only an id may look like an id: otherwise a footnote mark could be read, or repeated by the
    model, as the number of a candidate, and a line break could start a line of its own.
    """
    return _BRACKETED_NUMBERS.sub(r"(\1)", " ".join(text.split()))


def numbered(candidates: Sequence[str]) -> str:
    """One line a candidate, ``[1] text`` onwards."""
    return "\n".join(f"[{k}] {display(text)}" for k, text in enumerate(candidates, 1))


def stable_prefix(claim: str, candidates: Sequence[str]) -> str:
    """The part of a prompt that depends on the claim alone, ending in a blank line."""
    return (
        f"{PREFACE}\n\n{CLAIM_LABEL} {display(claim)}\n\n"
        f"{CANDIDATES_HEADING}\n{numbered(candidates)}\n\n"
    )


def stable_question(claim: str, candidates: Sequence[str], chosen: Sequence[int]) -> Question:
    """The request for the sentence after ``chosen`` (positions, in order) in layout ``stable``."""
    numbers = [position + 1 for position in chosen]
    shown = " ".join(f"[{number}]" for number in numbers) or NOTHING_SHOWN
    prefix = stable_prefix(claim, candidates)
    text = f"{prefix}{NEXT_QUESTION}\n{SHOWN_LABEL} {shown}"
    return Question((user(text),), tuple(range(len(candidates))), frozenset(numbers), prefix)


def paper_question(claim: str, candidates: Sequence[str], chosen: Sequence[int]) -> Question:
    """The request for the sentence after ``chosen`` (positions, in order) in layout ``paper``."""
    taken = set(chosen)
    remaining = tuple(p for p in range(len(candidates)) if p not in taken)
    parts = [PAPER_NEXT if chosen else PAPER_FIRST, f"{CLAIM_LABEL} {display(claim)}"]
    if chosen:
        bullets = "\n".join(f"- {display(candidates[position])}" for position in chosen)
        parts.append(f"{USED_HEADING}\n{bullets}")
    heading = REMAINING_HEADING if chosen else CANDIDATES_HEADING
    parts.append(f"{heading}\n{numbered([candidates[position] for position in remaining])}")
    parts.append(PAPER_REMINDER)
    return Question((user("\n\n".join(parts)),), remaining)


def selection_messages(claim: str, candidates: Sequence[str]) -> tuple[Message, ...]:
    """The request for one sufficient set; it shares its prefix with layout ``stable``."""
    return (user(stable_prefix(claim, candidates) + SELECTION_QUESTION),)


def list_messages(claim: str, candidates: Sequence[str]) -> tuple[Message, ...]:
    """The request for an order of all candidates; it shares its prefix with layout ``stable``."""
    question = LIST_QUESTION.format(n=len(candidates))
    return (user(stable_prefix(claim, candidates) + question),)


def paper_list_messages(claim: str, candidates: Sequence[str]) -> tuple[Message, ...]:
    """The request for an order of all candidates in layout ``paper`` (Appendix C.1)."""
    parts = [
        PAPER_LIST,
        f"{CLAIM_LABEL} {display(claim)}",
        f"{CANDIDATES_HEADING}\n{numbered(candidates)}",
        PAPER_LIST_REMINDER.format(n=len(candidates)),
    ]
    return (user("\n\n".join(parts)),)


def first_token_messages(claim: str, candidates: Sequence[str]) -> tuple[Message, ...]:
    """The request whose reply begins with the number of the best first sentence."""
    return (user(stable_prefix(claim, candidates) + FIRST_TOKEN_QUESTION),)


def rerank_messages(claim: str, sentences: Sequence[str], turn: str) -> tuple[Message, ...]:
    """The request for an order of some sentences, numbered from 1 (Appendix C.3).

    ``turn`` says where the instructions go: a ``system`` turn, as rerankers were trained with, or
    the ``user`` turn, for chat templates that know no other.
    """
    asked = (
        f"{CLAIM_LABEL} {display(claim)}\n\n{CANDIDATES_HEADING}\n{numbered(sentences)}\n\n"
        f"{RERANK_QUESTION.format(n=len(sentences))}"
    )
    if turn == USER:
        return (user(f"{RERANK_INSTRUCTIONS}\n\n{asked}"),)
    return ({"role": "system", "content": RERANK_INSTRUCTIONS}, user(asked))


def correction_messages(
    messages: Sequence[Message], bad_reply: str, problem: str, attempt: int, attempts: int
) -> tuple[Message, ...]:
    """``messages`` with the unusable reply and a request to do better, as two further turns.

    ``messages`` is the original request, so that a correction replaces the one before it instead
    of piling up. The reply is given back because many chat templates insist that user and
    assistant take turns; a long one is cut.
    """
    shown = bad_reply.strip()[:400] or "(no answer)"
    text = CORRECTION.format(problem=problem, attempt=attempt, attempts=attempts)
    return (*messages, {"role": "assistant", "content": shown}, user(text))


def ids_schema(n: int) -> Mapping[str, Any]:
    """A JSON schema for ``{"ids": [...]}`` over the numbers 1..n.

    It is the same for every step of a claim: a schema is part of what a server caches.
    """
    return {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "integer", "enum": list(range(1, n + 1))}}
        },
        "required": ["ids"],
        "additionalProperties": False,
    }


def user(text: str) -> Message:
    """A user turn. Instructions go here as a rule: some chat templates know no system turn."""
    return {"role": "user", "content": text}

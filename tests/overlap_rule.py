"""What the scripted server answers: a rule of word overlap that can be worked out by hand.

The rule reads the prompts of ``rankers.prompts`` as a model would: the claim, the numbered
sentences, what was already shown, and which question is asked. It is greedy: the sentence that
shares most claim words which no sentence before it has; among equals the one that shares most
claim words at all; then the lowest number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from rankers import prompts

_STOP_WORDS = frozenset(
    re.findall(r"\w+", "a an and are as at by for from in is it of on the to was")
)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_CLAIM = re.compile(rf"^{re.escape(prompts.CLAIM_LABEL)} (.*)$", re.MULTILINE)
_SHOWN = re.compile(rf"^{re.escape(prompts.SHOWN_LABEL)} (.*)$", re.MULTILINE)
# What is left of a question when the number of sentences is taken out of it.
_LIST_MARK = prompts.LIST_QUESTION.partition("{n}")[0]
_RERANK_MARK = prompts.RERANK_QUESTION.rpartition("{n}")[2]


@lru_cache(maxsize=20_000)
def words(text: str) -> frozenset[str]:
    """Lower-cased words without the commonest ones."""
    return frozenset(re.findall(r"\w+", text.lower())) - _STOP_WORDS


def overlap_pick(claim: str, sentences: dict[int, str], shown: Sequence[str]) -> int:
    """The number whose sentence shares most claim words that no shown one has; ties: the lowest.

    When none adds anything, the most shared words count.
    """
    wanted = words(claim)
    shared = {number: words(text) & wanted for number, text in sentences.items()}
    return _pick(shared, wanted - frozenset[str]().union(*map(words, shown)))


def overlap_order(claim: str, sentences: dict[int, str]) -> list[int]:
    """All numbers in the order in which they would be picked one after another."""
    wanted = words(claim)
    left = {number: words(text) & wanted for number, text in sentences.items()}
    still_open = wanted
    order: list[int] = []
    while left:
        order.append(_pick(left, still_open))
        still_open -= left.pop(order[-1])
    return order


def overlap_selection(claim: str, sentences: dict[int, str]) -> list[int]:
    """Greedy picks while each adds a claim word; at least one."""
    wanted = words(claim)
    chosen: list[int] = []
    for number in overlap_order(claim, sentences):
        added = words(sentences[number]) & wanted
        if chosen and not added:
            break
        chosen.append(number)
        wanted -= added
    return sorted(chosen)


def answer(prompt: str, as_json: bool = False) -> str:
    """The answer to a prompt of ``rankers.prompts``; an apology to any other."""
    claim = _CLAIM.search(prompt)
    sentences = {int(number): text for number, text in _NUMBERED.findall(prompt)}
    if claim is None or not sentences:
        return "I am sorry, I do not understand the question."
    if prompts.SELECTION_QUESTION in prompt:
        return _list(overlap_selection(claim[1], sentences), as_json)
    if _LIST_MARK in prompt:
        return _list(overlap_order(claim[1], sentences), as_json)
    if prompts.PAPER_LIST in prompt:
        order = overlap_order(claim[1], sentences)
        return json.dumps({str(number): sentences[number] for number in order})
    if _RERANK_MARK in prompt:
        return _reasoned(overlap_order(claim[1], sentences))
    if prompts.FIRST_TOKEN_QUESTION in prompt:
        return str(overlap_pick(claim[1], sentences, ()))
    shown, left = _already_shown(prompt, sentences)
    return _list([overlap_pick(claim[1], left, shown)], as_json)


def first_tokens(prompt: str, count: int) -> list[tuple[str, float]]:
    """The likeliest first tokens of the answer, with log probabilities -1, -2, ...

    They are the numbers in the order of the rule for the question about the first token, and for
    any other the one token with which the answer begins.
    """
    if prompts.FIRST_TOKEN_QUESTION not in prompt:
        return [(tokens(answer(prompt))[0], -1.0)]
    claim = _CLAIM.search(prompt)
    sentences = {int(number): text for number, text in _NUMBERED.findall(prompt)}
    order = overlap_order(claim[1], sentences) if claim else []
    return [(str(number), -1.0 - rank) for rank, number in enumerate(order[:count])]


def tokens(text: str) -> list[str]:
    """A simple stand-in for a tokenizer: words and single signs."""
    return _TOKEN.findall(text)


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _pick(shared: dict[int, frozenset[str]], still_open: frozenset[str]) -> int:
    """The number that adds most, shares most, is lowest; ``shared`` holds claim words by number."""
    return min(shared, key=lambda k: (-len(shared[k] & still_open), -len(shared[k]), k))


def _list(ids: list[int], as_json: bool) -> str:
    return json.dumps({"ids": ids}) if as_json else f"[{', '.join(map(str, ids))}]"


def _reasoned(order: list[int]) -> str:
    """As a reranker answers: thinking, in which other orders turn up, and then the order."""
    run = " > ".join(f"[{number}]" for number in order)
    other = " > ".join(f"[{number}]" for number in sorted(order))
    return f"<think>Not <answer>{other}</answer> but by overlap.</think>\n<answer>{run}</answer>"


def _already_shown(prompt: str, sentences: dict[int, str]) -> tuple[list[str], dict[int, str]]:
    """Texts already shown, and the sentences that are left, in either layout."""
    line = _SHOWN.search(prompt)
    if line is not None:
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", line[1])]
        left = {k: text for k, text in sentences.items() if k not in numbers}
        return [sentences[number] for number in numbers], left
    _, heading, rest = prompt.partition(prompts.USED_HEADING)
    bullets = rest.partition(prompts.REMAINING_HEADING)[0] if heading else ""
    return re.findall(r"^- (.*)$", bullets, re.MULTILINE), sentences

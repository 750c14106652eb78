"""Order by natural language inference: how far a sentence proves or disproves the claim.

One-shot and incremental NLI of the evidence-ranking paper. A scorer gives probabilities for pairs
of a premise (sentences) and a hypothesis (the claim); everything else is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.base import Ranker
from rankers.errors import BadInput
from rankers.values import JUDGED, SEED, Ranking

#: Columns of a scorer's result.
LABELS = ("contradiction", "entailment", "neutral")
CONTRADICTION, ENTAILMENT = 0, 1

TOP = 2
DEPTH = 6

Premise = str
Hypothesis = str


class NLIScorer(ABC):
    """Judges pairs of texts. ``name`` is what ranking records say."""

    name: str

    @abstractmethod
    def score(self, pairs: Sequence[tuple[Premise, Hypothesis]]) -> NDArray[np.float64]:
        """Return P(contradiction), P(entailment), P(neutral) of each pair, shape (n, 3).

        Raises RankerError when a pair cannot be judged.
        """


class _NLIRanker(Ranker):
    """What both share: the label of a claim, and how far each sentence alone speaks for it."""

    def __init__(self, scorer: NLIScorer, *, top: int = TOP):
        if top < 1:
            raise BadInput(f"top: {top} is below 1")
        self.scorer = scorer
        self.top = top
        self.model = scorer.name

    def _judge(self, claim: str, candidates: Sequence[str]) -> tuple[int, NDArray[np.float64]]:
        """The claim's label, and its probability given each candidate alone, shape (n,)."""
        alone = self._probabilities(claim, candidates)
        label = self._label(claim, candidates, alone)
        return label, alone[:, label]

    def _label(self, claim: str, candidates: Sequence[str], alone: NDArray[np.float64]) -> int:
        """Entailment or contradiction, whichever the strongest sentences together make likelier.

        The ``top`` sentences for each label are joined in both orders, as the order of a premise
        sways a model; the mean of the two counts, entailment on a tie.
        """
        proving, refuting = (
            _descending(alone[:, k])[: self.top] for k in (ENTAILMENT, CONTRADICTION)
        )
        joined = [
            _joined(candidates, [*proving, *refuting]),
            _joined(candidates, [*refuting, *proving]),
        ]
        mean = self._probabilities(claim, joined).mean(axis=0)
        return ENTAILMENT if mean[ENTAILMENT] >= mean[CONTRADICTION] else CONTRADICTION

    def _probabilities(self, claim: str, premises: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of each premise, shape (n, 3); copies are asked once and so are equal."""
        texts = list(dict.fromkeys(premises))
        row_of = {text: row for row, text in enumerate(texts)}
        scores = self.scorer.score([(text, claim) for text in texts])
        return scores[[row_of[text] for text in premises]]


class NLI(_NLIRanker):
    """Sentences by their own probability of the claim's label, descending (paper: one-shot NLI).

    Ties go to the lower position.
    """

    name = "nli"

    @property
    def params(self) -> Mapping[str, Any]:
        """``top``."""
        return {"top": self.top}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the order with the probabilities; n < 2 needs no model."""
        if len(candidates) < 2:
            return Ranking.judged(range(len(candidates)))
        _, alone = self._judge(claim, candidates)
        order = _descending(alone)
        return Ranking.judged(order, alone[order].tolist())


class IncrementalNLI(_NLIRanker):
    """Greedy: next is the sentence that makes the label likeliest together with those chosen.

    The label is that of the one-shot order and stays (paper F; it leaves open how the label is
    found, what breaks ties and what becomes of it step by step). The premise is the chosen
    sentences in rank order and then the candidate. Ties go to the higher one-shot probability,
    then to the lower position. ``depth`` positions are chosen (0: all, as in the paper, at about
    n^2 / 2 pairs a claim); the rest is the one-shot order with origin ``seed``.
    """

    name = "incremental_nli"

    def __init__(self, scorer: NLIScorer, *, top: int = TOP, depth: int = DEPTH):
        super().__init__(scorer, top=top)
        if depth < 0:
            raise BadInput(f"depth: {depth} is below 0 (0 chooses every position)")
        self.depth = depth

    @property
    def params(self) -> Mapping[str, Any]:
        """``top`` and ``depth``."""
        return {"top": self.top, "depth": self.depth}

    def rank(self, claim: str, candidates: Sequence[str]) -> Ranking:
        """Return the order; n < 2 needs no model.

        A score is the probability that placed the sentence: given all up to it for those chosen,
        given it alone for the rest.
        """
        n = len(candidates)
        if n < 2:
            return Ranking.judged(range(n))
        label, alone = self._judge(claim, candidates)
        left = _descending(alone)
        chosen = [left.pop(0)]  # a single sentence has been judged already
        scores = [float(alone[chosen[0]])]
        while left and len(chosen) < (self.depth or n):
            premises = [_joined(candidates, [*chosen, i]) for i in left]
            together = self._probabilities(claim, premises)[:, label]
            best = int(np.argmax(together))  # the first of equals; left is in one-shot order
            scores.append(float(together[best]))
            chosen.append(left.pop(best))
        return Ranking(
            (*chosen, *left),
            (*[JUDGED] * len(chosen), *[SEED] * len(left)),
            (*scores, *alone[left].tolist()),
        )


def _descending(values: NDArray[np.float64]) -> list[int]:
    """Positions by value, the largest first; ties to the lower position."""
    order: list[int] = np.argsort(-values, kind="stable").tolist()
    return order


def _joined(candidates: Sequence[str], positions: Iterable[int]) -> str:
    """The sentences as one text, each position once."""
    return " ".join(candidates[i] for i in dict.fromkeys(positions))

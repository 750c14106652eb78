"""The scorer of the NLI methods: a cross-encoder that runs in this process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.errors import MissingDependency, RankerError
from rankers.local_models import load_once
from rankers.nli import LABELS, NLIScorer

#: The paper's model, and the number of tokens that it reads.
DEFAULT_MODEL = "cross-encoder/nli-deberta-v3-large"
MAX_TOKENS = 512

_BATCH_PAIRS = 32


class CrossEncoderScorer(NLIScorer):
    """Softmax over the labels of a sequence classification model with three NLI labels.

    ``name`` is a model on the Hugging Face hub or a local folder, loaded when first needed. A pair
    that is too long loses the end of its premise; the claim is never cut.
    """

    def __init__(self, name: str | None = None):
        self.name = name or DEFAULT_MODEL

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return (n, 3) probabilities in the order of ``rankers.nli.LABELS``.

        Raises MissingDependency when the model cannot be used, RankerError for a claim that leaves
        no room for a premise.
        """
        if not pairs:
            return np.zeros((0, len(LABELS)))
        model: _CrossEncoder = load_once("NLI model", self.name, _CrossEncoder)
        return model.score(pairs)


class _CrossEncoder:
    """A loaded model. Its tokenizer changes while it works, so one thread uses it at a time."""

    def __init__(self, source: str, device: str):
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        config = AutoConfig.from_pretrained(source)
        self._columns = _columns(source, config.id2label)
        self._tokenizer = AutoTokenizer.from_pretrained(source)
        # A premise that is too long loses its start: its end is the sentence that is being judged.
        self._tokenizer.truncation_side = "left"
        model = AutoModelForSequenceClassification.from_pretrained(source)
        self._model = model.float().to(device).eval()  # some are stored in half precision
        self._device = device
        self._limit = _limit(config, self._tokenizer)
        self._lock = threading.Lock()

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Pairs of similar length go together, so that little is padded."""
        by_length = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]), reverse=True)
        scores = np.zeros((len(pairs), len(LABELS)))
        with self._lock:
            self._check_room({claim for _, claim in pairs})
            for start in range(0, len(pairs), _BATCH_PAIRS):
                batch = by_length[start : start + _BATCH_PAIRS]
                scores[batch] = self._predict([pairs[i] for i in batch])
        return scores

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        import torch

        premises, claims = map(list, zip(*pairs, strict=True))
        encoded = self._tokenizer(
            premises,
            claims,
            truncation="only_first",
            max_length=self._limit,
            padding=True,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            logits = self._model(**encoded).logits.double()
        return logits.softmax(dim=-1).cpu().numpy()[:, self._columns]

    def _check_room(self, claims: set[str]) -> None:
        for claim in claims:
            n_tokens = len(self._tokenizer("", claim)["input_ids"])
            if n_tokens >= self._limit:
                raise RankerError(
                    f"the claim takes {n_tokens} of the {self._limit} tokens that the NLI model "
                    "reads, which leaves no room for a sentence: use another method for it"
                )


def _columns(source: str, id2label: Mapping[int, str]) -> list[int]:
    """Where the model has the labels in our order. Raises MissingDependency without all three."""
    place = {str(label).strip().lower(): int(number) for number, label in id2label.items()}
    if set(place) != set(LABELS):
        raise MissingDependency(
            f"the NLI model {source!r} has the labels {', '.join(map(str, id2label.values()))}: "
            f"choose one with {', '.join(LABELS)}, such as {DEFAULT_MODEL}"
        )
    return [place[label] for label in LABELS]


def _limit(config: Any, tokenizer: Any) -> int:
    """Tokens of a pair that the model reads; either part may not say."""
    positions = getattr(config, "max_position_embeddings", 0) or MAX_TOKENS
    return int(min(MAX_TOKENS, positions, tokenizer.model_max_length))

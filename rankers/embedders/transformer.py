"""An embedder that runs a sentence-transformers model in this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankers.embedders.base import Embedder
from rankers.local_models import load_once

_BATCH_TEXTS = 64


class SentenceTransformerEmbedder(Embedder):
    """Vectors of a model from the Hugging Face hub or a local folder, as the model makes them.

    Texts longer than the model reads are cut by it. No prompt is added, not even one that the
    model's own configuration would add.
    """

    kind = "sentence-transformers"

    def __init__(self, model: str):
        self.model = model
        self.name = f"{self.kind}:{model}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return (n, d) vectors. Raises MissingDependency when the model cannot be loaded."""
        if not texts:
            return np.zeros((0, 0))
        encoder: _Encoder = load_once("embedder", self.model, _Encoder)
        return encoder.encode(texts)


class _Encoder:
    """A loaded model. Its tokenizer changes while it works, so one thread uses it at a time."""

    def __init__(self, source: str, device: str):
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(source, device=device)
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        with self._lock:
            vectors = self._model.encode(
                list(texts), prompt="", batch_size=_BATCH_TEXTS, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float64)

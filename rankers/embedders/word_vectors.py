"""The default embedder: word vectors that ship inside a wheel, so no download and no key."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.embedders.base import Embedder
from rankers.embedders.batches import batches
from rankers.errors import MissingDependency

#: Characters of one padded batch; bounds memory when a single sentence is very long.
_BATCH_CHARACTERS = 100_000
_BATCH_TEXTS = 64


class WordLlamaEmbedder(Embedder):
    """Mean of static word vectors (l2_supercat, 256 dimensions), offline."""

    name = "wordllama"
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return (n, 256) vectors; an empty text has the zero vector.

        Raises MissingDependency when the wheel with the vectors is not installed.
        """
        vectors = np.zeros((len(texts), self.dimensions))
        model = _wordllama()
        for batch in batches(texts, most=_BATCH_TEXTS, characters=_BATCH_CHARACTERS):
            vectors[batch] = model.embed([texts[i] for i in batch], batch_size=len(batch))
        return vectors


_loading = threading.Lock()


def _wordllama() -> Any:
    # Threads of one run ask at the same time; the weights are to be read once.
    with _loading:
        return _load_wordllama()


@lru_cache(maxsize=1)
def _load_wordllama() -> Any:
    try:
        with _logging_as_it_is():
            import wordllama
    except ImportError as error:
        raise MissingDependency(
            "the embedder wordllama needs the package of that name: pip install wordllama"
        ) from error
    return wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )


@contextmanager
def _logging_as_it_is() -> Iterator[None]:
    """Undo what an import does to logging: wordllama turns on every library's chatter."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)

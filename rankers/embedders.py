"""Sentence embedders: text in, float64 vectors out.

The default, ``wordllama``, averages word vectors that ship inside its wheel: no download, no key.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankers.errors import BadInput, MissingDependency

DEFAULT_EMBEDDER = "wordllama"

#: Characters of one padded batch; bounds memory when a single sentence is very long.
_BATCH_CHARACTERS = 100_000
_BATCH_TEXTS = 64


class Embedder(ABC):
    """Turns texts into vectors. ``name`` is what ranking records say."""

    name: str

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row a text, shape (len(texts), d), in the order given, not normalised."""


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
        for batch in _batches(texts):
            vectors[batch] = model.embed([texts[i] for i in batch], batch_size=len(batch))
        return vectors


def make_embedder(name: str | None = None) -> Embedder:
    """Return the embedder of that name, ``wordllama`` without one.

    Raises BadInput for an unknown name.
    """
    wanted = name or DEFAULT_EMBEDDER
    if wanted not in EMBEDDERS:
        known = ", ".join(EMBEDDERS)
        raise BadInput(f"unknown embedder {wanted!r}: there is {known}")
    return EMBEDDERS[wanted]()


EMBEDDERS: dict[str, type[Embedder]] = {"wordllama": WordLlamaEmbedder}

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


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Positions in batches; a batch is padded to its longest text, so long ones go alone."""
    batch: list[int] = []
    longest = 0
    for i, text in enumerate(texts):
        longest = max(longest, len(text))
        if batch and (len(batch) == _BATCH_TEXTS or longest * (len(batch) + 1) > _BATCH_CHARACTERS):
            yield batch
            batch, longest = [], len(text)
        batch.append(i)
    if batch:
        yield batch

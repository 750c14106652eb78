"""Sentence embedders by name: text in, float64 vectors out.

``wordllama``, the default, needs neither download nor key. ``sentence-transformers:NAME`` takes a
model's name on the Hugging Face hub or a local folder, and runs it in this process; the
evidence-ranking paper's is ``sentence-transformers:BAAI/bge-large-en-v1.5``. ``openai:MODEL`` asks
the server at OPENAI_BASE_URL. No prompt or prefix is added by any of them.
"""

from __future__ import annotations

from rankers.embedders.base import Embedder
from rankers.embedders.remote import OpenAIEmbedder
from rankers.embedders.transformer import SentenceTransformerEmbedder
from rankers.embedders.word_vectors import WordLlamaEmbedder
from rankers.errors import BadInput
from rankers.spending import Spending
from rankers.store import ResponseStore

__all__ = [
    "DEFAULT_EMBEDDER",
    "Embedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "WordLlamaEmbedder",
    "is_paid",
    "make_embedder",
]

DEFAULT_EMBEDDER = WordLlamaEmbedder.name


def make_embedder(
    name: str | None = None,
    store: ResponseStore | None = None,
    spending: Spending | None = None,
) -> Embedder:
    """Return the embedder of that name, ``wordllama`` without one; no model is loaded yet.

    ``store`` keeps what a server answers, ``spending`` limits and counts what it is asked.
    Raises BadInput, listing the forms, for an unknown name, and MissingDependency when
    ``openai:`` lacks its address or key.
    """
    wanted = name or DEFAULT_EMBEDDER
    kind, _, model = wanted.partition(":")
    if wanted == DEFAULT_EMBEDDER:
        return WordLlamaEmbedder()
    if kind == SentenceTransformerEmbedder.kind and model.strip():
        return SentenceTransformerEmbedder(model.strip())
    if kind == OpenAIEmbedder.kind and model.strip():
        return OpenAIEmbedder.from_environment(model.strip(), store=store, spending=spending)
    raise BadInput(
        f"unknown embedder {wanted!r}: there is {DEFAULT_EMBEDDER}, "
        f"{SentenceTransformerEmbedder.kind}:NAME (a model's name or folder) and "
        f"{OpenAIEmbedder.kind}:MODEL"
    )


def is_paid(name: str | None) -> bool:
    """Whether the embedder of that name asks a server, whose answers are worth keeping."""
    return (name or "").partition(":")[0] == OpenAIEmbedder.kind

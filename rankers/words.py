"""Words of a text and their stems, as the coverage methods see them."""

from __future__ import annotations

import re
import threading
from functools import lru_cache

import snowballstemmer

from rankers.stopwords import STOP_WORDS

# Scripts written without spaces: each sign is a word, or a whole sentence would be one.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")

_stemmer = snowballstemmer.stemmer("english")
_stemming = threading.Lock()


def words(text: str) -> list[str]:
    """Return the lower-cased words of ``text`` in order, repeats included."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the English Snowball stem of a lower-cased word."""
    # The stemmer keeps its word in itself, so threads must take turns.
    with _stemming:
        return _stemmer.stemWord(word)


def content_words(text: str) -> dict[str, str]:
    """Return stem -> first word with it, in order, without stop words.

    A text of stop words only keeps them all: something must be covered.
    """
    every = words(text)
    kept = [word for word in every if word not in STOP_WORDS] or every
    found: dict[str, str] = {}
    for word in kept:
        found.setdefault(stem(word), word)
    return found


#: Stems of the stop words, for texts that are kept as stems.
STOP_STEMS = frozenset(map(stem, STOP_WORDS))

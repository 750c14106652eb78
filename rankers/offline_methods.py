"""The methods that call no LLM: their entries in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankers import coverage as cover
from rankers.base import Ranker
from rankers.bm25 import BM25
from rankers.cover_settings import CoverSettings
from rankers.cross_encoder import CrossEncoderScorer
from rankers.fixed import DocumentOrder, Random
from rankers.gold import GoldFirst
from rankers.method_info import EMBEDDER, GOLD, LOCAL_MODEL, MethodInfo, Options
from rankers.nli import DEPTH, NLI, TOP, IncrementalNLI
from rankers.params import Param
from rankers.similarity import IncrementalSimilarity, Similarity

_DEFAULTS = CoverSettings()


def _cover_param(name: str, help: str, maximum: float = 1000) -> Param:
    return Param(name, float, getattr(_DEFAULTS, name), help, minimum=0, maximum=maximum)


_COVER = (
    _cover_param(
        "strictness",
        "similarity from which another word counts, times what the best sentence holds",
        maximum=0.99,
    ),
    _cover_param("weight", "what an all but equal word covers", maximum=1),
    _cover_param("repeat", "share with which covered words count again"),
    _cover_param("numbers", "factor of words with a digit"),
    _cover_param("nearby", "bonus of a chosen sentence's neighbours, in a document"),
    _cover_param("sentence", "weight of whole-sentence similarity, if the embedder has any"),
)
_SHARE = Param(
    "share", float, cover.SHARE, "share of the coverable weight to reach", minimum=0, maximum=1
)
_TOP = Param("top", int, TOP, "sentences for either label that decide between them", minimum=1)
_DEPTH = Param("depth", int, DEPTH, "positions chosen step by step; 0 for all", minimum=0)


def _nli(params: Mapping[str, Any], options: Options) -> Ranker:
    return NLI(CrossEncoderScorer(options.model), **params)


def _incremental_nli(params: Mapping[str, Any], options: Options) -> Ranker:
    return IncrementalNLI(CrossEncoderScorer(options.model), **params)


RANKERS = (
    MethodInfo(
        "document_order",
        "ranker",
        "reading order",
        lambda params, options: DocumentOrder(),
    ),
    MethodInfo(
        "random",
        "ranker",
        "a seeded shuffle",
        lambda params, options: Random(**params),
        params=(Param("seed", int, 0, "seed of the shuffle"),),
    ),
    MethodInfo(
        "bm25",
        "ranker",
        "BM25 over the claim's candidates",
        lambda params, options: BM25(**params),
        params=(
            Param("k1", float, 1.5, "saturation of term frequency", minimum=0, maximum=1000),
            Param("b", float, 0.75, "length normalisation", minimum=0, maximum=1),
        ),
    ),
    MethodInfo(
        "similarity",
        "ranker",
        "cosine of claim and sentence",
        lambda params, options: Similarity(options.make_embedder()),
        needs=(EMBEDDER,),
    ),
    MethodInfo(
        "incremental_similarity",
        "ranker",
        "cosine of claim and all chosen sentences together",
        lambda params, options: IncrementalSimilarity(options.make_embedder()),
        needs=(EMBEDDER,),
    ),
    MethodInfo(
        "coverage",
        "ranker",
        "greedy coverage of the claim's words (the offline default)",
        lambda params, options: cover.Coverage(options.make_embedder(), **params),
        needs=(EMBEDDER,),
        params=_COVER,
    ),
    MethodInfo(
        "nli",
        "ranker",
        "how far a sentence alone entails or contradicts the claim",
        _nli,
        needs=(LOCAL_MODEL,),
        params=(_TOP,),
    ),
    MethodInfo(
        "incremental_nli",
        "ranker",
        "how far a sentence and all chosen ones entail or contradict the claim",
        _incremental_nli,
        needs=(LOCAL_MODEL,),
        params=(_TOP, _DEPTH),
    ),
    MethodInfo(
        "gold_first",
        "ranker",
        "the best possible order: the smallest gold set, then reading order",
        lambda params, options: GoldFirst(),
        needs=(GOLD,),
    ),
)

SELECTORS = (
    MethodInfo(
        "coverage_selection",
        "selector",
        "the shortest coverage prefix that covers a share of the claim",
        lambda params, options: cover.CoverageSelection(options.make_embedder(), **params),
        needs=(EMBEDDER,),
        params=(_SHARE, *_COVER),
    ),
)

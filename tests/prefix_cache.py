"""The prefix cache of the scripted LLM server."""

from __future__ import annotations

import threading
from collections.abc import Sequence

#: How many blocks are remembered at least; about 100 bytes each.
MOST_BLOCKS = 150_000


class PrefixCache:
    """Which prefixes were seen before, in blocks of tokens as vLLM keeps them.

    Blocks of one token give the exact length of the longest common prefix. When there are too many,
    those not used for longest are forgotten.
    """

    def __init__(self, block: int, most: int = MOST_BLOCKS):
        self.block = block
        self.most = most
        self._recent: set[int] = set()
        self._older: set[int] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._recent | self._older)

    def use(self, sent: Sequence[str]) -> int:
        """How many tokens at the start are known, in whole blocks; from now on all blocks are."""
        chains, chain = [], 0
        for start in range(0, len(sent) - self.block + 1, self.block):
            chain = hash((chain, *sent[start : start + self.block]))
            chains.append(chain)
        with self._lock:
            n_known = 0
            for chain in chains:
                if chain not in self._recent and chain not in self._older:
                    break
                n_known += 1
            self._recent.update(chains)
            if len(self._recent) > self.most:
                self._older, self._recent = self._recent, set()
        return n_known * self.block

"""Which ranges are input: time in which the training loop waits for data. See docs/definitions.md.

The rule is about names only. A name is split into words at case changes and at everything that is
neither letter nor digit. It is input if all its words are known and it has a noun that stands for
data; a batch alone is not enough, since many loops call the whole iteration a batch. Names that
frameworks give their data loaders are input as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LOADER = re.compile(
    r"enumerate\(DataLoader\)|DataLoaderIter\b|DataLoader\W*__next__|IteratorGetNext"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NOUNS = frozenset({"input", "inputs", "data", "dataset", "dataloader", "loader", "dataloading"})
_BATCHES = frozenset({"batch", "batches", "minibatch"})
_VERBS = frozenset({"await", "fetch", "fetching", "get", "getting", "load", "loading", "next"})
_VERBS |= {"prefetch", "read", "reading", "wait", "waiting"}
_FILLERS = frozenset({"a", "eval", "for", "from", "in", "iter", "iterator", "of", "on", "phase"})
_FILLERS |= {"pipeline", "step", "the", "time", "train", "training", "val"}


@lru_cache(maxsize=65_536)
def is_input(name: str) -> bool:
    """Tell whether a range of this name (or series) is input."""
    if _LOADER.search(name):
        return True
    words = {word.lower() for word in _WORD.findall(name)}
    if words - _NOUNS - _BATCHES - _VERBS - _FILLERS:
        return False
    return bool(words & _NOUNS or (words & _BATCHES and words & _VERBS))

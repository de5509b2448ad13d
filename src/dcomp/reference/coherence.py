"""Coherence written as it is defined, window by window: what `dcomp.evaluate.coherence` has to
equal. Slow, and short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

EPSILON = 1e-12


def windows(documents: Sequence[Sequence[int]], size: int | None) -> list[set[int]]:
    """The features in each window: of `size` positions, or of whole documents for None.

    >>> windows([[0, 1, 1, 2]], 3)
    [{0, 1}, {1, 2}]
    """
    found = []
    for words in documents:
        last = 1 if size is None else max(len(words) - size + 1, 1)
        span = len(words) if size is None else size
        found += [set(words[start : start + span]) for start in range(last)]
    return found


def gensim_windows(documents: Sequence[Sequence[int]], size: int) -> list[set[int]]:
    """The same as gensim 4 slides them: what leaves at the front is taken out of the set, though
    a copy of it may still be inside.

    >>> gensim_windows([[0, 0, 1]], 2)
    [{0}, {1}]
    """
    found = []
    for words in documents:
        now = set(words[:size])
        found.append(set(now))
        for start in range(1, len(words) - size + 1):
            now.discard(words[start - 1])
            now.add(words[start + size - 1])
            found.append(set(now))
    return found


def coherence(topic: Sequence[int], seen: Sequence[set[int]], measure: str) -> float:
    """One component's coherence, from the features of each window.

    >>> round(coherence([0, 1], [{0, 1}, {0}, {1}, set()], "umass"), 6)  # log (1/4) / (2/4)
    -0.693147
    """

    def p(*features: int) -> float:
        return sum(all(f in window for f in features) for window in seen) / len(seen)

    def npmi(a: int, b: int) -> float:
        return pmi(a, b) / -np.log(p(a, b) + EPSILON) if p(a) * p(b) else 0.0

    def pmi(a: int, b: int) -> float:
        return float(np.log((p(a, b) + EPSILON) / (p(a) * p(b)))) if p(a) * p(b) else 0.0

    if measure == "umass":
        pairs = [(topic[i], topic[j]) for i in range(len(topic)) for j in range(i)]
        return float(np.mean([np.log((p(a, b) + EPSILON) / p(b)) if p(b) else 0 for a, b in pairs]))
    if measure == "c_v":
        rows = np.array([[npmi(a, b) for b in topic] for a in topic])
        whole = rows.sum(axis=0)
        norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(whole)
        return float(np.mean([r @ whole / n if n else 0 for r, n in zip(rows, norms, strict=True)]))
    of = {"uci": pmi, "npmi": npmi}[measure]
    return float(np.mean([of(a, b) for a in topic for b in topic if a != b]))

"""Where a fit begins: statistics n that break the symmetry between components."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.inference.base import State
from dcomp.models import Model
from dcomp.models.arrays import read_only

# Share of a component's first loadings that comes from its own document; the rest is the corpus.
_SEED_SHARE = 0.1


def generator(seed: int, purpose: int) -> np.random.Generator:
    """Random numbers keyed by seed and purpose: a new use never shifts an old stream."""
    return np.random.Generator(np.random.Philox(key=(seed << 8) | purpose))


def seeded_n(counts: Counts, n_components: int, seed: int, dtype: Any) -> npt.NDArray[Any]:
    """n (J, K): each component is the corpus with a tenth of one document mixed in.

    Near enough to the flat start that the sweeps, not the noise, decide what a component is; and
    off it far enough to leave it at once (docs/decisions/0003 has the figures). Documents of
    median length or more are chosen, all different while they last.
    """
    rng = generator(seed, purpose=1)
    totals = counts.doc_totals
    long_enough = np.flatnonzero((totals > 0) & (totals >= np.median(totals)))
    scale = counts.n_tokens / n_components
    corpus = counts.feature_totals / max(counts.n_tokens, 1)
    # A twentieth of noise keeps components apart where documents repeat or run out.
    n = rng.random((counts.n_features, n_components), dtype=dtype)
    n *= n.dtype.type(0.1)
    n += n.dtype.type(0.95)
    n *= ((1 - _SEED_SHARE) * scale * corpus)[:, None].astype(dtype)
    if len(long_enough):
        chosen = rng.choice(long_enough, n_components, replace=n_components > len(long_enough))
        for k, i in enumerate(chosen.tolist()):
            own = slice(counts.indptr[i], counts.indptr[i + 1])
            share = _SEED_SHARE * scale / totals[i]
            n[counts.indices[own], k] += (share * counts.data[own]).astype(dtype)
    return n


def even_c(counts: Counts, n_components: int, dtype: Any) -> npt.NDArray[Any]:
    """c (I, K): each document's words shared evenly, so that a = (Σα + L)/K on average (BJ06
    figure 5, step 1)."""
    share = (counts.doc_totals / n_components).astype(dtype)
    return np.repeat(share[:, None], n_components, axis=1)


def seeded_state(model: Model, counts: Counts, seed: int, dtype: Any) -> State:
    """Even scores and seeded loadings: where the algorithms that climb begin."""
    K = model.n_components
    return State(
        model,
        read_only(even_c(counts, K, dtype)),
        read_only(seeded_n(counts, K, seed, dtype)),
        sweep=0,
        seed=seed,
    )

"""Where a fit begins: statistics n that break the symmetry between components."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.executors import Executor
from dcomp.inference.state import Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only

# Share of a component's first loadings that comes from its own document; the rest is the corpus.
_SEED_SHARE = 0.1


def generator(seed: int, purpose: int) -> np.random.Generator:
    """Random numbers keyed by seed and purpose: a new use never shifts an old stream."""
    return np.random.Generator(np.random.Philox(key=(seed << 8) | purpose))


def keyed_uniform(seed: int, purpose: int, *keys: Any) -> FloatArray:
    """Uniform numbers in (0, 1) that depend on the seed, the purpose and their keys alone, arrays
    that broadcast: a document's number stays its own whatever part it lies in.

    >>> bool(keyed_uniform(3, 1, 0, np.arange(5))[2] == keyed_uniform(3, 1, 0, 2))
    True
    """
    state = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for key in (purpose, *keys):
            state = _mixed(state + _mixed(np.asarray(key).astype(np.uint64) + _GOLDEN))
    return np.asarray(((state >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def token_uniform(
    part: Observations, entry: npt.NDArray[np.int64], seed: int, purpose: int
) -> npt.NDArray[np.float64]:
    """A number for each token from its document's own, by its place there; `entry` is the entry of
    the counts of each token, in any order."""
    document = np.searchsorted(part.counts.indptr, entry, side="right") - 1
    place = np.empty(len(entry), dtype=np.int64)
    place[np.argsort(entry, kind="stable")] = np.arange(len(entry))
    place -= np.r_[0, np.cumsum(part.counts.doc_totals)][document]
    return keyed_uniform(seed, purpose, document + part.first, place)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(x: Any) -> Any:
    """All bits of x stirred, one to one: the finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def seeded_n(
    observed: Observations, n_components: int, seed: int, dtype: Any, executor: Executor
) -> npt.NDArray[Any]:
    """n (J, K): each component is the corpus with a tenth of one document mixed in.

    Near enough to the flat start that the sweeps, not the noise, decide what a component is; and
    off it far enough to leave it at once (docs/decisions/0003 has the figures). Documents of
    median length or more are chosen, all different while they last.
    """
    rng, parts = generator(seed, purpose=1), observed.parts
    nothing = [None] * len(parts)
    lengths, of_features = executor.map_reduce(_totals, parts, nothing, None)
    totals = np.concatenate(executor.gather(lengths))
    n_tokens = totals.sum()
    long_enough = np.flatnonzero((totals > 0) & (totals >= np.median(totals)))
    scale = n_tokens / n_components
    corpus = of_features / (n_tokens or 1)
    # A twentieth of noise keeps components apart where documents repeat or run out.
    n = rng.random((len(corpus), n_components), dtype=dtype)
    n *= n.dtype.type(0.1)
    n += n.dtype.type(0.95)
    n *= ((1 - _SEED_SHARE) * scale * corpus)[:, None].astype(dtype)
    if len(long_enough):
        chosen = rng.choice(long_enough, n_components, replace=n_components > len(long_enough))
        _, rows = executor.map_reduce(_rows, parts, nothing, chosen)
        for k, features, words in rows:
            share = _SEED_SHARE * scale / totals[chosen[k]]
            n[features, k] += (share * words).astype(dtype)
    return n


def _totals(
    part: Observations, local: None, shared: None, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Tokens of each document, which stay apart, and of each feature, which add."""
    return part.counts.doc_totals, part.counts.feature_totals


_Row = tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32]]  # component, features, words


def _rows(
    part: Observations, local: None, chosen: npt.NDArray[np.int64], n_threads: int
) -> tuple[None, tuple[_Row, ...]]:
    """The chosen documents that lie in this part."""
    counts, rows = part.counts, []
    for k, i in enumerate((chosen - part.first).tolist()):
        if 0 <= i < counts.n_docs:
            own = slice(counts.indptr[i], counts.indptr[i + 1])
            rows.append((k, counts.indices[own], counts.data[own]))
    return None, tuple(rows)


def even_c(counts: Counts, n_components: int, dtype: Any) -> npt.NDArray[Any]:
    """c (I, K): each document's words shared evenly, so that a = (Σα + L)/K on average (BJ06
    figure 5, step 1)."""
    share = (counts.doc_totals / n_components).astype(dtype)
    return np.repeat(share[:, None], n_components, axis=1)


def prior_shares(model: Model, n_features: int) -> FloatArray:
    """Where the words of each feature go by the prior of the loadings alone, (J, K): rows sum to 1.
    Features that no component is told to like go evenly; loadings that are given count as their
    own, with those that are found at the mean of these and of an even share."""
    K, loadings = model.n_components, model.loadings
    plain = replace(loadings, fixed=None, fixed_at=())
    shares = np.broadcast_to(plain.table(n_features, K), (n_features, K)).astype(np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    if loadings.fixed is not None:
        given = loadings.fixed.T
        of_others = (given.mean(axis=1) + given.sum() / given.size) / 2
        shares = shares / shares.mean() * of_others[:, None]
        shares[:, list(loadings.fixed_at)] = given
        shares = shares / shares.sum(axis=1, keepdims=True)
    return np.asarray(shares)


def seeded_state(
    model: Model, observed: Observations, seed: int, dtype: Any, executor: Executor
) -> State:
    """Even scores and seeded loadings: where the algorithms that climb begin."""
    K, parts = model.n_components, observed.parts
    n = seeded_n(observed, K, seed, dtype, executor)
    if model.loadings.is_own:  # features begin where their prior has them
        n *= K * prior_shares(model, len(n)).astype(dtype)
    n = read_only(n)
    even, _ = executor.map_reduce(_even_part, parts, [None] * len(parts), (K, dtype))
    return State(Global(model, n, 0, seed), even, observed.counts.firsts)


def _even_part(
    part: Observations, local: None, shared: tuple[int, Any], n_threads: int
) -> tuple[Local, None]:
    return Local(read_only(even_c(part.counts, *shared))), None

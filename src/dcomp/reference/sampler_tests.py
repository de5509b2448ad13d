"""Does a sampler draw from its posterior? Two tests on data that the model itself has drawn.

*Joint distribution* (Geweke 2004). A draw of everything from the model, one sweep of the sampler,
scores and loadings given its counts, new words given those, and so on: if the sweep is right,
every round leaves the law of the whole unchanged. Many short independent chains start from exact
draws, so that their ends are exact independent draws too and plain two-sample tests are honest.

*Ranks* (Talts et al. 2018 in the exact form of Gandy and Scott 2020). The parameters that made the
words are one draw of the posterior. A chain runs from them M steps backward and L − M forward, M
uniform: the start is then in a random place of a stationary chain, and the rank of any function of
it among the other L is uniform on 0..L, however slowly the chain mixes. Backward means the
reversed kernel. A direct sweep is its own reverse (z → scores, Θ → z is reversible). The reverse
of the token sweep visits tokens in the opposite order, which is its sweep over the corpus with
documents and features mirrored.

A chain is anything with `sweep()`, which returns (c, n) of all replicates after one more sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, norm

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.models import MODELS, Model, Observations, Tree, TreeMultinomial
from dcomp.models.arrays import FloatArray
from dcomp.models.loadings import DirichletLoadings
from dcomp.reference.simulate import (
    IntArray,
    Simulated,
    draw_loadings,
    draw_scores,
    draw_words,
    simulate,
)

Tables = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # c (R, I, K), n (R, J, K)
Values = dict[str, FloatArray]  # a statistic of each replicate, (R)


class Chain(Protocol):
    """A sampler at work on given words."""

    def sweep(self) -> Tables:
        """c and n after one more sweep."""
        ...


OF_WORDS = ("Σ w²", "words", "slope of words")  # no chain changes these
Start = Callable[[Model, Simulated, np.random.Generator], Chain]


@dataclass(frozen=True)
class Setting:
    """The model, and the shape of the corpora that are drawn from it."""

    model: Any
    features: FeatureSpace
    size: FloatArray  # (I, G)

    def draw(self, n_replicates: int, rng: np.random.Generator) -> Simulated:
        """Independent corpora with all that made them."""
        return simulate(self.model, self.features, self.size, rng, n_replicates)

    def parameters(self, c: Any, n: Any, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Scores and Θ given c and n."""
        scores = draw_scores(self.model, c, self.size.sum(axis=1), rng)
        return scores, draw_loadings(self.model, self.features, n, rng)

    def mirrored(self) -> Setting:
        """With documents and features in the opposite order."""
        gamma = self.model.loadings.per_feature(self.features.n_features)
        return Setting(
            replace(self.model, loadings=DirichletLoadings(gamma[::-1])),
            FeatureSpace(None, self.features.blocks[::-1].copy()),
            self.size[::-1].copy(),
        )


LAYOUTS = ("plain", "blocks", "vectors", "many")


def small_setting(key: str, layout: str) -> Setting:
    """A small corpus in which components and features all differ, and one document is empty.

    plain: K = 3, one block. blocks: two, with an exposure for each that is once 0. vectors, many:
    plain with K just above the width of the processor's vectors, and far above it.

    >>> small_setting("CGP", "blocks").size.tolist()
    [[0.5, 0.5], [1.0, 2.0], [0.0, 0.7], [0.0, 0.0]]
    """
    K = {"vectors": _core.lanes() + 1, "many": 40}.get(layout, 3)
    if key == "TM":
        return _small_tree_setting(K + 2, layout)
    differ = np.resize([1.0, 2.7, 1.7], K) / max(1.0, K / 6)
    options: dict[str, Any] = {"alpha": 0.3 * differ, "gamma": [0.4, 0.7, 1.1, 0.5, 0.9]}
    if key != "DM":
        options["beta"] = np.resize([0.1, 0.8, 0.3], K)
    if key == "CGP":
        options["rho"] = np.resize([0.3, 0.6, 0.2], K)
    model = MODELS[key].build(K, **options)
    if layout == "blocks":
        tokens = [[5, 2], [4, 4], [0, 3], [0, 0]]
        exposure = [[0.5, 0.5], [1.0, 2.0], [0.0, 0.7], [0.0, 0.0]]
        features = FeatureSpace.build(5, blocks=[0, 0, 1, 1, 1])
    else:
        tokens, exposure = [[5], [9], [3], [0]], [[1.0]] * 4
        features = FeatureSpace.build(5)
    return Setting(model, features, np.array(tokens if key == "DM" else exposure, dtype=float))


def _small_tree_setting(K: int, layout: str) -> Setting:
    """Nodes 3 and 4 below node 1, and so on; all priors differ, and the tree is far from flat."""
    tree = Tree.from_parents([-1, *((k - 1) // 2 for k in range(1, K))])
    scale = np.resize([1.0, 2.7, 1.7, 0.6], K)
    model = TreeMultinomial.build(
        tree, a1=0.7 * scale, a2=2.0 * scale[::-1], b=0.4 * scale, gamma=[0.4, 0.7, 1.1, 0.5, 0.9]
    )
    blocks = [0, 0, 1, 1, 1] if layout == "blocks" else [0] * 5
    tokens = [[5, 2], [4, 4], [0, 3], [0, 0]] if layout == "blocks" else [[5], [9], [3], [0]]
    return Setting(model, FeatureSpace.build(5, blocks=blocks), np.array(tokens, dtype=float))


class NativeChain:
    """A dcomp algorithm that sweeps all replicates at once, laid side by side as blocks."""

    def __init__(
        self, algorithm: Any, executor: Any, model: Model, draw: Simulated, rng: np.random.Generator
    ) -> None:
        self.algorithm, self.executor = algorithm, executor
        self.shape = (draw.n_replicates, -1, model.n_components)
        self.observed = draw.observed(model)
        whole = draw.model_of_all(model)
        state = algorithm.init(whole, self.observed, int(rng.integers(2**31)))
        if state.z is None:
            c, n = (x.reshape(-1, self.shape[2]).astype(np.int32) for x in (draw.c, draw.n))
            self.state = state.changed(c=c, n=n)
        else:
            z = token_components(algorithm.sampler(whole, self.observed), self.observed, draw, rng)
            self.state = state.changed(z=z)

    def sweep(self) -> Tables:
        """c and n after one more step of the algorithm."""
        self.state, _ = self.algorithm.step(self.observed, self.state, self.executor)
        whole = self.algorithm.finish(self.observed, self.state, self.executor)
        return whole.c.reshape(self.shape), whole.n.reshape(self.shape)


def native(algorithm: Any, executor: Any) -> Start:
    """Chains of a dcomp algorithm."""
    return lambda model, draw, rng: NativeChain(algorithm, executor, model, draw, rng)


def token_components(
    sampler: Any, observed: Observations, draw: Simulated, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """z in the native order of tokens. The tokens of one entry are shuffled: the model does not
    know their order, while the sampler visits one before the other."""
    split = draw.v.reshape(-1, draw.v.shape[-1])
    split = split[split.sum(axis=1) > 0]  # entries in CSR order
    entry, component = np.repeat(np.indices(split.shape).reshape(2, -1), split.ravel(), axis=1)
    shuffled = component[np.lexsort((rng.random(len(entry)), entry))]
    place = sampler.entries()
    z = np.empty(len(place), dtype=np.uint16)
    z[np.argsort(place, kind="stable")] = shuffled
    return z


def statistics(
    W: IntArray, c: Any, n: Any, scores: FloatArray, Theta: FloatArray, *, zeros: bool
) -> Values:
    """What is compared, for each replicate: moments of scores, Θ, c, n and the words, and two
    products of them. Unbounded quantities are squashed, so that means have normal errors."""
    # One layout in memory, and no last digits: equal counts must give equal numbers in `ranks`.
    W, c, n = (np.ascontiguousarray(x, dtype=np.int64) for x in (W, c, n))
    squashed = scores / (1 + scores)
    at = np.linspace(-1, 1, Theta.shape[1])  # tells the features apart
    words = 1.0 + W.sum(axis=(1, 2))
    out: Values = {
        "Σ score²": (squashed**2).sum(axis=(1, 2)),
        "Σ θ²": (Theta**2).sum(axis=(1, 2)),
        "Σ c²": np.log1p((c**2).sum(axis=(1, 2))),
        "Σ n²": np.log1p((n**2).sum(axis=(1, 2))),
        "Σ w²": np.log1p((W**2).sum(axis=(1, 2))),
        "words": np.log(words),
        "slope of words": (W.sum(axis=1) @ at) / words,
        "c = 0": (c == 0).mean(axis=(1, 2)),
        "n = 0": (n == 0).mean(axis=(1, 2)),
        "score · c": (squashed * c).sum(axis=(1, 2)) / words,
        "θ · n": (Theta * n).sum(axis=(1, 2)) / words,
    }
    for k in range(min(3, Theta.shape[2])):  # of many components, three stand for all
        out[f"score {k}"] = squashed[..., k].mean(axis=1)
        out[f"slope of θ {k}"] = Theta[..., k] @ at
        out[f"c {k}"] = np.log1p(c[..., k].sum(axis=1))
        out[f"slope of n {k}"] = (n[..., k] @ at) / (1 + n[..., k].sum(axis=1))
        if zeros:
            out[f"score {k} = 0"] = (scores[..., k] == 0).mean(axis=1)
    return {name: np.round(value, 9) for name, value in out.items()}


def marginal_conditional(
    setting: Setting, rng: np.random.Generator, n_replicates: int, n_stacks: int
) -> Values:
    """Statistics of draws from the model, scores and Θ first: no sampler takes part."""
    stacks = []
    for _ in range(n_stacks):
        draw = setting.draw(n_replicates, rng)
        stacks.append(_statistics(setting, draw.W, draw.c, draw.n, draw.scores, draw.Theta))
    return _joined(stacks)


def successive_conditional(
    setting: Setting,
    start: Start,
    rng: np.random.Generator,
    n_replicates: int,
    n_stacks: int,
    n_rounds: int = 2,
    n_sweeps: int = 8,
) -> Values:
    """Statistics after `n_rounds` rounds of sweeps and new parameters, with new words between."""
    stacks = []
    for _ in range(n_stacks):
        draw = setting.draw(n_replicates, rng)
        for left in range(n_rounds, 0, -1):
            chain = start(setting.model, draw, rng)
            for _ in range(n_sweeps):
                c, n = chain.sweep()
            scores, Theta = setting.parameters(c, n, rng)
            if left == 1:
                stacks.append(_statistics(setting, draw.W, c, n, scores, Theta))
                break
            shape = (setting.model, setting.features, setting.size)
            v = draw_words(*shape, scores, Theta, rng)
            draw = replace(draw, scores=scores, Theta=Theta, v=v)
    return _joined(stacks)


def ranks(
    setting: Setting,
    start: Start,
    rng: np.random.Generator,
    n_replicates: int,
    n_stacks: int,
    n_others: int = 19,
    thin: int = 1,
) -> dict[str, IntArray]:
    """Rank of the truth among `n_others` states of a chain through it, for each replicate."""
    stacks = []
    for _ in range(n_stacks):
        draw = setting.draw(n_replicates, rng)
        truth = _statistics(setting, draw.W, draw.c, draw.n, draw.scores, draw.Theta)
        forward = _path(setting, start, draw, rng, n_others * thin, thin)
        backward = _path(setting, start, draw, rng, n_others * thin, thin, mirror=True)
        n_back = rng.integers(n_others + 1, size=n_replicates)
        step = np.arange(n_others)[:, None]
        used = np.concatenate([step < n_others - n_back, step < n_back])
        stacks.append(
            {
                name: _rank(truth[name], np.concatenate([forward[name], backward[name]]), used, rng)
                for name in truth
                if name not in OF_WORDS
            }
        )
    return _joined(stacks)


def _rank(
    truth: FloatArray, others: FloatArray, used: npt.NDArray[np.bool_], rng: np.random.Generator
) -> IntArray:
    """Number of used others (S, R) below the truth (R); among equals any place is as likely."""
    below = ((others < truth) & used).sum(axis=0)
    equal = ((others == truth) & used).sum(axis=0)
    return np.asarray(below + rng.integers(equal + 1))


def _path(
    setting: Setting,
    start: Start,
    draw: Simulated,
    rng: np.random.Generator,
    n_sweeps: int,
    thin: int,
    mirror: bool = False,
) -> Values:
    """Statistics (steps, R) along a chain from the truth; of the mirrored corpus, in our order."""
    used, W = setting, draw.W
    if mirror:
        used, v = setting.mirrored(), draw.v[:, ::-1, ::-1]
        draw = Simulated(used.features, used.size, draw.scores[:, ::-1], draw.Theta[:, ::-1], v)
    chain = start(used.model, draw, rng)
    rows = []
    for sweep in range(1, n_sweeps + 1):
        c, n = chain.sweep()
        if sweep % thin:
            continue
        state = (c, n, *used.parameters(c, n, rng))
        rows.append(_statistics(setting, W, *(x[:, ::-1] if mirror else x for x in state)))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def compare(first: Values, second: Values, n_bins: int = 10) -> dict[str, float]:
    """p-values of "both were drawn alike" for each statistic: of the means (Welch), and of the
    whole distribution (chi-square over bins of equal content).

    >>> rng = np.random.default_rng(0)
    >>> same = compare({"x": rng.normal(size=2000)}, {"x": rng.normal(size=4000)})
    >>> other = compare({"x": rng.normal(size=2000)}, {"x": rng.normal(size=4000) * 1.3})
    >>> together(same) > 0.01, together(other) < 1e-6
    (True, True)
    """
    out = {}
    for name in first:
        a, b = first[name], second[name]
        variance = a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)
        if variance < 1e-20:  # the words of DM: their number is given
            continue
        out[f"{name}, mean"] = float(2 * norm.sf(abs(a.mean() - b.mean()) / np.sqrt(variance)))
        edges = np.unique(np.quantile(np.r_[a, b], np.arange(1, n_bins) / n_bins))
        table = np.array([np.bincount(np.searchsorted(edges, x), minlength=n_bins) for x in (a, b)])
        table = table[:, table.sum(axis=0) > 0]
        expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
        statistic = ((table - expected) ** 2 / expected).sum()
        if table.shape[1] > 1:
            out[f"{name}, bins"] = float(chi2.sf(statistic, table.shape[1] - 1))
    return out


def uniformity(ranked: dict[str, IntArray], n_others: int) -> dict[str, float]:
    """p-values of "ranks are uniform on 0..n_others": of their mean, and of all frequencies.

    >>> rng = np.random.default_rng(0)
    >>> together(uniformity({"x": rng.integers(20, size=2000)}, 19)) > 0.01
    True
    >>> together(uniformity({"x": rng.binomial(19, 0.5, size=2000)}, 19)) < 1e-6
    True
    """
    out, L = {}, n_others
    for name, rank in ranked.items():
        error = np.sqrt(L * (L + 2) / 12 / len(rank))
        out[f"{name}, mean"] = float(2 * norm.sf(abs(rank.mean() - L / 2) / error))
        expected = len(rank) / (L + 1)
        hits = np.bincount(rank, minlength=L + 1)
        out[f"{name}, bins"] = float(chi2.sf(((hits - expected) ** 2 / expected).sum(), L))
    return out


def together(p_values: dict[str, float]) -> float:
    """One p-value for many, by Bonferroni: honest whatever their dependence.

    >>> together({"a": 0.01, "b": 0.5})
    0.02
    """
    return min(1.0, len(p_values) * min(p_values.values()))


def _statistics(setting: Setting, *everything: Any) -> Values:
    return statistics(*everything, zeros=hasattr(setting.model.scores, "rho"))


def _joined(stacks: list[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
    return {name: np.concatenate([stack[name] for stack in stacks]) for name in stacks[0]}

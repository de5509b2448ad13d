"""Draws of scores, loadings and hyper-parameters: which sweeps keep one, and what it takes.

Given the counts of a sweep, scores and Θ are independent draws from their conjugate posteriors
(BJ06 VII.C), so that they can be had at any sweep of a collapsed sampler too. They have random
numbers of their own: a chain is the same whether it keeps draws or not.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.inference.base import Draw
from dcomp.models import Model, Structured
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.base import moment_scores

KINDS = ("scores", "loadings", "assignments")
HYPER = ("alpha", "beta", "rho", "a1", "a2", "b", "psi")
_STRUCTURE = 5  # purpose of the random numbers of Υ: inference/start.py has the others
_OWN_PAGES = 1 << 18  # bytes; a process may have some 60,000 maps, too few for small arrays
DRAW_BUDGET = "1 GiB"  # what kept draws may take unless more is allowed


@dataclass(frozen=True)
class Keep:
    """Keep the draws of `n` of every `every` recorded sweeps, evenly spread.

    of: "scores", "loadings", "assignments" (of every token; collapsed Gibbs only). The
    hyper-parameters always come along. The rule knows no last sweep, so a resumed chain goes on
    keeping as it began.

    >>> [recorded for recorded in range(1, 9) if Keep(n=1, every=3).wants(recorded)]
    [3, 6]
    >>> [recorded for recorded in range(1, 9) if Keep(n=3, every=8).wants(recorded)]
    [3, 6, 8]
    """

    n: int = 0
    every: int = 1
    of: tuple[str, ...] = ("scores", "loadings")

    def __post_init__(self) -> None:
        if not 0 <= self.n <= self.every or self.every < 1:
            raise InvalidParameter(
                f"of every {self.every} recorded sweeps at least 0 and at most all can be kept; "
                f"got n = {self.n}"
            )
        unknown = [kind for kind in self.of if kind not in KINDS]
        if unknown:
            raise InvalidParameter(f"draws are of {', '.join(KINDS)}; got {unknown[0]!r}")
        object.__setattr__(self, "of", tuple(kind for kind in KINDS if kind in self.of))

    def count(self, recorded: int) -> int:
        """Draws kept of so many recorded sweeps.

        >>> Keep(n=3, every=8).count(16)
        6
        """
        return max(recorded, 0) * self.n // self.every

    def wants(self, recorded: int) -> bool:
        """Whether the recorded sweep of this number, from 1, is kept."""
        return self.count(recorded) > self.count(recorded - 1)


@dataclass(frozen=True)
class DrawPlan:
    """What the draws of a fit will take, known before it begins.

    >>> print(DrawPlan(50, 1, {"scores": 12 << 20, "loadings": 80 << 20}))
    keeping 50 draws: scores 12 MiB, loadings 80 MiB
    """

    n_draws: int  # of each chain
    n_chains: int
    parts: Mapping[str, int]  # bytes of each kind, all draws and chains together

    @classmethod
    def of(cls, keep: Keep, recorded: int, n_chains: int, counts: Counts, K: int) -> DrawPlan:
        """For a fit of these counts with so many recorded sweeps."""
        size = {
            "scores": 4 * K * counts.n_docs,
            "loadings": 4 * K * counts.n_features,
            "assignments": 2 * counts.n_tokens,
        }
        n = keep.count(recorded)
        return cls(n, n_chains, {kind: n * n_chains * size[kind] for kind in keep.of})

    @property
    def total(self) -> int:
        """Bytes of all kinds."""
        return sum(self.parts.values())

    def check(self, budget: int | None) -> None:
        """An error that says what to change if the draws take more bytes than that."""
        if budget is None or self.total <= budget:
            return
        chains = f" of {self.n_chains} chains" if self.n_chains > 1 else ""
        raise InvalidParameter(
            f"{self.n_draws} draws{chains} take {in_words(self.total)} ({self._list()}), more than "
            f"draw_budget = {in_words(budget)}: keep fewer draws, fewer kinds of them"
            f"{' or fewer chains' if chains else ''}, or raise the budget"
        )

    def _list(self) -> str:
        return ", ".join(f"{kind} {in_words(size)}" for kind, size in self.parts.items())

    def __str__(self) -> str:
        chains = f" of each of {self.n_chains} chains" if self.n_chains > 1 else ""
        return f"keeping {self.n_draws} draws{chains}: {self._list() or 'hyper-parameters'}"


def in_words(size: int) -> str:
    """A number of bytes as people read it.

    >>> in_words(1536), in_words(12 << 20), in_words(3 << 29)
    ('1.5 KiB', '12 MiB', '1.5 GiB')
    """
    value, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f}".removesuffix(".0") + f" {units[0]}"


def hyper_parameters(model: Model) -> dict[str, FloatArray]:
    """The priors that can change, by name: those of the scores, and γ where it is learned."""
    scores: Any = model.scores
    values = {name: getattr(scores, name) for name in HYPER if hasattr(scores, name)}
    return values | ({"gamma": model.loadings.gamma} if model.loadings.learned else {})


def draw_given_counts(
    model: Model,
    features: FeatureSpace,
    exposure: FloatArray | None,
    c: npt.NDArray[np.int32],
    n: npt.NDArray[np.int32],
    *,
    seed: int,
    sweep: int,
    of: tuple[str, ...] = ("scores", "loadings"),
    n_threads: int = 1,
    extra: Mapping[str, npt.NDArray[Any]] | None = None,
) -> Draw:
    """Scores from p(scores | c) and Θ from p(Θ | n), the same for any number of threads.

    `exposure` is the documents' total, or None where it is 1. `c` and `n` are whole numbers, those
    of a state that an algorithm has finished; for ST its `extra` has what they leave out.

    >>> from dcomp.models import DirichletMultinomial
    >>> one = np.array([[3, 0], [0, 2]], np.int32)
    >>> draw = draw_given_counts(
    ...     DirichletMultinomial.build(2), FeatureSpace.build(2), None, one, one, seed=0, sweep=1
    ... )
    >>> draw.scores.sum(axis=1).round(5), draw.Theta.sum(axis=0).round(5)
    (array([1., 1.], dtype=float32), array([1., 1.], dtype=float32))
    """
    scores = Theta = None
    if "scores" in of:
        scores = read_only(_draw_scores(model, exposure, c, extra or {}, seed, sweep, n_threads))
    if "loadings" in of:
        log_scale = np.empty(len(n))
        gamma = model.loadings.per_feature(len(n))
        blocks = (features.blocks, features.n_blocks)
        weights = _core.draw_loadings(
            n, gamma, *blocks, seed, sweep, log_scale, n_threads, kept=True
        )
        Theta = plain_loadings(weights, log_scale, model.n_components)
    return Draw(sweep, hyper_parameters(model), scores, Theta)


def _draw_scores(
    model: Model,
    exposure: FloatArray | None,
    c: npt.NDArray[np.int32],
    extra: Mapping[str, npt.NDArray[Any]],
    seed: int,
    sweep: int,
    n_threads: int,
) -> npt.NDArray[np.float32]:
    of: Model = model.leaf_model if isinstance(model, Structured) else model
    counts = extra["leaf_counts"] if isinstance(model, Structured) else c
    scores = room(counts.shape)
    prior = moment_scores(of).native(exposure)
    _core.draw_scores(counts, prior, scores, seed, sweep, n_threads)
    if not isinstance(model, Structured):
        return scores
    # In 64 bits each: as plain numbers large seeds would become floats, and all of them one.
    key = np.array([seed, (sweep << 8) | _STRUCTURE], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key))
    upsilon = model.scores.rows.draw(extra["structure_counts"], rng)
    out = room(c.shape)
    out[:] = model.scores.node_scores(scores, upsilon)
    return out


def plain_loadings(
    weights: npt.NDArray[np.float32], log_scale: FloatArray, K: int
) -> npt.NDArray[np.float32]:
    """Θ (J, K) from the weights of a sweep, whose rows are scaled to a largest value of 1 and held
    at 1e-18 of it."""
    out = room((len(weights), K))
    scale = np.exp(log_scale).astype(np.float32)
    return read_only(np.multiply(weights[:, :K], scale[:, None], out=out))


def room(shape: tuple[int, ...], dtype: Any = np.float32) -> npt.NDArray[Any]:
    """An array to be written to. A large one has pages of its own, which the system gets back when
    the array is let go; the heap would keep them, and draws take twice their size when gathered.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _OWN_PAGES:
        return np.empty(shape, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype).reshape(shape)

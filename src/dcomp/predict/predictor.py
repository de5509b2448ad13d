"""Predictor: what can be asked of new documents with the loadings given.

Scores by a fixed point or by sampling, a bound, one document's words by component, the probability
of chosen words. What a model cannot do it says itself, by its capabilities, in one error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.data import FeatureSpace, as_counts
from dcomp.errors import DataWarning, InvalidParameter, warn
from dcomp.executors import Executor, resolve_executor
from dcomp.inference.base import FloatingArray
from dcomp.inference.laplace import LaplaceFoldIn, laplace_fold_in
from dcomp.inference.mean_field import Weights
from dcomp.inference.rest import AT_REST, FoldIn, fold_in
from dcomp.inference.sampled_scores import SampledScores, sample_scores
from dcomp.inference.structured_scores import sample_structured_scores
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.predict.clusters import largest
from dcomp.predict.words import WordTable, document_number, feature_numbers, word_probability

METHODS = ("auto", "fixed-point", "sampling")


@dataclass(frozen=True, eq=False)
class Predictor:
    """Components with their loadings, and new documents' scores on them: BJ04 2.1, BJ06 VI.

    >>> import dcomp
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 0], [0, 0, 7]]
    >>> predictor = dcomp.LDA(2, verbose=0).fit(X).fit_.predictor
    >>> predictor.transform([[2, 1, 0]]).shape
    (1, 2)
    >>> predictor.word_probability([[2, 1, 0]], [0, 2]).shape
    (1, 2)
    """

    model: Model  # with its learned hyper-parameters
    features: FeatureSpace
    Theta: FloatingArray  # (J, K): E[θ], columns sum to 1 within each block
    # What the loadings were estimated from, (J, K), and how they enter (MODELS §4); without n they
    # enter as Θ itself, which is right for the average over a sampler's sweeps.
    n: FloatingArray | None = None
    treatment: str = "mean"
    mode: str = "expect"  # or "maximise": scores at their modes
    temper: float = 1.0  # the power of weights in the allocation, below 1 for tempered EM
    precision: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009 a dtype cannot change
    exposure_rule: str | None = None  # "total", "observed": of new documents, too
    asks_exposure: bool = False  # whether new documents must come with an exposure of their own
    upsilon: FloatingArray | None = None  # (leaves, nodes): where the words of a leaf come from
    fractional: bool = False  # whether tables of new documents may hold numbers that are not whole

    @property
    def has_fixed_point(self) -> bool:
        """Whether a document has a fixed point, and so a fast `transform`."""
        return self.model.scores.capabilities.fixed_point is not None

    @property
    def has_bound(self) -> bool:
        """Whether log p(w | Θ) has a bound: there must be a mean field, and a prior."""
        return self.model.scores.capabilities.bound

    def observe(self, X: Any, exposure: Any = None, allowed: Any = None) -> Observations:
        """New documents in this feature space; features are matched by name where named.

        Components fitted with exposure "total" or "observed" apply it to new documents; those
        fitted with numbers ask for theirs. Components of fractional counts take fractional ones;
        for the others make them with `Counts.from_matrix(X, fractional=True)`. Features that are
        not known are dropped, and a warning says how many tokens that is.
        """
        if isinstance(X, Observations):
            return X
        given = as_counts(X, fractional=self.fractional)
        counts, dropped = given.aligned_to(self.features)
        if dropped > 0:
            known = self.features.n_blocks
            warn(validation.unknown_features(dropped, given.n_tokens, known), DataWarning)
        exposure = self.exposure_rule if exposure is None else exposure
        if exposure is None and self.asks_exposure:
            raise InvalidParameter(
                "the model was fitted with an exposure per document: give exposure= for these too"
            )
        numbers = tuple(map(str, range(self.model.n_components)))
        return validation.resolve_observations(counts, self.model, exposure, allowed, numbers)

    def weights(self, treatment: str | None = None, n_threads: int = 1) -> Weights:
        """Allocation weights of the loadings, as the kernels take them."""
        if self.n is None:
            return Weights.of_loadings(self.Theta)
        how = treatment or self.treatment
        return Weights.build(self.model, self.features, self.n, how, n_threads)

    def fold_in(
        self,
        X: Any,
        *,
        exposure: Any = None,
        allowed: Any = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        max_inner: int = AT_REST[0],
        tol: float = AT_REST[1],
    ) -> FoldIn:
        """Fixed point of each document with the loadings given: c, scores and bound; for LN also
        the mode η and its variances, and the bound is none."""
        can = self.model.scores.capabilities
        can.require("fixed_point", self.model.key)
        workers = resolve_executor(n_jobs, executor)
        how: dict[str | None, Callable[..., FoldIn]] = {
            "mean-field": self._mean_field,
            "laplace": self._laplace,
            "leaves": self._leaves,
        }
        return how[can.fixed_point](
            self.observe(X, exposure, allowed), workers, max_inner=max_inner, tol=tol
        )

    def _mean_field(self, observed: Observations, workers: Executor, **limits: Any) -> FoldIn:
        weights = self.weights(n_threads=workers.n_threads)
        how: Any = {"mode": self.mode, "temper": self.temper}
        return fold_in(self.model, observed, weights, workers, **limits, **how)

    def _laplace(self, observed: Observations, workers: Executor, **limits: Any) -> FoldIn:
        weights = self.weights(n_threads=workers.n_threads)
        return laplace_fold_in(self.model, observed, weights, workers, **limits)

    def _leaves(self, observed: Observations, workers: Executor, **limits: Any) -> FoldIn:
        """Of the leaves, and what comes of it for the nodes."""
        folded = self.leaves._mean_field(observed, workers, **limits)
        assert self.upsilon is not None
        of_nodes = [(x @ self.upsilon).astype(self.precision) for x in (folded.c, folded.scores)]
        return replace(folded, c=of_nodes[0], scores=of_nodes[1])

    @cached_property
    def leaves(self) -> Predictor:
        """The same for the leaves below the nodes, as flat components with the effective loadings
        ΥΘ (B09 3.2); an error where they are no flat model."""
        self.model.scores.capabilities.require("flat_leaves", self.model.key)
        leaf_model: Any = self.model.leaf_model
        assert self.upsilon is not None
        Theta = read_only(self.Theta @ self.upsilon.T)
        return replace(self, model=leaf_model, Theta=Theta, n=None, upsilon=None)

    def sample_scores(
        self,
        X: Any,
        *,
        exposure: Any = None,
        n_draws: int = 50,
        burn_in: int = 20,
        seed: int = 0,
        keep_draws: bool = False,
        min_ess: float | None = None,
        max_sweeps: int | None = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
    ) -> SampledScores:
        """Posterior of each document's scores by Gibbs sampling with the loadings given: mean,
        standard deviation, share of exact zeros, and the draws on request (BJ04 2.1, 3.5).

        A document begins at its mode. Where its draws are worth fewer than `min_ess` independent
        ones (a fifth of `n_draws`, at most 100, unless given) it is carried on for up to
        `max_sweeps` sweeps (32 for each draw; one, where components have a structure); a warning
        names those that have not mixed by then.
        """
        can = self.model.scores.capabilities
        can.require("sampling", self.model.key)
        workers = resolve_executor(n_jobs, executor)
        observed = self.observe(X, exposure)
        weights = self.weights("mean", n_threads=workers.n_threads)
        how: Any = {"n_draws": n_draws, "burn_in": burn_in, "seed": seed, "keep_draws": keep_draws}
        how |= {"min_ess": min_ess, "max_sweeps": max_sweeps}
        model: Any = self.model
        if can.sampling == "direct":
            return sample_scores(model, observed, weights, workers, **how)
        assert self.upsilon is not None
        pairs = self.upsilon[model.structure.leaf, model.structure.node]
        given = model.with_given_upsilon(pairs)
        return sample_structured_scores(given, observed, weights, workers, **how)

    def transform(
        self,
        X: Any,
        *,
        exposure: Any = None,
        allowed: Any = None,
        method: str = "auto",
        seed: int = 0,
        n_jobs: int | None = None,
        executor: Executor | None = None,
    ) -> FloatingArray:
        """Scores of documents, (I, K): E[m] (rows sum to 1) or E[l]; for LN softmax(η) at the mode
        of η.

        method: "fixed-point" (fast), "sampling", or "auto": the fixed point if the model has one.
        allowed: which components these documents may use, as a fit takes it, with the names or
        numbers of the components for labels; all unless told.
        """
        if method not in METHODS:
            raise InvalidParameter(
                f"method must be 'auto', 'fixed-point' or 'sampling'; got {method!r}"
            )
        where: Any = {"exposure": exposure, "n_jobs": n_jobs, "executor": executor}
        if method == "sampling" or (method == "auto" and not self.has_fixed_point):
            if allowed is not None:
                X = self.observe(X, exposure, allowed)
            return self.sample_scores(X, seed=seed, **where).mean
        return self.fold_in(X, allowed=allowed, **where).scores

    def predict(self, X: Any, **options: Any) -> npt.NDArray[np.intp]:
        """The component with the most of each document, (I): a cluster (C04 2). Of a tree it is a
        leaf. Options are those of `transform`."""
        return largest(self.transform(X, **options), self.model.scores.nodes)

    def transform_leaves(
        self,
        X: Any,
        *,
        exposure: Any = None,
        seed: int = 0,
        n_jobs: int | None = None,
        executor: Executor | None = None,
    ) -> FloatingArray:
        """Scores of the leaves of documents, (I, leaves): by the fixed point if there is one."""
        where: Any = {"n_jobs": n_jobs, "executor": executor}
        if self.has_fixed_point:
            return self.leaves.fold_in(self.observe(X, exposure), **where).scores
        sampled = self.sample_scores(X, exposure=exposure, seed=seed, **where)
        assert sampled.leaves is not None
        return sampled.leaves

    def bound(
        self,
        X: Any,
        *,
        exposure: Any = None,
        combinatoric: bool = False,
        n_jobs: int | None = None,
        executor: Executor | None = None,
    ) -> FloatArray:
        """Lower bound on log p(w | Θ) of each document, BJ06 (16) or (19).

        `combinatoric` adds the term that maps the word sequence to the bag (BJ06 III.A).
        """
        self.model.scores.capabilities.require("bound", self.model.key)
        observed = self.observe(X, exposure)
        workers = resolve_executor(n_jobs, executor)
        weights = self.weights(n_threads=workers.n_threads)
        value = fold_in(self.model, observed, weights, workers).bound
        return value + observed.counts.log_combinatoric() if combinatoric else value

    def word_table(self, X: Any, document: int | str = 0, *, exposure: Any = None) -> WordTable:
        """The word × component table of one document, E[v] (BJ06 figure 4)."""
        counts = as_counts(X, fractional=self.fractional)
        row = document_number(counts, document)
        if exposure is not None and not isinstance(exposure, str):
            exposure = np.asarray(exposure)[[row]]
        observed = self.observe(counts.rows([row]), exposure)
        folded = self.fold_in(observed, n_jobs=1)
        return WordTable.build(observed.counts, self._log_scores(folded, observed), self.weights())

    def _log_scores(self, folded: FoldIn, observed: Observations) -> FloatArray:
        """What stands for the logarithm of the first document's scores in its allocation."""
        scores: Any = self.model.scores
        if isinstance(folded, LaplaceFoldIn):
            return np.asarray(folded.eta[0])
        if self.mode == "maximise" or not scores.capabilities.moments:
            return np.asarray(np.log(np.maximum(folded.scores[0].astype(np.float64), 1e-300)))
        return np.asarray(scores.expected_log(folded.c, observed.total_exposure)[0])

    def word_probability(
        self,
        X: Any,
        words: Sequence[int | str],
        *,
        exposure: Any = None,
        method: str = "auto",
        seed: int = 0,
        n_jobs: int | None = None,
        executor: Executor | None = None,
    ) -> FloatArray:
        """p(word | document) for these words alone, (I, words): Σ_k m_k θ_jk with the documents'
        shares m. Words are names or numbers of features; within each block they sum to 1."""
        chosen = feature_numbers(self.features, words)
        how: Any = {"exposure": exposure, "method": method, "seed": seed}
        scores = self.transform(X, **how, n_jobs=n_jobs, executor=executor)
        return word_probability(scores, self.Theta, chosen)

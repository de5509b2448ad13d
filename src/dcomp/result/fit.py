"""Fit: everything that came out, immutable, and the ways to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from dcomp import registry, validation
from dcomp.data import FeatureSpace, as_counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import (
    Algorithm,
    CollapsedGibbs,
    Draw,
    Keep,
    State,
    draw_given_counts,
)
from dcomp.inference.base import FloatingArray
from dcomp.inference.laplace import LaplaceFoldIn, laplace_fold_in
from dcomp.inference.mean_field import FoldIn, Weights, fold_in
from dcomp.inference.run import CONVERGED
from dcomp.inference.sampled_scores import SampledScores, sample_scores
from dcomp.models import LogisticNormal, Model, Observations, Structured
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result import leaves
from dcomp.result.draws import Draws
from dcomp.result.ending import Ending, mean_loadings
from dcomp.result.negligible import NegligibleScores
from dcomp.result.provenance import Provenance
from dcomp.result.tables import Assignments, TopFeatures, WordTable, document_number
from dcomp.result.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted model: learned priors, loadings, scores, history and where it all came from.

    >>> import dcomp
    >>> from dcomp.models import DirichletMultinomial
    >>> counts = dcomp.Counts.from_matrix([[3, 1, 0], [0, 1, 4]], feature_names=["a", "b", "c"])
    >>> result = dcomp.fit(counts, DirichletMultinomial.build(2), tol=1e-3)
    >>> result.Theta.shape, result.scores.shape
    ((3, 2), (2, 2))
    """

    state: State
    algorithm: Algorithm
    history: Trace
    reason: str
    features: FeatureSpace
    doc_ids: tuple[str, ...] | None
    exposure: FloatArray | None  # (I, G) of the training documents, None for 1
    exposure_rule: str | None  # "total" where that made it: it holds for new documents too
    seed: int
    provenance: Provenance
    chains: tuple[Trace, ...] = ()  # of all chains, where there were several
    kept: Draws | None = None  # `draws` reads it
    endings: tuple[Ending, ...] = ()  # of all chains in order, where components have edges

    @property
    def model(self) -> Model:
        """The model with its learned hyper-parameters."""
        return self.state.model

    @property
    def n_components(self) -> int:
        """K."""
        return self.model.n_components

    @property
    def n_sweeps(self) -> int:
        """Complete sweeps."""
        return self.state.sweep

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""
        return self.reason == CONVERGED

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of loadings and scores."""
        return np.dtype(getattr(self.algorithm, "dtype", "float32"))

    @property
    def is_approximate(self) -> bool:
        """Whether the sampler worked on briefly stale totals (parallel collapsed Gibbs)."""
        is_exact = getattr(self.algorithm, "is_exact", None)
        return is_exact is not None and not is_exact(self.provenance.n_tokens)

    @property
    def draws(self) -> Draws:
        """The draws that were kept of the recorded sweeps, those of all chains.

        >>> import dcomp
        >>> from dcomp.models import DirichletMultinomial
        >>> sampler = CollapsedGibbs(burn_in=10, keep=Keep(n=1, every=5))
        >>> model = DirichletMultinomial.build(2)
        >>> dcomp.fit([[3, 1, 0], [0, 1, 4]], model, sampler, max_iter=30).draws
        Draws(1 chain × 4 draws of scores, loadings, 160 bytes)
        """
        if self.kept is None:
            how = "fit with n_draws=, or an algorithm with keep="
            if not self.algorithm.samples:
                how = f"{self.algorithm.name} has none, fit by a sampler with n_draws="
            elif getattr(self.algorithm, "keep", Keep()).n:
                how = f"the fit ended in sweep {self.n_sweeps}, before the first was due"
            raise InvalidParameter(f"no draws were kept: {how}")
        return self.kept

    def draw(self, seed: int = 0, n_jobs: int | None = None) -> Draw:
        """One draw of scores and Θ from p(scores, Θ | c, n) at the fit's last sweep (BJ06 VII.C).

        It is none of the chain's own: other seeds give independent draws given c and n.
        `dcomp.inference.draw_given_counts` does the same for the state of any sweep.

        >>> import dcomp
        >>> sampled = dcomp.LDA(2, algorithm="collapsed-gibbs", max_iter=10, verbose=0)
        >>> sampled.fit([[3, 1, 0], [0, 1, 4]]).fit_.draw(seed=1).scores.shape
        (2, 2)
        """
        if not self.algorithm.samples:
            raise UnsupportedCombination(
                "draws given c and n need the whole numbers of a sampler; this fit is by "
                f"{self.algorithm.name}"
            )
        return draw_given_counts(
            self.model,
            self.features,
            self._total_exposure,
            self.state.c,
            self.state.n,
            # The seeds of chains lie below: no kept draw comes twice.
            seed=(1 << 63) | validation.whole_number("seed", seed, 0),
            sweep=self.n_sweeps,
            extra=self.state.extra,
            n_threads=LocalExecutor.from_jobs(n_jobs).n_threads,
        )

    def assignments(self, X: Any, *, draws: bool = False) -> Assignments:
        """The component of each token at the last sweep of a collapsed sampler, for the counts
        that were fitted: tokens by document, then by feature. Of ST that is the node, with the
        leaf beside it.

        Where X has a reading order, `Assignments.in_order` follows it. With `draws`, components
        are those of all kept draws, (chain, draw, token).

        >>> import dcomp
        >>> X = [[2, 0, 1], [0, 1, 0]]
        >>> sampled = dcomp.LDA(2, algorithm="collapsed-gibbs", max_iter=10, verbose=0).fit(X).fit_
        >>> tokens = sampled.assignments(X)
        >>> tokens.document.tolist(), tokens.feature.tolist(), len(tokens.component)
        ([0, 0, 0, 1], [0, 0, 2, 1], 4)
        >>> text = [["cat", "and", "dog"], ["cat"]]
        >>> fitted = dcomp.LDA(1, algorithm="collapsed-gibbs", max_iter=9, verbose=0).fit(text).fit_
        >>> fitted.assignments(text).in_order(0)
        (array([1, 0, 2], dtype=int32), array([0, 0, 0], dtype=int32))
        """
        if not isinstance(self.algorithm, CollapsedGibbs) or self.state.z is None:
            raise UnsupportedCombination(
                "only collapsed-gibbs gives each token a component; this fit is by "
                f"{self.algorithm.name}, see expected_counts and word_table"
            )
        counts, _ = as_counts(X).aligned_to(self.features)
        self.provenance.require_same(Provenance.of(counts), "a fit has assignments")
        if draws:
            if self.draws.assignments is None:
                raise InvalidParameter(
                    "no assignments are among the kept draws: fit with draws_of='assignments'"
                )
            return Assignments.build(counts, self.draws.assignments)
        z = self.algorithm.in_entry_order(self.model, Observations(counts), self.state.z)
        if isinstance(self.model, Structured):
            return leaves.pair_assignments(self.model, counts, z)
        return Assignments.build(counts, z)

    @property
    def objective(self) -> float:
        """The last value of the history's objective: a bound or a log joint, never a perplexity."""
        return self.history.rows[-1].objective

    @cached_property
    def Theta(self) -> FloatingArray:
        """Loadings (J, K): E[θ_jk], columns sum to 1 within each block.

        Of a sampler, the average of E[Θ | n] over the recorded sweeps (BJ04 2.1).
        """
        return mean_loadings(self.state, self.algorithm, self.features)

    @property
    def components(self) -> FloatingArray:
        """The loadings as scikit-learn has them: (K, J), rows sum to 1 within each block."""
        return self.Theta.T

    @property
    def expected_counts(self) -> FloatingArray:
        """Expected words of each training document per component, (I, K): BJ06 VI."""
        recorded = self.state.recorded
        if recorded is not None and recorded.count:
            return read_only(recorded.c / np.float32(recorded.count))
        return self.state.c.astype(self.dtype, copy=False)

    @cached_property
    def scores(self) -> FloatingArray:
        """E[m] or E[l] of the training documents, (I, K); of a fit by "map" their modes, of LN
        softmax(η) at the mode of η."""
        if isinstance(self.model, LogisticNormal):
            return read_only(softmax(self.state.extra["eta"], axis=1).astype(self.dtype))
        exposure = self._total_exposure
        scores: Any = self.model.scores
        if self.mode == "maximise":
            return read_only(scores.posterior_mode(self.state.c, exposure).astype(self.dtype))
        recorded = self.state.recorded
        if recorded is not None and recorded.count and recorded.scores is not None:
            value = recorded.scores / np.float32(recorded.count)
        elif isinstance(self.model, Structured):
            value = leaves.leaf_and_node_scores(self, exposure)[1]
        elif recorded is not None and recorded.count:
            value = scores.recorded_mean(recorded.c, recorded.zeros, recorded.count, exposure)
        else:
            value = scores.posterior_mean(self.state.c, exposure)
        return read_only(value.astype(self.dtype))

    @cached_property
    def leaf_scores(self) -> FloatingArray:
        """E[q] or E[l] of the training documents' leaves, (I, K): ST alone; `scores` has those of
        the nodes, qΥ (B09 3.2)."""
        return leaves.leaf_scores(self, self._total_exposure)

    @cached_property
    def upsilon(self) -> FloatingArray:
        """Υ (K, H): where the words of a leaf come from, rows sum to 1; ST alone. Where documents
        have their own Υ it is that of all their words together."""
        return leaves.upsilon(self)

    @cached_property
    def leaf_Theta(self) -> FloatingArray:
        """Effective loadings of the leaves, (J, K): ΥΘ of B09 3.2; ST alone."""
        return read_only(self.Theta @ self.upsilon.T)

    def negligible_scores(
        self, threshold: float | None = None, *, unit: str = "words"
    ) -> NegligibleScores:
        """How many scores of the training documents are negligible: the case for CGP, BJ06 IV.B.

        unit "words": the component is expected to explain fewer than `threshold` words of the
        document, c_ik of BJ06 VI; 0.01 unless given, below which BJ06 IX takes a component to
        be absent. An empty document has no words of any component.
        unit "normalised": the posterior probability that the normalised score is less than
        `threshold`, 1e-8 unless given (BJ06 IV.B), given c of the last sweep.

        Under CGP `zero` adds the posterior probability that a score is exactly zero.

        >>> import dcomp
        >>> from dcomp.models import DirichletMultinomial
        >>> X, model = [[30, 20, 0, 0], [0, 0, 25, 35]], DirichletMultinomial.build(2, alpha=0.01)
        >>> result = dcomp.fit(X, model)
        >>> print(result.negligible_scores())
        50 % of scores are negligible (under 0.01 expected words)
        >>> print(result.negligible_scores(unit="normalised"))  # each m has a Beta(0.01, ...)
        44 % of scores are negligible (under 1e-08 once normalised)
        """
        return NegligibleScores.build(self.state, self._total_exposure, threshold, unit)

    @property
    def _total_exposure(self) -> FloatArray:
        if self.exposure is not None:
            return np.asarray(self.exposure.sum(axis=1))
        return np.full(len(self.state.c), float(self.features.n_blocks))

    def observe(self, X: Any, exposure: Any = None) -> Observations:
        """New documents in this fit's feature space; features are matched by name where named.

        A fit made with exposure "total" applies it to new documents; one made with numbers asks
        for theirs.
        """
        counts, _ = as_counts(X).aligned_to(self.features)
        exposure = self.exposure_rule if exposure is None else exposure
        if exposure is None and self.exposure is not None:
            raise InvalidParameter(
                "the model was fitted with an exposure per document: give exposure= for these too"
            )
        return validation.resolve_observations(counts, self.model, exposure)

    def weights(self, treatment: str | None = None, n_threads: int = 1) -> Weights:
        """Allocation weights of the loadings, as the kernels take them."""
        how = treatment or str(getattr(self.algorithm, "loadings", "mean"))
        if self.algorithm.samples:
            return Weights.of_loadings(self.Theta)
        return Weights.build(self.model, self.features, self.state.n, how, n_threads)

    def fold_in(
        self,
        X: Any,
        *,
        exposure: Any = None,
        n_jobs: int | None = None,
        max_inner: int = 200,
        tol: float = 1e-4,
    ) -> FoldIn:
        """Fixed point of each new document with the loadings given: c, scores and bound; for LN
        also the mode η and its variances, and the bound is none."""
        threads = LocalExecutor.from_jobs(n_jobs).n_threads
        observed = X if isinstance(X, Observations) else self.observe(X, exposure)
        weights = self.weights(n_threads=threads)
        limits: Any = {"max_inner": max_inner, "tol": tol}
        if isinstance(self.model, Structured):
            return leaves.fold_in_leaves(self, observed, n_jobs=n_jobs, **limits)
        if isinstance(self.model, LogisticNormal):
            return laplace_fold_in(self.model, observed, weights, threads, **limits)
        how: Any = {"mode": self.mode, "temper": self.temper}
        return fold_in(self.model, observed, weights, threads, **limits, **how)

    def as_leaves(self) -> Fit:
        """A fit of ST as one of flat components: its leaves with the effective loadings ΥΘ (B09
        3.2). It reads and judges as any fit of DM, GP or CGP; it cannot be resumed. Only where
        the corpus shares one Υ: documents with their own are no flat model.

        >>> import dcomp
        >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
        >>> model = dcomp.StructuredDCA(tree=[-1, 0, 0], max_iter=10, n_chains=1, verbose=0).fit(X)
        >>> model.fit_.as_leaves().components.shape
        (2, 3)
        """
        return leaves.as_leaves(self)

    def transform_leaves(
        self, X: Any, *, exposure: Any = None, seed: int = 0, n_jobs: int | None = None
    ) -> FloatingArray:
        """Scores of leaves of new documents, (I, K): ST alone; `transform` gives those of nodes."""
        return leaves.transform_leaves(self, X, exposure, seed, n_jobs)

    def sample_scores(
        self,
        X: Any,
        *,
        exposure: Any = None,
        n_draws: int = 50,
        burn_in: int = 20,
        seed: int = 0,
        keep_draws: bool = False,
        n_jobs: int | None = None,
    ) -> SampledScores:
        """Posterior of each document's scores by Gibbs sampling with the loadings given: mean,
        standard deviation, share of exact zeros, and the draws on request (BJ04 2.1, 3.5)."""
        if isinstance(self.model, LogisticNormal):
            raise UnsupportedCombination(
                "model LN has no sampler: fold_in gives the mode of the scores and its variances"
            )
        threads = LocalExecutor.from_jobs(n_jobs).n_threads
        observed = X if isinstance(X, Observations) else self.observe(X, exposure)
        weights = self.weights("mean", n_threads=threads)
        how: Any = {"n_draws": n_draws, "burn_in": burn_in, "seed": seed, "keep_draws": keep_draws}
        if isinstance(self.model, Structured):
            return leaves.sample_node_scores(self, observed, weights, threads, **how)
        return sample_scores(self.model, observed, weights, threads, **how)

    def transform(
        self,
        X: Any,
        *,
        exposure: Any = None,
        method: str = "auto",
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> FloatingArray:
        """Scores of new documents, (I, K): E[m] (rows sum to 1) or E[l]; for LN softmax(η) at the
        mode of η.

        method: "fixed-point" (fast), "sampling", or "auto": the fixed point if the model has one.
        """
        if method not in ("auto", "fixed-point", "sampling"):
            raise InvalidParameter(
                f"method must be 'auto', 'fixed-point' or 'sampling'; got {method!r}"
            )
        if method == "sampling" or (method == "auto" and not self.has_fixed_point):
            return self.sample_scores(X, exposure=exposure, seed=seed, n_jobs=n_jobs).mean
        return self.fold_in(X, exposure=exposure, n_jobs=n_jobs).scores

    @property
    def mode(self) -> str:
        """How words are allocated by a fixed point: "expect", or "maximise" for a fit by "map"."""
        return str(getattr(self.algorithm, "mode", "expect"))

    @property
    def temper(self) -> float:
        """β of tempered EM, the power of weights in the allocation; 1 for everything else."""
        return float(self.state.extra.get("best_beta", 1.0))

    @property
    def has_fixed_point(self) -> bool:
        """Whether the model has a fixed point for a document, and so a fast transform."""
        if isinstance(self.model, Structured):
            return leaves.has_fixed_point(self.model)
        names = registry.supported()[self.model.key]
        return "mean-field" in names or "laplace" in names

    @property
    def has_bound(self) -> bool:
        """Whether log p(w | Θ) has a bound: there must be a mean field, and a prior."""
        has_mean_field = "mean-field" in registry.supported()[self.model.key]
        return has_mean_field and not getattr(self.model.scores, "is_flat", False)

    def bound(
        self,
        X: Any,
        *,
        exposure: Any = None,
        combinatoric: bool = False,
        n_jobs: int | None = None,
    ) -> FloatArray:
        """Lower bound on log p(w | Θ) of each document, BJ06 (16) or (19).

        `combinatoric` adds the term that maps the word sequence to the bag (BJ06 III.A).
        """
        if not self.has_bound:
            raise UnsupportedCombination(
                "a bound on log p(w | Θ) needs a mean field, and a prior of the scores; "
                f"this is {self.model.key} by {self.algorithm.name}"
            )
        observed = self.observe(X, exposure)
        threads = LocalExecutor.from_jobs(n_jobs).n_threads
        value = fold_in(self.model, observed, self.weights(n_threads=threads), threads).bound
        return value + observed.counts.log_combinatoric() if combinatoric else value

    def word_table(self, X: Any, document: int | str = 0, *, exposure: Any = None) -> WordTable:
        """The word × component table of one document, E[v] (BJ06 figure 4)."""
        counts = as_counts(X)
        row = document_number(counts, document)
        if exposure is not None and not isinstance(exposure, str):
            exposure = np.asarray(exposure)[[row]]
        observed = self.observe(counts.rows([row]), exposure)
        folded = self.fold_in(observed, n_jobs=1)
        scores: Any = self.model.scores
        if isinstance(folded, LaplaceFoldIn):
            e_log = folded.eta[0]
        elif self.mode == "maximise" or isinstance(self.model, Structured):
            e_log = np.log(np.maximum(folded.scores[0].astype(np.float64), 1e-300))
        else:
            e_log = scores.expected_log(folded.c, observed.total_exposure)[0]
        return WordTable.build(observed.counts, e_log, self.weights())

    def top_features(self, n: int = 10, block: int | None = None) -> TopFeatures:
        """The n features of largest θ in each component, within one block if given."""
        return TopFeatures.build(self.Theta, self.features, n, block)

    def __repr__(self) -> str:
        return (
            f"Fit({self.model.key}, K = {self.n_components}, {self.algorithm.name}, "
            f"{self.n_sweeps} sweeps, {self.reason}, {self.algorithm.objective_name} "
            f"{self.objective:,.1f})"
        )

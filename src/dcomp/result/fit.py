"""Fit: everything that came out, immutable, and the ways to read it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.data import Attributes, Counts, FeatureSpace, TextOptions, as_counts
from dcomp.data.reading import Reading
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import Algorithm, Draw, State, draw_given_counts
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights
from dcomp.inference.path import Path
from dcomp.inference.rest import FoldIn
from dcomp.inference.run import CONVERGED, ROUNDING
from dcomp.inference.sampled_scores import SampledScores
from dcomp.inference.stopping import Remaining
from dcomp.models import Model, Observations
from dcomp.models.allowed import Allowed, answer
from dcomp.models.arrays import FloatArray, read_only
from dcomp.predict import Predictor, WordTable
from dcomp.predict.clusters import largest
from dcomp.result import editing, exchange, html, leaves, remarks
from dcomp.result.draws import Draws
from dcomp.result.ending import Ending, mean_loadings
from dcomp.result.negligible import NegligibleScores
from dcomp.result.provenance import Provenance
from dcomp.result.special import measured, parts_of_blocks
from dcomp.result.tables import Assignments, TopFeatures
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
    exposure_rule: str | None  # the word that made it: it holds for new documents too
    seed: int
    provenance: Provenance
    chains: tuple[Trace, ...] = ()  # of all chains, where there were several
    kept: Draws | None = None  # `draws` reads it
    endings: tuple[Ending, ...] = ()  # of all chains in order, where components have edges
    attributes: Attributes = field(default_factory=Attributes)  # of the training documents, if kept
    allowed: Allowed | None = None  # the components that training documents may use; None: all

    @property
    def model(self) -> Model:
        """The model with its learned hyper-parameters."""
        return self.state.model

    @property
    def n_components(self) -> int:
        """K."""
        return self.model.n_components

    @property
    def component_names(self) -> tuple[str, ...] | None:
        """Of the components, where they were given some: by seed words, given loadings, labels of
        documents or `rename`."""
        return self.model.loadings.names

    @property
    def component_labels(self) -> tuple[str, ...]:
        """What the components are called: their names, or their numbers."""
        return self.component_names or tuple(map(str, range(self.n_components)))

    @property
    def n_sweeps(self) -> int:
        """Complete sweeps."""
        return self.state.sweep

    @property
    def remaining(self) -> Remaining | None:
        """What going on would change: nats per document still to gain, as the rate of the last
        plain sweeps and the gains of all sweeps tell (None where that was not measured), and the
        largest change of a document's share in one more sweep; many more may change single ones
        by far more at next to no gain. None for a sampler.

        >>> import dcomp
        >>> fitted = dcomp.LDA(2, verbose=0).fit([[5, 1, 0], [4, 2, 1], [0, 1, 6]]).fit_
        >>> fitted.reason, fitted.remaining.gain < 0.05, fitted.remaining.shares < 0.01
        ('converged', True, True)
        """
        carried = self.state.shared.carried
        measured = carried.remaining if isinstance(carried, Path) else None
        last = self.history.rows[-1].shares
        if measured is not None or last is None:
            return measured
        return Remaining(None, last)

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""
        return self.reason == CONVERGED

    @property
    def at_rest(self) -> bool:
        """Whether the documents are where `transform` has them: `scores` then is its answer."""
        comes_to_rest = self.algorithm.is_plain or self.algorithm.has_schedule
        return comes_to_rest and self.reason in (CONVERGED, ROUNDING)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of loadings and scores."""
        return self.algorithm.precision

    def is_of(self, counts: Counts) -> bool:
        """Whether these are the counts that were fitted."""
        return self.provenance.data_fingerprint == counts.fingerprint()

    @property
    def text(self) -> TextOptions | None:
        """How the words of the fitted texts were found, so that new ones can be read alike:
        `dcomp.read(path, like=fit)`; None where the counts were not of text."""
        return self.provenance.text

    @property
    def reading(self) -> Reading | None:
        """How the fitted table was read, where that had to be said (votes, answers, columns of a
        table), so that new ones can be read alike: `dcomp.read(path, like=fit)`."""
        return self.provenance.reading

    @property
    def is_approximate(self) -> bool:
        """Whether the sampler worked on counts that were briefly stale: totals of a large corpus,
        and in several parts all counts of the others (collapsed Gibbs)."""
        return not self.algorithm.is_exact(self.provenance.n_tokens, len(self.state.firsts))

    @property
    def draws(self) -> Draws:
        """The draws that were kept of the recorded sweeps, those of all chains.

        >>> import dcomp
        >>> from dcomp.models import DirichletMultinomial
        >>> from dcomp.inference import CollapsedGibbs, Keep
        >>> sampler = CollapsedGibbs(burn_in=10, keep=Keep(n=1, every=5))
        >>> model = DirichletMultinomial.build(2)
        >>> dcomp.fit([[3, 1, 0], [0, 1, 4]], model, sampler, max_iter=30).draws
        Draws(1 chain × 4 draws of scores, loadings, 160 bytes)
        """
        if self.kept is None:
            how = "fit with n_draws=, or an algorithm with keep="
            if not self.algorithm.samples:
                how = f"{self.algorithm.name} has none, fit by a sampler with n_draws="
            elif self.algorithm.schedule.keep.n:
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
        if self.allowed is not None:
            raise UnsupportedCombination(
                "draws given c and n are of documents that may use all components; n_draws= keeps "
                "those of the sampler itself"
            )
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
            carried=self.state.carried,
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
        algorithm: Any = self.algorithm
        if not algorithm.assigns_tokens or self.state.z is None:
            raise UnsupportedCombination(
                "only collapsed-gibbs gives each token a component; this fit is by "
                f"{self.algorithm.name}, see expected_counts and word_table"
            )
        counts, _ = as_counts(X).aligned_to(self.features)
        self.provenance.require_same(Provenance.from_counts(counts), "a fit has assignments")
        if draws:
            if self.draws.assignments is None:
                raise InvalidParameter(
                    "no assignments are among the kept draws: fit with draws_of='assignments'"
                )
            return Assignments.build(counts, self.draws.assignments)
        observed = Observations(counts.cut_at(self.state.firsts))
        z = algorithm.in_entry_order(self.model, observed, self.state.z)
        if self.model.leaf_model is None:
            return Assignments.build(counts, z)
        return leaves.pair_assignments(self.model, counts, z)

    @property
    def temper(self) -> float:
        """β of tempered EM, the power of weights in the allocation; 1 for everything else."""
        return self.algorithm.temper(self.state)

    @property
    def objective(self) -> float:
        """The last value of the history's objective: a bound or a log joint, never a perplexity.

        Where a climb has converged it is that of the scores and loadings that the fit shows, and
        its documents' part (`history["documents"]`) is the sum of `bound` over them. A sweep
        before the end has new loadings since its value was taken: there the last value is that of
        the loadings before.
        """
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
        softmax(η) at the mode of η.

        Where a climb has converged, `transform` of the same documents gives the same. Of a sampler
        they are the mean over its recorded sweeps, in which the loadings vary, and `transform`
        answers another question: what the scores are with the mean loadings given.
        """
        exposure, dtype = self._total_exposure, self.dtype
        prior: Any = self.model.scores
        recorded, carried = self.state.recorded, self.state.carried
        if recorded is not None and not recorded.count:
            recorded = None
        if recorded is not None and recorded.scores is not None:
            return read_only((recorded.scores / np.float32(recorded.count)).astype(dtype))
        own = None if carried is None else carried.scores(self.model, exposure)
        if own is not None:
            value = own
        elif self.algorithm.mode == "maximise":
            value = answer(prior, "posterior_mode", self.state.c, exposure, self.allowed)
        elif recorded is not None:
            more = (recorded.zeros, recorded.count)
            value = answer(prior, "recorded_mean", recorded.c, exposure, self.allowed, *more)
        else:
            value = answer(prior, "posterior_mean", self.state.c, exposure, self.allowed)
        return read_only(value.astype(dtype))

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

    @property
    def given_model(self) -> Model:
        """The model with what its score prior shares over the corpus taken as fitted: Υ of ST,
        unless every document has its own; else the model itself."""
        model: Any = self.model
        if model.leaf_model is None:
            return self.model
        structure = model.structure
        given: Model = model.with_given_upsilon(self.upsilon[structure.leaf, structure.node])
        return given

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
        if self.allowed is not None and unit == "normalised":
            raise UnsupportedCombination(
                "normalised scores below a threshold are of documents that may use all components; "
                "unit='words' works"
            )
        return NegligibleScores.build(self.state, self._total_exposure, threshold, unit)

    @property
    def _total_exposure(self) -> FloatArray:
        if self.exposure is not None:
            return np.asarray(self.exposure.sum(axis=1))
        return np.full(len(self.state.c), float(self.features.n_blocks))

    @cached_property
    def predictor(self) -> Predictor:
        """What can be asked of new documents."""
        return Predictor(
            self.model,
            self.features,
            self.Theta,
            n=None if self.algorithm.samples else self.state.n,
            treatment=self.algorithm.treatment,
            mode=self.algorithm.mode,
            temper=self.algorithm.temper(self.state),
            precision=self.dtype,
            exposure_rule=self.exposure_rule,
            asks_exposure=self.exposure is not None,
            upsilon=None if self.model.leaf_model is None else self.upsilon,
            fractional=self.provenance.fractional,
        )

    def observe(self, X: Any, exposure: Any = None) -> Observations:
        """New documents in this fit's feature space: `Predictor.observe`."""
        return self.predictor.observe(X, exposure)

    def weights(self, treatment: str | None = None, n_threads: int = 1) -> Weights:
        """Allocation weights of the loadings: `Predictor.weights`."""
        return self.predictor.weights(treatment, n_threads)

    def fold_in(self, X: Any, **options: Any) -> FoldIn:
        """Fixed point of each new document: `Predictor.fold_in`."""
        return self.predictor.fold_in(X, **options)

    def sample_scores(self, X: Any, **options: Any) -> SampledScores:
        """Posterior of each new document's scores: `Predictor.sample_scores`."""
        return self.predictor.sample_scores(X, **options)

    def transform(self, X: Any, **options: Any) -> FloatingArray:
        """Scores of new documents, (I, K): `Predictor.transform`."""
        return self.predictor.transform(X, **options)

    def predict(self, X: Any, **options: Any) -> npt.NDArray[np.intp]:
        """The component with the most of each new document: `Predictor.predict`."""
        return self.predictor.predict(X, **options)

    @cached_property
    def clusters(self) -> npt.NDArray[np.intp]:
        """The component with the most of each training document, (I): C04 2; of a tree a leaf."""
        return largest(self.scores, self.model.scores.nodes)

    def transform_leaves(self, X: Any, **options: Any) -> FloatingArray:
        """Scores of leaves of new documents, (I, K): `Predictor.transform_leaves`; ST alone."""
        leaves.of_leaves(self, "leaf scores")
        return self.predictor.transform_leaves(X, **options)

    def bound(self, X: Any, **options: Any) -> FloatArray:
        """Lower bound on log p(w | Θ) of each new document: `Predictor.bound`."""
        return self.predictor.bound(X, **options)

    def word_table(self, X: Any, document: int | str = 0, *, exposure: Any = None) -> WordTable:
        """The word × component table of one document: `Predictor.word_table`."""
        return self.predictor.word_table(X, document, exposure=exposure)

    @property
    def has_fixed_point(self) -> bool:
        """Whether the model has a fixed point for a document, and so a fast transform."""
        return self.predictor.has_fixed_point

    @property
    def has_bound(self) -> bool:
        """Whether log p(w | Θ) has a bound: there must be a mean field, and a prior."""
        return self.predictor.has_bound

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

    def top_features(
        self,
        n: int = 10,
        block: int | str | None = None,
        *,
        by: str = "probability",
        weight: float | None = None,
    ) -> TopFeatures:
        """The first n features of each component, within one block if given.

        by: "probability" θ, the largest; "lift" θ/p, what is rare elsewhere; "relevance", both: λ
        log θ + (1 − λ) log lift with λ = `weight`, 0.6 unless given; "frex", the harmonic mean of
        the ranks of θ and of exclusivity, the latter with `weight`, 0.5 unless given
        (`dcomp.result.special`). Where blocks are many, probability says little: most votes of a
        bloc are sure. There take "relevance".

        >>> import dcomp
        >>> X, names = [[9, 5, 0], [9, 6, 0], [9, 0, 5], [8, 0, 6]], ["the", "cat", "dog"]
        >>> counts = dcomp.Counts.from_matrix(X, feature_names=names)
        >>> fitted = dcomp.LDA(2, alpha=0.1, verbose=0).fit(counts).fit_
        >>> {row[0] for row in fitted.top_features(1).names}
        {'the'}
        >>> sorted(row[0] for row in fitted.top_features(1, by="lift").names)
        ['cat', 'dog']
        """
        blocks = self.features.blocks
        own = None if block is None else blocks == self.features.block_number(block)
        part = parts_of_blocks(self.state.n, blocks)
        measure = measured(self.Theta, blocks, part, by, weight, own)
        named = self.component_names
        return TopFeatures.build(self.Theta, self.features, n, block, by, measure, named)

    def rename(self, names: Mapping[int | str, str] | Sequence[str]) -> Fit:
        """The same fit with other names of components: of some, by number or by the name that they
        have, or of all in order. Tables, `dcomp show`, scores in files and `save` keep them.

        >>> import dcomp
        >>> fitted = dcomp.LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6]]).fit_
        >>> fitted.rename({0: "taxes"}).component_names
        ('taxes', '1')
        """
        return editing.renamed(self, names)

    def simulate(
        self, n_docs: int | None = None, *, length: Any = None, seed: int = 0
    ) -> tuple[Counts, FloatArray]:
        """New documents from the fitted model (C04 2), and their scores (I, K): scores from their
        prior as learned, words by the fitted loadings. As many documents as were fitted unless
        told, each as long as one of those drawn at random; or of `length` tokens, a number or one
        for each document (and block). Of GP and CGP the length follows from the scores, and
        `length` is the exposure.

        >>> import dcomp
        >>> fitted = dcomp.LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6]]).fit_
        >>> counts, scores = fitted.simulate(5, length=20, seed=1)
        >>> counts.doc_totals.tolist(), scores.shape
        ([20, 20, 20, 20, 20], (5, 2))
        """
        return editing.simulated(self, n_docs, length, seed)

    def with_attributes(self, about: Attributes | Counts) -> Fit:
        """The same fit with what is known of its training documents, so that `save` keeps it too:
        those of the counts that were fitted. A fit has none unless it was asked to.

        >>> import dcomp
        >>> counts = dcomp.Counts.from_matrix([[3, 1], [0, 4]]).with_attributes(party=["D", "R"])
        >>> fitted = dcomp.LDA(2, verbose=0).fit(counts).fit_
        >>> fitted.with_attributes(counts).attributes["party"].tolist()
        ['D', 'R']
        """
        given = about.attributes if isinstance(about, Counts) else about
        if given.n_docs != len(self.state.c):
            raise InvalidParameter(
                f"attributes must be of the {len(self.state.c)} documents that were fitted; these "
                f"are of {given.n_docs}"
            )
        return replace(self, attributes=given)

    def to_anndata(self, data: Any, *, key: str = "dcomp", layer: str | None = None) -> Any:
        """Put scores into `data.obsm["X_dcomp"]` and loadings into `data.varm["dcomp"]`, by the
        names of genes; cells that were not fitted are folded in. Gives the same AnnData back.

        >>> import dcomp
        >>> from types import SimpleNamespace
        >>> cells = SimpleNamespace(X=[[4, 0], [1, 5]], obs={}, obs_names=["a", "b"],
        ...     var_names=["CD4", "CD8A"], obsm={}, varm={})
        >>> model = dcomp.LDA(2, verbose=0).fit(dcomp.io.from_anndata(cells))
        >>> model.fit_.to_anndata(cells).obsm["X_dcomp"].shape
        (2, 2)
        """
        return exchange.into_anndata(self, data, key, layer)

    def to_pyldavis(self, X: Any) -> dict[str, Any]:
        """What pyLDAvis.prepare takes, by its names: `pyLDAvis.prepare(**fit.to_pyldavis(counts))`.

        >>> import dcomp
        >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
        >>> sorted(dcomp.LDA(2, verbose=0).fit(X).fit_.to_pyldavis(X))
        ['doc_lengths', 'doc_topic_dists', 'term_frequency', 'topic_term_dists', 'vocab']
        """
        return exchange.for_pyldavis(self, X)

    def write_mallet_state(
        self, X: Any, path: str | os.PathLike[str], *, overwrite: bool = False
    ) -> None:
        """Write the component of every token, as a collapsed sampler left them, in the form of
        MALLET's --output-state: packed by gzip, whatever the name. X is what was fitted.

        >>> import dcomp, gzip
        >>> X = [["cat", "dog"], ["cat"]]
        >>> model = dcomp.LDA(1, algorithm="collapsed-gibbs", max_iter=9, verbose=0).fit(X)
        >>> model.fit_.write_mallet_state(X, "state.gz")
        >>> gzip.open("state.gz", "rt").read().splitlines()[3:]
        ['0 NA 0 0 cat 0', '0 NA 1 1 dog 0', '1 NA 0 0 cat 0']
        """
        exchange.write_mallet_state(self, X, path, overwrite)

    @property
    def plot(self) -> Any:
        """Pictures of the fit, `fit.plot.top_features(0)` and others: `dcomp.plot`."""
        from dcomp.plot import FitPlots

        return FitPlots(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of the components and priors, in one line each: components
        without words, components that are the same, learned priors at a limit."""
        return remarks.remarks(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        return html.fit_html(self)

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.remarks])

    def __repr__(self) -> str:
        return (
            f"Fit({self.model.key}, K = {self.n_components}, {self.algorithm.name}, "
            f"{self.n_sweeps} sweeps, {self.reason}, {self.algorithm.objective_name} "
            f"{self.objective:,.1f})"
        )

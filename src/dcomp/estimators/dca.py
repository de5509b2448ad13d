"""DCA, the one estimator for every model × algorithm, and its named subclasses LDA and GaP."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.estimators.notebook import NotebookMixin
from dcomp.estimators.streaming import StreamingMixin
from dcomp.evaluate import HeldOut, completion
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.inference.keep import DRAW_BUDGET
from dcomp.inference.run import Callback
from dcomp.models import Model
from dcomp.predict.clusters import largest
from dcomp.recipe import Recipe, table
from dcomp.recipe.recipe import require_plain
from dcomp.result import Fit, TopFeatures, Trace, fit
from dcomp.result.checkpoints import CheckpointLike
from dcomp.result.fitting import plan_draws
from dcomp.result.progress import announce, progress
from dcomp.validation.contract import counts_of


class DCA(
    StreamingMixin, NotebookMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Discrete component analysis: counts w ≈ Θ · scores, with priors on both (BJ06 (1)).

    model "DM": m ~ Dirichlet(α), w ~ Multinomial(L, Θm), BJ06 (4), fitted by (17)–(19);
    model "GP": l_k ~ Gamma(α_k, β_k), w_j ~ Poisson(e (Θl)_j), BJ06 (2), fitted by (13)–(16);
    model "CGP": as GP, but l_k = 0 with probability ρ_k, BJ06 (3). All three by Gibbs sampling,
    direct (BJ06 figure 6) and collapsed (figure 7); DM and GP also by EM at the modes, C04 (14), or
    at the maximum of the likelihood, without priors (DM with blocks: the model of ADMIXTURE);
    model "LN": η ~ N(μ0, Σ0), m = softmax(η), B18 §7, by Laplace mean field: see CTM.

    Parameters
    ----------
    n_components : K, the number of components.
    model : "DM", "GP", "CGP", "LN", "TM" (a complete tree of 7 branches; others by `TreeDCA`), a
        long name, one that a field knows ("lda", "gap", "ctm"; "plsa" and "nmf" bring their
        algorithm and no priors, as `PLSA` and `NMF` do), or a Model object.
    algorithm : "auto", "mean-field", "stochastic-mean-field", "map", "ml", "gibbs",
        "collapsed-gibbs", "laplace", or an Algorithm object. "auto" is mean field where the model
        has it, of LN laplace, and of CGP what suits the table: "gibbs" where counts that are not 0
        hold 10 words or more on average, else "collapsed-gibbs".
    alpha : all but LN and TM: "auto" (learned, one per component; 1.1 for map), "shared" (learned,
        one number for all; not by map or ml), "total-one" (1/K each), a number, or K numbers.
    beta : GP and CGP: "auto" (learned; for map one number that suits the documents' lengths),
        "learned" (by map too: C04's scale of each theme, c_k = α_k/β_k), a number, or K numbers.
    rho : CGP: "auto" (learned), a number, or K numbers.
    gamma : prior of the loadings: a number, J numbers, (K, J) (a prior of its own for every
        component), "empirical", or "auto" (one number for all features, learned by the samplers).
        ml has none: 1 unless you say otherwise.
    seed_words, seed_strength : words that named components are told to like, {"taxes": ["tax",
        "cuts"]}: γ_jk = γ_j + s there. s is in tokens; the share that a component would have of
        the word, N_j/K, unless given.
    fixed : a frame or an array, components × features: these loadings stay as given, the rest of
        K is found (docs/guides/known-beforehand.md).
    allowed : DM, GP, CGP: which components a document may use: a label each (or the name of an
        attribute of the counts), lists of labels, or a mask (I, K); -1 or None: all. The sorted
        labels are the first components, and name them. New documents may use all.
    loadings : treatment of Θ by mean field and laplace ("mean", "map", "vb") or map ("mean",
        "map"); None for the default: "mean", of laplace "vb".
    blocks : block id per feature, for multivariate data; loadings sum to 1 within each.
    exposure : GP and CGP: None, "total", "observed" (1 where a block has counts, else 0), or an
        array (I,) or (I, blocks); 0 = not observed. Counts of votes, categories and genotypes are
        "observed" unless told otherwise.
    fractional : whether counts need not be whole (dosages, corrected counts, tf-idf); not for the
        samplers. X may also be Counts that were made so, whatever this says.
    max_iter, tol : sweeps at most (2000, of a sampler 200); mean field, map and ml stop when less
        than tol nats per document are left to gain (docs/algorithms/ascent.md), samplers run all.
    burn_in : samplers: sweeps before E[Θ | n] is averaged; half of max_iter unless given.
    start : samplers: "random", "mean-field" to begin a chain near a mode, "seeded" the same near a
        mode of the seed's own, or "auto" (the default): where documents have 100 words or more on
        average and a tenth of the counts are not 0, the first chain "mean-field" and others
        "seeded", else all random; mean field, map and ml: "seeded" by documents, "spectral", or
        "auto" (the default): spectral unless most counts are 0; laplace: "collapsed-gibbs",
        "mean-field", "seeded", or "auto" (the default): the first, of fractional counts the second.
    n_tries : mean field, map and ml: short climbs from different starts, of which the best is
        carried on; "auto" (the default): 6 where components are few (8) and the table is small
        (entries times components up to a million), else 1. Each has 20 sweeps, on top of max_iter.
    anneal : samplers: first sweeps with priors that begin stronger, 0 unless given; "auto" for four
        fifths of burn_in.
    n_draws : samplers: draws to keep, evenly spread over the sweeps after burn_in, in `fit_.draws`.
    draws_of : what a draw holds beside the priors: "scores", "loadings", "assignments" (of every
        token; collapsed-gibbs only).
    draw_budget : memory that the draws may take, such as "2 GiB"; None for no limit.
    trace_words : samplers: log p(w | V, Θ) of each sweep as BJ06 figure 7 records it, with Θ at its
        "mean", "drawn" or "both": columns words_mean, words_drawn of `history_`.
    n_chains : runs from different starts; the best is kept, all their traces in `fit_.chains`.
    n_jobs : threads; None for all cores. The answer does not depend on it.
    random_state : seed, NumPy generator, or None.
    warm_start : go on from the previous fit of the same data.
    callbacks : functions of an Info, called after each sweep; returning True stops the fit, of
        several chains the one at hand: with callbacks these are run one after the other.
    checkpoint : a folder in which `fit` keeps what it has reached every ten minutes, or a
        `dcomp.Checkpoint`; the same call goes on from what is there, after a kill too.
    verbose : 0 silent, 1 a progress bar on a terminal.

    Attributes
    ----------
    components_ : (K, J), rows sum to 1 within each block.
    fit_ : the Fit, everything and immutable.
    history_ : one row per sweep.
    n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.

    >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> model = DCA(2, alpha=0.1, verbose=0).fit(X)
    >>> model.transform(X).round(1).argmax(axis=1)[[0, 2]].tolist() in ([0, 1], [1, 0])
    True
    """

    fit_: Fit
    _fixed: ClassVar[Mapping[str, Any]] = {}  # options that are no parameters, by name

    def __init__(
        self,
        n_components: int = 10,
        *,
        model: str | Model = "DM",
        algorithm: str | Algorithm = "auto",
        alpha: Any = "auto",
        beta: Any = "auto",
        rho: Any = "auto",
        gamma: Any = 0.5,
        seed_words: Any = None,
        seed_strength: float | None = None,
        fixed: Any = None,
        allowed: Any = None,
        loadings: str | None = None,
        blocks: Any = None,
        exposure: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        burn_in: int | None = None,
        start: str | None = None,
        n_tries: int | str | None = None,
        anneal: int | None = None,
        n_draws: int = 0,
        draws_of: Sequence[str] = ("scores", "loadings"),
        draw_budget: int | str | None = DRAW_BUDGET,
        trace_words: str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.model = model
        self.algorithm = algorithm
        self.alpha = alpha
        self.beta = beta
        self.rho = rho
        self.gamma = gamma
        self.seed_words = seed_words
        self.seed_strength = seed_strength
        self.fixed = fixed
        self.allowed = allowed
        self.loadings = loadings
        self.blocks = blocks
        self.exposure = exposure
        self.fractional = fractional
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.start = start
        self.n_tries = n_tries
        self.anneal = anneal
        self.n_draws = n_draws
        self.draws_of = draws_of
        self.draw_budget = draw_budget
        self.trace_words = trace_words
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, feature_names: Any = None) -> Self:
        """Fit to counts: scipy sparse, array, frame, Counts, or lists of tokens. y is ignored.

        feature_names: of an array or a sparse matrix, which has none itself, such as
        `vectorizer.get_feature_names_out()`.
        """
        counts = self._counts(X, reset=True)
        if feature_names is not None:
            if counts.features.names is not None:
                raise InvalidParameter("feature_names= has no effect: X names its features itself")
            counts = counts.with_features(list(feature_names))
        typed = self.recipe
        recipe = typed.resolve(counts)
        model, settings, told = recipe.model, recipe.settings, recipe.algorithm
        earlier: Fit | None = getattr(self, "fit_", None) if self.warm_start else None
        algorithm = told if earlier is None else earlier.algorithm
        if typed.leaves_open(algorithm.name):
            told = algorithm  # of several samplers the one that it was begun by
        max_iter = settings.max_iter
        if earlier is not None and earlier.n_sweeps >= max_iter and earlier.is_of(counts):
            return self  # all the sweeps that were asked for are done
        announce(
            self.verbose,
            typed.told_by_the_table(counts) if earlier is None else None,
            plan_draws(counts, model, algorithm, max_iter, settings.n_chains, settings.draw_budget),
        )
        label = f"{type(self).__name__} {model.key} K={model.n_components}"
        with progress(self.verbose, max_iter, label) as bars:
            self.fit_ = fit(
                counts,
                model,
                told,
                **vars(settings),
                n_jobs=self.n_jobs,
                callbacks=[*bars, *self.callbacks],
                resume=earlier,
                checkpoint=self.checkpoint,
            )
        self.n_iter_ = self.fit_.n_sweeps
        self._look_back(counts)
        return self

    def _look_back(self, counts: Counts) -> None:
        """What a cousin wants to know of the counts once they are fitted."""

    @property
    def recipe(self) -> Recipe:
        """What the parameters say, as options of a fit; an error where that cannot be."""
        typed = Recipe.from_options(**self._given())
        if "model" not in self._fixed:
            require_plain(self.model)
        return typed

    def _given(self) -> dict[str, Any]:
        """What the parameters say by the names of the table, and what a cousin fixes."""
        own, options = self.get_params(deep=False), table()
        if _has_no_priors(own.get("algorithm")) and "gamma" in own:
            usual = inspect.signature(type(self)).parameters["gamma"].default
            if np.array_equal(own["gamma"], usual):
                del own["gamma"]  # nothing was said of it, and there is no prior of loadings
        return {name: own[name] for name in own if name in options} | dict(self._fixed)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> npt.NDArray[Any]:
        """Fit, then the scores of the same documents by `transform`, with the exposures that they
        were fitted with.

        A climb that has converged leaves its documents where `transform` has them: then these are
        `fit_.scores`. Of one that was ended before (by `max_iter`, a callback or Ctrl-C),
        `transform` is a little ahead of them. Of a sampler the two are different questions:
        `fit_.scores` is the mean over its sweeps, in which the loadings vary, `transform` takes
        them as given.
        """
        fitted = self.fit(X, y).fit_
        if not params and fitted.at_rest:
            return fitted.scores.copy()
        if fitted.exposure_rule is None:
            params.setdefault("exposure", fitted.exposure)
        return self.transform(X, **params)

    def transform(self, X: Any, exposure: Any = None, method: str = "auto") -> npt.NDArray[Any]:
        """Scores of documents, (I, K): E[m] for DM (rows sum to 1), E[l] for GP and CGP, softmax(η)
        at the mode for LN.

        The fixed point of BJ06 (13) or (17) with the loadings given, every document on its own
        and from an even start. Of documents that were fitted it is `fit_.scores`, where a climb has
        converged. With method "sampling" (and always for CGP) by
        Gibbs sampling, `fit_.sample_scores`.
        """
        check_is_fitted(self, "fit_")
        return self.fit_.transform(
            self._counts(X), exposure=exposure, method=method, n_jobs=self.n_jobs
        )

    def predict(self, X: Any, exposure: Any = None) -> npt.NDArray[Any]:
        """The component with the most of each document, (I): the documents of one are a cluster
        (C04 2, 6.1); `evaluate.clusters` compares them with labels. Of a tree it is a leaf."""
        check_is_fitted(self)
        scores = self.transform(X) if exposure is None else self.transform(X, exposure=exposure)
        return largest(scores, self.fit_.model.scores.nodes if hasattr(self, "fit_") else None)

    def completion(self, X: Any, exposure: Any = None, seed: int = 0) -> HeldOut:
        """Document completion on held-out documents, with its standard error."""
        check_is_fitted(self, "fit_")
        return completion(
            self.fit_,
            self._counts(X),
            exposure=exposure,
            seed=seed,
            n_jobs=self.n_jobs,
        )

    def score(self, X: Any, y: Any = None) -> float:
        """Held-out log-likelihood per token by document completion; higher is better.

        Σ log p(w₂ | w₁) / Σ tokens, where w₁ is a random half of each document (MODELS §9).
        """
        return self.completion(X).log_likelihood

    def perplexity(self, X: Any) -> float:
        """exp(−score); lower is better."""
        return self.completion(X).perplexity

    def top_features(
        self,
        n: int = 10,
        block: int | str | None = None,
        *,
        by: str = "probability",
        weight: float | None = None,
    ) -> TopFeatures:
        """The first n features of each component, by "probability", "lift", "relevance" or "frex":
        `Fit.top_features`."""
        check_is_fitted(self, "fit_")
        return self.fit_.top_features(n, block, by=by, weight=weight)

    @property
    def components_(self) -> npt.NDArray[Any]:
        """Loadings (K, J)."""
        return self.fit_.components

    @property
    def history_(self) -> Trace:
        """One row per sweep."""
        return self.fit_.history

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the columns of `transform`: those of the components where they have some, else
        the name of the class and a number, as scikit-learn has it."""
        check_is_fitted(self, "fit_")
        if self.fit_.component_names is None:
            return np.asarray(super().get_feature_names_out(input_features))
        return np.array(self.fit_.component_names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self.fit_.n_components

    def _counts(self, X: Any, reset: bool = False) -> Counts:
        # Names that were given to fit beside an array are those of later ones.
        names = None if reset else self.fit_.features.names
        blocks = self.blocks if reset else self.fit_.features.block_ids
        how: Any = {"blocks": blocks, "names": names, "fractional": self.fractional}
        return counts_of(self, X, reset=reset, **how)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _has_no_priors(algorithm: Any) -> bool:
    """Whether an algorithm, by name or as an object, finds the maximum of the likelihood."""
    kind = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
    return getattr(kind, "estimates", None) == "likelihood"


class LDA(DCA):
    """Latent Dirichlet allocation: m ~ Dirichlet(α), words from Θm; BJ06 (4), (17)–(19).

    DCA with model "DM" and text's own prior for the loadings, γ = 0.05.

    >>> LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6]]).components_.shape
    (2, 3)
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "DM"}

    def __init__(
        self,
        n_components: int = 10,
        *,
        algorithm: str | Algorithm = "auto",
        alpha: Any = "auto",
        gamma: Any = 0.05,
        seed_words: Any = None,
        seed_strength: float | None = None,
        fixed: Any = None,
        allowed: Any = None,
        loadings: str | None = None,
        blocks: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        burn_in: int | None = None,
        start: str | None = None,
        n_tries: int | str | None = None,
        anneal: int | None = None,
        n_draws: int = 0,
        draws_of: Sequence[str] = ("scores", "loadings"),
        draw_budget: int | str | None = DRAW_BUDGET,
        trace_words: str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components,
            model="DM",
            algorithm=algorithm,
            alpha=alpha,
            gamma=gamma,
            seed_words=seed_words,
            seed_strength=seed_strength,
            fixed=fixed,
            allowed=allowed,
            loadings=loadings,
            blocks=blocks,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            burn_in=burn_in,
            start=start,
            n_tries=n_tries,
            anneal=anneal,
            n_draws=n_draws,
            draws_of=draws_of,
            draw_budget=draw_budget,
            trace_words=trace_words,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )


class GaP(DCA):
    """Gamma-Poisson: l_k ~ Gamma(α_k, β_k), w_j ~ Poisson(e (Θl)_j); BJ06 (2), (13)–(16).

    DCA with model "GP" and text's own prior for the loadings, γ = 0.05. With `algorithm="map"` it
    is C04's: shapes a = α at 1.1 (3.6), and with `beta="learned"` a scale c_k = α_k/β_k for each
    theme (3.1), whose mean score it is; `exposure="total"` makes scores shares of a document.

    >>> GaP(2, verbose=0).fit([[4, 3, 0], [0, 1, 6]]).components_.shape
    (2, 3)
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "GP"}

    def __init__(
        self,
        n_components: int = 10,
        *,
        algorithm: str | Algorithm = "auto",
        alpha: Any = "auto",
        beta: Any = "auto",
        gamma: Any = 0.05,
        seed_words: Any = None,
        seed_strength: float | None = None,
        fixed: Any = None,
        allowed: Any = None,
        loadings: str | None = None,
        blocks: Any = None,
        exposure: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        burn_in: int | None = None,
        start: str | None = None,
        n_tries: int | str | None = None,
        anneal: int | None = None,
        n_draws: int = 0,
        draws_of: Sequence[str] = ("scores", "loadings"),
        draw_budget: int | str | None = DRAW_BUDGET,
        trace_words: str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components,
            model="GP",
            algorithm=algorithm,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            seed_words=seed_words,
            seed_strength=seed_strength,
            fixed=fixed,
            allowed=allowed,
            loadings=loadings,
            blocks=blocks,
            exposure=exposure,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            burn_in=burn_in,
            start=start,
            n_tries=n_tries,
            anneal=anneal,
            n_draws=n_draws,
            draws_of=draws_of,
            draw_budget=draw_budget,
            trace_words=trace_words,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )

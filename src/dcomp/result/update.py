"""Documents that are added to a fit, with or without those that it was fitted to.

Without these, what is known of them stays as it is: a fit of the new documents whose prior of the
loadings is what the fit has learned, γ_jk + n_jk, as if the tokens of before kept the components
that they have. The priors of scores stay. Of mean field it raises the bound of all documents with
those of before held; of a sampler it draws the new ones given the old.

With them, all documents are swept, from where they are.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dcomp import validation
from dcomp.data import Counts, as_counts
from dcomp.errors import InvalidCounts, UnsupportedCombination
from dcomp.executors import Executor, resolve_executor
from dcomp.inference import Algorithm, Rule, Run, State, StochasticMeanField, run
from dcomp.inference.mean_field import Weights
from dcomp.inference.run import LIMIT
from dcomp.inference.sampler_start import MeanFieldStart
from dcomp.inference.start import even_c
from dcomp.inference.state import Local
from dcomp.inference.stochastic_mean_field import steps_of
from dcomp.models import Model, Observations
from dcomp.models.arrays import column_totals, read_only
from dcomp.result.fit import Fit
from dcomp.result.fitting import fit as fit_counts
from dcomp.result.provenance import Provenance
from dcomp.result.stream import enlarged, with_features
from dcomp.result.trace import Trace


def update(
    fit: Fit,
    X: Any,
    *,
    counts: Any = None,
    exposure: Any = None,
    max_iter: int | None = None,
    tol: float = 0.05,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> Fit:
    """A fit that knows the documents X, too; features are matched by name, and new ones join.

    Without `counts`, X alone is looked at: the result is a fit of the documents X, with what was
    learned of the others as the prior of its loadings and the priors of scores as they are. It
    takes the time of X, however many documents there were, and can be updated again.

    With `counts`, those that were fitted, the result is a fit of these and X together: a climb
    goes on from the loadings and scores that it had, a sampler begins with components drawn by
    them (and burns in anew). Priors are learned again.

    exposure: of X as in `transform`; with `counts` of all documents, unless it was a word.

    >>> import dcomp
    >>> fitted = dcomp.LDA(2, verbose=0).fit([["cat", "dog"] * 4, ["sun", "moon"] * 4]).fit_
    >>> later = update(fitted, [["cat", "dog", "cow"], ["moon", "star"]])
    >>> later.features.names, len(later.scores)
    (('cat', 'dog', 'moon', 'sun', 'cow', 'star'), 2)
    """
    new = as_counts(X, fractional=fit.provenance.fractional)
    _check(fit)
    features = enlarged(fit.features, new.features)
    new, _ = new.aligned_to(features)
    rule = fit.exposure_rule if exposure is None else exposure
    where = resolve_executor(n_jobs, executor)
    if counts is None:
        how: Any = {"exposure": rule, "max_iter": max_iter, "tol": tol, "seed": fit.seed}
        return fit_counts(new, _as_prior(fit, features), fit.algorithm, executor=where, **how)
    old = as_counts(counts, fractional=fit.provenance.fractional)
    fit.provenance.require_same(Provenance.from_counts(old), "a fit is updated together")
    both = stacked(old.aligned_to(features)[0], new)
    state = with_features(fit, features)
    observed = validation.resolve_observations(both, state.model, rule)
    begun = _begun(fit, state, observed, new, where)
    limit = fit.algorithm.usual_sweeps if max_iter is None else max_iter
    ended = run(
        state.model,
        fit.algorithm,
        observed,
        where,
        seed=fit.seed,
        max_iter=limit,
        stopping=Rule(tol),
        resume=Run(begun, (), LIMIT),
    )
    return Fit(
        ended.state,
        algorithm=fit.algorithm,
        history=Trace(ended.history),
        reason=ended.reason,
        features=both.features,
        doc_ids=both.doc_ids,
        exposure=observed.exposure,
        exposure_rule=rule if isinstance(rule, str) else None,
        seed=fit.seed,
        provenance=Provenance.from_counts(both),
    )


def _check(fit: Fit) -> None:
    """An error where a fit has more than words of components to go on from."""
    scores: Any = fit.model.scores
    if scores.nodes is not None or not scores.capabilities.gammas:
        raise UnsupportedCombination(
            f"documents are added to fits of DM, GP and CGP; this one is of {fit.model.key}: "
            "`transform` gives scores of new documents, and `fit` with all of them begins anew"
        )
    if fit.algorithm.estimates == "likelihood":
        raise UnsupportedCombination(
            f"{fit.algorithm.name} has no prior in which documents of before could be kept; fit "
            "all documents anew"
        )
    if fit.allowed is not None:
        raise UnsupportedCombination(
            "documents are added where all may use all components; this fit had allowed="
        )


def _as_prior(fit: Fit, features: Any) -> Model:
    """The model with what was learned of loadings as their prior, and no other prior to learn."""
    model, loadings = fit.model, fit.model.loadings
    J, more = fit.features.n_features, features.n_features - fit.features.n_features
    gamma = loadings.table(J, model.n_components)
    strength = gamma + fit.state.n  # (J, K)
    if fit.algorithm.samples:  # of recorded sweeps the mean, and as many words
        blocks = fit.features.blocks
        strength = fit.Theta * column_totals(strength, blocks)[blocks]
    least = float(gamma.min())
    strength = np.maximum(strength, least)
    if more:
        if loadings.fixed is not None:
            raise UnsupportedCombination(
                f"{more} features are new, and components whose loadings are fixed have none of "
                "them: give documents with the features of the fit"
            )
        new = np.full((more, model.n_components), least)
        strength = np.vstack([strength, new])
    told = replace(loadings, gamma=np.ascontiguousarray(strength.T, np.float64), learned=False)
    scores: Any = model.scores
    flags = {f.name: False for f in fields(scores) if f.name.startswith("learn_")}
    whole: Any = model
    changed: Model = replace(whole, scores=replace(scores, **flags), loadings=told)
    return changed


def _begun(
    fit: Fit, state: State, observed: Observations, new: Counts, executor: Executor
) -> State:
    """Where all documents begin: those of before where they are, new ones as they are found with
    the loadings given, or evenly where the model has no fixed point."""
    model, algorithm, K = state.model, fit.algorithm, fit.n_components
    c_new = even_c(new, K, np.float32)
    if fit.has_fixed_point:
        c_new = fit.fold_in(new.aligned_to(fit.features)[0]).c
    c = np.vstack([state.c, c_new]).astype(algorithm.precision)
    share = (state.c.sum() + new.n_tokens) / max(float(state.c.sum()), 1.0)
    n = read_only((state.n * share).astype(algorithm.precision))
    firsts = observed.counts.firsts
    if not algorithm.samples:
        carried = None
        if isinstance(algorithm, StochasticMeanField):
            before = steps_of(state.shared)
            carried = replace(before, n_docs=float(observed.counts.n_docs))
        return State.whole(model, read_only(c), n, 0, fit.seed, carried=carried, firsts=firsts)
    return _drawn(algorithm, model, read_only(c), fit, observed, executor)


def _drawn(
    algorithm: Algorithm,
    model: Model,
    c: Any,
    fit: Fit,
    observed: Observations,
    executor: Executor,
) -> State:
    """A sampler's start, by scores and loadings."""
    Theta = np.full((observed.counts.n_features, c.shape[1]), 1e-12)
    Theta[: len(fit.Theta)] = fit.Theta
    seen = np.maximum(Theta, 1e-3 / len(Theta))  # of new words all components know as little
    ends = (*observed.counts.firsts[1:], observed.counts.n_docs)
    pieces = zip(observed.counts.firsts, ends, strict=True)
    locals_ = [Local(read_only(c[first:end].astype(np.float32))) for first, end in pieces]
    sampler: Any = algorithm
    begin = MeanFieldStart(model, locals_, Weights.of_loadings(seen))
    begun: State = sampler.init_at(begin, observed, fit.seed, executor)
    return begun


def stacked(first: Counts, second: Counts) -> Counts:
    """The documents of one behind those of the other, in one feature space.

    >>> stacked(Counts.from_matrix([[1, 0]]), Counts.from_matrix([[0, 2]])).doc_totals.tolist()
    [1, 2]
    """
    if first.features != second.features:
        raise InvalidCounts("documents are put together in one feature space; these have two")
    ids = None
    if first.doc_ids is not None and second.doc_ids is not None:
        ids = (*first.doc_ids, *second.doc_ids)
    return Counts(
        np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]]),
        np.concatenate([first.indices, second.indices]),
        np.concatenate([first.data, second.data]),
        first.features,
        ids,
        text=first.text,
        empty_is_missing=first.empty_is_missing,
        reading=first.reading,
    )

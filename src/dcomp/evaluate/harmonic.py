"""The paper's harmonic mean of p(w | Ω_n) from the draws that a fit has kept: BJ04 3.3.

Ω_n is what was kept: assignments z, for which loadings and scores are integrated out, or else
scores with loadings. 1 / p(w | Ω_n) has the mean 1 / p(w) over the posterior (for assignments times
the probability of the totals). Its variance is large for assignments and as a rule infinite for
scores with loadings: the mean hangs on draws that are hardly ever seen, and is too high.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from dcomp.errors import InvalidParameter
from dcomp.evaluate.evidence import Evidence, effective_size, log_mean_error
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.totals import log_totals
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit


def harmonic_mean(fit: Fit, X: Any, *, exposure: Any = None) -> Evidence:
    """log of N / Σ_n 1/p(w | Ω_n) over the kept draws of all chains; X the counts that were fitted.

    It always carries a warning: `evidence` has a value between two fences.

    >>> import dcomp
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
    >>> how = {"algorithm": "gibbs", "alpha": 1.0, "max_iter": 200, "n_draws": 50, "verbose": 0}
    >>> found = harmonic_mean(dcomp.LDA(2, **how).fit(X), X)
    >>> found.method, found.is_sound, -30 < found.log_evidence < 0
    ('harmonic', False, True)
    """
    fit = as_fit(fit)
    observed = fit.observe(X, exposure)
    fit.provenance.require_same(
        type(fit.provenance).from_counts(observed.counts), "a harmonic mean can be had"
    )
    draws = fit.draws
    if draws.assignments is not None:
        values = _of_assignments(fit, X, observed)
    elif draws.scores is not None and draws.Theta is not None:
        values = _of_scores(fit, observed)
    else:
        raise InvalidParameter(
            "a harmonic mean needs draws of assignments, or of scores and loadings; this fit has "
            f"kept {', '.join(draws.kinds) or 'none of them'}"
        )
    inverse = -values
    by_chain = np.asarray(logsumexp(inverse, axis=1)) - np.log(inverse.shape[1])
    size = effective_size(inverse.ravel())
    note = (
        "a harmonic mean hangs on draws of low likelihood that the posterior hardly ever gives: it "
        f"is too high unless there are many (effective number of draws {size:.1f} of "
        f"{inverse.size}), and its standard error does not show it; use evidence()"
    )
    value = float(np.log(len(by_chain)) - logsumexp(by_chain))
    return Evidence(
        value, log_mean_error(by_chain), "harmonic", size, (note,), -by_chain, fit.model
    )


def _of_assignments(fit: Fit, X: Any, observed: Observations) -> FloatArray:
    """log p(w | z) P(totals) of each draw, (chains, draws)."""
    tokens = fit.assignments(X, draws=True)
    counts, K = observed.counts, fit.model.n_components
    gamma, blocks = fit.model.loadings.per_feature(counts.n_features), counts.features.blocks
    total = np.bincount(blocks, weights=gamma, minlength=counts.features.n_blocks)
    z = tokens.component
    out = np.empty(z.shape[:2])
    for place in np.ndindex(*out.shape):
        n = np.zeros((counts.n_features, K))
        np.add.at(n, (tokens.feature, z[place]), 1)
        N = np.zeros((len(total), K))
        np.add.at(N, blocks, n)
        out[place] = (gammaln(gamma[:, None] + n) - gammaln(gamma)[:, None]).sum()
        out[place] += (gammaln(total)[:, None] - gammaln(total[:, None] + N)).sum()
    return out + float(log_totals(fit.model, observed).sum())


def _of_scores(fit: Fit, observed: Observations) -> FloatArray:
    """log p(w | scores, Θ) of each draw, (chains, draws), words as a sequence."""
    W, draws = observed.counts, fit.draws
    assert draws.scores is not None
    assert draws.Theta is not None
    document = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
    out = np.empty(draws.scores.shape[:2])
    for place in np.ndindex(*out.shape):
        scores, Theta = (x[place].astype(np.float64) for x in (draws.scores, draws.Theta))
        p = np.einsum("ek,ek->e", scores[document], Theta[W.indices])
        out[place] = W.data @ np.log(np.maximum(p, 1e-300))
        if fit.model.has_exposure:
            out[place] -= float(observed.total_exposure @ scores.sum(axis=1))
    return out + float(fit.model.log_constant(observed, combinatoric=False).sum())

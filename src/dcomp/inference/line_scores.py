"""Scores of long documents along lines that follow the curvature, Θ given: DM, GP and CGP.

With the words' allocation summed out the scores have the density
Π_k l_k^(α_k − 1) e^(−b_k l_k) Π_j (Θl)_j^w_j, b the rate of the prior and the exposure; shares of
DM are such scores of rate 1 over their sum (BJ06 Lemma 1). A split of single words moves a score by
the root of its words; a slice (Neal 2003) along a line moves it as far as the words leave it open.
Lines come from the curvature at the mode; exact zeros of CGP are made and unmade by a jump that the
other components make up for. `dcomp.reference.lines` is the same in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.models import Model, Observations

# A document goes along lines from the start where its words are many, and many of each feature: a
# split of them is cheap, and moves nothing.
LONG, HEAVY = 20_000, 50


def is_for_lines(model: Model, observed: Observations) -> npt.NDArray[np.bool_]:
    """Which documents (I) go along lines from the start.

    >>> from dcomp.data import Counts
    >>> from dcomp.models import DirichletMultinomial
    >>> observed = Observations.build(Counts.from_matrix([[100_000, 90_000], [3, 2]]))
    >>> is_for_lines(DirichletMultinomial.build(2), observed).tolist()
    [True, False]
    """
    counts = observed.counts
    if not model.scores.capabilities.gammas:
        return np.zeros(counts.n_docs, dtype=bool)
    totals = counts.doc_totals
    return np.asarray((totals >= LONG) & (totals >= HEAVY * np.diff(counts.indptr)))


def along_lines(
    model: Model,
    observed: Observations,
    number: npt.NDArray[np.int64],
    Theta: npt.NDArray[np.float32],
    c: npt.NDArray[np.int32] | None,
    *,
    shape: tuple[int, int, int],
    seed: int,
    sweep: int,
    n_threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """c and scores (S, I, K) of recorded sweeps, from c or from the documents' modes.

    shape: draws, sweeps for each, and sweeps before the first. number: of the documents in the
    whole corpus.
    """
    n_draws, every, skip = shape
    scores: Any = model.scores
    form = scores.gamma_form(observed.total_exposure)
    size = (n_draws, observed.counts.n_docs, model.n_components)
    c_out, scores_out = np.empty(size, np.int32), np.empty(size, np.float32)
    _core.sample_lines(
        observed.corpus,
        number,
        Theta,
        form.alpha,
        form.rate,
        form.log_zero,
        form.zero,
        form.normalised,
        c,
        c_out,
        scores_out,
        seed,
        sweep,
        skip,
        every,
        n_threads,
    )
    return c_out, scores_out

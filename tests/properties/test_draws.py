"""The rule that chooses sweeps, for any numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dcomp.data import FeatureSpace
from dcomp.inference import Keep, draw_given_counts
from dcomp.models import DirichletMultinomial


@given(st.integers(1, 60), st.integers(0, 200), st.integers(1, 200))
def test_exactly_n_evenly_spread_and_the_same_after_a_resume(n, more, total):
    every = n + more
    keep = Keep(n, every)
    kept = [recorded for recorded in range(1, 2 * every + 1) if keep.wants(recorded)]
    assert sum(recorded <= every for recorded in kept) == n
    assert len(kept) == 2 * n
    assert every in kept  # the last sweep of the run that was planned
    gaps = np.diff([0, *kept])
    assert gaps.max() - gaps.min() <= 1
    assert keep.count(total) == sum(keep.wants(recorded) for recorded in range(1, total + 1))


@given(st.data())
def test_loadings_are_distributions_in_every_block(data):
    J, K = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    blocks = np.sort(data.draw(st.lists(st.integers(0, 3), min_size=J, max_size=J)))
    blocks = np.unique(blocks, return_inverse=True)[1].astype(np.int32)
    gamma = data.draw(st.floats(1e-6, 1e3))
    n = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=J * K, max_size=J * K)))
    model = DirichletMultinomial.build(K, gamma=gamma)
    Theta = draw_given_counts(
        model,
        FeatureSpace(None, blocks),
        None,
        np.zeros((1, K), np.int32),
        n.reshape(J, K).astype(np.int32),
        seed=data.draw(st.integers(0, 2**32)),
        sweep=1,
    ).Theta
    assert (Theta >= 0).all()
    for block in np.unique(blocks):
        np.testing.assert_allclose(Theta[blocks == block].sum(axis=0), 1, rtol=1e-5)

"""The features that a page may need: all that are first for some λ, as a look at all finds."""

import numpy as np
import pytest

from dcomp.report.features import STEPS, _first


def by_looking_at_all(log_theta, log_lift, own, n):
    found = set()
    for step in range(STEPS + 1):
        weight = step / STEPS
        value = weight * log_theta[own] + (1 - weight) * log_lift[own]
        found |= set(own[np.argsort(-value, kind="stable")[:n]].tolist())
    return sorted(found)


@pytest.mark.parametrize("digits", [0, 12])  # 0: many are equal
def test_first_features_are_those_of_all(digits):
    rng = np.random.default_rng(0)
    for spread in (0.01, 0.3, 5.0):
        theta = np.log(rng.dirichlet(np.full(2500, spread)) + 1e-300).round(digits)
        lift = (theta - np.log(rng.dirichlet(np.full(2500, 0.5)) + 1e-12)).round(digits)
        for own in (np.arange(2500), np.arange(100, 1900, 2), np.arange(7)):
            assert _first(theta, lift, own, 30).tolist() == by_looking_at_all(theta, lift, own, 30)


def test_where_all_are_equal_the_first_are_taken():
    none = np.zeros(2500)
    assert _first(none, none, np.arange(2500), 30).tolist() == list(range(30))

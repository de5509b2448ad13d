"""scikit-learn's own checks of what is made of components: features and classes."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

import dcomp
from dcomp.use import ComponentClassifier, ComponentFeatures

pytestmark = pytest.mark.usefixtures("short_tries")
SHORT = dcomp.LDA(2, max_iter=5, verbose=0)


# Where −1 may be a class: by default it is an unknown label, and one check takes it for a class.
@pytest.mark.parametrize(
    "estimator",
    [
        ComponentFeatures(SHORT, fractional=True),
        ComponentClassifier(SHORT, fractional=True, unknown=None),
    ],
    ids=["features", "classifier"],
)
@pytest.mark.filterwarnings("ignore::dcomp.ConvergenceWarning")
def test_contract(estimator):
    results = check_estimator(estimator, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 45

"""Memory that is not to be had: a MemoryError of the call, after which all goes on; and where it
can be foreseen, an error before anything begins."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import dcomp
from dcomp.errors import InvalidParameter
from dcomp.evaluate import evidence, select_components
from dcomp.models import memory

SCRIPT = """
import resource
from pathlib import Path

import numpy as np

from dcomp import _core

J, K = 8, 3
TOKENS = 8_000_000


def limit(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    size = resource.RLIM_INFINITY if more is None else used + more
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def refused(work):
    try:
        work()
    except MemoryError:
        return True
    return False


prior = _core.ScorePrior("GP", {"alpha": np.full(K, 0.4), "beta": np.full(K, 0.4)})
starts, column = np.array([0, J], np.int64), np.arange(J, dtype=np.int32)
corpus = _core.Corpus(starts, column, np.full(J, TOKENS // J, np.int32), J)
block, gamma = np.zeros(J, np.int32), np.full(J, 0.1)
made = _core.CollapsedSampler(corpus, block, 1, prior, 1, False)
z = np.empty(TOKENS, np.uint16)
made.start(1, z)
made.count(z)

limit(1 << 20)
assert refused(lambda: made.count(z)), "count"
limit(None)
try:
    made.log_score_moments(prior, 2)
except RuntimeError as error:
    assert "count z" in str(error)
else:
    raise AssertionError("half of the counts were taken for all")
made.count(z)
made.log_score_moments(prior, 2)

Theta = np.full((J, -(-K // _core.lanes()) * _core.lanes()), 0.5, np.float32)
out = np.empty(1)
given = (Theta, np.zeros(J), prior)
limit(200 << 20)
assert refused(lambda: _core.left_to_right(corpus, *given, 1 << 24, 1, 1, 0, out, 2)), "particles"
limit(None)
small = _core.Corpus(starts, column, np.ones(J, np.int32), J)
_core.left_to_right(small, *given, 3, 1, 1, 0, out, 2)
assert np.isfinite(out).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
def test_a_lack_of_memory_is_an_error_of_the_call():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr


X = np.random.default_rng(0).poisson(1.0, (30, 20))
TOO_MANY = {
    "LDA": lambda K: dcomp.LDA(K, verbose=0).fit(X),
    "GaP": lambda K: dcomp.GaP(K, verbose=0).fit(X),
    "DCA": lambda K: dcomp.DCA(K, model="CGP", algorithm="gibbs", verbose=0).fit(X),
    "PLSA": lambda K: dcomp.PLSA(K, verbose=0).fit(X),
    "NMF": lambda K: dcomp.NMF(K, verbose=0).fit(X),
    "NMF squared": lambda K: dcomp.NMF(K, loss="squared", verbose=0).fit(X),
    "CTM": lambda K: dcomp.CTM(K, verbose=0).fit(X),
    "TreeDCA": lambda K: dcomp.TreeDCA(branching=K, depth=2, verbose=0).fit(X),
    "TreeDCA of parents": lambda K: dcomp.TreeDCA(tree=[-1] + [0] * 70_000, verbose=0).fit(X),
    "StructuredDCA": lambda K: dcomp.StructuredDCA(K, verbose=0).fit(X),
    "evidence": lambda K: evidence(X, K),
    "select": lambda K: select_components(X, [2, K]),
}


@pytest.mark.parametrize("K", [65_536, 10**15])
@pytest.mark.parametrize("name", TOO_MANY)
def test_more_components_than_16_bits_tell_apart_are_refused(name, K):
    with pytest.raises(InvalidParameter, match="at most 65,535, because every token's component"):
        TOO_MANY[name](K)


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 10**9)


def wide(n_features: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(3, int), ([0, 1, 2], [0, 1, n_features - 1])), (3, n_features))


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (
            lambda: dcomp.LDA(9_000, verbose=0).fit(wide(10**5)),
            "a fit of 3 documents, 100,000 features and 9,000 components needs about 10.8 GB, and "
            r"this process can have 1.0 GB: take fewer components",
        ),
        (lambda: dcomp.NMF(9_000, loss="squared", verbose=0).fit(wide(10**5)), "needs about 10.8"),
        (lambda: dcomp.CTM(9_000, verbose=0).fit(X), "the covariance of 9,000 components needs"),
        (
            lambda: evidence(wide(10**5), 9_000, alpha=0.1, gamma=0.1, n_jobs=1),
            "100,000 features and 9,000 components needs about 18.0 GB",
        ),
    ],
)
def test_memory_that_is_not_there_is_told_before(small_machine, fit, message):
    with pytest.raises(InvalidParameter, match=message):
        fit()


def test_the_limit_is_the_lowest_of_those_that_there_are():
    assert memory.memory_limit() > 10**8

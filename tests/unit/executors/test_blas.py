"""While a fit runs NumPy's BLAS has one thread; after the last one it has its own again."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import dcomp
from dcomp.executors.blas import one_blas_thread


def n_threads():
    pools = ThreadpoolController().info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.fixture
def several():
    """How many a BLAS has that has several."""
    most = max(n_threads(), default=1)
    if most == 1:
        pytest.skip("NumPy's BLAS has no threads to be limited here")
    return most


def test_one_thread_inside_and_as_before_after_it(several):
    with one_blas_thread():
        assert set(n_threads()) == {1}
        with one_blas_thread():
            pass
        assert set(n_threads()) == {1}
    assert max(n_threads()) == several


def test_fits_side_by_side_end_in_any_order(several):
    """The first to begin ends first: the other keeps its one thread, and all are given back."""
    first_is_in, second_is_in = threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            first_is_in.set()
            assert second_is_in.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert first_is_in.wait(10)
    with one_blas_thread():
        second_is_in.set()
        thread.join(10)
        seen = n_threads()
    assert set(seen) == {1}
    assert max(n_threads()) == several


def test_an_error_gives_them_back(several):
    def fail():
        with one_blas_thread():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert max(n_threads()) == several


def test_a_fit_has_one(several):
    seen = []
    X = np.random.default_rng(0).poisson(1.0, (20, 10))

    def look(info):
        seen.extend(n_threads())

    dcomp.LDA(2, max_iter=2, tol=0, verbose=0, callbacks=[look]).fit(X)
    assert seen
    assert set(seen) == {1}
    assert max(n_threads()) == several

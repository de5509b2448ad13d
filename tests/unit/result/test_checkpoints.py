"""Checkpoints: a fit that was killed goes on, bit for bit; what is not its own is refused."""

import errno
import os
import resource
import signal
import time
import warnings

import numpy as np
import pytest
from support.cells import CELLS, make, same

import dcomp
from dcomp.recipe import Recipe
from dcomp.result import checkpoints

X = np.random.default_rng(0).integers(0, 4, (30, 12))


class Killed(BaseException):
    """Like a kill: nothing catches it."""


def killed_at(n: int):
    """A callback that ends everything with the n-th sweep it sees."""
    seen = []

    def callback(info):
        seen.append(info)
        if len(seen) == n:
            raise Killed

    return callback


def fitted(counts, estimator, **more):
    recipe = Recipe.from_options(**estimator._given()).resolve(counts)
    return dcomp.fit(counts, recipe.model, recipe.algorithm, **vars(recipe.settings), **more)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_every_algorithm_goes_on_from_where_it_was_killed(key, algorithm, planted, tmp_path):
    counts = planted[0].rows(slice(0, 60))
    estimator = make(key, algorithm, max_iter=12)
    kept = dcomp.Checkpoint(tmp_path / "run", minutes=None, sweeps=5)
    with pytest.raises(Killed):
        fitted(counts, estimator, checkpoint=kept, callbacks=[killed_at(9)])
    assert dcomp.load(tmp_path / "run" / "chain-0.dcomp").n_sweeps == 5
    swept = []
    again = fitted(counts, estimator, checkpoint=kept, callbacks=[lambda i: swept.append(i.sweep)])
    assert swept == list(range(6, 13))
    assert same(again, fitted(counts, estimator))


def wait_for(path, newer_than=0):
    deadline = time.monotonic() + 60
    while not path.exists() or path.stat().st_mtime_ns <= newer_than:
        assert time.monotonic() < deadline, "no checkpoint came"
        time.sleep(0.002)


@pytest.mark.parametrize("algorithm", ["mean-field", "gibbs", "collapsed-gibbs"])
def test_a_kill_at_any_moment_loses_nothing(algorithm, tmp_path):
    """By SIGKILL, again and again, at moments that nobody chose."""
    model = dcomp.LDA(3, algorithm=algorithm, max_iter=60, tol=0, n_jobs=1, verbose=0, n_tries=None)
    whole = model.fit(X).fit_
    path = tmp_path / "chain-0.dcomp"
    kept = dcomp.Checkpoint(tmp_path, minutes=0)
    rng = np.random.default_rng(1)
    for _ in range(3):
        before = path.stat().st_mtime_ns if path.exists() else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # forks beside threads that wait for work
            child = os.fork()
        if child == 0:
            slowly = [lambda info: time.sleep(0.01)]
            model.set_params(checkpoint=kept, callbacks=slowly).fit(X)
            os._exit(0)
        wait_for(path, before)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    done = dcomp.load(path).n_sweeps
    assert 0 < done < 60
    again = model.set_params(checkpoint=kept, callbacks=()).fit(X).fit_
    assert same(again, whole)
    assert again.n_sweeps == 60


def test_several_chains_go_on_and_those_that_are_done_are_not_run_again(tmp_path):
    options = {"algorithm": "gibbs", "max_iter": 20, "n_chains": 3, "n_draws": 4, "verbose": 0}
    model = dcomp.LDA(3, **options)
    whole = model.fit(X).fit_
    kept = dcomp.Checkpoint(tmp_path, sweeps=4)
    with pytest.raises(Killed):
        model.set_params(checkpoint=kept, callbacks=[killed_at(47)]).fit(X)
    seen = []
    again = model.set_params(callbacks=[lambda info: seen.append(info.sweep)]).fit(X).fit_
    assert seen == list(range(5, 21))  # of the third chain
    assert same(again, whole)
    assert len(again.chains) == 3
    for name in ("scores", "Theta", "alpha", "log_joint"):
        assert np.array_equal(getattr(again.draws, name), getattr(whole.draws, name))
    side_by_side = model.set_params(callbacks=(), checkpoint=None).fit(X).fit_
    assert same(again, side_by_side)


def test_a_finished_fit_is_there_at_once_and_goes_on_when_more_is_asked_for(tmp_path):
    model = dcomp.LDA(2, max_iter=5, tol=0, verbose=0, checkpoint=tmp_path / "run").fit(X)
    again = model.set_params(callbacks=[killed_at(1)]).fit(X).fit_  # no sweep is made
    assert again.n_sweeps == 5
    longer = model.set_params(max_iter=9, callbacks=()).fit(X).fit_
    assert same(longer, dcomp.LDA(2, max_iter=9, tol=0, verbose=0).fit(X).fit_)
    with pytest.raises(dcomp.InvalidParameter, match="9 are done"):
        model.set_params(max_iter=4).fit(X)


def test_a_fit_that_resumes_another_keeps_its_own(tmp_path):
    first = dcomp.LDA(2, max_iter=5, tol=0, verbose=0).fit(X).fit_
    how = {"max_iter": 15, "tol": 0, "resume": first}
    whole = dcomp.fit(X, first.model, **how)
    kept = dcomp.Checkpoint(tmp_path, sweeps=2)
    with pytest.raises(Killed):
        dcomp.fit(X, first.model, **how, checkpoint=kept, callbacks=[killed_at(5)])
    assert same(dcomp.fit(X, first.model, **how, checkpoint=kept), whole)
    other = dcomp.LDA(2, max_iter=4, tol=0, verbose=0).fit(X).fit_
    with pytest.raises(dcomp.InvalidFile, match="the fit that is resumed"):
        dcomp.fit(X, other.model, **how | {"resume": other}, checkpoint=kept)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"n_components": 3}, "the model and its priors"),
        ({"alpha": 0.3}, "the model and its priors"),
        ({"loadings": "vb"}, "the algorithm and its options"),
        ({"random_state": 1}, "the seed"),
        ({"n_chains": 2}, "the number of chains"),
        ({"tol": 0.5}, "tol"),
    ],
)
def test_another_order_is_refused(changes, what, tmp_path):
    model = dcomp.LDA(2, max_iter=3, tol=0, verbose=0, checkpoint=tmp_path).fit(X)
    before = (tmp_path / "chain-0.dcomp").read_bytes()
    with pytest.raises(dcomp.InvalidFile, match=f"another fit, which differs in .*{what}"):
        model.set_params(**changes).fit(X)
    with pytest.raises(dcomp.InvalidFile, match="the counts"):
        dcomp.LDA(2, max_iter=3, tol=0, verbose=0, checkpoint=tmp_path).fit(X + 1)
    assert (tmp_path / "chain-0.dcomp").read_bytes() == before


def test_parts_and_exposure_belong_to_the_order(tmp_path):
    counts = dcomp.as_counts(X)
    how = {"max_iter": 3, "tol": 0, "verbose": 0, "checkpoint": tmp_path}
    model = dcomp.GaP(2, **how).fit(counts)
    with pytest.raises(dcomp.InvalidFile, match="the parts of the corpus"):
        model.fit(counts.in_parts(2))
    with pytest.raises(dcomp.InvalidFile, match="the exposure"):
        model.set_params(exposure="total").fit(counts)


def test_what_is_damaged_or_foreign_is_refused(tmp_path):
    model = dcomp.LDA(2, max_iter=3, tol=0, verbose=0, checkpoint=tmp_path).fit(X)
    chain, order = tmp_path / "chain-0.dcomp", tmp_path / "order.json"
    whole = chain.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:900] + b"\x00" + whole[901:]):
        chain.write_bytes(damaged)
        with pytest.raises(dcomp.InvalidFile, match=r"chain-0\.dcomp"):
            model.fit(X)
    dcomp.save(
        dcomp.LDA(2, max_iter=3, tol=0, random_state=7, verbose=0).fit(X), chain, overwrite=True
    )
    with pytest.raises(dcomp.InvalidFile, match="of seed 7, and not of 0"):
        model.fit(X)
    chain.write_bytes(whole)
    for said in (b"{", b"[]", b'{"format": "dcomp-checkpoint", "version": 9}', b"\xff", b"1" * 99):
        order.write_bytes(said)
        with pytest.raises(dcomp.InvalidFile, match=r"order\.json"):
            model.fit(X)
    order.unlink()
    with pytest.raises(dcomp.InvalidFile, match=r"no order\.json that says of what"):
        model.fit(X)
    with pytest.raises(NotADirectoryError, match="is a file"):
        model.set_params(checkpoint=chain).fit(X)


def test_a_full_disk_leaves_the_last_checkpoint_and_the_fit_goes_on(tmp_path):
    model = dcomp.LDA(
        2, max_iter=9, tol=0, verbose=0, checkpoint=dcomp.Checkpoint(tmp_path, sweeps=3)
    )
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(info):
        if info.sweep == 4:  # from here on no file can be longer than this
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))

    try:
        with pytest.warns(dcomp.CheckpointWarning, match=r"sweep [69] .*of sweep 3 is as it was"):
            done = model.set_params(callbacks=[fill]).fit(X).fit_
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(done, dcomp.LDA(2, max_iter=9, tol=0, verbose=0).fit(X).fit_)
    assert dcomp.load(tmp_path / "chain-0.dcomp").n_sweeps == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain-0.dcomp", "order.json"]
    assert same(model.set_params(callbacks=()).fit(X).fit_, done)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_quota_or_a_folder_that_became_read_only_is_said(code, tmp_path, monkeypatch):
    def refuse(*args, **how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(checkpoints, "save", refuse)
    model = dcomp.LDA(2, max_iter=3, tol=0, verbose=0, checkpoint=tmp_path)
    with pytest.warns(dcomp.CheckpointWarning, match=os.strerror(code)):
        assert model.fit(X).fit_.n_sweeps == 3


def test_a_folder_that_cannot_be_written_to_is_an_error_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("dcomp.atomic.os.access", lambda path, mode: False)
    model = dcomp.LDA(2, verbose=0, checkpoint=tmp_path, callbacks=[killed_at(1)])
    with pytest.raises(PermissionError, match="cannot be written to"):
        model.fit(X)


def test_another_version_goes_on_and_says_so(tmp_path, monkeypatch):
    model = dcomp.LDA(2, max_iter=3, tol=0, verbose=0, checkpoint=tmp_path).fit(X)
    monkeypatch.setattr(checkpoints, "package_version", lambda: "99")
    with pytest.warns(dcomp.CheckpointWarning, match="this is dcomp 99"):
        model.fit(X)


def test_by_the_clock_writing_takes_a_fiftieth_at_most(tmp_path, monkeypatch):
    """A write that takes 10 s is followed by 500 s of sweeps, whatever minutes says."""
    clock = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    written = []

    def slow(fit, path, overwrite):
        clock[0] += 10
        written.append(fit.n_sweeps)

    def sweep(info):
        clock[0] += 100

    monkeypatch.setattr(checkpoints, "save", slow)
    kept = dcomp.Checkpoint(tmp_path, minutes=1)
    how = {"max_iter": 14, "tol": 0, "verbose": 0, "checkpoint": kept, "callbacks": [sweep]}
    dcomp.LDA(2, **how).fit(X)
    assert written == [1, 6, 11, 14]


@pytest.mark.parametrize(
    "wrong", [{"minutes": None}, {"minutes": -1}, {"minutes": float("nan")}, {"sweeps": 0}]
)
def test_when_must_make_sense(wrong):
    with pytest.raises(dcomp.InvalidParameter, match="checkpoint"):
        dcomp.Checkpoint("run", **wrong)
    with pytest.raises(dcomp.InvalidParameter, match="checkpoint must be a folder"):
        dcomp.LDA(2, verbose=0, checkpoint=3).fit(X)


def test_least_squares_has_none(tmp_path):
    with pytest.raises(dcomp.UnsupportedCombination, match="checkpoint= is for"):
        dcomp.NMF(2, loss="squared", verbose=0, checkpoint=tmp_path).fit(X)

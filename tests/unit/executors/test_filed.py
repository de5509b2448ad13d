"""What parts leave lies in files, and fits of files end in the same bits as those in memory."""

from __future__ import annotations

import errno
import weakref
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.executors import FiledExecutor, LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.inference.state import Local
from dcomp.models import DirichletMultinomial, Observations, scratch
from dcomp.models.scratch import Scratch, owner_of

LARGE = (600, 100)


def test_what_is_let_go_is_used_again(tmp_path):
    room = Scratch(tmp_path)
    first = room.array(LARGE, np.float64)
    first[:] = 7
    size, place = room.size, first.__array_interface__["data"][0]
    view = first[10:20]
    del first
    other = room.array(LARGE, np.float64)  # the view holds on to the first
    assert other.__array_interface__["data"][0] != place
    assert (view == 7).all()
    del view
    again = room.array(LARGE, np.float64)
    assert again.__array_interface__["data"][0] == place
    assert room.size == size
    assert list(tmp_path.iterdir()) == []  # files have no names


def test_arrays_are_moved_once_and_small_ones_not_at_all(tmp_path):
    room, large = Scratch(tmp_path), np.ones(LARGE)
    kept = room.kept(large)
    assert owner_of(kept) is room
    assert not kept.flags.writeable
    assert room.kept(kept) is kept
    assert owner_of(kept[5:].T) is room
    small = np.ones(3)
    assert room.kept(small) is small
    assert owner_of(small) is owner_of(large) is None


def test_large_arrays_have_files_of_their_own(tmp_path):
    room = Scratch(tmp_path)
    arrays = [room.array((9_000_000,), np.float64) for _ in range(3)]
    for number, array in enumerate(arrays):
        array[:] = number
    assert [float(array.mean()) for array in arrays] == [0, 1, 2]


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_no_room_is_said_before_anything_is_written(tmp_path, monkeypatch, why):
    def full(number: int, size: int) -> None:
        raise OSError(why, "no")

    monkeypatch.setattr(scratch, "_reserve", full)
    with pytest.raises(OSError, match="scratch= names another folder") as found:
        Scratch(tmp_path).array(LARGE, np.float64)
    assert found.value.errno == why
    assert found.value.filename == str(tmp_path)
    with pytest.raises(OSError, match="scratch= names another folder"):
        Scratch(tmp_path / "none").array(LARGE, np.float64)


def test_a_disk_with_little_room_gives_what_is_needed(tmp_path, monkeypatch):
    asked, reserve = [], scratch._reserve

    def little(number: int, size: int) -> None:
        asked.append(size)
        if size > 1 << 20:
            raise OSError(errno.ENOSPC, "no")
        reserve(number, size)

    monkeypatch.setattr(scratch, "_reserve", little)
    Scratch(tmp_path).array(LARGE, np.float64)[:] = 1
    assert asked == [scratch._FIRST, 483_328]


def leave(part: int, local: None, shared: int, n_threads: int) -> tuple[Local, np.ndarray]:
    c = np.full(LARGE, float(part))
    return Local(c, carried={"c": c + 1}, draws=(), handle=object()), c / 3


def test_what_a_task_leaves(tmp_path):
    where, parts = FiledExecutor(1, Scratch(tmp_path)), range(7)
    filed, total = where.map_reduce(leave, parts, [None] * 7, 0)
    plain, other = LocalExecutor(1).map_reduce(leave, parts, [None] * 7, 0)
    assert np.array_equal(total, other)
    for one, its in zip(filed, plain, strict=True):
        assert owner_of(one.c) is owner_of(one.carried["c"]) is where.scratch
        assert one.handle is None
        assert np.array_equal(one.c, its.c)
        assert np.array_equal(one.carried["c"], its.carried["c"])
    joined = Local.joined(where.gather(filed))
    assert owner_of(joined.c) is where.scratch


@pytest.fixture(scope="module")
def documents() -> dcomp.Counts:
    """Reading them takes longer than a fit."""
    return dcomp.data.docstrings()[0].rows(slice(0, 600)).without_order()


@pytest.fixture
def corpus(documents, tmp_path, monkeypatch) -> tuple[dcomp.Counts, dcomp.Counts]:
    """In memory and in a file, in five parts; every array is large enough for a file."""
    monkeypatch.setattr(scratch, "SMALL", 1)
    cut = documents.in_parts(5)
    dcomp.write(cut, tmp_path / "x.dcounts")
    return cut, dcomp.open(tmp_path / "x.dcounts")


@pytest.mark.parametrize("algorithm", [MeanField(), Gibbs(burn_in=3), CollapsedGibbs(burn_in=3)])
def test_documents_stay_in_files_and_the_fit_is_the_same(corpus, algorithm):
    model = DirichletMultinomial.build(7, alpha=0.1, gamma=0.1)
    plain, filed = (
        dcomp.fit(counts, model, algorithm, max_iter=9, tol=0, warn=False) for counts in corpus
    )
    assert np.array_equal(plain.Theta, filed.Theta)
    assert np.array_equal(plain.state.c, filed.state.c)
    assert [r.objective for r in plain.history.rows] == [r.objective for r in filed.history.rows]
    assert owner_of(filed.state.c) is not None
    assert owner_of(plain.state.c) is None
    assert np.array_equal(plain.transform(corpus[1]), plain.transform(corpus[0]))
    assert np.array_equal(
        dcomp.evaluate.completion(plain, corpus[1]).per_document,
        dcomp.evaluate.completion(plain, corpus[0]).per_document,
    )


def test_a_fit_of_a_file_is_saved_and_goes_on(corpus, tmp_path):
    model = DirichletMultinomial.build(4, alpha=0.1, gamma=0.1)
    cut, filed = corpus
    whole = dcomp.fit(cut, model, max_iter=14, tol=0)
    first = dcomp.fit(filed, model, max_iter=6, tol=0)
    dcomp.save(first, tmp_path / "first.dcomp")
    again = dcomp.fit(filed, model, max_iter=14, tol=0, resume=dcomp.load(tmp_path / "first.dcomp"))
    assert np.array_equal(again.Theta, whole.Theta)
    kept = dcomp.fit(filed, model, max_iter=14, tol=0, checkpoint=tmp_path / "run")
    assert np.array_equal(kept.Theta, whole.Theta)


def test_parts_of_a_file_are_let_go(corpus):
    observed = Observations.build(corpus[1])
    part = observed.parts[0]
    assert part is observed.parts[0] is observed.parts[-len(observed.parts)]
    assert part.corpus is observed.parts[0].corpus  # what kernels build of it
    held = weakref.ref(part)
    del part
    assert held() is None  # with what was built of it
    assert [part.first for part in observed.parts] == list(corpus[0].firsts)
    assert [part.first for part in observed.parts[1:3]] == list(corpus[0].firsts[1:3])
    assert observed.parts[0].counts.doc_ids is None
    with pytest.raises(IndexError):
        observed.parts[5]
    names = Observations.build(corpus[0])
    assert np.array_equal(observed.parts[2].document_keys, names.parts[2].document_keys)


def test_a_scratch_folder_that_is_full_ends_the_fit_with_an_error(corpus, monkeypatch):
    def full(number: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(scratch, "_reserve", full)
    with pytest.raises(OSError, match="the disk is full") as found:
        dcomp.fit(corpus[1], DirichletMultinomial.build(4), max_iter=2)
    assert Path(found.value.filename) == corpus[1].mapped.scratch

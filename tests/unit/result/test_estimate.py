"""What a fit will take is said before it begins."""

from __future__ import annotations

import numpy as np

import dcomp
from dcomp.inference import MeanField
from dcomp.models import DirichletMultinomial
from dcomp.result import estimate as module
from dcomp.result.estimate import estimate


def test_memory_goes_by_the_largest_part_and_disk_by_all_documents():
    table = dcomp.Counts.from_matrix(np.ones((60, 5), int))
    model = DirichletMultinomial.build(7)
    one = estimate(table, model, MeanField())
    assert one.memory == 100_000_000 + 24 * 5 * 7 + 12 * 60 * 7 + 8 * 300 + 60 * 60
    assert one.disk == 36 * 60 * 7
    three = estimate(table.in_parts(3), model, MeanField())
    assert three.memory == 100_000_000 + 24 * 5 * 7 + 12 * 20 * 7 + 8 * 100 + 60 * 60
    assert three.disk == 36 * 60 * 7 + 20 * 5 * 7
    assert one.seconds is three.seconds is None


def test_time_is_measured_on_the_first_documents(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 5)
    monkeypatch.setattr(module, "_MORE", 10)
    table = dcomp.Counts.from_matrix(np.random.default_rng(0).poisson(1.0, (60, 9)))
    found = estimate(table, DirichletMultinomial.build(3), MeanField(), n_jobs=1)
    assert found.seconds is not None
    assert found.seconds > 0
    assert "s a sweep" in str(found)

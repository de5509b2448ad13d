"""Weights learned from queries, average precision against its definition, TREC's files."""

import numpy as np
import pytest

from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.use import Ranking
from dcomp.use.learning import average_precision, cross_validate, learn
from dcomp.use.trec import measure, read_judgements, write_run


def by_definition(row, good):
    order = sorted(range(len(row)), key=lambda d: (-row[d], d))
    hits = [rank for rank, d in enumerate(order, start=1) if d in good]
    return sum((i + 1) / rank for i, rank in enumerate(hits)) / len(good)


def test_average_precision_is_its_definition():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (30, 25)).astype(float)  # many ties
    relevant = [rng.choice(25, rng.integers(1, 8), replace=False) for _ in range(30)]
    wanted = [
        by_definition(row, set(good.tolist())) for row, good in zip(scores, relevant, strict=True)
    ]
    assert average_precision(scores, relevant) == pytest.approx(wanted, abs=1e-12)


def noisy(n=60, n_docs=80, seed=1):
    """Two scores, each with half of the signal, and one without any."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((n, n_docs))
    relevant = [rng.choice(n_docs, 5, replace=False) for _ in range(n)]
    for q, good in enumerate(relevant):
        truth[q, good] = 1.0
    tables = [truth + rng.normal(0, 0.7, truth.shape) for _ in range(2)]
    noise = rng.normal(size=truth.shape)
    parts = {"a": {"a": tables[0], "none": noise}, "b": {"b": 100 * tables[1]}, "c": {"c": noise}}
    return parts, relevant


def test_a_sum_beats_its_parts_and_noise_gets_little():
    parts, relevant = noisy()
    learned = learn(parts, relevant)
    assert learned.parts["a"][0] == "a"
    alone = average_precision(parts["a"]["a"], relevant).mean()
    assert learned.training > alone + 0.05
    assert 0.3 < 100 * learned.parts["b"][1] / learned.parts["a"][1] < 3  # a hundred times as large
    assert learned.parts.get("c", ("c", 0.0))[1] < 0.3 * learned.parts["a"][1]
    assert average_precision(learned.scores(parts), relevant).mean() == pytest.approx(
        learned.training
    )


def test_a_query_is_scored_by_what_others_taught():
    """The labels of a fold do not reach its scores: with noise alone nothing is gained."""
    rng = np.random.default_rng(2)
    parts = {"x": {f"x{i}": rng.normal(size=(40, 50)) for i in range(20)}}
    relevant = [[0]] * 20 + [[1]] * 20
    validated = cross_validate(parts, relevant)
    chance = np.mean(1 / np.arange(1, 51))
    assert learn(parts, relevant).training > 1.3 * chance  # chosen on its own queries
    assert validated.mean < 1.25 * chance
    assert len(validated.folds) == 5
    again = cross_validate(parts, relevant)
    assert (again.average_precision == validated.average_precision).all()


def test_wrong_input_is_told():
    parts, relevant = noisy(6)
    with pytest.raises(InvalidParameter, match="each of 6 queries"):
        average_precision(parts["a"]["a"], relevant[:5])
    with pytest.raises(InvalidParameter, match="query 0 must have relevant documents"):
        average_precision(parts["a"]["a"], [[]] * 6)
    with pytest.raises(InvalidParameter, match="at most the number of queries"):
        cross_validate(parts, relevant, folds=7)
    with pytest.raises(InvalidParameter, match="one candidate at least"):
        learn({"a": {}}, relevant)


def test_a_run_and_judgements_are_trecs(tmp_path):
    found = Ranking(np.array([2, 0]), np.array([2.0, 1.0]), ("d 2", "d0"), 3)
    write_run(tmp_path / "run", [found], ["q 1"])
    assert (tmp_path / "run").read_text().splitlines()[0] == "q_1 Q0 d_2 1 2.00000000 dcomp"
    (tmp_path / "qrels").write_text("q 0 d0 1\n\nq 0 d1 0\n")
    assert read_judgements(tmp_path / "qrels") == {"q": {"d0": 1, "d1": 0}}
    (tmp_path / "bad").write_text("q 0 d0 1\nq d0\n")
    with pytest.raises(InvalidFile, match="line 2"):
        read_judgements(tmp_path / "bad")


def test_measures_are_those_of_ir_measures():
    pytest.importorskip("ir_measures")
    found = Ranking(np.array([2, 0]), np.array([2.0, 1.0]), ("d2", "d0"), 3)
    measured = measure([found], ["q"], {"q": {"d0": 1}}, ["AP", "P@1"])
    assert measured == {"AP": 0.5, "P@1": 0.0}
    with pytest.raises(InvalidParameter, match="names of ir-measures"):
        measure([found], ["q"], {"q": {"d0": 1}}, ["no such thing"])

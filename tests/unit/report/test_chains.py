"""How K was chosen goes from the shell's JSON to the page."""

import json

import numpy as np
import pytest

import dcomp
from dcomp.errors import InvalidFile
from dcomp.evaluate import Candidate, Selection
from dcomp.report import read_selection

ROW = (-2.0, 0.1, 0.0, 0.0, float("nan"), float("nan"), False, 0.1, 0.5, 0.9, 1.0)


def test_a_selection_is_shown(animals, made):
    counts, fit = animals
    chosen = Selection((Candidate(2, *ROW), Candidate(3, *ROW)), 2, (2,), "npmi", ("A note.",))
    page, data = made(fit, counts, selection=chosen)
    assert 'id="panel-choice"' in page
    assert data["choice"]["rows"][1]["n_components"] == 3
    assert data["choice"]["rows"][1]["evidence"] is None
    assert data["choice"]["summary"].endswith("A note.")


def test_what_select_printed_is_read(tmp_path):
    rows = [{**vars(Candidate(k, *ROW)), "perplexity": 7.4, "evidence": None} for k in (2, 5)]
    rows = [{k: None if v != v else v for k, v in row.items()} for row in rows]
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"candidates": rows, "recommended": 5, "summary": "5 it is."}))
    found = read_selection(path)
    assert (found.recommended, found.summary) == (5, "5 it is.")
    assert np.isnan(found.candidates[0].evidence)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "[]",
        "{}",
        '{"candidates": [], "recommended": 1}',
        '{"candidates": [{}], "recommended": 1}',
        '{"candidates": 3, "recommended": "x"}',
        '{"candidates": [{"n_components": "<b>"}]}',
    ],
)
def test_what_is_no_selection_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(InvalidFile, match=r"s\.json"):
        read_selection(path)


def test_traces_are_thinned_with_both_ends(made):
    X = np.random.default_rng(0).poisson(1, (10, 4))
    model = dcomp.LDA(2, algorithm="gibbs", max_iter=900, verbose=0).fit(X)
    data = made(model, X)[1]
    sweeps, values = data["chains"]["lines"][0]
    assert (sweeps[0], sweeps[-1]) == (1, 900)
    assert len(sweeps) == len(values) == 400
    assert data["chains"]["burnIn"] == 450

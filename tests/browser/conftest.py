"""A browser, and reports with every panel to open in it; without either, a skip that says why."""

import os
import shutil

import numpy as np
import pytest
from support.report_pages import HOSTILE, TEXTS, animals, hostile

import dcomp
from dcomp.evaluate import Candidate, Selection

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window; DCOMP_BROWSER names another program than the usual ones."""
    reason = 'a browser test needs playwright: pip install "dcomp[browser]"'
    driver = pytest.importorskip("playwright.sync_api", reason=reason)
    wanted = os.environ.get("DCOMP_BROWSER")
    program = wanted or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with driver.sync_playwright() as control:
        opened = control.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Paths of reports by name: together they have all panels."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}

    def make(name, *given, **options):
        made[name] = dcomp.report(*given, path=folder / f"{name}.html", **options)

    row = (0.1, 0.0, 0.0, float("nan"), float("nan"), False, 0.1, 0.5, 0.9, 1.0)
    chosen = Selection(
        tuple(Candidate(k, -2.0 - k / 10, *row) for k in (2, 3, 4)), 2, (2,), "npmi", ("So.",)
    )
    counts, fit = animals()
    make("texts", fit, counts, texts=TEXTS, selection=chosen)
    tree = dcomp.TreeDCA(2, 3, max_iter=20, verbose=0).fit(counts)
    make("tree", tree, counts.without_order())
    counts, fit = hostile()
    make("hostile", fit, counts, texts=[f"{name} and more" for name in HOSTILE])
    votes = dcomp.datasets.votes(24, 40, seed=1).counts.with_attributes(party=["D", "R"] * 12)
    make("votes", dcomp.use.rollcall(votes, 3, max_iter=60, n_draws=20, n_chains=2))
    genotypes = dcomp.datasets.genotypes(30, 60, f_st=(0.3, 0.3), seed=1).counts
    genotypes = genotypes.with_attributes(population=["x", "y", "z"] * 10)
    make("genotypes", dcomp.use.admixture(genotypes, 3, with_intervals=False))
    types = [f"{a}[{c}]{b}" for c in ("C>A", "C>T") for a in "ACGT" for b in "ACGT"]
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.dirichlet(np.full(32, 0.1), 3)[rng.integers(0, 3, 20)] * 200)
    tumours = dcomp.Counts.from_matrix(
        X, feature_names=types, doc_ids=[f"A::{i}" for i in range(20)]
    )
    make("mutations", dcomp.use.signatures(tumours, 3))
    return made

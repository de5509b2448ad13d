"""The report at its largest: 500 components, 100,000 documents. Size, time to write, first paint.

    python benchmarks/report.py [--components 500] [--documents 100000] [--keep report.html]

The corpus is drawn from components with few words each, and fitted in two sweeps: what is timed is
the page, not the fit. First paint is Chromium's own figure (first-contentful-paint, from the start
of the navigation), the median of `--runs` fresh tabs; "ready" is when the script has drawn the
first panel. It needs the `browser` extra and a Chromium (DCOMP_BROWSER names another program);
without them the page is written and measured on the disk alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse

import dcomp

SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-sync", "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
PAINTS = "performance.getEntriesByName('first-contentful-paint')"
READY = "performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart"


def corpus(n_docs: int, K: int, n_words: int = 20_000, length: int = 60) -> dcomp.Counts:
    """Documents of three components each, with a year and a group."""
    rng = np.random.default_rng(0)
    theta = np.cumsum(rng.dirichlet(np.full(200, 0.3), K), axis=1)
    words = np.stack([rng.choice(n_words, 200, replace=False) for _ in range(K)])
    k = rng.integers(0, K, (n_docs, 3))[np.arange(n_docs)[:, None], rng.integers(0, 3, length)]
    place = np.empty(k.shape, np.intp)
    for component in range(K):
        here = k == component
        place[here] = np.searchsorted(theta[component], rng.random(int(here.sum())) * 0.999)
    j = words[k, place]
    rows = np.repeat(np.arange(n_docs), length)
    X = scipy.sparse.csr_matrix((np.ones(j.size, np.int64), (rows, j.ravel())), (n_docs, n_words))
    counts = dcomp.Counts.from_matrix(
        X,
        feature_names=[f"word{n}" for n in range(n_words)],
        doc_ids=[f"document-{n:06d}" for n in range(n_docs)],
    )
    about: dict[str, Any] = {
        "year": rng.integers(1950, 2020, n_docs),
        "group": [f"group {n}" for n in rng.integers(0, 20, n_docs)],
    }
    return counts.with_attributes(**about)


def opened(path: Path, runs: int) -> tuple[float, float] | None:
    """Milliseconds to the first paint and to the first panel; None without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    program = os.environ.get("DCOMP_BROWSER") or shutil.which("chromium")
    if program is None:
        return None
    paints, ready = [], []
    with sync_playwright() as control:
        browser = control.chromium.launch(executable_path=program, args=SWITCHES)
        for _ in range(runs):
            page = browser.new_page()
            page.goto(path.as_uri())
            while not page.evaluate(f"{PAINTS}.length"):  # the page's policy forbids eval
                page.wait_for_timeout(10)
            paints.append(page.evaluate(f"{PAINTS}[0].startTime"))
            ready.append(page.evaluate(READY))
            page.close()
        browser.close()
    return median(paints), median(ready)


def main() -> None:
    """Write the page, open it, and print a line of each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--components", type=int, default=500)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="where the page goes, if it is to stay")
    arguments = parser.parse_args()
    counts = corpus(arguments.documents, arguments.components)
    model = dcomp.LDA(arguments.components, max_iter=2, n_tries=1, verbose=0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(counts).fit_
    with tempfile.TemporaryDirectory() as folder:
        path = (arguments.keep or Path(folder) / "report.html").absolute()
        begin, spent_before = time.perf_counter(), time.process_time()
        dcomp.report(fit, counts, path=path, overwrite=True)
        spent, work = time.perf_counter() - begin, time.process_time() - spent_before
        print(f"{arguments.components} components, {arguments.documents:,} documents")
        print(f"written in {spent:.1f} s ({work:.1f} s of processor time)")
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        found = opened(path, arguments.runs)
    if found is None:
        print("not opened: needs playwright and a Chromium")
    else:
        print(f"first paint after {found[0]:.0f} ms, ready after {found[1]:.0f} ms")


if __name__ == "__main__":
    main()

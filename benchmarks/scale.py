"""Corpora in files against the same in memory: seconds, tokens per second and memory of sweeps of
simulated corpora, and 20 Newsgroups in ten shards, which must end in the same bits.

    python benchmarks/scale.py --tokens 1e6 5e6 2e7 --folder /tmp
    python benchmarks/scale.py --tokens 2e8 --folder /tmp --without-memory

Documents of 100 tokens, 200,000 words, 200 components, mean field, two threads; each fit in a
process of its own. Seconds are those of the cores together, which neighbours disturb less than the
clock on the wall, of the last sweep. Memory is the peak of RssAnon, which leaves out what files are
mapped to. Results go on from run to run, one per size, in results/scale.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from corpora import machine, newsgroups

import dcomp
from dcomp.data.canonical import Rows
from dcomp.data.mapped import Mapped
from dcomp.data.spooled import SpooledRows
from dcomp.models import DirichletMultinomial

RESULTS = Path(__file__).parent / "results"
N_WORDS, K, LENGTH, TOPICS = 200_000, 200, 100, 3
CHUNK = 20_000  # documents that are drawn at a time
SWEEPS = 3


def simulated(n_tokens: int, folder: Path, seed: int = 0) -> dcomp.Counts:
    """Documents of a few topics, whose words are Zipf's in an order of their own; on the disk."""
    rng, out = np.random.default_rng(seed), SpooledRows(folder)
    step, shift = rng.integers(0, N_WORDS, (2, K))
    step = 2 * step + 1
    n_docs = n_tokens // LENGTH
    for first in range(0, n_docs, CHUNK):
        n = min(CHUNK, n_docs - first)
        own = rng.integers(0, K, (n, TOPICS))
        topic = np.take_along_axis(own, rng.integers(0, TOPICS, (n, LENGTH)), axis=1)
        rank = (N_WORDS ** rng.random((n, LENGTH))).astype(np.int64) - 1
        word = (rank * step[topic] + shift[topic]) % N_WORDS
        codes, data = np.unique(word + N_WORDS * np.arange(n)[:, None], return_counts=True)
        indptr = np.searchsorted(codes, N_WORDS * np.arange(n + 1))
        out.add(Rows(indptr, codes % N_WORDS, data))
    rows = out.mapped()
    features = dcomp.data.FeatureSpace.build(N_WORDS)
    return dcomp.Counts(*rows, features, mapped=Mapped(rows, N_WORDS, folder))


class Peak:
    """The largest RssAnon of this process while the block runs, in MB."""

    def __enter__(self) -> Peak:
        self.mb, self._on = 0.0, True
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while self._on:
            lines = Path("/proc/self/status").read_text().splitlines()
            now = next(line for line in lines if line.startswith("RssAnon"))
            self.mb = max(self.mb, int(now.split()[1]) / 1000)
            time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        self._on = False
        self._thread.join()


def fit_one(path: str, how: str, sweeps: int) -> None:
    counts = dcomp.open(path)
    if how == "memory":  # the same parts, in arrays of their own
        rows = (np.array(part) for part in (counts.indptr, counts.indices, counts.data))
        counts = dcomp.Counts(*rows, counts.features, firsts=counts.firsts)
    started = time.perf_counter()
    model = DirichletMultinomial.build(K, alpha=1 / K, gamma=0.05)
    clock = []

    def look(_: object) -> None:
        clock.append(time.process_time())

    options = {"max_iter": sweeps, "tol": 0, "n_jobs": 2, "warn": False, "callbacks": [look]}
    with Peak() as peak:
        fit = dcomp.fit(counts, model, **options)
    out = {"wall": [row.seconds for row in fit.history.rows], "sweeps": np.diff(clock).tolist()}
    out |= {"total": time.perf_counter() - started, "MB": peak.mb, "bound": fit.objective}
    print(json.dumps(out))


def measured(path: Path, how: str, sweeps: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", str(path), "--how", how, "--sweeps", str(sweeps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(n_tokens: int, folder: Path, given: argparse.Namespace) -> dict[str, object]:
    path = folder / f"scale-{n_tokens}.dcounts"
    started = time.perf_counter()
    dcomp.write(simulated(n_tokens, folder), path, overwrite=True, shards=given.shards)
    made = time.perf_counter() - started
    counts = dcomp.open(path)
    about = {"tokens": n_tokens, "documents": counts.n_docs, "entries": counts.nnz}
    about |= {"shards": len(counts.firsts), "file MB": path.stat().st_size / 1e6, "made s": made}
    filed = measured(path, "file", given.sweeps)
    memory = None if given.without_memory else measured(path, "memory", given.sweeps)
    path.unlink()
    if memory is not None:
        assert memory["bound"] == filed["bound"], "the same parts must give the same bits"
    return about | {"file": filed, "memory": memory}


def newsgroups_alike(folder: Path) -> str:
    """Ten shards and ten parts."""
    counts = newsgroups().without_order().in_parts(10)
    path = folder / "newsgroups.dcounts"
    dcomp.write(counts, path, overwrite=True)
    model = DirichletMultinomial.build(50, alpha=0.1, gamma=0.05)
    fits = [dcomp.fit(c, model, max_iter=20, tol=0, warn=False) for c in (counts, dcomp.open(path))]
    path.unlink()
    same = np.array_equal(fits[0].Theta, fits[1].Theta)
    same = same and np.array_equal(fits[0].state.c, fits[1].state.c)
    same = same and fits[0].history.rows[-1].objective == fits[1].history.rows[-1].objective
    return f"20 Newsgroups, {counts!r}, 20 sweeps, K = 50: {'bit-equal' if same else 'DIFFERENT'}"


def fitted(found: list[dict[str, object]]) -> list[str]:
    """a · tokens + b · J K, by least squares of relative errors, from the last sweep of each."""
    tokens = np.array([one["tokens"] for one in found], float)
    seconds = np.array([one["file"]["sweeps"][-1] for one in found])
    table = np.stack([tokens, np.full(len(found), float(N_WORDS * K))], axis=1)
    (a, b), *_ = np.linalg.lstsq(table / seconds[:, None], np.ones(len(found)), rcond=None)
    off = table @ [a, b] / seconds - 1
    line = f"Time of a sweep = a · tokens + b · J K with a = {a:.3g} s, b = {b:.3g} s; off by "
    each = [f"{1e9 * (s - b * N_WORDS * K) / t:.0f}" for s, t in zip(seconds, tokens, strict=True)]
    return [line + ", ".join(f"{100 * x:+.1f} %" for x in off) + ".",
            f"a from each size alone, b given: {', '.join(each)} ns per token."]  # fmt: skip


def page(found: list[dict[str, object]], alike: str) -> str:
    rows = ["| tokens | documents | shards | file, MB | core s of a sweep | tokens per core s "
            "| RssAnon, MB | in memory: core s | tokens per core s | RssAnon, MB "
            "| rate, file to memory |",
            "|---|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for one in found:
        own, other = one["file"], one["memory"]
        s = own["sweeps"][-1]
        cells = [f"{one['tokens']:,}", f"{one['documents']:,}", str(one["shards"])]
        cells += [f"{one['file MB']:,.0f}", f"{s:.2f}", f"{one['tokens'] / s:,.0f}"]
        cells += [f"{own['MB']:,.0f}"]
        if other is None:
            cells += ["", "", "", ""]
        else:
            m = other["sweeps"][-1]
            cells += [
                f"{m:.2f}",
                f"{one['tokens'] / m:,.0f}",
                f"{other['MB']:,.0f}",
                f"{m / s:.2f}",
            ]
        rows.append("| " + " | ".join(cells) + " |")
    lines = fitted(found) if len(found) > 2 else []
    head = f"# Corpora in files\n\n{machine()}; see `benchmarks/scale.py`."
    about = f"J = {N_WORDS:,}, K = {K}; the last sweep of each fit, two threads. "
    about += "The same parts in memory end in the same bits."
    return "\n\n".join([head, about, "\n".join(rows), *lines, alike]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=float, nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--shards", type=int)
    parser.add_argument("--sweeps", type=int, default=SWEEPS)
    parser.add_argument("--without-memory", action="store_true", help="fits in files alone")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--how", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return fit_one(given.one, given.how, given.sweeps)
    kept = RESULTS / "scale.json"
    found = json.loads(kept.read_text()) if kept.exists() else {"sizes": {}, "alike": ""}
    for n_tokens in map(int, given.tokens):
        found["sizes"][str(n_tokens)] = measure(n_tokens, given.folder, given)
        print(json.dumps(found["sizes"][str(n_tokens)]), flush=True)
    found["alike"] = newsgroups_alike(given.folder)
    kept.write_text(json.dumps(found, indent=1) + "\n")
    sizes = sorted(found["sizes"].values(), key=lambda one: one["tokens"])
    text = page(sizes, found["alike"])
    (RESULTS / "scale.md").write_text(text)
    print(text)
    return None


if __name__ == "__main__":
    main()

"""Does "converged" mean converged? Defaults of dcomp on every kind of table, one run, one table.

    python benchmarks/convergence.py [--only hapmap saddles unequal news senate fields]
        [--json here.json] [--before earlier.json] [--peers folder/with/adamixture]

No option is set but K, the algorithm's name and the seed; and one thread where time is compared
with programs on one thread, in seconds of processor time. Each fit that ends by its own judgement
is taken up again with tol = 0 for ten times its sweeps: what it still gained, in nats per document,
beside what it says itself of documents shown as new ones, is in the last column.
Writes results/convergence.md. `--json` keeps the figures, those of parts that are not run now
included; `--before` puts the figures of another tree (PYTHONPATH) beside them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import hapmap
import numpy as np
from corpora import data_folder, machine, newsgroups
from neutral import perplexity
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import halves, train_test

RESULTS = Path(__file__).parent / "results"
ONE_THREAD = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
CLAIMS = ("converged", "rounding")  # reasons by which a fit says that nothing is left to gain
TODAY = {20: 1910.0, 150: 1303.0}  # perplexity of 20 Newsgroups that defaults must keep


@dataclass
class Row:
    """One run, or ten from as many seeds: what it took, what came out, what was wanted."""

    part: str
    run: str
    figures: dict[str, float | int | str]
    seconds: float | None = None
    sweeps: str = ""
    reason: str = ""
    left: str = ""  # the gain of ten times the sweeps
    wanted: str = ""
    met: bool | None = None

    @property
    def key(self) -> str:
        return f"{self.part}: {self.run}"


@dataclass
class Setting:
    """What the command line says."""

    peers: str | None = None
    longest: float = 600.0  # seconds that one check may take
    n_seeds: int = 10


# ---- a fit and its claim ------------------------------------------------------------------------


def go_on(fit: dcomp.Fit, counts: dcomp.Counts, sweeps: int, longest: float) -> dcomp.Fit:
    """The same fit after so many sweeps in all, or as many as there is time for."""
    if sweeps <= fit.n_sweeps:
        return fit
    end = time.perf_counter() + longest
    return dcomp.fit(
        counts,
        fit.model,
        max_iter=sweeps,
        tol=0,
        resume=fit,
        warn=False,
        callbacks=[lambda info: time.perf_counter() > end],
    )


@dataclass(frozen=True)
class Gain:
    """What ten times the sweeps gained, in nats per document; or fewer, if time was short."""

    value: float
    was_cut: bool


def gain_left(fit: dcomp.Fit, counts: dcomp.Counts, longest: float) -> Gain | None:
    """What was still to gain where a fit said that nothing was; None if it claims nothing."""
    if fit.reason not in CLAIMS:
        return None
    longer = go_on(fit, counts, 10 * fit.n_sweeps, longest)
    best = max(row.objective for row in longer.history.rows[fit.n_sweeps - 1 :])
    gain = (best - fit.objective) / counts.n_docs - fit.remaining.apart
    return Gain(max(gain, 0.0), longer.n_sweeps < 10 * fit.n_sweeps)


def shown_gain(gains: list[Gain | None]) -> str:
    claimed = [gain for gain in gains if gain is not None]
    if not claimed:
        return "no claim"
    at_least = "≥ " * any(gain.was_cut for gain in claimed)
    return f"{at_least}{max(gain.value for gain in claimed):.3g}"


def told(fit: dcomp.Fit) -> dict[str, str]:
    """What the fit itself says is still to come, where it says so."""
    remaining = getattr(fit, "remaining", None)
    return {} if remaining is None else {"remaining": str(remaining)}


def timed(make: Callable[[], object]) -> tuple[object, float]:
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started


def shares(fit: dcomp.Fit) -> np.ndarray:
    scores = np.asarray(fit.scores, np.float64)
    return scores / scores.sum(axis=1, keepdims=True)


# ---- genotypes ----------------------------------------------------------------------------------


def estimator(K: int, algorithm: str, **options: object) -> dcomp.DCA:
    if algorithm == "plsa":
        return dcomp.PLSA(K, verbose=0, **options)
    return dcomp.DCA(K, algorithm=algorithm, verbose=0, **options)


def hapmap_command(algorithm: str, path: str) -> list[str]:
    """What the timed process does: read the files, fit on one thread, write. PLSA has no command of
    its own."""
    if algorithm == "plsa":
        return [sys.executable, __file__, "--plsa-of-hapmap", path]
    bed = f"{hapmap.prefix()}.bed"
    dcomp_fit = [sys.executable, "-m", "dcomp.cli.main", "fit", bed, "-k", str(hapmap.K)]
    return [*dcomp_fit, "--algorithm", algorithm, "--jobs", "1", "-o", path]


def plsa_of_hapmap(path: str) -> None:
    counts = dcomp.read(f"{hapmap.prefix()}.bed")
    dcomp.save(dcomp.PLSA(hapmap.K, verbose=0, n_jobs=1).fit(counts).fit_, path, overwrite=True)


def hapmap_row(
    name: str,
    seconds: float,
    Q: np.ndarray,
    P: np.ndarray,
    counts: dcomp.Counts,
    limit: float = float("inf"),
) -> Row:
    truth, frequencies = hapmap.admixture_answer()
    level = hapmap.log_likelihood(counts, truth, frequencies)
    error, value = hapmap.error_in_q(Q, truth), hapmap.log_likelihood(counts, Q, P)
    figures = {"error in Q": round(error, 5), "log-likelihood": round(value, 1)}
    row = Row("HapMap3, K = 3", name, figures, seconds)
    if name in ("ml", "plsa"):
        row.wanted = "error < 0.002, at least ADMIXTURE − 10, twice adamixture's time at most"
        row.met = error < 0.002 and value >= level - 10 and seconds <= limit
    elif name in ("mean-field", "collapsed-gibbs"):
        row.wanted, row.met = "error < 0.02", error < 0.02
    return row


def run_hapmap(setting: Setting) -> Iterator[Row]:
    """K = 3 against ADMIXTURE's own answer, in processes of one thread with the file read."""
    counts = dcomp.read(f"{hapmap.prefix()}.bed")
    Q, P = hapmap.admixture_answer()
    yield hapmap_row("ADMIXTURE's files", float("nan"), Q, P, counts)
    limit = float("inf")
    for program in ("fastmixture", "adamixture"):
        found = hapmap.peer(program, setting.peers, counts)
        if found is not None:
            yield hapmap_row(program, found[0], found[1], found[2], counts)
            limit = 2 * found[0] if program == "adamixture" else limit
    for algorithm in ("ml", "plsa", "map", "mean-field", "collapsed-gibbs"):
        with tempfile.TemporaryDirectory() as place:
            path = f"{place}/fit.dcomp"
            done, seconds = hapmap.run_alone(hapmap_command(algorithm, path), env=ONE_THREAD)
            if done.returncode:
                last = done.stderr.decode().strip().splitlines()[-1]
                yield Row("HapMap3, K = 3", algorithm, {"not there": last[:80]}, met=False)
                continue
            fit = dcomp.load(path)
        row = hapmap_row(algorithm, seconds, shares(fit), fit.Theta, counts, limit)
        row.sweeps, row.reason = str(fit.n_sweeps), fit.reason
        row.figures |= told(fit)
        row.left = shown_gain([gain_left(fit, counts, setting.longest)])
        yield row


def is_saddle(fit: dcomp.Fit) -> bool:
    """Two components that are the same, or documents that are all the same."""
    Theta, m = np.asarray(fit.Theta, np.float64), shares(fit)
    # Between 0 and 1 for any number of features: the variation distance, averaged over blocks.
    apart = np.abs(Theta[:, :, None] - Theta[:, None, :]).sum(axis=0) / (2 * fit.features.n_blocks)
    alike = apart[np.triu_indices(Theta.shape[1], 1)].min() < 0.005
    return bool(alike or np.ptp(m, axis=0).max() < 0.05)


def run_saddles(setting: Setting) -> Iterator[Row]:
    """K = 4, 5, 6 on every fortieth SNP, ten seeds: does any rest where nothing is told apart?"""
    counts = hapmap.read_counts(every=40)
    for algorithm in ("mean-field", "map"):
        for K in (4, 5, 6):
            make = lambda seed, K=K, a=algorithm: estimator(K, a, random_state=seed)  # noqa: E731
            row = seeds_row(
                "HapMap3, every 40th SNP", f"{algorithm}, K = {K}", make, counts, setting
            )
            row.wanted, row.met = "no saddle", row.figures["saddles"] == 0
            yield row


def seeds_row(
    part: str,
    name: str,
    make: Callable[[int], dcomp.DCA],
    counts: dcomp.Counts,
    setting: Setting,
) -> Row:
    """Fits from several seeds: spread of their ends, saddles among them, the largest gain left."""
    fits, seconds = timed(lambda: [make(s).fit(counts).fit_ for s in range(setting.n_seeds)])
    ends = np.array([fit.objective for fit in fits]) / counts.n_docs
    each = setting.longest / setting.n_seeds
    gains = [gain_left(fit, counts, each) for fit in fits]
    sweeps, reasons = [fit.n_sweeps for fit in fits], [fit.reason for fit in fits]
    return Row(
        part,
        f"{name}, {setting.n_seeds} seeds",
        {
            "worst below best, nats per document": round(float(np.ptp(ends)), 3),
            "best, nats per document": round(float(ends.max()), 3),
            "saddles": sum(is_saddle(fit) for fit in fits),
        },
        seconds,
        f"{min(sweeps)} to {max(sweeps)}",
        ", ".join(f"{reasons.count(r)} {r}" for r in sorted(set(reasons))),
        shown_gain(gains),
    )


# ---- counts of very unequal documents -----------------------------------------------------------


def unequal(
    n_docs: int = 2780, J: int = 96, K: int = 20, seed: int = 0
) -> tuple[dcomp.Counts, np.ndarray]:
    """Totals log-uniform from 10^2 to 2·10^6; Dirichlet(0.15) loadings, gamma(0.3) scores."""
    rng = np.random.Generator(np.random.Philox(seed))
    planted = rng.dirichlet(np.full(J, 0.15), K)
    scores = rng.gamma(0.3, 1, (n_docs, K)) + 1e-12
    scores *= (10 ** rng.uniform(2, np.log10(2e6), n_docs) / scores.sum(axis=1))[:, None]
    return dcomp.Counts.from_matrix(rng.poisson(scores @ planted)), planted


def divergence(counts: dcomp.Counts, scores: np.ndarray, components: np.ndarray) -> float:
    """Σ x log(x/y) − x + y, y = scores · components, in double."""
    x = counts.to_scipy().toarray().astype(np.float64)
    y = np.asarray(scores, np.float64) @ np.asarray(components, np.float64)
    ratio = np.log(np.where(x > 0, x / np.maximum(y, 1e-300), 1.0))
    return float((x * ratio - x + y).sum())


def n_found(components: np.ndarray, planted: np.ndarray, cosine: float = 0.95) -> int:
    """How many planted components are met, each by one of its own, at this cosine or better."""
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (components, planted)]
    near = unit[0] @ unit[1].T
    return int((near[linear_sum_assignment(-near)] >= cosine).sum())


def run_unequal(setting: Setting) -> Iterator[Row]:
    """KL-NMF and GaP by default against 10,000 sweeps, and scikit-learn's NMF."""
    counts, planted = unequal()
    part = "2,780 × 96, totals 10^2 to 2·10^6, K = 20"
    theirs = scikit_learn_row(part, counts, planted)
    yield theirs
    for name, make in (("KL-NMF", dcomp.NMF), ("GaP", dcomp.GaP)):
        model, seconds = timed(lambda make=make: make(20, verbose=0).fit(counts))
        fit = model.fit_
        loss = divergence(counts, fit.scores, fit.components)
        left = gain_left(fit, counts, setting.longest)
        longer = go_on(fit, counts, 10_000, setting.longest)
        reached = divergence(counts, longer.scores, longer.components)
        found = n_found(np.asarray(fit.components), planted)
        figures = {
            "loss": round(loss, 1),
            "loss of a long run": round(reached, 1),
            "its sweeps": longer.n_sweeps,
            "above it, %": round(100 * (loss / reached - 1), 2),
            "planted found": found,
            "found by the long run": n_found(np.asarray(longer.components), planted),
        }
        yield Row(
            part,
            name,
            figures | told(fit),
            seconds,
            str(fit.n_sweeps),
            fit.reason,
            shown_gain([left]),
            "within 1 %, as many found as scikit-learn, in less time",
            loss <= 1.01 * reached
            and found >= theirs.figures["planted found"]
            and seconds < theirs.seconds,
        )


def scikit_learn_row(part: str, counts: dcomp.Counts, planted: np.ndarray) -> Row:
    from sklearn.decomposition import NMF

    X = counts.to_scipy().toarray().astype(np.float64)
    model = NMF(
        len(planted),
        init="nndsvda",
        solver="mu",
        beta_loss="kullback-leibler",
        tol=1e-6,
        max_iter=10_000,
        random_state=0,
    )
    scores, seconds = timed(lambda: model.fit_transform(X))
    loss = divergence(counts, scores, model.components_)
    figures = {"loss": round(loss, 1), "planted found": n_found(model.components_, planted)}
    return Row(part, "scikit-learn, nndsvda, tol 1e-6", figures, seconds, str(model.n_iter_))


# ---- text and votes -----------------------------------------------------------------------------


def run_news(setting: Setting) -> Iterator[Row]:
    """20 Newsgroups: held-out perplexity and time by default; the time to today's perplexity."""
    train, test = train_test(newsgroups(), 0.1, seed=0)
    halved = [half.to_scipy() for half in halves(test.rows(slice(0, 1000)), 0.5, seed=0)]

    def score(fit: dcomp.Fit) -> float:
        return perplexity(np.asarray(fit.components), fit.model.scores.alpha, *halved)

    for K, level in TODAY.items():
        model, seconds = timed(lambda K=K: dcomp.LDA(K, verbose=0).fit(train))
        fit = model.fit_
        reached = score(fit)
        sweeps, until = time_to(level + 0.5, K, train, score)
        figures = {
            "perplexity": round(reached, 1),
            f"seconds to {level:.0f}": round(until, 2),
            f"sweeps to {level:.0f}": sweeps,
        }
        yield Row(
            "20 Newsgroups",
            f"LDA, K = {K}",
            figures | told(fit),
            seconds,
            str(fit.n_sweeps),
            fit.reason,
            shown_gain([gain_left(fit, train, setting.longest)]),
            f"perplexity at most {level:.0f}",
            bool(reached <= level + 0.5),
        )


def time_to(
    level: float, K: int, train: dcomp.Counts, score: Callable[[dcomp.Fit], float]
) -> tuple[int, float]:
    """Sweeps and seconds after which the perplexity is at the level, looked at now and then."""
    sweeps = 10
    model, seconds = timed(lambda: dcomp.LDA(K, max_iter=sweeps, tol=0, verbose=0).fit(train))
    fit = model.fit_
    while score(fit) > level and sweeps < 500:
        sweeps = max(sweeps + 2, round(1.1 * sweeps))
        fit, more = timed(
            lambda f=fit, n=sweeps: dcomp.fit(
                train, f.model, max_iter=n, tol=0, resume=f, warn=False
            )
        )
        seconds += more
    return (fit.n_sweeps, seconds) if score(fit) <= level else (-1, float("nan"))


def senate() -> dcomp.Counts:
    """Yea and nay of each roll call, one block per call; absent is 0 and 0."""
    path = data_folder() / "senate2003" / "votes.csv"
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    calls = head[5:]
    cast = np.array([row[5:] for row in rows])
    table = np.stack([cast == "Y", cast == "N"], axis=2).reshape(len(rows), -1)
    return dcomp.Counts.from_matrix(
        table.astype(np.int64),
        feature_names=["yea", "nay"] * len(calls),
        blocks=np.repeat(calls, 2),
        doc_ids=[row[0] for row in rows],
    )


def run_senate(setting: Setting) -> Iterator[Row]:
    """DCA(4) by mean field from ten seeds: do all end within a nat per senator of the best?"""
    make = lambda seed: estimator(4, "mean-field", random_state=seed)  # noqa: E731
    row = seeds_row("Senate 2003", "DCA(4), mean-field", make, senate(), setting)
    row.wanted = "within 1 nat per senator"
    row.met = row.figures["worst below best, nats per document"] <= 1
    yield row


# ---- tables that no model of ours has drawn -----------------------------------------------------


def run_fields(setting: Setting) -> Iterator[Row]:
    """The made-up tables of other fields, K as planted: is "converged" true on all of them?"""
    try:
        from dcomp import datasets
    except ImportError:
        return
    tables = {
        "genotypes": (datasets.genotypes(), 3),
        "votes": (datasets.votes(), 2),
        "mutations": (datasets.mutations(), 10),
        "cells": (datasets.cells(), 5),
        "text": (datasets.text(), 10),
        "baskets": (datasets.baskets(), 6),
    }
    for name, (table, K) in tables.items():
        for algorithm in ("mean-field", "map"):
            model, seconds = timed(lambda a=algorithm, K=K, c=table.counts: estimator(K, a).fit(c))
            fit, gain = model.fit_, gain_left(model.fit_, table.counts, setting.longest / 12)
            figures = {
                "objective per document": round(fit.objective / table.counts.n_docs, 3),
                "saddles": int(is_saddle(fit)),
            }
            if hasattr(table, "memberships"):
                error = hapmap.error_in_q(shares(fit), table.memberships)
                figures["error in planted shares"] = round(error, 4)
            yield Row(
                "made-up tables",
                f"{name}, {algorithm}, K = {K}",
                figures | told(fit),
                seconds,
                str(fit.n_sweeps),
                fit.reason,
                shown_gain([gain]),
                "no saddle, less than 0.1 nat per document left",
                not is_saddle(fit) and gain is not None and gain.value < 0.1,
            )


PARTS = {
    "hapmap": run_hapmap,
    "saddles": run_saddles,
    "unequal": run_unequal,
    "news": run_news,
    "senate": run_senate,
    "fields": run_fields,
}


# ---- the table ----------------------------------------------------------------------------------


def shown(figures: dict[str, float | int | str]) -> str:
    return "; ".join(
        f"{name} {value:,}" if isinstance(value, int | float) else f"{name} {value}"
        for name, value in figures.items()
    )


def markdown(rows: list[Row], before: list[Row]) -> list[str]:
    earlier = {row.key: row for row in before}
    head = ["table", "run", "seconds", "sweeps", "ended", "figures", "wanted", "left, nats per doc"]
    lines = [" | ".join(head + ["before"] * bool(before)), "|".join("---" for _ in head)]
    lines[1] += "|---" * bool(before)
    for row in rows:
        seconds = "" if not row.seconds or np.isnan(row.seconds) else f"{row.seconds:.1f}"
        mark = {True: " ✓", False: " ✗", None: ""}[row.met]
        cells = [row.part, row.run, seconds, row.sweeps, row.reason, shown(row.figures)]
        cells += [row.wanted + mark, row.left]
        if before:
            cells.append(_beside(earlier.get(row.key)))
        lines.append(" | ".join(cells))
    return [f"| {line} |" if "---" not in line else f"|{line}|" for line in lines]


def _beside(row: Row | None) -> str:
    if row is None:
        return ""
    seconds = "" if not row.seconds or np.isnan(row.seconds) else f"{row.seconds:.1f} s, "
    return f"{seconds}{row.sweeps} sweeps; {shown(row.figures)}; left {row.left or '–'}"


def load_rows(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def write(rows: list[Row], options: argparse.Namespace) -> None:
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    lines = [
        "# Convergence",
        "",
        f"`python benchmarks/convergence.py`; defaults, K and the algorithm named. {machine()}.",
        "The last figure of a run: nats per document that ten times its sweeps still gained, where",
        "it said that it had converged, beside what `remaining` says that documents shown as new",
        'ones are lower; "≥" where `--longest` cut that check short. A saddle that',
        "takes longer to leave than that gains nothing in the check, so saddles are counted apart:",
        "two components the same, or shares that differ by less than 0.05 over all documents.",
        "Seconds of HapMap3, K = 3, are processor time of one thread, the file read; other seconds",
        "passed on a machine that may have had other work.",
        "",
        *markdown(rows, load_rows(options.before)),
        "",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "convergence.md").write_text("\n".join(lines), encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, help="figures are kept here, and those there stay")
    parser.add_argument("--before", type=Path, help="figures of another tree, to stand beside")
    parser.add_argument("--peers", help="the folder of adamixture and fastmixture")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--longest", type=float, default=600, help="seconds that a check may take")
    parser.add_argument("--plsa-of-hapmap", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parse()
    warnings.simplefilter("ignore")
    if options.plsa_of_hapmap:
        plsa_of_hapmap(options.plsa_of_hapmap)
        return
    setting = Setting(options.peers, options.longest, options.seeds)
    rows = load_rows(options.json)
    for name in options.only:
        done: list[Row] = []
        for row in PARTS[name](setting):
            print("\n".join(markdown([row], [])[2:]), flush=True)
            done.append(row)
            parts = {row.part for row in done}
            rows = [row for row in rows if row.part not in parts] + done
            write(rows, options)


if __name__ == "__main__":
    main()

"""Collapsed Gibbs against tomotopy's LDAModel, side by side, one run: same K, priors and threads.

    pip install ".[benchmark]" && python benchmarks/collapsed_gibbs.py

Seconds per sweep, sweeps of the two in turn; the time to reach, for good, the training log joint
(one formula for both assignments) and the neutral held-out perplexity that tomotopy has after its
last sweep, from a random start like tomotopy's and from mean field; peak memory; and what CGP costs
beside GP.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from corpora import machine, newsgroups
from neutral import perplexity

import dcomp
from dcomp import _core
from dcomp.data import halves, train_test
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import (
    ConditionalGammaPoisson,
    DirichletMultinomial,
    GammaPoisson,
    Observations,
)

ALPHA, ETA = 0.1, 0.01
RESULTS = Path(__file__).parent / "results"


def tomotopy_model(train: dcomp.Counts, K: int):
    import tomotopy

    model = tomotopy.LDAModel(k=K, alpha=ALPHA, eta=ETA, seed=1)
    model.optim_interval = 0
    names = [str(j) for j in range(train.n_features)]
    for i in range(train.n_docs):
        own = slice(train.indptr[i], train.indptr[i + 1])
        tokens = np.repeat(train.indices[own], train.data[own])
        if len(tokens):
            model.add_doc([names[j] for j in tokens])
    return model


def neutral_joint(train: dcomp.Counts, c: np.ndarray, n: np.ndarray) -> float:
    """log p(words, z) per token with scores and loadings integrated out."""
    gamma, blocks = np.full(train.n_features, ETA), np.zeros(train.n_features, np.int32)
    prior = _core.ScorePrior("DM", {"alpha": np.full(n.shape[1], ALPHA)})
    value = _core.log_loading_moments(np.ascontiguousarray(n, np.int32), gamma, blocks, 1, 2)
    value += _core.log_score_moments(np.ascontiguousarray(c, np.int32), prior, 2)
    return value / train.n_tokens


def tomotopy_tables(model, train: dcomp.Counts, K: int) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([int(word) for word in model.used_vocabs])
    c, n = np.zeros((len(model.docs), K), np.int32), np.zeros((train.n_features, K), np.int32)
    for i, doc in enumerate(model.docs):
        topics = np.asarray(doc.topics)
        c[i] = np.bincount(topics, minlength=K)
        np.add.at(n, (words[np.asarray(doc.words)], topics), 1)
    return c, n


def test_perplexity(n: np.ndarray, test: tuple) -> float:
    return perplexity((n + ETA).T, np.full(n.shape[1], ALPHA), *test)


class Dcomp:
    """Our chain, a sweep at a time; only the sweeps and the start are timed."""

    def __init__(self, train: dcomp.Counts, K: int, threads: int, start: str = "random") -> None:
        self.observed, self.executor = Observations.build(train), LocalExecutor(threads)
        self.algorithm = CollapsedGibbs(burn_in=10**9, start=start)
        self.n_tokens = train.n_tokens
        model = DirichletMultinomial.build(K, alpha=ALPHA, gamma=ETA)
        began = time.perf_counter()
        self.state = self.algorithm.init(model, self.observed, 0, self.executor)
        self.seconds, self.joints = [time.perf_counter() - began], [-np.inf]

    def sweep(self, times: int = 1) -> None:
        for _ in range(times):
            began = time.perf_counter()
            self.state, info = self.algorithm.step(self.observed, self.state, self.executor)
            self.seconds.append(time.perf_counter() - began)
            self.joints.append(info.objective / self.n_tokens)

    def n(self) -> np.ndarray:
        return self.algorithm.finish(self.observed, self.state, LocalExecutor(1)).n


class Tomotopy:
    def __init__(self, train: dcomp.Counts, K: int, threads: int) -> None:
        self.model, self.train, self.K, self.threads = tomotopy_model(train, K), train, K, threads
        self.model.train(0, workers=threads)
        self.seconds: list[float] = []

    def sweep(self, times: int = 1) -> None:
        began = time.perf_counter()
        self.model.train(times, workers=self.threads)
        self.seconds += [(time.perf_counter() - began) / times] * times

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        return tomotopy_tables(self.model, self.train, self.K)


def for_good(values: list[float], goal: float) -> int | None:
    """The first place from which all values are at least the goal."""
    below = [place for place, value in enumerate(values) if value < goal]
    first = below[-1] + 1 if below else 0
    return first if first < len(values) else None


def time_to_goals(chain: Dcomp, sweeps: int, joint: float, goal: float, test: tuple) -> str:
    """Sweeps until both goals are met, at most `sweeps`; perplexity is looked at now and then."""
    looks: list[tuple[int, float]] = []
    while len(chain.joints) <= sweeps:
        chain.sweep(5)
        if len(chain.joints) % 10 == 1:
            looks.append((len(chain.joints), test_perplexity(chain.n(), test)))
            if chain.joints[-1] > joint and looks[-1][1] < goal and len(looks) > 3:
                break
    clock = np.cumsum(chain.seconds)
    at_joint = for_good(chain.joints, joint)
    at_goal = for_good([-value for _, value in looks], -goal)
    words = ["not reached" if at_joint is None else f"{clock[at_joint]:.1f} s"]
    words.append("not reached" if at_goal is None else f"{clock[looks[at_goal][0] - 1]:.1f} s")
    return " | ".join([*words, f"{looks[-1][1]:.0f}"])


def run_tomotopy(train, K, threads, sweeps):
    Tomotopy(train, K, threads).sweep(sweeps)


def run_dcomp(train, K, threads, sweeps):
    chain = Dcomp(train, K, threads)
    chain.sweep(sweeps)
    chain.n()


MEMORY = """
import sys; sys.path.insert(0, {here!r})
import collapsed_gibbs as b
from corpora import reset_peak
train, _ = b.problem()
peak_since = reset_peak()
getattr(b, {which!r})(train, {K}, 2, 5)
print(peak_since())
"""


def peak_memory(which: str, K: int) -> float:
    """MiB above what the corpus alone needs, in a process of its own."""
    code = MEMORY.format(here=str(Path(__file__).parent), which=which, K=K)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(out.stdout.split()[-1]) / 2**20


def problem() -> tuple[dcomp.Counts, tuple]:
    train, test = train_test(newsgroups(), 0.1, seed=0)
    first, second = halves(test.rows(slice(0, 500)), 0.5, seed=0)
    return train, (first.to_scipy(), second.to_scipy())


def compare(train, test, K: int, threads: int, sweeps: int) -> str:
    theirs, ours = Tomotopy(train, K, threads), Dcomp(train, K, threads)
    for _ in range(sweeps // 5):
        theirs.sweep(5)
        if len(ours.joints) <= 100:
            ours.sweep(5)
    own = np.array(ours.seconds[1:])  # without the start
    half = len(own) // 2
    ratios = np.array(theirs.seconds)[half : len(own)] / own[half:]
    low, ratio, high = np.percentile(ratios, [10, 50, 90])
    c, n = theirs.tables()
    joint, goal = neutral_joint(train, c, n), test_perplexity(n, test)
    lines = [
        f"| {K} | {threads} | {np.median(theirs.seconds[half:]):.3f} "
        f"| {np.median(own[half:]):.3f} | **{ratio:.2f}** ({low:.2f}–{high:.2f}) "
        f"| {np.sum(theirs.seconds):.1f} s | {goal:.0f} "
    ]
    for start in ("random", "mean-field"):
        chain = Dcomp(train, K, threads, start)
        lines.append(f"| {start} | {time_to_goals(chain, 2 * sweeps, joint, goal, test)} ")
    return "".join(lines) + "|"


def cost_of_zeros(train, K: int, sweeps: int = 12) -> str:
    """Seconds per sweep of DM, GP with one rate, GP with K rates, CGP: sweeps in turn."""
    beta = ALPHA * K * train.n_docs / train.n_tokens
    rates = beta * np.linspace(0.9, 1.1, K)
    common = {"alpha": ALPHA, "gamma": ETA}
    models = {
        "GP, one β": GammaPoisson.build(K, beta=beta, **common),
        "GP, K of them": GammaPoisson.build(K, beta=rates, **common),
        "CGP": ConditionalGammaPoisson.build(K, beta=rates, rho=0.5, **common),
    }
    observed, executor = Observations.build(train), LocalExecutor(1)
    algorithm = CollapsedGibbs(burn_in=10**9)
    states = {name: algorithm.init(model, observed, 0) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(sweeps):
        for name in models:
            began = time.perf_counter()
            states[name], _ = algorithm.step(observed, states[name], executor)
            seconds[name].append(time.perf_counter() - began)
    middle = {name: float(np.median(values[2:])) for name, values in seconds.items()}
    words = ", ".join(f"{name} {value:.3f} s" for name, value in middle.items())
    ratios = [middle["CGP"] / middle[name] for name in list(middle)[:2]]
    return (
        f"K = {K}, 1 thread: {words}; CGP is {ratios[1]:.2f} times GP ({ratios[0]:.2f} with one β)."
    )


HEAD = [
    "| K | threads | tomotopy s/sweep | dcomp s/sweep | ratio (10–90 %) | tomotopy's whole run "
    "| its perplexity | start | to its joint | to its perplexity | perplexity "
    "| start | to its joint | to its perplexity | perplexity |",
    "|" + "---|" * 15,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, nargs="+", default=[20, 150, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sweeps", type=int, default=200)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = problem()
    lines = [
        "# Collapsed Gibbs on 20 Newsgroups against tomotopy",
        "",
        machine(),
        "",
        f"{train.n_docs} documents, {train.n_tokens} tokens; alpha = {ALPHA}, eta = {ETA}, both "
        f"fixed; {args.sweeps} sweeps of tomotopy. Seconds per sweep: medians, sweeps in turn.",
        "",
        *HEAD,
    ]
    for K in args.k:
        for threads in args.threads:
            lines.append(compare(train, test, K, threads, args.sweeps))
            print(lines[-1], flush=True)
    for K in args.k:
        theirs, ours = peak_memory("run_tomotopy", K), peak_memory("run_dcomp", K)
        lines += [
            "",
            f"K = {K}: memory above the corpus, tomotopy {theirs:.0f} MiB, dcomp {ours:.0f}.",
        ]
        print(lines[-1], flush=True)
    for K in [k for k in args.k if k < 500]:
        lines += ["", cost_of_zeros(train, K)]
        print(lines[-1], flush=True)
    (RESULTS / "collapsed_gibbs.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

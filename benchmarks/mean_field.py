"""Mean field against scikit-learn's batch LDA and gensim's LdaMulticore, side by side, one run.

    pip install ".[benchmark]" && python benchmarks/mean_field.py

Per K: time per pass, held-out perplexity at checkpoints of wall time (one neutral scorer for all),
time of transform, peak memory, and whether 1, 2 and 7 threads give the same bits. Two threads each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from corpora import machine, newsgroups
from neutral import perplexity

import dcomp
from dcomp.data import halves, train_test
from dcomp.executors import LocalExecutor
from dcomp.inference import MeanField
from dcomp.models import DirichletMultinomial, Observations

THREADS = 2
RESULTS = Path(__file__).parent / "results"


@dataclass
class Record:
    """Seconds of each pass, and the components at some of them."""

    name: str
    seconds: list[float] = field(default_factory=list)
    perplexity: dict[int, float] = field(default_factory=dict)  # by pass

    @property
    def clock(self) -> np.ndarray:
        return np.cumsum(self.seconds)

    def at(self, when: float) -> float | None:
        """Perplexity of the last scored pass that was done by then."""
        done = [n for n in self.perplexity if self.clock[n - 1] <= when]
        return self.perplexity[max(done)] if done else None


@dataclass(frozen=True)
class Problem:
    """Training counts and the two halves of the test documents."""

    train: dcomp.Counts
    first: object
    second: object

    def score(self, components, alpha) -> float:
        return perplexity(components, alpha, self.first, self.second)


def make_problem(n_test: int) -> Problem:
    counts = newsgroups()
    train, test = train_test(counts, 0.1, seed=0)
    first, second = halves(test.rows(slice(0, n_test)), 0.5, seed=0)
    print(f"20 Newsgroups: {counts!r}; training on {train.n_docs:,}, testing on {n_test:,}")
    return Problem(train, first.to_scipy(), second.to_scipy())


def run_dcomp(problem: Problem, K: int, n_passes: int, matched: bool, keep: list[int]) -> Record:
    """dcomp.LDA's defaults, or scikit-learn's own model: α = γ = 1/K, fixed, "vb"."""
    if matched:
        model = DirichletMultinomial.build(K, alpha=1 / K, gamma=1 / K)
        algorithm = MeanField("vb", max_inner=10, gentle_sweeps=0)
    else:
        model = DirichletMultinomial.build(K, alpha=1 / K, gamma=0.05, learn_alpha=True)
        algorithm = MeanField()
    record = Record("dcomp, scikit-learn's priors" if matched else "dcomp.LDA")
    observed, executor = Observations.build(problem.train), LocalExecutor(THREADS)
    started = time.perf_counter()
    state = algorithm.init(model, observed, seed=0)
    for n in range(1, n_passes + 1):
        state, _ = algorithm.step(observed, state, executor)
        record.seconds.append(time.perf_counter() - started)
        if n in keep:
            gamma = model.loadings.per_feature(problem.train.n_features)[:, None]
            record.perplexity[n] = problem.score((state.n + gamma).T, state.model.scores.alpha)
        started = time.perf_counter()
    return record


def run_scikit_learn(problem: Problem, K: int, n_passes: int, keep: list[int]) -> Record:
    from sklearn.decomposition import LatentDirichletAllocation

    record = Record("scikit-learn")

    class Recording(LatentDirichletAllocation):
        def _em_step(self, *args, **options):
            started = time.perf_counter()
            super()._em_step(*args, **options)
            record.seconds.append(time.perf_counter() - started)
            n = len(record.seconds)
            if n in keep:
                record.perplexity[n] = problem.score(self.components_, np.full(K, 1 / K))

    lda = Recording(K, max_iter=n_passes, learning_method="batch", n_jobs=THREADS, random_state=0)
    lda.fit(problem.train.to_scipy().astype(np.float64))
    return record


def run_gensim(problem: Problem, K: int, n_passes: int, keep: list[int]) -> Record:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    record = Record("gensim LdaMulticore")
    corpus = list(Sparse2Corpus(problem.train.to_scipy().tocsr().astype(float).T.tocsc()))
    words = {j: str(j) for j in range(problem.train.n_features)}
    lda = LdaMulticore(
        num_topics=K, id2word=words, workers=THREADS, eval_every=None, random_state=0
    )
    for n in range(1, n_passes + 1):
        started = time.perf_counter()
        lda.update(corpus)
        record.seconds.append(time.perf_counter() - started)
        if n in keep:
            record.perplexity[n] = problem.score(lda.get_topics(), lda.alpha)
    return record


def time_transform(problem: Problem, K: int, n_repeats: int = 3) -> dict[str, float]:
    """Median seconds to transform the training documents."""
    from sklearn.decomposition import LatentDirichletAllocation

    X = problem.train.to_scipy().astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = dcomp.LDA(K, max_iter=40, n_jobs=THREADS, verbose=0).fit(problem.train)
        theirs = LatentDirichletAllocation(K, max_iter=2, n_jobs=THREADS, random_state=0).fit(X)
    # The same components in both, so that both solve the same problem.
    theirs.components_ = np.asarray(ours.fit_.state.n.T, dtype=np.float64) + 0.05
    theirs.exp_dirichlet_component_ = np.ascontiguousarray(ours.components_, dtype=np.float64)
    result = {}
    for name, model, data in (("dcomp", ours, problem.train), ("scikit-learn", theirs, X)):
        times = []
        for _ in range(n_repeats):
            started = time.perf_counter()
            model.transform(data)
            times.append(time.perf_counter() - started)
        result[name] = float(np.median(times))
    return result


MEMORY_SCRIPT = """
import sys, numpy as np, scipy.sparse as sp, dcomp
sys.path.insert(0, sys.argv[3])
from corpora import reset_peak
X = sp.load_npz(sys.argv[1]); K = int(sys.argv[2])
dcomp.LDA(2, max_iter=2, tol=0, verbose=0, n_jobs=2).fit(np.eye(3, dtype=int))
peak_since = reset_peak()
model = dcomp.LDA(K, max_iter=5, tol=0, verbose=0, n_jobs=2).fit(X)
print(peak_since())
"""


def peak_memory(problem: Problem, K: int, folder: Path) -> dict[str, float]:
    """Peak of a fit over the input, against twice (input + 3·J·K + I·K floats)."""
    from scipy import sparse

    X = sparse.csr_matrix(problem.train.to_scipy()).astype(np.int64)
    path = folder / "counts.npz"
    sparse.save_npz(path, X, compressed=False)
    out = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, str(path), str(K), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    given = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    n_docs, n_features = X.shape
    allowed = 2 * (given + 4 * (3 * n_features * K + n_docs * K))
    return {"input": given, "peak": given + int(out.stdout), "allowed": allowed}


def same_bits(problem: Problem, K: int) -> bool:
    """Whether 1, 2 and 7 threads give one answer."""
    fits = [
        dcomp.LDA(K, max_iter=12, tol=0, n_jobs=n, verbose=0).fit(problem.train).fit_
        for n in (1, 2, 7)
    ]
    return all(
        np.array_equal(fits[0].state.n, other.state.n)
        and np.array_equal(fits[0].state.c, other.state.c)
        and np.array_equal(fits[0].history["objective"], other.history["objective"])
        for other in fits[1:]
    )


def checkpoints(n: int) -> list[int]:
    return sorted({min(k, n) for k in (1, 2, 3, 5, 8, 12, 20, 30, 45, 70, 100, 150, 220, 320)})


def report(K: int, records: list[Record], peers: list[Record]) -> list[str]:
    lines = [f"\n### K = {K}\n", "| | passes | median s/pass | min–max | final perplexity |"]
    lines.append("|---|---|---|---|---|")
    for r in records + peers:
        s = np.array(r.seconds[1:] or r.seconds)
        final = r.perplexity[max(r.perplexity)]
        lines.append(
            f"| {r.name} | {len(r.seconds)} | {np.median(s):.3f} | {s.min():.3f}–{s.max():.3f} "
            f"| {final:.0f} |"
        )
    for r in records:
        for peer in peers:
            ratio = np.median(peer.seconds[1:]) / np.median(r.seconds[1:])
            lines.append(f"\n{r.name}: {ratio:.0f} times faster per pass than {peer.name}.")
    for peer in peers:
        head = f"\n| wall time | {peer.name} | " + " | ".join(r.name for r in records) + " |"
        lines += [head, "|---|---|" + "---|" * len(records)]
        for n, value in peer.perplexity.items():
            when = peer.clock[n - 1]
            ours = " | ".join(f"{r.at(when) or float('nan'):.0f}" for r in records)
            lines.append(f"| {when:.1f} s | {value:.0f} | {ours} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, nargs="+", default=[20, 150])
    parser.add_argument("--passes", type=int, default=10, help="of the peers")
    parser.add_argument("--own-passes", type=int, default=150)
    parser.add_argument("--test-docs", type=int, default=1000)
    parser.add_argument("--skip-gensim", action="store_true")
    args = parser.parse_args()
    problem = make_problem(args.test_docs)
    lines = ["# Mean field on 20 Newsgroups, two threads each", "", machine()]
    for K in args.k:
        keep, own = checkpoints(args.passes), checkpoints(args.own_passes)
        ours = [run_dcomp(problem, K, args.own_passes, matched, own) for matched in (False, True)]
        peers = [run_scikit_learn(problem, K, args.passes, keep)]
        print("\n".join(report(K, ours, peers)), flush=True)
        if not args.skip_gensim:
            peers.append(run_gensim(problem, K, args.passes, keep))
        lines += report(K, ours, peers)
        times = time_transform(problem, K)
        memory = peak_memory(problem, K, RESULTS)
        lines += [
            f"\ntransform of {problem.train.n_docs:,} documents: dcomp {times['dcomp']:.2f} s, "
            f"scikit-learn {times['scikit-learn']:.2f} s: "
            f"{times['scikit-learn'] / times['dcomp']:.0f} times faster.",
            f"\nPeak memory {memory['peak'] / 2**20:.0f} MiB with an input of "
            f"{memory['input'] / 2**20:.0f} MiB; the bar is {memory['allowed'] / 2**20:.0f} MiB.",
            f"\nSame bits on 1, 2 and 7 threads: {same_bits(problem, K)}.",
        ]
        print("\n".join(lines), flush=True)
    (RESULTS / "counts.npz").unlink(missing_ok=True)
    (RESULTS / "mean_field.md").write_text("\n".join(lines) + "\n")
    print(json.dumps({"written": str(RESULTS / "mean_field.md")}))


if __name__ == "__main__":
    main()

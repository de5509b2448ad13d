"""Where CTM and StructuredDCA begin, chosen on words that were drawn from them, and CTM beside LDA.

    python verification/correlated.py [--part planted trees ap] [--seeds 8]

planted: tables drawn from the logistic normal, in which components 0 and 1 come together and 2 and
3 avoid each other; SETTINGS says how many components, words and documents. From each start: whether
every planted component is found (Bhattacharyya coefficient above 0.8), how far the worst
correlation is off, held-out words beside LDA by collapsed Gibbs, and processor seconds. The starts
are chains of LDA, 300 sweeps each, without annealing (200 of them were the default before decision
49), annealed from HEAT and from less, the better of these two (the default), mean field, documents.

trees: planted hierarchies as in structured.py, with the tree given, with and without annealing, and
searched for.

ap: the AP texts (DCOMP_DATA), K = 50, a split per seed; completion from half of a document's words
and from a tenth, paired by document.

Each part rewrites its own section of results/correlated.md.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import structured
from common import RESULTS, data_file, row
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import FeatureSpace, train_test
from dcomp.evaluate import HeldOut, completion
from dcomp.inference import CollapsedGibbs, laplace
from dcomp.models import LogisticNormal

# Components, features, γ of Θ, documents, words of each, correlation, standard deviation of η.
SETTINGS = {
    "few words": (10, 500, 0.05, 500, 60, 0.8, 1.5),
    "close": (4, 100, 0.1, 400, 60, 0.9, 1.0),
    "many": (10, 1000, 0.03, 1000, 100, 0.9, 2.0),
    "easy": (8, 400, 0.05, 600, 150, 0.8, 1.5),
}
HOT, WARM = laplace._starters("collapsed-gibbs")
STARTS = {
    "LDA, not annealed": ("collapsed-gibbs", (CollapsedGibbs(burn_in=200),)),
    "annealed, hot": ("collapsed-gibbs", (HOT,)),
    "annealed, warm": ("collapsed-gibbs", (WARM,)),
    "the better of both (default)": ("collapsed-gibbs", (HOT, WARM)),
    "mean field": ("mean-field", None),
    "documents": ("seeded", None),
}


def plant(setting: str, seed: int):
    """Words to fit and to hold out, Θ and the correlations."""
    K, J, gamma, n, length, rho, sd = SETTINGS[setting]
    R = np.eye(K)
    R[0, 1] = R[1, 0] = rho
    R[2, 3] = R[3, 2] = -rho
    model = LogisticNormal.build(K, Sigma0=sd**2 * R)
    rng = np.random.default_rng(seed)
    Theta = rng.gamma(gamma, size=(J, K)) + 1e-12
    Theta /= Theta.sum(axis=0)
    counts, _, _ = model.simulate(FeatureSpace.build(J), np.full(n + n // 5, length), rng, Theta)
    rows = np.arange(n + n // 5)
    return counts.rows(rows[:n]), counts.rows(rows[n:]), Theta, model.scores.correlation()


def one_start(start: str, data, seed: int) -> tuple[bool, float, float, float]:
    """Whether all components are found, the worst correlation's error, held-out words, seconds."""
    train, test, Theta, R = data
    name, algorithms = STARTS[start]
    usual = laplace._starters
    if algorithms is not None:
        laplace._starters = lambda _: algorithms
    try:
        began = time.process_time()
        model = dcomp.CTM(len(R), start=name, random_state=seed, verbose=0, n_jobs=1).fit(train)
        seconds = time.process_time() - began
    finally:
        laplace._starters = usual
    alike = np.sqrt(model.components_) @ np.sqrt(Theta)
    found, truth = linear_sum_assignment(-alike)
    order = np.argsort(truth)
    error = np.abs(model.correlation_[np.ix_(order, order)] - R).max()
    return alike[found, truth].min() > 0.8, float(error), model.score(test), seconds


def planted(n_seeds: int) -> list[str]:
    lines = [
        "| words | start | all components found | worst correlation off by, median (worst) | "
        "held out, nats a word | against LDA | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for setting in SETTINGS:
        tables = [plant(setting, seed) for seed in range(n_seeds)]
        flat = [
            dcomp.LDA(len(R), algorithm="collapsed-gibbs", max_iter=400, random_state=seed,
                      n_jobs=1, verbose=0).fit(train).score(test)
            for seed, (train, test, _, R) in enumerate(tables)
        ]  # fmt: skip
        for start in STARTS:
            ends = [one_start(start, data, seed) for seed, data in enumerate(tables)]
            found, errors, scores, seconds = (
                np.array(column, float) for column in zip(*ends, strict=True)
            )
            gain = scores - flat
            lines.append(
                row(
                    setting,
                    start,
                    f"{int(found.sum())} of {n_seeds}",
                    f"{np.median(errors):.2f} ({errors.max():.2f})",
                    f"{scores.mean():.4f}",
                    f"{gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(n_seeds):.4f}",
                    f"{np.median(seconds):.2f}",
                )
            )
            print(lines[-1], flush=True)
    return lines


def trees(n_seeds: int) -> list[str]:
    lines = [
        "| structure | how | all 8 edges in the kept chain | edges, mean over chains | "
        "held out, nats a word | against the search |",
        "|---|---|---|---|---|---|",
    ]
    for kind in ("shared", "phi"):
        ends: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(n_seeds):
            train, test, Theta = structured.plant(kind, seed)
            options = {
                "structure": kind,
                "gamma": structured.GAMMA,
                "random_state": 100 + seed,
                "n_jobs": 1,
            }
            given = {"tree": structured.TREE, **options}
            for how, model in {
                "searched": dcomp.StructuredDCA(6, **options, verbose=0),
                "given": dcomp.StructuredDCA(**given, verbose=0),
                "given, not annealed": dcomp.StructuredDCA(**given, anneal=0, verbose=0),
                "given, ψ = 1": dcomp.StructuredDCA(**given, psi=1.0, verbose=0),
            }.items():
                endings = model.fit(train).fit_.endings
                if how == "searched":
                    edges = [np.nan]
                    kept = np.nan
                else:
                    edges = [structured.edges_right(ending, Theta) for ending in endings]
                    kept = edges[int(np.argmax([ending.value for ending in endings]))]
                ends.setdefault(how, []).append((kept, float(np.mean(edges)), model.score(test)))
        best = np.array(ends["searched"])[:, 2]
        for how, values in ends.items():
            kept, edges, scores = np.array(values).T
            gain = scores - best
            error = gain.std(ddof=1) / np.sqrt(n_seeds)
            is_given = how != "searched"
            lines.append(
                row(
                    kind,
                    how,
                    f"{int((kept == 8).sum())} of {n_seeds}" if is_given else "–",
                    f"{edges.mean():.1f}" if is_given else "–",
                    f"{scores.mean():.4f}",
                    f"{gain.mean():+.4f} ± {error:.4f}" if is_given else "–",
                )
            )
            print(lines[-1], flush=True)
    return lines


def paired(found: list[HeldOut], reference: list[HeldOut]) -> str:
    gain = np.concatenate(
        [a.per_document - b.per_document for a, b in zip(found, reference, strict=True)]
    )
    tokens = np.concatenate([a.tokens for a in found])
    mean = gain.sum() / tokens.sum()
    error = np.sqrt(((gain - mean * tokens) ** 2).sum()) / tokens.sum()
    return f"{mean:+.4f} ± {error:.4f}"


def ap(n_seeds: int) -> list[str]:
    counts = dcomp.read(data_file("ap", "ap.dat"))
    shares = (0.5, 0.1)
    lines = [
        "| K | | perplexity, half of the words seen | against LDA, nats a word | a tenth seen | "
        "against LDA | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for K in (50,):
        ends: dict[str, list[tuple[HeldOut, ...]]] = {}
        seconds: dict[str, list[float]] = {}
        for split in range(n_seeds):
            train, test = train_test(counts, 0.1, seed=split)
            usual = {"random_state": split, "verbose": 0, "n_jobs": 1}
            for name, model in {
                "LDA, collapsed Gibbs, 400 sweeps": dcomp.LDA(
                    K, algorithm="collapsed-gibbs", max_iter=400, **usual
                ),
                "CTM": dcomp.CTM(K, **usual),
                "CTM, Θ of the start held": dcomp.CTM(
                    K, loadings="mean", learn_loadings=False, **usual
                ),
            }.items():
                began = time.perf_counter()
                model.fit(train)
                seconds.setdefault(name, []).append(time.perf_counter() - began)
                scores = tuple(
                    completion(model.fit_, test, fraction=share, seed=split) for share in shares
                )
                ends.setdefault(name, []).append(scores)
                print(K, split, name, *scores, flush=True)
        reference = next(iter(ends.values()))
        for name, fits in ends.items():
            cells = []
            for s in range(len(shares)):
                own, other = [fit[s] for fit in fits], [fit[s] for fit in reference]
                cells.append(f"{np.mean([score.perplexity for score in own]):.0f}")
                cells.append("–" if fits is reference else paired(own, other))
            lines.append(row(K, name, *cells, f"{np.mean(seconds[name]):.0f}"))
            print(lines[-1], flush=True)
    return lines


PARTS = {
    "planted": (planted, "Planted correlations: where CTM begins"),
    "trees": (trees, "Planted trees: how StructuredDCA settles"),
    "ap": (ap, "AP: CTM beside LDA"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = RESULTS / "correlated.md"
    for part in arguments.part:
        what, title = PARTS[part]
        section = [title, "", f"`python verification/correlated.py --part {part} --seeds "
                   f"{arguments.seeds}`", "", *what(arguments.seeds)]  # fmt: skip
        old = path.read_text(encoding="utf-8").split("\n## ")[1:] if path.exists() else []
        sections = {text.splitlines()[0]: text.rstrip() for text in old}
        sections[title] = "\n".join(section)
        kept = [sections[name] for _, name in PARTS.values() if name in sections]
        text = "\n\n## ".join(["# Starts of CTM and StructuredDCA", *kept]) + "\n"
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

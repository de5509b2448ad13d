"""C04 3.1 and figure 2: the gamma shapes of themes that were found without a prior.

    python verification/papers/gap_shapes.py

C04 fits 20 themes with a uniform prior on scores, that is by maximum likelihood, and then a gamma
to the scores of each theme over documents: shapes of 0.19 ± 0.01 and scales that differ by 4 : 1,
on 300,000 documents of TREC, which are not to be had here. Steps of EM take a score towards 0 and
never there: how many steps are done, and which of the smallest count, decides the shape, so that
the table has several of both. Writes `results/papers-gap-shapes.md` and the densities as a picture.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse, stats
from shared import data_file, head, newsgroup_texts, plotting, row, save, write
from smart import cranfield
from svm import words_of

import dcomp
from dcomp.models.learning import solve_shape

K = 20
STEPS = (20, 50, 200)  # C04 1: "typically 20"
CUTS = (1e-3, 0.1, 0.5)  # expected words of a theme, below which a document is left out


def by_steps(counts: dcomp.Counts) -> dict[int, np.ndarray]:
    """Scores without a prior after so many steps of EM from a random start, (I, K), in words."""
    W = counts.to_scipy().tocsr().astype(float)
    rng = np.random.default_rng(1)
    scores = rng.gamma(1.0, size=(W.shape[0], K))
    Theta = rng.gamma(1.0, size=(W.shape[1], K))
    Theta /= Theta.sum(axis=0)
    document = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    found = {}
    for step in range(1, max(STEPS) + 1):
        rate = np.einsum("ek,ek->e", scores[document], Theta[W.indices])
        ratio = sparse.csr_array((W.data / rate, W.indices, W.indptr), W.shape)
        scores, Theta = scores * (ratio @ Theta), Theta * (ratio.T @ scores)
        Theta /= Theta.sum(axis=0)
        if step in STEPS:
            found[step] = scores.copy()
    return found


def themes(counts: dcomp.Counts) -> np.ndarray:
    """Scores of most likelihood, (I, K), in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        model = dcomp.GaP(K, algorithm="ml", max_iter=200, random_state=1, verbose=0)
        fit = model.fit(counts).fit_
    return np.asarray(fit.expected_counts, np.float64)


def gammas(scores: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray]:
    """Shape and scale of the gamma of most likelihood of each theme's scores above a cut."""
    shape, scale = np.zeros(K), np.zeros(K)
    for k in range(K):
        own = scores[scores[:, k] > cut, k]
        shape[k] = solve_shape(np.array([np.log(own.mean()) - np.log(own).mean()]))[0]
        scale[k] = own.mean() / shape[k]
    return shape, scale


def rivals(scores: np.ndarray, cut: float) -> list[int]:
    """By how many themes the gamma, the lognormal and the exponential have most likelihood."""
    best = np.zeros(3, int)
    for k in range(K):
        own = scores[scores[:, k] > cut, k]
        shape = solve_shape(np.array([np.log(own.mean()) - np.log(own).mean()]))[0]
        logs = np.log(own)
        values = [
            stats.gamma.logpdf(own, shape, scale=own.mean() / shape).sum(),
            stats.lognorm.logpdf(own, logs.std(), scale=np.exp(logs.mean())).sum(),
            stats.expon.logpdf(own, scale=own.mean()).sum(),
        ]
        best[int(np.argmax(values))] += 1
    return best.tolist()


def table(steps: dict[int, np.ndarray], best: np.ndarray) -> list[str]:
    lines = head(
        "scores", "words at least", "documents of a theme, median",
        "shape: mean ± spread over themes", "scales, 95 : 5 %",
        "gamma, lognormal, exponential fit best",
    )  # fmt: skip
    cases = [(f"{n} steps of EM", scores, 1e-30) for n, scores in steps.items()]
    cases += [(f"{min(STEPS)} steps of EM", steps[min(STEPS)], cut) for cut in CUTS]
    cases += [("most likelihood", best, cut) for cut in CUTS]
    for name, scores, cut in cases:
        shape, scale = gammas(scores, cut)
        n = int(np.median((scores > cut).sum(axis=0)))
        spread = f"{shape.mean():.2f} ± {shape.std(ddof=1):.2f}"
        low, high = np.quantile(scale, [0.05, 0.95])
        least = "all" if cut < 1e-9 else cut
        best_fit = ", ".join(map(str, rivals(scores, cut)))
        lines.append(row(name, least, f"{n:,}", spread, f"{high / low:.1f} : 1", best_fit))
    return lines


def picture(corpora: dict[str, np.ndarray]) -> None:
    """Figure 2: log density of each theme's scores."""
    pyplot = plotting()
    figure, axes = pyplot.subplots(1, len(corpora), figsize=(9, 3))
    for axis, (name, scores) in zip(axes, corpora.items(), strict=True):
        top = float(np.quantile(scores, 0.999))
        edges = np.linspace(0, top, 40)
        for k in range(K):
            density, _ = np.histogram(scores[:, k], edges, density=True)
            axis.semilogy(edges[:-1], np.maximum(density, 1e-6))
        axis.set(title=name, xlabel="words of a theme in a document")
    axes[0].set_ylabel("density")
    figure.tight_layout()
    save(figure, "papers-gap-shapes")


def main() -> None:
    counts: dict[str, Any] = {
        "Cranfield": cranfield(data_file("cranfield"), titles=False),
        "20 Newsgroups": words_of(newsgroup_texts()[0]),
    }
    steps = {name: by_steps(own) for name, own in counts.items()}
    picture({name: own[min(STEPS)] for name, own in steps.items()})
    lines = [
        "# Gamma shapes of themes without a prior (C04 3.1, figure 2)",
        "",
        f"{K} themes without a prior, by plain steps of EM as C04 and to the most likelihood; then "
        "a gamma to each theme's scores. C04, 300,000 documents of TREC: shapes 0.19 ± 0.01, "
        "scales over a range of 4 : 1. How many near-zeros are counted decides the shape, and the "
        "paper does not say. ![densities](papers-gap-shapes.png)",
        "",
    ]
    for name, own in steps.items():
        made = counts[name]
        lines += [f"**{name}**, {made.n_docs:,} documents, {made.n_tokens:,} words", ""]
        lines += [*table(own, themes(made)), ""]
    write("papers-gap-shapes", lines)


if __name__ == "__main__":
    main()

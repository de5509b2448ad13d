"""How many components 20 Newsgroups has (BJ04 3.3, 5): harmonic means, held-out words, and times.

    python verification/papers/choice_of_k.py [--sweeps 300] [--direct-sweeps 100]

BJ04 tried K = 50, 100, 150, 200, 300 by a harmonic mean of p(words | Ω_n) and found 150 best;
200 sweeps were burn-in, 100 recorded. Two thirds of the sweeps are burn-in here, too. Priors are
the paper's: α of a total of one, γ the corpus with a total of one. Times of mean field, flat and
tree stand beside the paper's. Direct Gibbs, the paper's sampler, costs five times as much for a
sweep as the collapsed one, and has fewer. Parts are kept in `results/papers-choice-of-k.json` as
they are done, and a run goes on from there. Held-out words are predicted by collapsed Gibbs with
γ = 0.05, too, since a word that was met once is of one component alone under the paper's prior.
Writes `results/papers-choice-of-k.md`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from shared import Done, head, newsgroup_texts, row, write
from svm import words_of

import dcomp
from dcomp.data import train_test
from dcomp.evaluate import completion
from dcomp.evaluate.harmonic import harmonic_mean

KS = (50, 100, 150, 200, 300)
MINUTES = {"tree, 200": 280, "flat, 150": 202, "mean field, 150": 35}  # BJ04 5
CYCLES = {"tree, 200": 300, "flat, 150": 300, "mean field, 150": 100}
DRAWS = 10  # of assignments, 4 bytes a word each


def fitted(model: Any, counts: dcomp.Counts) -> tuple[dcomp.Fit, float]:
    """The fit, and the seconds of all cores that a sweep took."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        fit = model.fit(counts).fit_
    return fit, (time.process_time() - started) / fit.n_sweeps


def flat(algorithm: str, K: int, sweeps: int, **more: Any) -> Any:
    """BJ04's flat model, by one of the samplers."""
    return dcomp.LDA(
        K, alpha="total-one", gamma="empirical", algorithm=algorithm, max_iter=sweeps,
        burn_in=2 * sweeps // 3, random_state=0, n_jobs=2, verbose=0, **more,
    )  # fmt: skip


def held_out(fit: dcomp.Fit, test: dcomp.Counts) -> list[float]:
    found = completion(fit, test)
    return [found.perplexity, found.perplexity_error]


def by_direct(train: dcomp.Counts, test: dcomp.Counts, K: int, sweeps: int) -> dict[str, Any]:
    """The paper's sampler: the harmonic mean of p(words | m_n, Θ_n) over recorded sweeps, which
    its history has."""
    fit, seconds = fitted(flat("gibbs", K, sweeps), train)
    logs = np.asarray(fit.history["documents"])[2 * sweeps // 3 :]
    harmonic = float(np.log(len(logs)) - logsumexp(-logs))
    spread = [float(logs.min()), float(logs.max())]
    return {
        "harmonic": harmonic, "range": spread, "held out": held_out(fit, test), "seconds": seconds,
    }  # fmt: skip


def by_collapsed(train: dcomp.Counts, test: dcomp.Counts, K: int, sweeps: int) -> dict[str, Any]:
    """Collapsed Gibbs: the harmonic mean of p(words | assignments)."""
    model = flat("collapsed-gibbs", K, sweeps, n_draws=DRAWS, draws_of="assignments")
    fit, seconds = fitted(model, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = harmonic_mean(fit, train)
    return {
        "harmonic": found.log_evidence, "held out": held_out(fit, test), "seconds": seconds,
    }  # fmt: skip


def by_usual(train: dcomp.Counts, test: dcomp.Counts, K: int, sweeps: int) -> dict[str, Any]:
    """Collapsed Gibbs with a prior of loadings that leaves every component some of every word."""
    how: Any = {"alpha": "total-one", "gamma": 0.05, "random_state": 0, "n_jobs": 2, "verbose": 0}
    model = dcomp.LDA(K, algorithm="collapsed-gibbs", max_iter=sweeps, **how)
    return {"held out": held_out(fitted(model, train)[0], test)}


def others(name: str, train: dcomp.Counts, test: dcomp.Counts, sweeps: int) -> dict[str, Any]:
    """Mean field, and the tree that grows from 57 nodes to 200."""
    if name == "tree, 200":
        model: Any = dcomp.TreeDCA(
            7, 3, grow_to=200, grow_at=sweeps // 6, algorithm="collapsed-gibbs",
            gamma="empirical", max_iter=sweeps,
            burn_in=2 * sweeps // 3, n_jobs=2, verbose=0,
        )  # fmt: skip
    else:
        model = dcomp.LDA(
            150, alpha="total-one", gamma="empirical", algorithm="mean-field", n_jobs=2,
            max_iter=sweeps // 3, verbose=0,
        )  # fmt: skip
    fit, seconds = fitted(model, train)
    return {"held out": held_out(fit, test), "seconds": seconds}


def page(found: dict[str, Any], train: dcomp.Counts, how: Any) -> list[str]:
    """What is known by now."""
    N = train.n_tokens
    direct, collapsed, usual = (found[name] for name in ("direct", "collapsed", "usual"))
    lines = [
        "# How many components 20 Newsgroups has (BJ04 5)",
        "",
        f"{train.n_docs:,} posts without headers, {train.n_features:,} stems, {N:,} words; "
        f"{how['sweeps']} sweeps of collapsed Gibbs, {how['direct']} of direct Gibbs where the "
        "paper has 300, two thirds of them burn-in; one chain of each. "
        "Logarithms are per word; perplexities are of half of the words of the other posts, the "
        "other half given, with their standard errors over posts. The paper has K = 150 best and "
        "no figures. Under its prior γ a word that was met once is of one component alone, which "
        "is what held-out words suffer from.",
        "",
        *head(
            "K", "direct Gibbs: harmonic, p(w given m, Θ)", "with the paper's 1/K!", "held out",
            "collapsed Gibbs: harmonic, p(w given z)", "held out", "held out with γ = 0.05",
            "s a sweep, direct", "collapsed",
        ),
    ]  # fmt: skip
    for K in KS:
        d, c = direct.get(K), collapsed[K]
        own = ["–"] * 4
        if d:
            symmetric = (d["harmonic"] - gammaln(K + 1)) / N
            own = [f"{v:.4f}" for v in (d["harmonic"] / N, symmetric)]
            own += [perplexity(d), f"{d['seconds']:.2f}"]
        both = [f"{c['harmonic'] / N:.4f}", perplexity(c), perplexity(usual[K])]
        lines.append(row(K, *own[:3], *both, own[3], f"{c['seconds']:.2f}"))
    lines += ["", *times(direct, found["rest"]), ""]
    return lines


def perplexity(made: Any) -> str:
    return f"{made['held out'][0]:.0f} ± {made['held out'][1]:.0f}"


def times(direct: Any, rest: Any) -> list[str]:
    """The paper's minutes, and the minutes of one core that as many cycles take here."""
    found = {**rest, "flat, 150": direct.get(150)}
    lines = [
        "Times: seconds of all cores for a sweep, times the paper's cycles; the paper's machine "
        "had 1.5 GHz. Ratios are to its flat model and to the flat one here (direct Gibbs).",
        "",
        *head("", "BJ04, minutes", "ratio", "here, minutes of one core", "ratio", "held out"),
    ]
    base = CYCLES["flat, 150"] * (found["flat, 150"] or {"seconds": np.nan})["seconds"] / 60
    for name, minutes in MINUTES.items():
        made = found.get(name)
        if made:
            here = CYCLES[name] * made["seconds"] / 60
            ratios = (f"{minutes / MINUTES['flat, 150']:.2f}", f"{here / base:.2f}")
            lines.append(row(name, minutes, ratios[0], f"{here:.1f}", ratios[1], perplexity(made)))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--direct-sweeps", type=int, default=100)
    told = parser.parse_args()
    how = {"sweeps": told.sweeps, "direct": told.direct_sweeps}
    done = Done("papers-choice-of-k", how)
    train, test = train_test(words_of(newsgroup_texts()[0]), 0.05, seed=1)
    made: dict[str, Any] = {"direct": {}}
    for name, way in (("collapsed", by_collapsed), ("usual", by_usual)):
        made[name] = {
            K: done.part(f"{name} {K}", partial(way, train, test, K, told.sweeps)) for K in KS
        }
    made["rest"] = {
        name: done.part(name, partial(others, name, train, test, told.sweeps))
        for name in ("mean field, 150", "tree, 200")
    }
    for K in sorted(KS, key=lambda K: K != 150):  # that of the paper's times first
        one = partial(by_direct, train, test, K, told.direct_sweeps)
        made["direct"][K] = done.part(f"direct {K}", one)
        write("papers-choice-of-k", page(made, train, how))


if __name__ == "__main__":
    main()

"""Writes the golden files of the present format: run once per format version, then keep them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import dcomp
from dcomp.inference.keep import KINDS
from dcomp.result.storage import VERSION


class Known(dcomp.DCA):
    """With all that may be known beforehand."""


def main() -> None:
    W = np.random.default_rng(0).poisson(1.5, (12, 9))
    new = W[:3] + 1
    counts = dcomp.Counts.from_matrix(W, feature_names=[f"w{j}" for j in range(9)])
    known = {"seed_words": {"first": ["w1", "w2"]}, "fixed": np.full((1, 9), 1 / 9)}
    for model in (
        Known(4, **known, allowed=["first"] * 4 + [None] * 8, verbose=0),
        dcomp.LDA(3, verbose=0),
        dcomp.GaP(3, verbose=0),
        dcomp.DCA(3, model="CGP", max_iter=20, n_chains=2, n_draws=3, draws_of=KINDS, verbose=0),
        dcomp.CTM(3, verbose=0),
        dcomp.PLSA(3, held_out=0.2, verbose=0),  # carries a schedule
        dcomp.NMF(3, verbose=0),  # carries a momentum
        dcomp.TreeDCA(2, 2, grow_to=5, grow_at=5, max_iter=20, verbose=0),
        dcomp.StructuredDCA(
            tree=[3, 3, 4, 4, -1],
            structure="phi",
            leaves="GP",
            max_iter=20,
            n_chains=2,
            verbose=0,
        ),
    ):
        fitted = model.fit(counts).fit_
        path = Path(__file__).parent / f"v{VERSION}-{type(model).__name__}.dcomp"
        dcomp.save(fitted, path, overwrite=True)
        expected = {
            "model": fitted.model.key,
            "objective": fitted.objective,
            "Theta": fitted.Theta.tolist(),
            "new": new.tolist(),
            "scores": fitted.transform(new).tolist(),
        }
        if fitted.kept is not None:
            draws = fitted.kept
            names = ("sweep", "log_joint", "alpha", "rho", "scores", "Theta", "assignments")
            expected["draws"] = {name: getattr(draws, name).tolist() for name in names}
        path.with_suffix(".json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()

"""A hash of what every model × algorithm answers, so that a change of shape can show that it
changed no answer.

    DCOMP_SIMD=baseline python verification/fingerprints.py          # compare with the file
    DCOMP_SIMD=baseline python verification/fingerprints.py --write  # after a change that is meant

Every cell of the conformance tests is fitted to one planted corpus, and its loadings, scores,
objectives and priors are hashed; so are the answers for new documents and held-out scores. With
the baseline instruction set the numbers do not depend on the processor, only on the arithmetic of
compiler and NumPy: a difference on another platform is no error in itself.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dcomp
from dcomp import evaluate

ROOT = Path(__file__).parents[1]
FILE = ROOT / "verification" / "results" / "fingerprints.json"


def conformance() -> Any:
    """What the conformance tests know of the cells and how to make them."""
    path = ROOT / "tests" / "support" / "cells.py"
    spec = importlib.util.spec_from_file_location("cells", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted(seed: int = 3) -> dcomp.Counts:
    """200 documents of four components in two blocks' worth of words; one is empty."""
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet(np.full(40, 0.1), size=4)
    m = rng.dirichlet(np.full(4, 0.3), size=200)
    W = np.array([rng.multinomial(n, row @ Theta) for n, row in zip(rng.poisson(50, 200), m)])  # noqa: B905
    W[11] = 0
    return dcomp.Counts.from_matrix(W)


def arrays(value: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array within nested dataclasses, by name."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays(getattr(value, field.name), f"{name}.{field.name}")


def digest(*values: Any) -> str:
    """Of arrays by their bytes, of numbers by their exact digits."""
    total = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value)
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()[:16]


def of_fit(fit: dcomp.Fit, counts: dcomp.Counts) -> dict[str, str]:
    """What a fit answers about its own documents and about new ones."""
    new = counts.rows(slice(0, 60))
    priors = [array for _, array in sorted(arrays(fit.model.scores))]
    out = {
        "fit": digest(fit.Theta, fit.scores, fit.expected_counts, fit.history["objective"]),
        "priors": digest(*priors, fit.model.loadings.gamma),
        "transform": digest(fit.transform(new)),
    }
    more: dict[str, Callable[[], Any]] = {
        "sampled": lambda: (lambda s: (s.mean, s.sd, s.zero))(fit.sample_scores(new, n_draws=5)),
        "bound": lambda: (fit.bound(new),),
        "completion": lambda: (evaluate.completion(fit, new).log_likelihood,),
        "left to right": lambda: (evaluate.left_to_right(fit, new, particles=3).log_likelihood,),
        "draw": lambda: (lambda d: (d.scores, d.Theta))(fit.draw(seed=5)),
        "words": lambda: (fit.word_table(new, 3).table,),
    }
    for name, answer in more.items():
        try:
            out[name] = digest(*answer())
        except dcomp.UnsupportedCombination:
            out[name] = "refused"
    return out


def evidence(key: str) -> dict[str, str]:
    """Annealed evidence of a small corpus."""
    small = planted().rows(slice(0, 12))
    given = {"alpha": 0.3, "beta": 0.1, "rho": 0.2}
    names = {"DM": 1, "GP": 2, "CGP": 3}
    own = dict(list(given.items())[: names[key]])
    found = evaluate.evidence(
        small, n_components=2, model=key, gamma=0.2, n_sweeps=20, n_chains=3, **own
    )
    return {"evidence": digest(found.log_evidence)}


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    if os.environ.get("DCOMP_SIMD") != "baseline":
        print("run with DCOMP_SIMD=baseline: other instruction sets round differently")
        return 2
    warnings.simplefilter("ignore")
    cells, counts = conformance(), planted()
    found: dict[str, dict[str, str]] = {}
    for key, algorithm in cells.CELLS:
        if key.startswith("EX"):
            continue  # a made-up prior that only some builds have
        more = {"n_draws": 3} if cells.ALGORITHMS[algorithm].samples else {}
        fit = cells.make(key, algorithm, max_iter=16, **more).fit(counts).fit_
        found[f"{key} by {algorithm}"] = of_fit(fit, counts)
    for key in ("DM", "GP", "CGP"):
        found[f"{key} evidence"] = evidence(key)
    if options.write:
        options.file.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    wanted = json.loads(options.file.read_text())
    wrong = [
        f"{cell}: {name}"
        for cell in sorted({*found, *wanted})
        for name in sorted({*found.get(cell, {}), *wanted.get(cell, {})})
        if found.get(cell, {}).get(name) != wanted.get(cell, {}).get(name)
    ]
    print("\n".join(wrong) or f"all {sum(map(len, found.values()))} answers are the same")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

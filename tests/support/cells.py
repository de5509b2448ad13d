"""The cells of the registry, model × algorithm, and an estimator for each."""

from __future__ import annotations

import numpy as np

import dcomp
from dcomp import registry
from dcomp.inference import ALGORITHMS

# Of structured components, one of each way to have a Υ and of each prior of leaves.
STRUCTURED = ("ST shared DM search", "ST phi GP", "ST document CGP", "ST document-phi DM")
CELLS = [
    (variant, name)
    for model, names in registry.supported().items()
    for variant in (STRUCTURED if model == "ST" else (model,))
    for name in names
]


def make(key, algorithm, **options):
    has_no_prior = getattr(algorithm, "name", algorithm) in ("ml", "tempered-em")
    settings = {"max_iter": 8, "tol": 0, "verbose": 0, "gamma": 1.0 if has_no_prior else 0.1}
    settings |= options
    if isinstance(algorithm, str) and ALGORITHMS[algorithm].is_plain:
        settings = {"n_tries": 1} | settings  # more take longer, and have tests of their own
    if isinstance(algorithm, str) and ALGORITHMS[algorithm].samples:
        settings = {"burn_in": 4} | settings  # the same for short and long runs, to compare them
    if key == "TM":  # two levels of internal nodes; annealed by name only, unlike the others
        if "burn_in" in settings:
            settings = {"anneal": 0} | settings
        return dcomp.TreeDCA(tree=[-1, 0, 0, 1, 1], algorithm=algorithm, **settings)
    if key.startswith("ST"):
        structure, leaves, *search = key.split()[1:]
        settings = {"anneal": 0, "n_chains": 1} | settings
        shape = {"n_components": 4} if search else {"tree": [4, 4, 5, 5, -1, -1]}
        options = {"structure": structure, "leaves": leaves, "algorithm": algorithm}
        return dcomp.StructuredDCA(**shape, **options, **settings)
    return dcomp.DCA(4, model=key, algorithm=algorithm, **settings)


def same(a: dcomp.Fit, b: dcomp.Fit) -> bool:
    numbers = ("Theta", "scores", "expected_counts")
    equal = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in numbers)
    traces = np.array_equal(a.history["objective"], b.history["objective"])
    return equal and traces and a.model == b.model

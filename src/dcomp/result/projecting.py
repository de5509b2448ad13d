"""project: a fit whose components are all given; scores and their prior alone are found."""

from __future__ import annotations

from typing import Any

from dcomp.data import as_counts
from dcomp.data.components import Components
from dcomp.recipe import Recipe
from dcomp.recipe.known_files import known_components
from dcomp.result.fit import Fit
from dcomp.result.fitting import fit


def project(X: Any, components: Any, model: str = "DM", **options: Any) -> Fit:
    """Documents on components that are known: published signatures, allele frequencies, topics of
    another corpus. A fit like any other, whose loadings are those that were given; scores are
    found, and the prior of the scores where it is "auto" (MODELS §11).

    components: a frame or an array, components × features, a fit, a catalogue of signatures, or a
    file of these (CSV, TSV, parquet, ADMIXTURE's .P). Features are matched by name where both have
    names. options: those of `dcomp.Recipe`, and n_jobs.

    >>> import pandas
    >>> known = pandas.DataFrame([[0.8, 0.2, 0], [0, 0.2, 0.8]], ["a", "b"], ["x", "y", "z"])
    >>> X = pandas.DataFrame([[0, 2, 9], [8, 3, 0]], columns=["z", "y", "x"])
    >>> found = project(X, known)
    >>> found.component_names, found.scores.argmax(axis=1).tolist()
    (('a', 'b'), [0, 1])
    """
    known: Components = known_components(components)
    counts, n_jobs = as_counts(X), options.pop("n_jobs", None)
    given = {"n_components": known.n_components, "model": model, "fixed": known}
    resolved = Recipe.from_options(**given, **options).resolve(counts)
    how = vars(resolved.settings)
    return fit(counts, resolved.model, resolved.algorithm, **how, n_jobs=n_jobs)

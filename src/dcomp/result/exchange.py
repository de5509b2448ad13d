"""What other packages read: draws for xarray and ArviZ, scores and loadings for AnnData and for
pyLDAvis, and MALLET's file of every token with its component."""

from __future__ import annotations

import gzip
import importlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dcomp.atomic import StrPath, atomic_write
from dcomp.data import FeatureSpace, as_counts
from dcomp.errors import (
    DataWarning,
    InvalidParameter,
    MissingDependency,
    UnsupportedCombination,
    warn,
)
from dcomp.io.anndata import from_anndata

if TYPE_CHECKING:
    import xarray

    from dcomp.result.draws import Draws
    from dcomp.result.fit import Fit
    from dcomp.result.tables import Assignments

DIMENSIONS = {
    "scores": ("document", "component"),
    "Theta": ("feature", "component"),
    "assignments": ("token",),
    "alpha": ("component",),
    "beta": ("component",),
    "rho": ("component",),
    "gamma": (),
    "a1": ("component",),
    "a2": ("component",),
    "b": ("component",),
}
# ST: its priors are of leaves, and of pairs of leaf and node or of nodes and their two ways on.
_OF_STRUCTURE = {1: ("pair",), 2: ("component", "side")}


def to_xarray(draws: Draws) -> xarray.Dataset:
    """Everything that was kept, by name, with labelled dimensions; arrays are shared."""
    xr = _optional("xarray")
    arrays: dict[str, Any] = {
        "scores": draws.scores,
        "Theta": draws.Theta,
        "assignments": draws.assignments,
        **draws.hyper,
    }
    lead = ("chain", "draw")
    variables: dict[str, Any] = {
        name: (lead + _dimensions(name, values, draws.n_components), values)
        for name, values in arrays.items()
        if values is not None
    }
    variables["log_joint"] = (lead, draws.log_joint)
    labels = {
        "chain": list(draws.chains),
        "draw": np.arange(draws.n_draws),
        "sweep": ("draw", draws.sweep),
        "component": np.arange(draws.n_components),
    }
    if draws.scores is not None:
        n_docs = draws.scores.shape[2]
        labels["document"] = list(draws.doc_ids) if draws.doc_ids else np.arange(n_docs)
    if draws.Theta is not None:
        labels |= _feature_labels(draws.features)
    dataset: xarray.Dataset = xr.Dataset(variables, labels, {"created_by": "dcomp"})
    return dataset


def _dimensions(name: str, values: Any, n_components: int) -> tuple[str, ...]:
    if name == "psi":
        return _OF_STRUCTURE[values.ndim - 2]
    of = DIMENSIONS[name]
    return ("leaf",) if of == ("component",) and values.shape[-1] != n_components else of


def _feature_labels(features: FeatureSpace) -> dict[str, Any]:
    """Names, or numbers where there are neither names nor blocks; the block beside its features."""
    J = features.n_features
    if features.n_blocks > 1:
        blocks = [features.block_name(g) for g in features.blocks.tolist()]
        names = features.labels or [features.name(j) for j in range(J)]
        return {"feature": list(names), "block": ("feature", blocks)}
    return {"feature": np.arange(J) if features.names is None else list(features.names)}


def to_arviz(draws: Draws) -> Any:
    """The groups posterior and sample_stats; ArviZ's own type where it has one."""
    arviz, xr = _optional("arviz"), _optional("xarray")
    whole = to_xarray(draws)
    groups = {
        "posterior": whole.drop_vars("log_joint"),
        "sample_stats": whole[["log_joint"]].rename(log_joint="lp"),
    }
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(**groups)
    return xr.DataTree.from_dict(groups)


def into_anndata(fit: Fit, data: Any, key: str, layer: str | None) -> Any:
    """Scores to obsm, loadings to varm; a gene that the fit does not know has none."""
    counts = from_anndata(data, layer=layer, fractional=fit.provenance.fractional)
    known = {fit.features.name(j): j for j in range(fit.features.n_features)}
    places = [known.get(str(name), -1) for name in data.var_names]
    if max(places, default=-1) < 0:
        raise InvalidParameter(
            f"none of the {len(places)} names in var_names is a feature of the fit"
        )
    found = np.asarray(places)
    loadings = np.zeros((len(places), fit.n_components))
    loadings[found >= 0] = np.asarray(fit.Theta)[found[found >= 0]]
    aligned, _ = counts.aligned_to(fit.features)
    scores = fit.scores if fit.is_of(aligned) else fit.transform(aligned)
    data.obsm[f"X_{key}"] = np.array(scores)
    data.varm[key] = loadings
    return data


def _optional(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            # ArviZ tells its users about its next version; they did not ask dcomp for it.
            warnings.simplefilter("ignore", FutureWarning)
            return importlib.import_module(name)
    except ImportError:
        raise MissingDependency(
            f'this needs {name}, which is not installed: pip install "dcomp[arviz]"'
        ) from None


def for_pyldavis(fit: Fit, X: Any) -> dict[str, Any]:
    """The arguments of pyLDAvis.prepare. Features that no document has are left out (their lift
    would be a division by zero); blocks are taken together, each with the same weight."""
    counts, _ = as_counts(X, fractional=fit.provenance.fractional).aligned_to(fit.features)
    scores = np.asarray(fit.scores if fit.is_of(counts) else fit.transform(counts), np.float64)
    seen = counts.feature_totals > 0
    loadings = np.maximum(np.asarray(fit.Theta, np.float64)[seen].T, 1e-300)
    sums = scores.sum(axis=1, keepdims=True)
    return {
        "topic_term_dists": loadings / loadings.sum(axis=1, keepdims=True),
        "doc_topic_dists": np.where(
            sums > 0, scores / np.maximum(sums, 1e-300), 1 / scores.shape[1]
        ),
        "doc_lengths": np.array(counts.doc_totals),
        "vocab": [fit.features.name(int(j)) for j in np.flatnonzero(seen)],
        "term_frequency": np.array(counts.feature_totals[seen]),
    }


def write_mallet_state(fit: Fit, X: Any, path: StrPath, overwrite: bool) -> None:
    """MALLET's state: document, source, position, number and text of the token, component."""
    counts, _ = as_counts(X).aligned_to(fit.features)
    tokens = fit.assignments(counts)
    gamma = np.unique(np.asarray(fit.model.loadings.gamma, np.float64))
    if gamma.size != 1:
        raise UnsupportedCombination("MALLET's state has one beta for all features; gamma has more")
    names = [fit.features.name(j) for j in range(fit.features.n_features)]
    words = ["_".join(name.split()) or "_" for name in names]
    if words != names:
        warn("names of features with spaces have _ there, which MALLET cannot", DataWarning)
    priors = {p.name: p.value for p in fit.model.scores.parameters()}
    alpha = " ".join(f"{float(a)!r}" for a in np.ravel(priors.get("alpha", ())))
    ids = ["_".join(name.split()) for name in counts.doc_ids or ()]
    head = [
        "#doc source pos typeindex type topic",
        f"#alpha : {alpha}",
        f"#beta : {float(gamma[0])!r}",
    ]
    place = atomic_write(path, overwrite=overwrite)
    with place as plain, gzip.GzipFile("", "wb", 6, plain, mtime=0) as stream:
        stream.write("".join(f"{line}\n" for line in head).encode())
        for i in range(counts.n_docs):
            stream.write(_state_lines(tokens, i, words, ids).encode("utf-8", "backslashreplace"))


def _state_lines(tokens: Assignments, i: int, words: list[str], ids: list[str]) -> str:
    """Of a document, as it is read where that is known."""
    in_order = tokens.sequences is not None
    features, components = tokens.in_order(i) if in_order else tokens.of_document(i)
    source = ids[i] if ids else "NA"
    rows = [
        f"{i} {source} {place} {j} {words[j]} {k}\n"
        for place, (j, k) in enumerate(zip(features.tolist(), components.tolist(), strict=True))
        if j >= 0 and k >= 0
    ]
    return "".join(rows)

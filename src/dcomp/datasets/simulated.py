"""Tables drawn from any model of this package, with the truth that they were drawn from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.data.canonical import LIMIT
from dcomp.datasets.draws import Floats, check_sizes, frozen, generator, numbered
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Model
from dcomp.recipe import Recipe

USUAL_LENGTH = 100


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Counts drawn from a model, and what made them."""

    counts: Counts  # (I, J)
    scores: Floats  # (I, K): shares of DM, LN and TM, amounts of GP and CGP; of ST those of nodes
    components: Floats  # (K, J), rows sum to 1 within each block
    model: Model  # with the priors that scores and components were drawn from
    exposure: Floats | None  # (I,) or (I, G) of GP and CGP; None where lengths are given


def simulate(
    model: str | Model = "DM",
    n_docs: int = 200,
    n_features: int = 100,
    *,
    length: npt.ArrayLike | None = None,
    exposure: npt.ArrayLike | None = None,
    blocks: Iterable[Hashable] | None = None,
    seed: int = 0,
    **options: Any,
) -> Simulated:
    """A table of w ~ model, scores and loadings from their priors: BJ06 (2), (3), (4), BJ04 3.4,
    B18 7, B09 3.3.

    model: any name that `dcomp.DCA` takes, or a Model object. length: tokens of a document, one
    number for all or one for each (and for each block); 100 unless given. Under GP and CGP lengths
    are random: `length` there is the mean of documents that have all components, from which beta
    follows, and `exposure` says how long each was watched, 1 unless given. options: those of the
    model (`n_components`, `alpha`, `rho`, `gamma`, `tree`, `structure`, …); a prior that is not
    said has the value that a fit begins with.

    >>> table = simulate("CGP", 50, 30, n_components=3, rho=0.4, seed=1)
    >>> table.counts.shape, table.components.shape, bool((table.scores == 0).any())
    ((50, 30), (3, 30), True)
    >>> simulate("TM", 20, 30, branching=2, depth=3).model.scores.tree.n_nodes
    7
    """
    check_sizes(n_docs=n_docs, n_features=n_features)
    features = FeatureSpace.build(n_features, numbered("word", n_features), blocks)
    made = _model(model, n_docs, features, length, options)
    if made.has_exposure and length is not None and ("beta" in options or made is model):
        raise InvalidParameter("length has no effect where beta is given: it sets the lengths")
    size = _size(made, n_docs, features.n_blocks, length, exposure)
    counts, scores, Theta = made.simulate(features, size, generator(seed))
    named = replace(counts, doc_ids=tuple(numbered("doc", n_docs)))
    watched = frozen(size) if made.has_exposure else None
    return Simulated(named, frozen(scores), frozen(Theta.T), made, watched)


def _model(
    model: str | Model, n_docs: int, features: FeatureSpace, length: Any, options: dict[str, Any]
) -> Model:
    """The model that was meant; a named one hears of documents of the length that was asked for."""
    if not isinstance(model, str):
        if options:
            raise InvalidParameter(
                f"a Model object has its priors: leave out {', '.join(options)}, or name the model"
            )
        return model
    mean = USUAL_LENGTH if length is None else float(np.mean(length))
    if not 0 <= mean <= LIMIT:
        raise InvalidParameter(
            f"length must be a whole number of at least 0, and at most {LIMIT:,}; got {length!r}"
        )
    tokens = max(1, round(mean))
    word = (np.arange(n_docs) % features.n_features).astype(np.int32)
    alike = Counts(np.arange(n_docs + 1), word, np.full(n_docs, tokens, np.int32), features)
    return Recipe.from_options(model=model, **options).resolve(alike).model


def _size(model: Model, n_docs: int, n_blocks: int, length: Any, exposure: Any) -> npt.NDArray[Any]:
    """Tokens or exposure of every document (and block)."""
    if not model.has_exposure and exposure is not None:
        raise UnsupportedCombination(
            f"model {model.key} takes lengths as given, and has no exposure: say length="
        )
    if model.has_exposure and np.ndim(length):
        raise UnsupportedCombination(
            f"lengths are random under model {model.key}: say exposure=, one for each document"
        )
    name, given = ("exposure", exposure) if model.has_exposure else ("length", length)
    usual: float = 1 if model.has_exposure else USUAL_LENGTH
    size = np.asarray(usual if given is None else given, np.float64)
    size = np.full(n_docs, size) if size.ndim == 0 else size
    is_whole = model.has_exposure or bool((size == np.floor(size)).all())
    if (
        size.shape not in ((n_docs,), (n_docs, n_blocks))
        or not (np.isfinite(size) & (size >= 0)).all()
        or not is_whole
    ):
        kind = "a number" if model.has_exposure else "a whole number"
        raise InvalidParameter(
            f"{name} must be {kind} of at least 0, for all or for each of {n_docs} documents (and "
            f"{n_blocks} blocks); got {given!r}"
        )
    return size if model.has_exposure else size.astype(np.int64)

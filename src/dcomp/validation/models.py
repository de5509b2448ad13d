"""Models from their names and priors."""

from __future__ import annotations

import numbers
from typing import Any

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import Algorithm, MapEM, MaximumLikelihood, TemperedEM
from dcomp.models import MODELS, LogisticNormal, Model, Structured, Tree, TreeMultinomial
from dcomp.models.arrays import component_vector
from dcomp.validation.numbers import whole_number
from dcomp.validation.priors import is_word, no_meaning, resolve_gamma, with_learned_gamma
from dcomp.validation.trees import BRANCHING, resolve_tree_model

# What "auto" is where α is not learned. For map C04 3.6: a little below the shapes that texts show,
# 1.2 to 1.4, to keep components apart.
POINT_ALPHA = {MapEM.name: 1.1, MaximumLikelihood.name: 1.0, TemperedEM.name: 1.0}


_PRIORS = ("alpha", "beta", "rho", "gamma")


def resolve_model(
    model: str | Model,
    counts: Counts,
    n_components: int,
    *,
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.5,
    shrinkage: Any = None,
    algorithm: str | Algorithm = "auto",
) -> Model:
    """A model from its name and priors; "auto" priors are learned from a start that suits the data.
    TM has a complete tree of 7 branches (`dcomp.TreeDCA` for others) and the paper's priors.

    alpha: "auto" (learned; 1.1 for map, 1 where there is no prior), "total-one" (1/K each, BJ04
    §5), a number or K numbers. beta (GP, CGP): "auto" (learned; for map the start itself, for ml
    0), a number or K numbers. rho (CGP): "auto", a number or K numbers. gamma: a number, J numbers,
    "empirical" (BJ04 §5), or "auto" (one number for all features, learned by the samplers).
    LN learns μ0 and Σ0 and has none of alpha, beta, rho; shrinkage: see `resolve_shrinkage`.
    A name such as "plsa" brings its own priors, see `registry.named_model`.
    """
    if not isinstance(model, str):
        return model
    named = registry.named_model(model)
    priors = named.priors(alpha=alpha, beta=beta, rho=rho, gamma=gamma)
    key, alpha, beta, rho, gamma = named.key, *(priors[name] for name in _PRIORS)
    algorithm = named.algorithm(algorithm)
    K = whole_number("n_components", n_components, 1)
    if key == Structured.key:
        raise UnsupportedCombination(
            "model ST has a structure beside its components: use dcomp.StructuredDCA, or give a "
            "Structured object"
        )
    if key == TreeMultinomial.key:
        no_meaning(key, alpha=alpha, beta=beta, rho=rho)
        if shrinkage is not None:
            raise UnsupportedCombination(f"shrinkage has no meaning for model {key}; it is for LN")
        return resolve_tree_model(Tree.complete(K, BRANCHING), counts, gamma=gamma)
    options: dict[str, Any] = {"gamma": resolve_gamma(gamma, counts)}
    if key == LogisticNormal.key:
        no_meaning(key, alpha=alpha, beta=beta, rho=rho)
        options |= {"learn_mu0": True, "learn_Sigma0": True}
        normal = LogisticNormal.build(K, shrinkage=resolve_shrinkage(shrinkage), **options)
        return with_learned_gamma(normal, gamma)
    if shrinkage is not None:
        raise UnsupportedCombination(f"shrinkage has no meaning for model {key}; it is for LN")
    name = algorithm if isinstance(algorithm, str) else algorithm.name
    is_point = name in POINT_ALPHA
    word = is_word("alpha", alpha, ("auto", "total-one"))
    options["learn_alpha"] = word == "auto" and not is_point
    options["alpha"] = alpha if word is None else 1.0 / K
    if is_point and word == "auto":
        options["alpha"] = POINT_ALPHA[name]
    if MODELS[key].has_exposure:
        options["learn_beta"] = is_word("beta", beta, ("auto",)) == "auto" and not is_point
        # With this start a document of average length has the expected total Σ α/β.
        mean_length = max(counts.n_tokens / counts.n_docs, 1e-3)
        start = float(component_vector("alpha", options["alpha"], K).sum()) / mean_length
        start = 0.0 if name == MaximumLikelihood.name else start
        options["beta"] = start if isinstance(beta, str) else beta
    else:
        no_meaning(key, beta=beta)
    if key == "CGP":
        options["learn_rho"] = is_word("rho", rho, ("auto",)) == "auto"
        options["rho"] = 0.5 if isinstance(rho, str) else rho
    else:
        no_meaning(key, rho=rho)
    build: Any = MODELS[key].build
    return with_learned_gamma(build(K, **options), gamma)


def resolve_shrinkage(shrinkage: Any) -> float | None:
    """How far LN draws Σ0 to independent components: a number from 0 to 1, None for 0, or "auto",
    which the scores hold as None.

    >>> resolve_shrinkage("auto"), resolve_shrinkage(None), resolve_shrinkage(1)
    (None, 0.0, 1.0)
    """
    if is_word("shrinkage", shrinkage, ("auto",)) == "auto":
        return None
    is_number = isinstance(shrinkage, numbers.Real) and not isinstance(shrinkage, bool)
    if shrinkage is not None and not (is_number and 0 <= shrinkage <= 1):
        raise InvalidParameter(
            f"shrinkage must be 'auto' or a number from 0 to 1; got {shrinkage!r}"
        )
    return 0.0 if shrinkage is None else float(shrinkage)

"""From what the user typed to a Fit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.common import Source, one_line_warnings, say

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.result import Fit


@dataclass(frozen=True)
class Settings:
    """What defines a new fit; None where the user said nothing."""

    k: int | None = None
    model: str | None = None
    algorithm: str | None = None
    alpha: str | None = None
    beta: str | None = None
    rho: str | None = None
    gamma: str | None = None
    loadings: str | None = None
    exposure: str | None = None
    seed: int | None = None
    burn_in: int | None = None
    start: str | None = None
    anneal: int | None = None
    chains: int | None = None
    draws: int | None = None
    draws_of: str | None = None
    shrinkage: str | None = None
    branching: int | None = None
    depth: int | None = None
    grow_to: int | None = None
    grow_at: int | None = None
    structure: str | None = None
    leaves: str | None = None
    tree: Path | None = None

    def check(self, resume: Path | None) -> None:
        """Refuse early, before a large file is read: unknown names, options without effect."""
        from dcomp import registry
        from dcomp.errors import InvalidParameter

        given = [name for name, value in asdict(self).items() if value is not None]
        if resume is not None and given:
            flags = ", ".join(_flag(name) for name in given)
            raise InvalidParameter(
                f"a resumed fit keeps its own settings: leave out {flags}, or fit anew"
            )
        if self.draws_of is not None and self.draws is None:
            raise InvalidParameter("--draws-of has no effect without --draws")
        named = registry.named_model(self.model or "DM")
        key = named.key
        registry.algorithm_name(key, self.algorithm or "auto")
        named.algorithm(self.algorithm or "auto")
        for name, models in _OF_HIERARCHIES.items():
            if getattr(self, name) is not None and key not in models:
                of = " and ".join(models)
                raise InvalidParameter(f"{_flag(name)} is an option of model {of}, not {key}")
        sizes = [name for name in ("k", "depth", "tree") if getattr(self, name) is not None]
        if len(sizes) > 1:
            both = " and ".join(map(_flag, sizes[:2]))
            raise InvalidParameter(f"{both} both say how many nodes there are: give one")


_OF_HIERARCHIES = {
    "branching": ("TM", "ST"),
    "depth": ("TM", "ST"),
    "tree": ("TM", "ST"),
    "grow_to": ("TM",),
    "grow_at": ("TM",),
    "structure": ("ST",),
    "leaves": ("ST",),
}


def _flag(name: str) -> str:
    return "-k" if name == "k" else "--" + name.replace("_", "-")


def number_or_word(value: str | None, default: Any) -> Any:
    """A float where `value` is one, else the word itself.

    >>> number_or_word("0.1", None), number_or_word("auto", None), number_or_word(None, 0.5)
    (0.1, 'auto', 0.5)
    """
    if value is None:
        return default
    try:
        return float(value)
    except ValueError:
        return value


def run_fit(
    source: Source,
    settings: Settings,
    resume: Path | None,
    max_iter: int,
    tol: float,
    jobs: int | None,
    *,
    draw_budget: str | None,
    show: bool,
) -> tuple[Fit, Counts]:
    """Read, then fit or resume, with a bar on a terminal."""
    try:
        from dcomp.result import load

        earlier = None if resume is None else load(resume)
        counts = source.read()
        fitted = _run(
            counts, settings, earlier, max_iter, tol, jobs, draw_budget=draw_budget, show=show
        )
        return fitted, counts
    except KeyboardInterrupt:
        say("interrupted before the first sweep was complete: there is nothing to save")
        raise


def _run(
    counts: Counts,
    settings: Settings,
    earlier: Fit | None,
    max_iter: int,
    tol: float,
    jobs: int | None,
    *,
    draw_budget: str | None,
    show: bool,
) -> Fit:
    from dcomp.estimators.progress import progress
    from dcomp.result import fit
    from dcomp.result.fitting import plan_draws

    if not math.isfinite(tol):
        from dcomp.errors import InvalidParameter

        raise InvalidParameter(f"--tol must be a finite number; got {tol}")
    model, algorithm = _parts(counts, settings, earlier, max_iter)
    n_chains = settings.chains or 1
    plan = plan_draws(counts, model, algorithm, max_iter, n_chains, draw_budget)
    if plan is not None and show:
        say(str(plan))
    label = f"{model.key} K={model.n_components}"
    goal = 0.0 if algorithm.samples else tol  # the bar shows no goal where there is none
    with one_line_warnings(), progress(int(show), max_iter, goal, label) as bars:
        return fit(
            counts,
            model,
            algorithm,
            exposure=settings.exposure,  # a resumed fit brings its own
            max_iter=max_iter,
            tol=tol,
            n_chains=n_chains,
            n_jobs=jobs,
            seed=settings.seed or 0,
            callbacks=bars,
            draw_budget=draw_budget,
            resume=earlier,
        )


def _parts(
    counts: Counts, settings: Settings, earlier: Fit | None, max_iter: int
) -> tuple[Any, Any]:
    from dcomp import registry, validation

    if earlier is not None:
        return earlier.model, earlier.algorithm
    # The defaults of LDA and GaP for text; Jeffreys' prior where features come in blocks.
    usual_gamma = 0.05 if counts.features.n_blocks == 1 else 0.5
    if settings.algorithm in ("ml", "tempered-em"):
        usual_gamma = 1.0  # no prior
    named = registry.named_model(settings.model or "DM")
    key, usual_gamma = named.key, named.settings.get("gamma", usual_gamma)
    if key == "TM":
        return _tree_parts(counts, settings, max_iter, usual_gamma)
    if key == "ST":
        return _structured_parts(counts, settings, max_iter, usual_gamma)
    model = validation.resolve_model(
        settings.model or "DM",
        counts,
        10 if settings.k is None else settings.k,
        alpha=number_or_word(settings.alpha, "auto"),
        beta=number_or_word(settings.beta, "auto"),
        rho=number_or_word(settings.rho, "auto"),
        gamma=number_or_word(settings.gamma, usual_gamma),
        shrinkage=number_or_word(settings.shrinkage, None),
        algorithm=named.algorithm(settings.algorithm or "auto"),
    )
    return model, _algorithm(model, settings, max_iter)


def _algorithm(model: Any, settings: Settings, max_iter: int) -> Any:
    from dcomp import registry, validation

    named = registry.named_model(settings.model or "DM")
    return validation.resolve_algorithm(
        named.algorithm(settings.algorithm or "auto"),
        model,
        loadings=settings.loadings,
        burn_in=settings.burn_in,
        start=settings.start,
        anneal=settings.anneal,
        max_iter=max_iter,
        n_draws=settings.draws or 0,
        **({} if settings.draws_of is None else {"draws_of": settings.draws_of}),
    )


def _tree_parts(counts: Counts, settings: Settings, max_iter: int, gamma: float) -> tuple[Any, Any]:
    """A tree by branching and depth, or of -k nodes, and how it grows."""
    from dcomp import validation
    from dcomp.errors import UnsupportedCombination
    from dcomp.models import Tree

    for name in ("alpha", "beta", "rho"):
        if getattr(settings, name) is not None:
            raise UnsupportedCombination(f"--{name} has no meaning for model TM")
    if settings.tree is not None:
        tree = validation.resolve_tree(read_tree(settings.tree))
    elif settings.k is None:
        tree = validation.resolve_tree(None, settings.branching, settings.depth)
    else:
        tree = Tree.complete(settings.k, settings.branching or validation.BRANCHING)
    model = validation.resolve_tree_model(tree, counts, gamma=number_or_word(settings.gamma, gamma))
    algorithm = _algorithm(model, settings, max_iter)
    growth = validation.resolve_growth(
        model, settings.grow_to, settings.grow_at, settings.branching
    )
    return model, algorithm if growth is None else replace(algorithm, grow=growth)


def _structured_parts(
    counts: Counts, settings: Settings, max_iter: int, gamma: float
) -> tuple[Any, Any]:
    """A tree by branching and depth or from a file, or a search above -k leaves."""
    from dcomp import validation

    tree = None
    if settings.tree is not None:
        tree = read_tree(settings.tree)
    elif settings.branching is not None or settings.depth is not None:
        tree = validation.resolve_tree(None, settings.branching, settings.depth)
    structure, searches = validation.resolve_structure(settings.k, tree)
    model = validation.resolve_structured_model(
        structure,
        counts,
        kind=settings.structure or "shared",
        leaves=settings.leaves or "DM",
        alpha=number_or_word(settings.alpha, "auto"),
        beta=number_or_word(settings.beta, "auto"),
        rho=number_or_word(settings.rho, "auto"),
        gamma=number_or_word(settings.gamma, gamma),
    )
    algorithm = validation.resolve_structured_algorithm(
        _algorithm(model, settings, max_iter),
        model,
        searches=searches,
        anneal=settings.anneal is None,
        one_structure=bool(settings.draws) and (settings.chains or 1) > 1,
    )
    return model, algorithm


def read_tree(path: Path) -> Any:
    """Names within names, or parents of nodes, from a JSON file."""
    import json

    from dcomp.errors import InvalidFile

    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidFile(
            f"{path}: a tree is JSON, names within names or a list of parents; {error}"
        ) from None

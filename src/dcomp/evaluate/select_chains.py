"""One chain of one K of a selection: fitted to most documents, scored on the rest, and kept."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import registry
from dcomp.atomic import atomic_write
from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.evaluate.heldout import completion
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.inference.start import generator
from dcomp.models.arrays import FloatArray
from dcomp.models.options import usual_gamma
from dcomp.printable import printable
from dcomp.recipe import Recipe
from dcomp.recipe.recipe import require_plain
from dcomp.result import fit
from dcomp.result.fitting import chain_seeds

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plan:
    """What all chains of a selection share."""

    counts: Counts
    exposure: Any  # None, "total", or (I, …) numbers
    model: str  # key
    algorithm: str | Algorithm
    priors: dict[str, Any]
    n_chains: int
    n_starts: int
    max_iter: int | None
    tol: float
    seed: int
    keep: Path | None

    @classmethod
    def build(
        cls, counts: Counts, exposure: Any, *, model: str, algorithm: str, **rest: Any
    ) -> Plan:
        """Checked before anything runs."""
        if not isinstance(model, str):
            raise InvalidParameter(f"model must be a name here; got {type(model).__name__}")
        require_plain(model)
        named = registry.named_model(model)
        registry.algorithm_name(named.key, algorithm)
        how = named.algorithm(algorithm)
        if how == "auto":
            how = registry.algorithm_name(named.key)
        if exposure is not None and not isinstance(exposure, str):
            exposure = np.asarray(exposure)
        priors = named.priors(**{k: v for k, v in rest["priors"].items() if v is not None})
        estimates = (ALGORITHMS[how] if isinstance(how, str) else how).estimates
        priors.setdefault("gamma", usual_gamma(estimates, counts.features.n_blocks))
        rest["priors"] = priors
        plan = cls(counts, exposure, named.key, how, **rest)
        if counts.n_docs < 2 * plan.n_chains:
            raise InvalidCounts(
                f"{plan.n_chains} chains need at least {2 * plan.n_chains} documents to hold some "
                f"out for each; there are {counts.n_docs}"
            )
        if plan.keep is not None and not plan.keep.is_dir():
            if plan.keep.exists():
                raise NotADirectoryError(f"{printable(plan.keep)} is a file; a folder is needed")
            plan.keep.mkdir(parents=True)
        return plan

    @property
    def has_priors(self) -> bool:
        """Whether there is something for an evidence to integrate over."""
        # An algorithm that is more than its name comes with plsa or nmf.
        name = self.algorithm
        return isinstance(name, str) and ALGORITHMS[name].estimates != "likelihood"

    @cached_property
    def parts(self) -> list[Numbers]:
        """The documents that each chain is scored on, a random cut."""
        order = generator(self.seed, purpose=7).permutation(self.counts.n_docs)
        return [np.sort(part) for part in np.array_split(order, self.n_chains)]

    @cached_property
    def fingerprint(self) -> str:
        """Of the counts and all settings: what is kept belongs to these alone."""
        settings = replace(self, keep=None)
        words = {
            name: value.tolist() if isinstance(value, np.ndarray) else repr(value)
            for name, value in vars(settings).items()
            if name not in ("counts", "keep")
        }
        text = json.dumps([self.counts.fingerprint(), words], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def recipe(self, n_components: int) -> Recipe:
        """How the chains of one K are fitted."""
        return Recipe.from_options(
            model=self.model,
            algorithm=self.algorithm,
            n_components=n_components,
            max_iter=self.max_iter,
            **self.priors,
        )

    def exposure_of(self, documents: Numbers) -> Any:
        """Of some documents."""
        is_array = isinstance(self.exposure, np.ndarray)
        return self.exposure[documents] if is_array else self.exposure


@dataclass(frozen=True, eq=False)
class ChainScore:
    """What a chain leaves: its held-out scores and its components."""

    documents: Numbers  # those held out
    per_document: FloatArray  # log p(w₂ | w₁) of each, summed over tokens
    tokens: FloatArray
    Theta: npt.NDArray[np.float32]  # (J, K)
    converged: float  # NaN for a sampler


def run_chain(plan: Plan, K: int, chain: int) -> ChainScore:
    """Fit and score, or read what was kept of an earlier run."""
    path = None if plan.keep is None else plan.keep / f"K{K}-chain{chain}.npz"
    if path is not None and path.exists():
        return _read(path, plan)
    score = _fit_and_score(plan, K, chain)
    if path is not None:
        _write(path, plan, score)
    return score


def _fit_and_score(plan: Plan, K: int, chain: int) -> ChainScore:
    held = plan.parts[chain]
    others = np.setdiff1d(np.arange(plan.counts.n_docs), held)
    train, test = plan.counts.rows(others), plan.counts.rows(held)
    recipe = plan.recipe(K).resolve(train)
    fitted = fit(
        train,
        recipe.model,
        recipe.algorithm,
        exposure=plan.exposure_of(others),
        max_iter=plan.max_iter,
        tol=plan.tol,
        n_chains=plan.n_starts,
        n_jobs=1,
        seed=chain_seeds(plan.seed, plan.n_chains)[chain],
        warn=False,  # the table has a column for it
    )
    scored = completion(fitted, test, exposure=plan.exposure_of(held), seed=plan.seed, n_jobs=1)
    return ChainScore(
        held,
        scored.per_document,
        scored.tokens,
        np.asarray(fitted.Theta, dtype=np.float32),
        float("nan") if recipe.algorithm.samples else float(fitted.converged),
    )


def _write(path: Path, plan: Plan, score: ChainScore) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, fingerprint=np.array(plan.fingerprint), **vars(score))
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def _read(path: Path, plan: Plan) -> ChainScore:
    try:
        with np.load(path, allow_pickle=False) as kept:
            owner = str(kept["fingerprint"])
            score = ChainScore(
                kept["documents"],
                kept["per_document"],
                kept["tokens"],
                kept["Theta"],
                float(kept["converged"]),
            )
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InvalidFile(f"{path}: not what a selection keeps ({error}); remove it") from None
    if owner != plan.fingerprint:
        raise InvalidFile(
            f"{path}: kept by a selection of other counts or settings; give another folder"
        )
    return score

"""One chain of one K of a selection: fitted to most documents, scored on the rest, and kept."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import registry
from dcomp.atomic import atomic_write
from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.evaluate.evidence import Evidence
from dcomp.evaluate.heldout import completion, predict_rest
from dcomp.evaluate.ladder import Ladder, Rung
from dcomp.evaluate.neighbours import Words
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.inference.run import uninterrupted
from dcomp.inference.start import generator, keyed_uniform
from dcomp.models import Model
from dcomp.models.arrays import FloatArray
from dcomp.models.options import usual_gamma
from dcomp.printable import printable
from dcomp.recipe import Recipe
from dcomp.recipe.recipe import require_plain
from dcomp.result import Fit, fit
from dcomp.result.chains import chain_value
from dcomp.result.fitting import chain_seeds

Numbers = npt.NDArray[np.int64]
IN_USE = 0.01  # of an even share of the words, below which a component counts as empty


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
            how = registry.algorithm_name(named.key, counts=counts)
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
    def algorithm_name(self) -> str:
        """By which its chains are fitted."""
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

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

    @property
    def hides_cells(self) -> bool:
        """Whether votes or genotypes are hidden, and not words of documents: where features come
        in blocks, and many enough for some of each document to be hidden in every part."""
        return self.counts.features.n_blocks >= 2 * self.n_chains

    def seed_of(self, chain: int) -> int:
        """Of a chain."""
        return chain_seeds(self.seed, self.n_chains)[chain]

    def hidden(self, chain: int) -> Hidden:
        """What a chain sees, and what is hidden from it."""
        if self.hides_cells:
            return self._hidden_cells(chain)
        held = self.parts[chain]
        others = np.setdiff1d(np.arange(self.counts.n_docs), held)
        return Hidden(
            held,
            self.counts.rows(others),
            self._exposure_of(others),
            self.counts.rows(held),
            self._exposure_of(held),
        )

    def _hidden_cells(self, chain: int) -> Hidden:
        """Of every document some blocks, all of their words."""
        W = self.counts
        row = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
        u = keyed_uniform(self.seed, 7, row, W.features.blocks[W.indices])
        here = (u * self.n_chains).astype(int) == chain
        train, cells = (_only(W, keep, row) for keep in (~here, here))
        exposure = self.exposure
        return Hidden(np.arange(W.n_docs), train, exposure, cells=cells)

    def ladder(self, train: Counts, exposure: Any, seed: int) -> Ladder:
        """How the chains of all K that see the same are fitted from each other."""

        def model_of(K: int) -> Model:
            return self.recipe(K).resolve(train).model

        algorithm = self.recipe(1).resolve(train).algorithm
        return Ladder(train, model_of, algorithm, exposure, self.max_iter, self.tol, seed)

    def _exposure_of(self, documents: Numbers) -> Any:
        """Of some documents."""
        is_array = isinstance(self.exposure, np.ndarray)
        return self.exposure[documents] if is_array else self.exposure


def _only(counts: Counts, keep: npt.NDArray[np.bool_], row: Numbers) -> Counts:
    """Some entries of a table."""
    lengths = np.bincount(row[keep], minlength=counts.n_docs)
    indptr = np.r_[0, np.cumsum(lengths)]
    parts: Any = {"indices": counts.indices[keep], "data": counts.data[keep], "sequences": None}
    return replace(counts, indptr=indptr, **parts)


@dataclass(frozen=True, eq=False)
class Hidden:
    """What one chain of each K sees, and what it is to tell: other documents, or cells of these."""

    documents: Numbers
    train: Counts
    exposure: Any
    test: Counts | None = None
    test_exposure: Any = None
    cells: Counts | None = None


@dataclass(frozen=True, eq=False)
class ChainScore:
    """What a chain leaves: its held-out scores, its components, and where it has its words."""

    documents: Numbers  # those held out, or with something held out
    per_document: FloatArray  # log p(w₂ | w₁) of each, summed over tokens
    tokens: FloatArray
    Theta: npt.NDArray[np.float32]  # (J, K)
    converged: float  # NaN for a sampler
    c: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    n: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    value: float = float("nan")  # of the objective, where it ended

    @property
    def in_use(self) -> npt.NDArray[np.bool_]:
        """(K): which components have words; all where that is not known."""
        return in_use(self.n) if self.n.size else np.ones(self.Theta.shape[1], dtype=bool)


def in_use(n: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which components have words, of n (J, K)."""
    total = n.sum(axis=0, dtype=np.float64)
    return np.asarray(total >= max(1.0, IN_USE * total.sum() / len(total)))


@dataclass(frozen=True)
class KnownEvidence:
    """What a selection needs of the evidence of one K; NaN for a fence that there is not."""

    log_evidence: float
    standard_error: float
    is_sound: float  # 1 where it may be compared
    lower: float
    upper: float
    spread: float = float("nan")  # how far the second of all starts ended below the best
    in_use: float = float("nan")  # components that have words, where it was measured


def run_chain(plan: Plan, K: int, chain: int) -> ChainScore:
    """Fit and score, or read what was kept of an earlier run."""
    path = None if plan.keep is None else plan.keep / f"K{K}-chain{chain}.npz"
    if path is not None and path.exists():
        return _scores_of(_read(path, plan, _NAMES))
    # What a chain has reached on the way is a folder beside, until it is done.
    folder = None if path is None else path.with_suffix(".run")
    score = _fit_and_score(plan, K, chain, folder)
    if path is not None and folder is not None:
        _write(path, plan, vars(score))
        shutil.rmtree(folder, ignore_errors=True)
    return score


def run_ladder(plan: Plan, chain: int, scores: Mapping[int, ChainScore]) -> dict[int, ChainScore]:
    """The chains of all K that are fitted to the same documents, each at least as good as it was;
    or what was kept of that."""
    name = f"ladder{grid_name(scores)}-chain{chain}.npz"
    path = None if plan.keep is None else plan.keep / name
    if path is not None and path.exists():
        names = [f"K{K}_{name}" for K in scores for name in _NAMES]
        kept = _read(path, plan, names)
        return {K: _scores_of({n: kept[f"K{K}_{n}"] for n in _NAMES}) for K in scores}
    found = _climb(plan, chain, scores)
    if path is not None:
        _write(path, plan, {f"K{K}_{n}": v for K in found for n, v in vars(found[K]).items()})
    return found


def grid_name(ks: Iterable[int]) -> str:
    """A short name of the numbers that were tried together: neighbours depend on it.

    >>> grid_name([2, 3])
    '3f72ac6e'
    """
    return f"{zlib.crc32(repr(sorted(ks)).encode()):08x}"


def kept_evidence(
    plan: Plan, K: int, name: str, find: Callable[[], tuple[Evidence, float, int]]
) -> KnownEvidence:
    """What `find` gives for one K, how far starts differ, and what they use; or what was kept."""
    path = None if plan.keep is None else plan.keep / f"K{K}-evidence-{name}.npz"
    if path is not None and path.exists():
        return KnownEvidence(*map(float, _read(path, plan, ("numbers",))["numbers"]))
    found, spread, used = find()
    known = KnownEvidence(
        found.log_evidence,
        found.standard_error,
        float(found.is_sound),
        float("nan") if found.lower is None else found.lower,
        float("nan") if found.upper is None else found.upper,
        spread,
        float(used),
    )
    if path is not None:
        _write(path, plan, {"numbers": np.array(list(vars(known).values()))})
    return known


def _fit_and_score(plan: Plan, K: int, chain: int, folder: Path | None) -> ChainScore:
    hidden = plan.hidden(chain)
    recipe = plan.recipe(K).resolve(hidden.train)
    fitted = fit(
        hidden.train,
        recipe.model,
        recipe.algorithm,
        exposure=hidden.exposure,
        max_iter=plan.max_iter,
        tol=plan.tol,
        n_chains=plan.n_starts,
        n_jobs=1,
        seed=plan.seed_of(chain),
        warn=False,  # the table has a column for it
        checkpoint=folder,
    )
    return _scored(plan, hidden, uninterrupted(fitted))


def _climb(plan: Plan, chain: int, scores: Mapping[int, ChainScore]) -> dict[int, ChainScore]:
    """Each K from its neighbours; those that are not better are as they were."""
    hidden = plan.hidden(chain)
    ladder = plan.ladder(hidden.train, hidden.exposure, plan.seed_of(chain))
    rungs = {K: Rung(Words(*map(_double, (s.c, s.n))), s.value) for K, s in scores.items()}
    found = ladder.climbed(rungs, LocalExecutor(1))
    return {
        K: scores[K] if rung.fit is None else _scored(plan, hidden, rung.fit)
        for K, rung in found.items()
    }


def _double(table: npt.NDArray[Any]) -> FloatArray:
    return np.asarray(table, dtype=np.float64)


def _scored(plan: Plan, hidden: Hidden, fitted: Fit) -> ChainScore:
    if hidden.test is not None:
        how: Any = {"exposure": hidden.test_exposure, "seed": plan.seed, "n_jobs": 1}
        scored = completion(fitted, hidden.test, **how)
        per_document, tokens = scored.per_document, scored.tokens
    else:
        observed = fitted.observe(plan.counts, plan.exposure)
        share, cells = 1 - 1 / plan.n_chains, hidden.cells
        assert cells is not None
        first = hidden.train
        per_document = predict_rest(fitted, observed, first, cells, share, seed=plan.seed, n_jobs=1)
        tokens = cells.doc_totals.astype(np.float64)
    return ChainScore(
        hidden.documents,
        per_document,
        tokens,
        np.asarray(fitted.Theta, dtype=np.float32),
        float("nan") if fitted.algorithm.samples else float(fitted.converged),
        np.asarray(fitted.state.c, dtype=np.float32),
        np.asarray(fitted.state.n, dtype=np.float32),
        chain_value(fitted.history.rows),
    )


def _scores_of(kept: Mapping[str, npt.NDArray[Any]]) -> ChainScore:
    values: Any = dict(kept)
    return ChainScore(**values | {name: float(values[name]) for name in ("converged", "value")})


_NAMES = [f.name for f in fields(ChainScore)]


def _write(path: Path, plan: Plan, values: Mapping[str, Any]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, fingerprint=np.array(plan.fingerprint), **values)
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def _read(path: Path, plan: Plan, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as kept:
            owner = str(kept["fingerprint"])
            values = {name: kept[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InvalidFile(f"{path}: not what a selection keeps ({error}); remove it") from None
    if owner != plan.fingerprint:
        raise InvalidFile(
            f"{path}: kept by a selection of other counts or settings; give another folder"
        )
    return values

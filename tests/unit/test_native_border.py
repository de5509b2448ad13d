"""The native core takes nothing on trust: whatever is wrong with what it is given is an error that
names it, and never a crash. Every function and method of the module has a case here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from dcomp import _core

N, J, K = 6, 8, 3
TABLE = np.random.default_rng(5).poisson(1.4, (N, J)).astype(np.int32)
TOKENS = int(TABLE.sum())
ROW, COLUMN = np.nonzero(TABLE)
BLOCK = np.array([0, 1] * (J // 2), np.int32)
# Two leaves below a node, which is node 2.
LEAF, NODE = np.array([0, 0, 1, 1], np.int32), np.array([0, 2, 1, 2], np.int32)
PARENT = np.array([2, 2, -1], np.int32)
NAN, INF = float("nan"), float("inf")
NOT_POSITIVE = (NAN, -1.0, 0.0, INF)
NEGATIVE = (NAN, -1.0, INF)
BELOW_0 = (-1,)


@dataclass
class Case:
    """A call in order, what it writes to, and what would be wrong with its arguments: numbers to be
    put in the place of one of an array's, or values to be given."""

    call: Callable[..., Any]
    given: dict[str, Any]
    writes: tuple[str, ...] = ()
    wrong: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    free: tuple[str, ...] = ()  # arrays that may be larger: they say how large the others are

    def run(self, **changed: Any) -> Any:
        return self.call(**(self.given | changed))


def csr() -> dict[str, Any]:
    starts = np.searchsorted(ROW, np.arange(N + 1)).astype(np.int64)
    data = TABLE[ROW, COLUMN]
    return {"indptr": starts, "indices": COLUMN.astype(np.int32), "data": data, "n_features": J}


def corpus() -> _core.Corpus:
    return _core.Corpus(**csr())


def fractional() -> _core.Corpus:
    return _core.Corpus(**(csr() | {"data": TABLE[ROW, COLUMN] + 0.5}))


def prior(key: str = "GP", width: int = K) -> _core.ScorePrior:
    names = {"DM": ["alpha"], "GP": ["alpha", "beta"], "TM": ["a1", "a2", "b"]}[key]
    tree = np.array([-1, 0, 0], np.int32) if key == "TM" else None
    return _core.ScorePrior(key, dict.fromkeys(names, np.full(width, 0.4)), tree=tree)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return np.full(shape, 0.5, dtype)


def ints(*shape: int) -> Any:
    return np.ones(shape, np.int32)


def loadings(dtype: Any = np.float32) -> Any:
    lanes = _core.lanes() * 4 // np.dtype(dtype).itemsize
    Theta = np.zeros((J, -(-K // lanes) * lanes), dtype)
    Theta[:, :K] = 0.5
    return Theta


def doubles(*shape: int) -> Any:
    return floats(*shape, dtype=np.float64)


def sampler(sparse: bool = False, key: str = "GP") -> tuple[Any, Any]:
    made = _core.CollapsedSampler(corpus(), BLOCK, 2, prior(key), 1, sparse)
    return made, counted(made)


def pairs(kind: str = "phi") -> tuple[Any, Any]:
    made = _core.StructuredSampler(corpus(), BLOCK, 2, kind, LEAF, NODE, 2, 3, PARENT, 1)
    return made, counted(made)


def counted(made: Any) -> Any:
    z = np.empty(made.n_tokens, np.uint16)
    made.start(3, z)
    made.count(z)
    return z


FIXED_POINT = {"max_inner": (0, -1), "inner_tol": (NAN, -1.0), "log_scale": (NAN, INF)}
FEATURES = {"block": (-1, 2), "n_blocks": (0, -1, 2**31), "gamma": NOT_POSITIVE}


def expect(dtype: Any) -> Case:
    given = {"corpus": corpus(), "Theta": loadings(dtype), "log_scale": doubles(J)}
    given |= {"prior": prior(), "c_in": floats(N, K, dtype=dtype)}
    given |= {"c_out": floats(N, K, dtype=dtype), "n": floats(J, K, dtype=dtype)}
    given |= {"max_inner": 2, "inner_tol": 0.0, "n_threads": 2}
    wrong = FIXED_POINT | {"prior": (prior(width=K + 1), None), "corpus": (None,)}
    return Case(_core.expect, given, ("c_out", "n"), wrong)


def fold_in(dtype: Any) -> Case:
    given = expect(dtype).given
    del given["n"]
    return Case(_core.fold_in, given | {"bound": doubles(N)}, ("c_out", "bound"), FIXED_POINT)


def laplace(fold: bool) -> Case:
    given = {"corpus": corpus(), "Theta": loadings(), "log_scale": doubles(J), "mu0": doubles(K)}
    given |= {"P": np.eye(K), "half_log_det_P": 0.0, "eta_in": doubles(N, K)}
    given |= {"eta_out": doubles(N, K), "c_out": floats(N, K)}
    given |= {"max_inner": 2, "inner_tol": 1e-6, "n_threads": 2}
    more = {"value": doubles(N), "variance": doubles(N, K)} if fold else {"n": floats(J, K)}
    wrong = FIXED_POINT | dict.fromkeys(("mu0", "P", "eta_in"), (NAN, INF))
    wrong |= {"max_inner": (-1,), "Theta": NEGATIVE, "half_log_det_P": (NAN,)}
    call = _core.laplace_fold_in if fold else _core.laplace
    return Case(call, given | more, ("eta_out", "c_out", *more), wrong)


def of_loadings(call: Any, n: Any, **more: Any) -> Case:
    given = {"n": n, "gamma": doubles(J), "block": BLOCK, "n_blocks": 2, "n_threads": 2} | more
    writes = ("log_scale",) if "log_scale" in given else ()
    wrong = FEATURES | ({"n": BELOW_0} if n.dtype == np.int32 else {"treatment": ("ml",)})
    return Case(call, given, writes, wrong, free=("n",))


def sample() -> Case:
    given = {"corpus": corpus(), "Theta": loadings(), "log_scale": doubles(J), "prior": prior()}
    given |= {"c_in": ints(N, K), "c_out": ints(N, K), "n": ints(J, K), "scores": floats(N, K)}
    given |= {"seed": 1, "sweep": 1, "n_threads": 2, "number": np.arange(N)}
    wrong = {"Theta": NEGATIVE, "c_in": BELOW_0, "number": (-1, 2**46), "log_scale": (NAN,)}
    wrong |= {"corpus": (fractional(),), "seed": (-1,), "prior": (prior(width=2),)}
    return Case(_core.sample, given, ("c_out", "n", "scores"), wrong)


def sample_lines() -> Case:
    given = {"corpus": corpus(), "number": np.arange(N), "Theta": loadings(), "alpha": doubles(K)}
    given |= {"rate": doubles(N, K), "log_zero": doubles(K), "zero": doubles(N, K)}
    given |= {"normalised": False, "c": ints(N, K), "c_out": ints(2, N, K)}
    given |= {"scores_out": floats(2, N, K), "seed": 1, "sweep": 1, "skip": 1, "every": 2}
    wrong = {"number": (-1,), "Theta": NEGATIVE, "alpha": NOT_POSITIVE, "rate": NOT_POSITIVE}
    wrong |= {"log_zero": (NAN, None), "zero": (NAN, -0.1, 1.1, None), "c": BELOW_0}
    wrong |= {"skip": (-1, 2**32), "every": (0, 2**32)}
    writes = ("c_out", "scores_out")
    return Case(_core.sample_lines, given | {"n_threads": 2}, writes, wrong, free=("Theta",))


def left_to_right() -> Case:
    given = {"corpus": corpus(), "Theta": loadings(), "log_scale": doubles(J), "prior": prior()}
    given |= {"n_particles": 3, "n_moves": 2, "seed": 1, "run": 0, "out": doubles(N)}
    wrong = {"Theta": NEGATIVE, "log_scale": (NAN,), "n_particles": (0, 2**25), "n_moves": (-1,)}
    wrong |= {"prior": (prior(width=40),)}
    return Case(_core.left_to_right, given | {"n_threads": 2}, ("out",), wrong)


def tempered_sweeps() -> Case:
    given = {"corpus": corpus(), "block": BLOCK, "n_blocks": 2, "gamma": doubles(J)}
    given |= {"prior": prior(), "temperatures": doubles(2), "seed": 1, "first": 1}
    given |= {"z": np.zeros((2, TOKENS), np.uint16), "log_scores": doubles(2, 2)}
    given |= {"log_words": doubles(2, 2), "n_threads": 2, "first_chain": 0}
    wrong = FEATURES | {"temperatures": (NAN, -0.1, 1.1), "z": (K,), "first_chain": (-1, 2**46)}
    wrong |= {"first": (-1, 2**32 - 2)}
    return Case(_core.tempered_sweeps, given, ("z", "log_scores", "log_words"), wrong)


def two_sided_sweeps() -> Case:
    given = {"corpus": corpus(), "block": BLOCK, "n_blocks": 2, "gamma": doubles(J)}
    given |= {"prior": prior(), "log_scores": doubles(N, K), "log_Theta": doubles(J, K)}
    given |= {"temperatures": doubles(2), "backward": True, "seed": 1, "run": 0, "first": 1}
    given |= {"z": np.zeros(TOKENS, np.uint16), "out": doubles(2, 2)}
    wrong = FEATURES | {"temperatures": (NAN, -0.1, 1.1), "z": (K,), "run": (-1, 2**46)}
    wrong |= {"first": (-1, 2**32 - 2), "log_scores": (NAN, 701.0), "log_Theta": (NAN, -701.0)}
    return Case(_core.two_sided_sweeps, given, ("z", "out"), wrong)


def made_sampler() -> Case:
    given = {"corpus": corpus(), "block": BLOCK, "n_blocks": 2, "prior": prior(), "n_parts": 2}
    given |= {"sparse": False, "feature_totals": TABLE.sum(axis=0)}
    wrong = {"block": (-1, 2), "n_blocks": (0, 2**31), "n_parts": (0, 33), "feature_totals": (-1,)}
    wrong |= {"corpus": (None, 3, prior(), fractional())}
    return Case(_core.CollapsedSampler, given, wrong=wrong)


def made_pairs() -> Case:
    given = {"corpus": corpus(), "block": BLOCK, "n_blocks": 2, "kind": "phi", "leaf": LEAF}
    given |= {"node": NODE, "K": 2, "H": 3, "parent": PARENT, "n_parts": 1}
    wrong = {"block": (-1, 2), "n_parts": (0, 33), "kind": ("none",), "leaf": (-1, 2)}
    wrong |= {"node": (-1, 3), "K": (0, 1, 4, 2**40), "H": (0, 2, 4, 2**40), "corpus": (None, 3)}
    wrong |= {"parent": (0, 1, 3, None, np.array([2, 2, 2], np.int32))}
    return Case(_core.StructuredSampler, given, wrong=wrong)


def swept() -> Case:
    made, z = sampler()
    given = {"z": z, "gamma": doubles(J), "prior": prior(), "seed": 1, "sweep": 1}
    wrong = {"gamma": NOT_POSITIVE, "prior": (prior("DM"), prior(width=2)), "z": (K, 65535)}
    return Case(made.sweep, given | {"n_threads": 2}, ("z",), wrong)


def drawn_anew() -> Case:
    made, z = sampler()
    given = {"z": z, "Theta": loadings(), "log_scale": doubles(J), "prior": prior()}
    wrong = {"Theta": NEGATIVE, "log_scale": (NAN, INF), "prior": (prior("DM"), prior(width=2))}
    return Case(
        made.draw_anew,
        given | {"seed": 1, "sweep": 1, "switch_from": 0, "n_threads": 2},
        ("z",),
        wrong,
    )


def swept_pairs(kind: str, given_theta: bool) -> Case:
    made, z = pairs(kind)
    Theta = floats(J, -(-3 // _core.lanes()) * _core.lanes()) if given_theta else None
    given = {"z": z, "gamma": doubles(J), "prior": prior(width=2), "pair": doubles(4)}
    given |= {"stop": doubles(3), "go": doubles(3), "seed": 1, "sweep": 1, "n_threads": 2}
    rows = ("stop", "go") if kind == "phi" else ("pair",)
    wrong = dict.fromkeys(rows, (*NOT_POSITIVE, None)) | {"prior": (prior(),)}
    wrong |= {"gamma": NOT_POSITIVE} | ({"Theta": NEGATIVE} if given_theta else {})
    free = tuple({"pair", "stop", "go"} - set(rows))
    return Case(made.sweep, given | {"Theta": Theta}, ("z",), wrong, free)


def of_sampler(name: str, given: dict[str, Any], **rest: Any) -> Case:
    made, _ = sampler(key="TM" if name == "add_means" else "GP")
    return Case(getattr(made, name), given, **rest)


def of_pairs(name: str, given: dict[str, Any], **rest: Any) -> Case:
    made, _ = pairs()
    return Case(getattr(made, name), given, **rest)


def features_of(which: str) -> Any:
    made, _ = sampler() if which == "flat" else pairs()
    n, S = np.empty((J, 3), np.int32), np.empty((1, 3), np.int32)
    made.read(None, n) if which == "flat" else made.read(None, n, S)
    return {"n": n} if which == "flat" else {"n": n, "S": S}


def z_like() -> Any:
    return np.zeros(TOKENS, np.uint16)


def lists() -> dict[str, Any]:
    """One document in each block, one entry for each posting."""
    by_word = np.argwhere(TABLE.T > 0)
    count = TABLE.T[TABLE.T > 0].astype(np.float32)
    length = np.maximum(TABLE.sum(axis=1), 1).astype(np.float32)
    documents = by_word[:, 1].astype(np.int32)
    starts = np.searchsorted(by_word[:, 0], np.arange(J + 1)).astype(np.int64)
    given = {"block": 1, "list_start": starts, "entry_block": documents}
    given |= {"entry_start": np.arange(len(count) + 1), "entry_count": count}
    given |= {"entry_ratio": count / length[documents], "entry_length": length[documents]}
    given |= {"document": documents.copy(), "count": count.copy(), "length": length}
    return given | {"norm": length.copy(), "shares": floats(N, K), "envelope": floats(N, K)}


def asked(method: str, **more: Any) -> Case:
    term = np.array([0, 2, 3], np.int32)
    given = {"kind": "mixture", "term": term, "weight": doubles(3), "background": doubles(3)}
    given |= {"parameters": np.array([0.5, 0.5, 0.0]), "Theta": floats(3, K)}
    wrong = {"kind": ("bm26", "bm25"), "term": (-1, J, np.zeros(0, np.int32))}
    wrong |= {"weight": NOT_POSITIVE, "background": NEGATIVE, "parameters": NEGATIVE}
    wrong |= {"Theta": (*NEGATIVE, None)}
    if method == "top":
        wrong["n"] = (0, -1, N + 1)
    writes = tuple(name for name in ("out", "matches") if name in more)
    made = _core.PostingLists(**lists())
    return Case(getattr(made, method), given | more, writes, wrong)


def damaged_lists(name: str, value: Any) -> Any:
    given = lists()
    given[name][:] = value
    made = _core.PostingLists(**given)
    return lambda: made.top(**asked("top", n=N).given)


KEY = np.zeros(N, np.uint64)
SPLIT = {"key": KEY, "fraction": 0.5, "seed": 1, "n_threads": 2}
POINTS = {name: doubles(J, K) for name in ("x0", "x1")} | {"n_threads": 2}
PRIOR = {"key": "GP", "parameters": {"alpha": doubles(K), "beta": doubles(K)}}
ONE_WRONG = [{"alpha": doubles(K), "beta": np.array([x, 1.0, 1.0])} for x in (NAN, -1.0, INF)]
COUNTS = {"c": ints(N, K), "prior": prior(), "n_threads": 2}
WITH_GAMMA = {"gamma": doubles(J), "n_threads": 2}
RECORD = WITH_GAMMA | {"Theta": floats(J, K), "c_sum": floats(N, K), "zeros": floats(N, K)}
FACTOR = {"F": loadings(), "x_in": floats(N, K), "x_out": floats(N, K), "update": "coordinates"}
FACTOR |= {"max_rounds": 2, "tol": 0.0, "n_threads": 2}
START = {"seed": 1, "scores": floats(N, K), "Theta": loadings(), "z": z_like(), "n_threads": 2}
ENTRY = {"entry": np.empty(TOKENS, np.int64)}
ORDER = {"z": z_like(), "out": z_like()}

CASES: dict[str, list[Callable[[], Case]]] = {
    "Corpus.__init__": [
        lambda: Case(
            _core.Corpus,
            csr() | {"first": 0},
            wrong={
                "indptr": (1, -1, np.zeros(0, np.int64)),
                "indices": (-1, J),
                "data": (0, -1),
                "n_features": (0, 1, 2**31),
                "first": (-1, 2**46),
            },
            free=("indptr",),
        ),
        lambda: Case(
            _core.Corpus,
            csr() | {"data": TABLE[ROW, COLUMN] + 0.5},
            wrong={"data": (0.0, *NEGATIVE, 2.0**31)},
            free=("indptr",),
        ),
    ],
    "ScorePrior.__init__": [
        lambda: Case(
            _core.ScorePrior,
            PRIOR | {"exposure": doubles(N), "tree": None, "mode": "maximise", "power": 1.0},
            wrong={
                "key": ("none",),
                "parameters": (*ONE_WRONG, {}, {"alpha": doubles(0), "beta": doubles(0)}),
                "exposure": NEGATIVE,
                "tree": (PARENT,),
                "mode": ("sample",),
                "power": (NAN, 0.0, 2.0),
            },
            free=("exposure",),
        ),
        lambda: Case(
            _core.ScorePrior,
            {
                "key": "TM",
                "parameters": {name: doubles(3) for name in ("a1", "a2", "b")},
                "tree": np.array([-1, 0, 1], np.int32),
            },
            wrong={
                "tree": (
                    0,
                    None,
                    *(np.array([-1, *p], np.int32) for p in ((2, 1), (0, 3), (0, -1))),
                )
            },
        ),
    ],
    "PostingLists.__init__": [
        lambda: Case(
            _core.PostingLists,
            lists(),
            wrong={"block": (0, 257), "list_start": (np.zeros(1, np.int64),), "shares": (None,)},
            free=("list_start",),
        )
    ],
    "PostingLists.top": [lambda: asked("top", n=3)],
    "PostingLists.score": [lambda: asked("score", out=doubles(N), matches=np.zeros(N, np.uint8))],
    "ScorePrior.weights": [lambda: Case(prior().weights, {"n_docs": N}, wrong={"n_docs": BELOW_0})],
    "Stop.__init__": [lambda: Case(_core.Stop, {})],
    "Stop.request": [lambda: Case(_core.Stop().request, {})],
    "Stop.__enter__": [
        lambda: Case(lambda: _core.Stop().__enter__().__exit__(None, None, None), {})
    ],
    "Stop.__exit__": [
        lambda: Case(lambda: _core.Stop().__enter__().__exit__(None, None, None), {})
    ],
    "expect": [lambda: expect(np.float32), lambda: expect(np.float64)],
    "fold_in": [lambda: fold_in(np.float32), lambda: fold_in(np.float64)],
    "laplace": [lambda: laplace(False)],
    "laplace_fold_in": [lambda: laplace(True)],
    "loadings": [
        lambda: of_loadings(_core.loadings, floats(J, K), treatment="mean", log_scale=doubles(J))
    ],
    "draw_loadings": [
        lambda: of_loadings(
            _core.draw_loadings, ints(J, K), seed=1, sweep=1, log_scale=doubles(J), kept=True
        )
    ],
    "log_loading_moments": [lambda: of_loadings(_core.log_loading_moments, ints(J, K))],
    "log_score_moments": [
        lambda: Case(_core.log_score_moments, COUNTS, (), {"c": BELOW_0, "prior": (None,)}, ("c",))
    ],
    "draw_scores": [
        lambda: Case(
            _core.draw_scores,
            COUNTS | {"out": floats(N, K), "seed": 1, "sweep": 1, "first": 0},
            ("out",),
            {"c": BELOW_0, "first": (-1, 2**46), "prior": (prior(width=2),)},
        )
    ],
    "tree_means": [
        lambda: Case(
            _core.tree_means,
            COUNTS | {"prior": prior("TM"), "out": floats(N, K)},
            ("out",),
            {"c": BELOW_0, "prior": (prior(),)},
        )
    ],
    "content_keys": [
        lambda: Case(_core.content_keys, {"corpus": corpus(), "key": KEY.copy(), "n_threads": 2})
    ],
    "split_tokens": [
        lambda: Case(
            _core.split_tokens,
            SPLIT | {"corpus": corpus(), "first": ints(len(ROW))},
            ("first",),
            {"fraction": (NAN, -0.1, 1.1), "corpus": (fractional(),)},
        )
    ],
    "split_weights": [
        lambda: Case(
            _core.split_weights,
            SPLIT | {"corpus": fractional(), "first": doubles(len(ROW))},
            ("first",),
            {"fraction": (NAN, -0.1, 1.1), "corpus": (corpus(),)},
        )
    ],
    "start_counts": [
        lambda: Case(
            _core.start_counts,
            {"corpus": corpus(), "seed": 1, "c": ints(N, K), "n": ints(J, K)},
            ("c", "n"),
            {"c": (np.empty((N, 0), np.int32),)},
        )
    ],
    "log_predictive": [
        lambda: Case(
            _core.log_predictive,
            {
                "corpus": corpus(),
                "Theta": loadings(),
                "log_scale": doubles(J),
                "scores": floats(N, K),
                "out": doubles(N),
                "n_threads": 2,
            },
            ("out",),
            {"log_scale": (NAN,)},
            free=("scores",),
        )
    ],
    "extrapolate": [
        lambda: Case(
            _core.extrapolate,
            POINTS | {"b": 0.5, "kept": 0.1, "out": doubles(J, K)},
            ("out",),
            {"b": (NAN, INF), "kept": (NAN, -0.1, 2.0)},
        )
    ],
    "spread": [
        lambda: Case(
            _core.spread,
            {
                "c": floats(N, K),
                "times": doubles(K, _core.spread_bins()),
                "sums": doubles(K, _core.spread_bins()),
                "n_threads": 2,
            },
            ("times", "sums"),
            free=("c",),
        )
    ],
    "factor": [
        lambda: Case(
            _core.factor,
            FACTOR | {"corpus": corpus()},
            ("x_out",),
            {"update": ("none",), "max_rounds": (0,), "tol": (NAN, -1.0)},
        )
    ],
    "special": [
        lambda: Case(
            _core.special,
            {"name": "exp", "x": doubles(16), "out": doubles(16)},
            (),
            {"name": ("a",)},
        )
    ],
    "instruction_set": [lambda: Case(_core.instruction_set, {})],
    "compiled": [lambda: Case(_core.compiled, {})],
    "lanes": [lambda: Case(_core.lanes, {})],
    "spread_bins": [lambda: Case(_core.spread_bins, {})],
    "sample": [sample],
    "sample_lines": [sample_lines],
    "left_to_right": [left_to_right],
    "tempered_sweeps": [tempered_sweeps],
    "two_sided_sweeps": [two_sided_sweeps],
    "CollapsedSampler.__init__": [made_sampler],
    "CollapsedSampler.start": [lambda: of_sampler("start", {"seed": 1, "z": z_like()})],
    "CollapsedSampler.start_from": [
        lambda: of_sampler(
            "start_from",
            START,
            writes=("z",),
            wrong={"scores": NEGATIVE, "Theta": NEGATIVE},
            free=("Theta",),
        )
    ],
    "CollapsedSampler.count": [
        lambda: of_sampler("count", {"z": z_like()}, wrong={"z": (K, 65535)})
    ],
    "CollapsedSampler.load": [
        lambda: of_sampler("load", features_of("flat"), wrong={"n": BELOW_0})
    ],
    "CollapsedSampler.unload": [lambda: of_sampler("unload", {})],
    "CollapsedSampler.sweep": [swept],
    "CollapsedSampler.draw_anew": [drawn_anew],
    "CollapsedSampler.add_means": [
        lambda: of_sampler(
            "add_means",
            {"prior": prior("TM"), "out": floats(N, K), "n_threads": 2},
            wrong={"prior": (prior(),)},
        )
    ],
    "CollapsedSampler.read": [
        lambda: of_sampler("read", {"c": ints(N, K), "n": ints(J, K)}, writes=("c", "n"))
    ],
    "CollapsedSampler.record": [
        lambda: of_sampler(
            "record", RECORD, writes=("Theta", "c_sum", "zeros"), wrong={"gamma": NOT_POSITIVE}
        )
    ],
    "CollapsedSampler.log_moments": [
        lambda: of_sampler(
            "log_moments", WITH_GAMMA | {"prior": prior()}, wrong={"gamma": NOT_POSITIVE}
        )
    ],
    "CollapsedSampler.log_score_moments": [
        lambda: of_sampler("log_score_moments", {"prior": prior(), "n_threads": 2})
    ],
    "CollapsedSampler.entries": [lambda: of_sampler("entries", ENTRY)],
    "CollapsedSampler.in_entry_order": [
        lambda: of_sampler("in_entry_order", ORDER, writes=("out",))
    ],
    "StructuredSampler.__init__": [made_pairs],
    "StructuredSampler.start": [lambda: of_pairs("start", {"seed": 1, "z": z_like()})],
    "StructuredSampler.count": [
        lambda: of_pairs("count", {"z": z_like()}, wrong={"z": (4, 65535)})
    ],
    "StructuredSampler.load": [
        lambda: of_pairs("load", features_of("pairs"), wrong={"n": BELOW_0, "S": (-1, None)})
    ],
    "StructuredSampler.unload": [lambda: of_pairs("unload", {})],
    "StructuredSampler.sweep": [
        lambda: swept_pairs("phi", False),
        lambda: swept_pairs("fixed", False),
        lambda: swept_pairs("document", True),
    ],
    "StructuredSampler.read": [
        lambda: of_pairs(
            "read", {"C": ints(N, 2), "n": ints(J, 3), "S": ints(1, 3)}, writes=("C", "n", "S")
        )
    ],
    "StructuredSampler.read_documents": [
        lambda: of_pairs("read_documents", {"C": ints(N, 2), "S": ints(1, 3)}, writes=("C", "S"))
    ],
    "StructuredSampler.add_loadings": [
        lambda: of_pairs(
            "add_loadings", WITH_GAMMA | {"Theta": floats(J, 3)}, wrong={"gamma": NOT_POSITIVE}
        )
    ],
    "StructuredSampler.add_nodes": [lambda: of_pairs("add_nodes", {"out": floats(N, 3)})],
    "StructuredSampler.log_moments": [
        lambda: of_pairs(
            "log_moments", WITH_GAMMA | {"prior": prior(width=2)}, wrong={"gamma": NOT_POSITIVE}
        )
    ],
    "StructuredSampler.log_score_moments": [
        lambda: of_pairs("log_score_moments", {"prior": prior(width=2), "n_threads": 2})
    ],
    "StructuredSampler.entries": [lambda: of_pairs("entries", ENTRY)],
    "StructuredSampler.in_entry_order": [
        lambda: of_pairs("in_entry_order", ORDER, writes=("out",))
    ],
    "WordCounter.__init__": [
        lambda: Case(
            _core.WordCounter,
            {"numbers": "years", "lower": True},
            wrong={"numbers": ("some", None, 3)},
        )
    ],
    "WordCounter.add": [
        lambda: Case(
            _core.WordCounter("none", True).add,
            {"texts": ["Cat", "ärger", "日本"], "last": np.ones(3, np.uint8), "n_threads": 2},
            wrong={"texts": (None, 3, ["a", "b"], ["a", "b", 3], "ab")},
        )
    ],
    "WordCounter.take": [lambda: Case(_core.WordCounter("none", True).take, {})],
    "count_tokens": [
        lambda: Case(
            _core.count_tokens,
            {
                "starts": np.array([0, 2, 2, 5]),
                "tokens": np.array([1, 0, -1, 2, 1], np.int32),
                "n_features": 3,
                "n_threads": 2,
            },
            wrong={"starts": (1, -1), "tokens": (-2, 3), "n_features": (-1, 0, 2, 2**31)},
            free=("starts",),
        )
    ],
    "tokens_are": [
        lambda: Case(
            _core.tokens_are,
            {
                "starts": np.array([0, 2, 2, 5]),
                "tokens": np.array([1, 0, -1, 2, 1], np.int32),
                "indptr": np.array([0, 2, 2, 4]),
                "indices": np.array([0, 1, 1, 2], np.int32),
                "data": np.ones(4, np.int32),
                "n_threads": 2,
            },
            wrong={
                "starts": (1, -1),
                "tokens": (-2,),
                "indptr": (1, -1),
                "indices": (-1,),
            },
        )
    ],
}
MAKERS = [(name, make) for name, makers in CASES.items() for make in makers]
each_case = pytest.mark.parametrize("make", [m for _, m in MAKERS], ids=[n for n, _ in MAKERS])


def public() -> set[str]:
    """Every function and method of the module."""
    found = set()
    for name, thing in vars(_core).items():
        if name.startswith("__"):
            continue
        if not isinstance(thing, type):
            found.add(name)
            continue
        for member, value in vars(thing).items():
            special = member in ("__init__", "__enter__", "__exit__")
            if callable(value) and (special or not member.startswith("_")):
                found.add(f"{name}.{member}")
    return found


def test_every_function_has_a_case():
    assert public() == set(CASES)


def arrays_of(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.given.items() if isinstance(value, np.ndarray)}


def refusal(make: Callable[[], Case], what: str, **changed: Any) -> str:
    """What is said of a wrong argument."""
    try:
        make().run(**changed)
    except (ValueError, TypeError) as error:
        return str(error)
    pytest.fail(f"{what} was taken")


@each_case
def test_what_is_in_order_is_taken(make):
    make().run()


@each_case
def test_another_shape_is_an_error(make):
    for name, array in arrays_of(make()).items():
        longer = np.concatenate([array, array[-1:]])
        wider = np.concatenate([array, array[..., -1:]], axis=-1)
        free = name in make().free
        for changed in (array[None],) if free else (array[None], longer, wider, array[:0]):
            refusal(make, f"{name} of shape {changed.shape}", **{name: changed})


@each_case
def test_another_type_or_order_is_an_error_where_it_is_written_to(make):
    """What is only read may be converted on the way in; what is written to would be lost."""
    for name in make().writes:
        array = make().given[name]
        if array is None:
            continue
        locked = array.copy()
        locked.flags.writeable = False
        strided = np.repeat(array, 2, axis=-1)[..., ::2]
        with np.errstate(all="ignore"):
            other = array.astype(np.float16)
        for what, changed in {"locked": locked, "strided": strided, "float16": other}.items():
            refusal(make, f"{name}, {what},", **{name: changed})


@each_case
def test_another_type_is_no_crash(make):
    for name, array in arrays_of(make()).items():
        for dtype in (np.int8, np.float16, np.complex128, object):
            with np.errstate(all="ignore"):  # what is to be written to holds any numbers
                other = array.astype(dtype)
            try:
                make().run(**{name: other})
            except (ValueError, TypeError):
                continue


def spoiled(case: Case, name: str, value: Any) -> Any:
    """An array with one wrong number, or what is given in place of it."""
    array = case.given[name]
    if not isinstance(array, np.ndarray) or isinstance(value, np.ndarray) or value is None:
        return value
    changed = array.copy()
    changed.flat[0] = value
    return changed


@each_case
def test_a_wrong_number_is_an_error_that_names_it(make):
    for name, values in make().wrong.items():
        for value in values:
            case = make()
            message = refusal(make, f"{name} with {value}", **{name: spoiled(case, name, value)})
            if isinstance(case.given[name], np.ndarray) and np.isscalar(value):
                words = {name, "tree"} | ({"stored counts"} if name == "data" else {"pair"})
                assert any(word in message for word in words), message


@each_case
def test_memory_that_is_shared_is_an_error(make):
    case = make()
    for name, other in permutations(arrays_of(case), 2):
        a, b = case.given[name], case.given[other]
        if name in case.writes and a.dtype == b.dtype and a.shape == b.shape:
            said = refusal(make, f"{name} for {other} too", **{other: a, name: a})
            assert "must not share memory" in said


@each_case
def test_the_number_of_threads_is_checked(make):
    if "n_threads" not in make().given:
        return
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"n_threads must be at least 1; got {wrong}"):
            make().run(n_threads=wrong)
    make().run(n_threads=2**31 - 1)  # no more than there is work for


def test_an_error_says_where_and_what():
    case = sample()
    case.given["Theta"][2, 1] = NAN
    rule = "sample: Theta must be 0 or more, and finite; found nan at row 2, column 1"
    with pytest.raises(ValueError, match=rule):
        case.run()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sweep_of_another_assignment_is_an_error(sparse):
    made, z = sampler(sparse)
    other = z.copy()
    other[[0, -1]] = (other[[0, -1]] + 1) % K  # in its range, but not what was counted
    how = (doubles(J), prior(), 1, 1, 1)
    with pytest.raises(ValueError, match="z must be the assignment that was last counted or swept"):
        made.sweep(other, *how)
    made.sweep(z, *how)
    made.sweep(z, *how)


def test_lists_that_lack_a_token_are_an_error():
    made, z = sampler(sparse=True)
    n = np.empty((J, K), np.int32)
    made.read(None, n)
    j = int(np.flatnonzero((n > 0).sum(axis=1) > 1)[0])
    first, second = np.flatnonzero(n[j])[:2]
    n[j, second] += n[j, first]
    n[j, first] = 0  # as many as before, in another component
    made.load(n)
    with pytest.raises(ValueError, match=f"feature {j} has more in component {first} than n"):
        made.sweep(z, doubles(J), prior(), 1, 1, 1)
    with pytest.raises(RuntimeError, match="count z"):  # half of a sweep is no counts
        made.read(None, n)


def test_a_sampler_without_counts_says_so():
    made = _core.CollapsedSampler(corpus(), BLOCK, 2, prior(), 1, False)
    z = np.zeros(made.n_tokens, np.uint16)
    with pytest.raises(RuntimeError, match="sweep: there are no counts"):
        made.sweep(z, doubles(J), prior(), 1, 1, 1)


def test_counts_of_features_do_not_outlive_a_sweep_with_loadings():
    """Which moves tokens and leaves n as it was: a sweep by n would take out what is not in."""
    case = swept_pairs("document", True)
    case.run()
    with pytest.raises(RuntimeError, match="unloaded"):
        case.run(Theta=None)
    case.call.__self__.count(case.given["z"])
    case.run(Theta=None)


def test_a_sampler_serves_one_thread_at_a_time():
    many = np.full((400, J), 40, np.int32)
    row, column = np.nonzero(many)
    starts = np.searchsorted(row, np.arange(401)).astype(np.int64)
    large = _core.Corpus(starts, column.astype(np.int32), many[row, column], J)
    made = _core.CollapsedSampler(large, BLOCK, 2, prior(), 1, False)
    z = counted(made)
    errors = []

    def sweep(mine):
        try:
            made.sweep(mine, doubles(J), prior(), 1, 1, 1)
        except (RuntimeError, ValueError) as error:
            errors.append(error)

    threads = [threading.Thread(target=sweep, args=(z.copy(),)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(errors) == 7  # one swept; the others met it, or came too late with the old z


def test_a_prior_keeps_its_numbers():
    alpha = doubles(K)
    made = _core.ScorePrior("DM", {"alpha": alpha})
    before = made.weights(1)[1].copy()
    alpha[:] = NAN
    np.testing.assert_array_equal(made.weights(1)[1], before)


def test_no_documents_and_no_tokens_are_fine():
    empty = _core.Corpus(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), J)
    case = sample()
    shapes = {"c_in": ints(0, K), "c_out": ints(0, K), "scores": floats(0, K)}
    case.run(corpus=empty, number=None, **shapes)
    made = _core.CollapsedSampler(empty, BLOCK, 2, prior(), 2, False)
    z = counted(made)
    assert made.sweep(z, doubles(J), prior(), 1, 1, 2) == 0


def test_a_counter_that_was_left_in_the_middle_of_a_document_says_so():
    made = _core.WordCounter("none", True)
    made.add(["one two", "three"], np.array([1, 0], np.uint8), 1)
    with pytest.raises(ValueError, match="take: the last text must end its document"):
        made.take()


def test_features_that_are_only_declared_take_no_memory():
    indptr, indices, data = _core.count_tokens(
        np.array([0, 2]), np.array([1, 1], np.int32), 2**31 - 1, 1
    )
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 1], [1], [2])


@pytest.mark.parametrize(
    ("row", "same"),
    [
        ({0: 1, 2: 2}, True),
        ({0: 1, 2: 1}, False),
        ({0: 1}, False),
        ({0: 1, 1: 2}, False),
        ({0: 1, 2: 2, 3: 1}, False),
        ({0: 1, 2**31 - 3: 2}, False),  # and no memory for what no token is of
    ],
)
def test_tokens_are_what_rows_say(row, same):
    starts, tokens = np.array([0, 0, 4]), np.array([2, 0, -1, 2], np.int32)
    indices, data = (np.array(list(x), np.int32) for x in (row, row.values()))
    found = _core.tokens_are(starts, tokens, np.array([0, 0, len(row)]), indices, data, 1)
    assert found == same


def test_columns_that_repeat_are_no_row():
    starts, indices = np.array([0, 2]), np.array([1, 1], np.int32)
    tokens, data = np.array([0, 1], np.int32), np.ones(2, np.int32)
    assert not _core.tokens_are(starts, tokens, starts, indices, data, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("list_start", -1),
        ("list_start", 10**9),
        ("entry_block", -1),
        ("entry_block", N),
        ("entry_start", -5),
        ("entry_start", 10**12),
        ("entry_count", NAN),
        ("entry_ratio", INF),
        ("document", -1),
        ("document", 2**31 - 1),
        ("count", NAN),
        ("length", -1),
        ("norm", NAN),
        ("shares", NAN),
        ("envelope", -1),
    ],
)
def test_lists_are_checked_as_they_are_read(name, value):
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="the lists are damaged"):
        damaged_lists(name, value)()

"""How each function and method of the native core is called when all is right.

A maker yields calls one after the other, so that a sampler goes through states. `CALLS` must have
all that the module has: a test compares. Its order is in the kept inputs; new names come at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dcomp import _core
from fuzzing.native import Border, Call
from fuzzing.native_samplers import METHODS, method

Calls = Iterator[Call]


def corpus(b: Border) -> Calls:
    fractional = b.choices.flag()
    made: list[Any] = []
    yield Call(lambda **given: made.append(_core.Corpus(**given)), b.csr(fractional))
    if made:  # whatever was accepted must be safe to use
        key = b.empty(b.I, dtype=np.uint64)
        given = {"corpus": made[0], "key": key, "n_threads": 1}
        yield Call(_core.content_keys, given, ("key",))


def score_prior(b: Border) -> Calls:
    given = b.prior_of(("DM", "GP", "CGP", "TM"))
    given["mode"], given["power"] = "expect", 1.0
    made: list[Any] = []
    yield Call(lambda **given: made.append(_core.ScorePrior(**given)), given)
    if made and made[0].key != "TM":
        yield Call(made[0].weights, {"n_docs": b.I})


def loadings(b: Border) -> Calls:
    given = {"n": b.rows(b.J, b.K), "gamma": b.gamma(), "block": b.block(), "n_blocks": b.G,
             "treatment": b.choices.of(("mean", "map", "vb")),
             "log_scale": b.empty(b.J, dtype=np.float64), "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.loadings, given, ("log_scale",))


def _expectations(b: Border) -> dict[str, Any]:
    Theta, scale = b.loadings()
    mode = b.choices.of(("expect", "maximise"))
    prior = b.prior(*(("DM", "GP", "TM") if mode == "expect" else ("DM", "GP")), mode=mode)
    return {"corpus": b.corpus(b.choices.flag()), "Theta": Theta, "log_scale": scale,
            "prior": prior, "c_in": b.rows(b.I, b.K), "c_out": b.empty(b.I, b.K),
            "max_inner": 1 + b.choices.below(3), "inner_tol": 1e-3,
            "n_threads": b.n_threads}  # fmt: skip


def expect(b: Border) -> Calls:
    given = {**_expectations(b), "n": b.empty(b.J, b.K)}
    yield Call(_core.expect, given, ("c_out", "n"))


def fold_in(b: Border) -> Calls:
    given = {**_expectations(b), "bound": b.empty(b.I, dtype=np.float64)}
    yield Call(_core.fold_in, given, ("c_out", "bound"))


def content_keys(b: Border) -> Calls:
    given = {"corpus": b.corpus(b.choices.flag()), "key": b.empty(b.I, dtype=np.uint64),
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.content_keys, given, ("key",))


def _split(b: Border, fractional: bool) -> dict[str, Any]:
    n_stored = int((b.counts > 0).sum())
    return {"corpus": b.corpus(fractional), "key": b.put(np.arange(b.I), np.uint64),
            "fraction": 0.5, "seed": b.choices.byte(),
            "first": b.empty(n_stored, dtype=np.float64 if fractional else np.int32),
            "n_threads": b.n_threads}  # fmt: skip


def split_tokens(b: Border) -> Calls:
    yield Call(_core.split_tokens, _split(b, False), ("first",))


def split_weights(b: Border) -> Calls:
    yield Call(_core.split_weights, _split(b, True), ("first",))


def start_counts(b: Border) -> Calls:
    given = {"corpus": b.corpus(), "seed": b.choices.byte(),
             "c": b.empty(b.I, b.K, dtype=np.int32),
             "n": b.empty(b.J, b.K, dtype=np.int32)}  # fmt: skip
    yield Call(_core.start_counts, given, ("c", "n"))


def log_predictive(b: Border) -> Calls:
    Theta, scale = b.loadings()
    given = {"corpus": b.corpus(b.choices.flag()), "Theta": Theta, "log_scale": scale,
             "scores": b.rows(b.I, b.K), "out": b.empty(b.I, dtype=np.float64),
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.log_predictive, given, ("out",))


def extrapolate(b: Border) -> Calls:
    points = {f"x{i}": b.rows(b.I, b.K) for i in range(2)}
    given = {**points, "b": -1.5, "kept": 0.1, "out": b.empty(b.I, b.K),
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.extrapolate, given, ("out",))


def spread(b: Border) -> Calls:
    table = (b.K, _core.spread_bins())
    given = {"c": b.rows(b.I, b.K), "times": np.empty(table), "sums": np.empty(table),
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.spread, given, ("times", "sums"))


def factor(b: Border) -> Calls:
    F, _ = b.loadings()
    given = {"corpus": b.corpus(b.choices.flag()), "F": F, "x_in": b.rows(b.I, b.K),
             "x_out": b.empty(b.I, b.K), "tol": 1e-3, "n_threads": b.n_threads,
             "update": b.choices.of(("multiplicative", "coordinates")),
             "max_rounds": 1 + b.choices.below(3)}  # fmt: skip
    yield Call(_core.factor, given, ("x_out",))


def _laplace(b: Border) -> dict[str, Any]:
    Theta, scale = b.loadings()
    return {"corpus": b.corpus(b.choices.flag()), "Theta": Theta, "log_scale": scale,
            "mu0": b.positive(b.K), "P": b.put(np.eye(b.K) * 2.0), "half_log_det_P": 0.5,
            "eta_in": b.rows(b.I, b.K, np.float64),
            "eta_out": b.empty(b.I, b.K, dtype=np.float64), "c_out": b.empty(b.I, b.K),
            "max_inner": b.choices.below(4), "inner_tol": 1e-3,
            "n_threads": b.n_threads}  # fmt: skip


def laplace(b: Border) -> Calls:
    given = {**_laplace(b), "n": b.empty(b.J, b.K)}
    yield Call(_core.laplace, given, ("eta_out", "c_out", "n"))


def laplace_fold_in(b: Border) -> Calls:
    given = {**_laplace(b), "value": b.empty(b.I, dtype=np.float64),
             "variance": b.empty(b.I, b.K, dtype=np.float64)}  # fmt: skip
    yield Call(_core.laplace_fold_in, given, ("eta_out", "c_out", "value", "variance"))


def special(b: Border) -> Calls:
    names = ("exp", "log", "digamma") + (("log_gamma",) if b.real is np.float64 else ())
    x = b.put(b.rng.gamma(1.0, 1.0, 16 * (b.I + 1)) + 0.01, b.real)
    given = {"name": b.choices.of(names), "x": x, "out": b.empty(len(x))}
    yield Call(_core.special, given, ("out",))


def plain(name: str) -> Callable[[Border], Calls]:
    def make(b: Border) -> Calls:
        yield Call(getattr(_core, name), {})

    return make


def sample(b: Border) -> Calls:
    Theta, scale = b.loadings(np.float32)
    c, _ = b.started()
    given: dict[str, Any] = {
        "corpus": b.corpus(), "Theta": Theta, "log_scale": scale,
        "prior": b.prior("DM", "GP", "CGP", "TM"), "c_in": c,
        "c_out": b.empty(b.I, b.K, dtype=np.int32),
        "n": b.empty(b.J, b.K, dtype=np.int32) if b.choices.flag() else None,
        "scores": b.empty(b.I, b.K, dtype=np.float32) if b.choices.flag() else None,
        "seed": b.choices.byte(), "sweep": b.choices.byte(), "n_threads": b.n_threads,
        "number": b.put(np.arange(b.I), np.int64) if b.choices.flag() else None,
    }  # fmt: skip
    yield Call(_core.sample, given, ("c_out", "n", "scores"))


def sample_lines(b: Border) -> Calls:
    Theta, _ = b.loadings(np.float32)
    c, _ = b.started()
    kept, zeros = 1 + b.choices.below(3), b.choices.flag()
    given: dict[str, Any] = {
        "corpus": b.corpus(), "number": b.put(np.arange(b.I), np.int64), "Theta": Theta,
        "alpha": b.positive(b.K), "rate": b.rows(b.I, b.K, np.float64),
        "log_zero": b.put(-b.rng.random(b.K)) if zeros else None,
        "zero": b.put(b.rng.random((b.I, b.K))) if zeros else None,
        "normalised": False if zeros else b.choices.flag(), "c": c if b.choices.flag() else None,
        "c_out": b.empty(kept, b.I, b.K, dtype=np.int32),
        "scores_out": b.empty(kept, b.I, b.K, dtype=np.float32), "seed": b.choices.byte(),
        "sweep": b.choices.byte(), "skip": b.choices.below(3), "every": 1 + b.choices.below(2),
        "n_threads": b.n_threads,
    }  # fmt: skip
    yield Call(_core.sample_lines, given, ("c_out", "scores_out"))


def draw_loadings(b: Border) -> Calls:
    given = {"n": b.put(b.rng.poisson(1.0, (b.J, b.K)), np.int32), "gamma": b.gamma(),
             "block": b.block(), "n_blocks": b.G, "seed": b.choices.byte(),
             "sweep": b.choices.byte(), "log_scale": b.empty(b.J, dtype=np.float64),
             "n_threads": b.n_threads, "kept": b.choices.flag()}  # fmt: skip
    yield Call(_core.draw_loadings, given, ("log_scale",))


def draw_scores(b: Border) -> Calls:
    given = {"c": b.started()[0], "prior": b.prior("DM", "GP", "CGP", "TM"),
             "out": b.empty(b.I, b.K, dtype=np.float32), "seed": b.choices.byte(),
             "sweep": b.choices.byte(), "n_threads": b.n_threads,
             "first": b.choices.below(3)}  # fmt: skip
    yield Call(_core.draw_scores, given, ("out",))


def log_loading_moments(b: Border) -> Calls:
    given = {"n": b.started()[1], "gamma": b.gamma(), "block": b.block(), "n_blocks": b.G,
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.log_loading_moments, given)


def log_score_moments(b: Border) -> Calls:
    prior = b.prior("DM", "GP", "CGP", "TM")
    given = {"c": b.started()[0], "prior": prior, "n_threads": b.n_threads}
    yield Call(_core.log_score_moments, given)


def left_to_right(b: Border) -> Calls:
    Theta, scale = b.loadings(np.float32)
    given = {"corpus": b.corpus(), "Theta": Theta, "log_scale": scale,
             "prior": b.prior("DM", "GP", "CGP", "TM"), "n_particles": 1 + b.choices.below(3),
             "n_moves": b.choices.below(3), "seed": b.choices.byte(), "run": b.choices.byte(),
             "out": b.empty(b.I, dtype=np.float64), "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.left_to_right, given, ("out",))


def tempered_sweeps(b: Border) -> Calls:
    chains, n_tokens = 1 + b.choices.below(2), int(b.counts.sum())
    n = b.choices.below(3)
    given = {"corpus": b.corpus(), "block": b.block(), "n_blocks": b.G, "gamma": b.gamma(),
             "prior": b.prior("DM", "GP", "CGP"), "temperatures": b.put(np.linspace(0, 1, n)),
             "seed": b.choices.byte(), "first": b.choices.below(2),
             "z": b.empty(chains, n_tokens, dtype=np.uint16),
             "log_scores": b.empty(chains, n, dtype=np.float64),
             "log_words": b.empty(chains, n, dtype=np.float64), "n_threads": b.n_threads,
             "first_chain": b.choices.below(3)}  # fmt: skip
    yield Call(_core.tempered_sweeps, given, ("z", "log_scores", "log_words"))


def two_sided_sweeps(b: Border) -> Calls:
    n, n_tokens = b.choices.below(3), int(b.counts.sum())
    prior = b.prior("DM", "GP", "CGP", "TM")
    given = {"corpus": b.corpus(), "block": b.block(), "n_blocks": b.G, "gamma": b.gamma(),
             "prior": prior, "log_scores": b.put(np.zeros((b.I, b.K))),
             "log_Theta": b.put(np.full((b.J, b.K), -1.0)),
             "temperatures": b.put(np.linspace(0, 1, n)),
             "backward": bool(b.choices.below(2)), "seed": b.choices.byte(),
             "run": b.choices.below(3), "first": b.choices.below(2),
             "z": b.put(np.zeros(n_tokens, dtype=np.uint16)),
             "out": b.empty(2, n, dtype=np.float64)}  # fmt: skip
    yield Call(_core.two_sided_sweeps, given, ("z", "out"))


def tree_means(b: Border) -> Calls:
    given = {"c": b.started()[0], "prior": b.prior("TM"), "n_threads": b.n_threads,
             "out": b.empty(b.I, b.K, dtype=np.float32)}  # fmt: skip
    yield Call(_core.tree_means, given, ("out",))


def stop(b: Border) -> Calls:
    made = _core.Stop()
    yield Call(made.request, {})
    with made:
        yield Call(made.request, {})


def tokens_are(b: Border) -> Calls:
    starts = np.r_[0, np.cumsum(b.counts.sum(axis=1))]
    tokens = np.repeat(np.tile(np.arange(b.J), b.I), b.counts.reshape(-1))
    rows = b.csr()
    given = {"starts": b.put(starts, np.int64), "tokens": b.put(tokens, np.int32),
             **{name: rows[name] for name in ("indptr", "indices", "data")},
             "n_threads": b.n_threads}  # fmt: skip
    yield Call(_core.tokens_are, given)


_TEXTS = ("", "Cat and 1984", "it's", "naïve", "日本 x2", "\ud800'\U00010400", "a" * 99)


def word_counter(b: Border) -> Calls:
    given = {"numbers": b.choices.of(("none", "all", "years")), "lower": b.choices.flag()}
    yield Call(_core.WordCounter, given)


def words(b: Border) -> Calls:
    made = _core.WordCounter(b.choices.of(("none", "all", "years")), b.choices.flag())
    for _ in range(2):
        texts = [b.choices.of(_TEXTS) for _ in range(b.I)]
        last = b.put(np.ones(b.I), np.uint8)
        given = {"texts": texts, "last": last, "n_threads": b.n_threads}
        yield Call(made.add, given)
    yield Call(made.take, {}, refusable=True)  # what was spoilt may end in mid-document


def count_tokens(b: Border) -> Calls:
    lengths = b.rng.integers(0, 4, b.I)
    starts = b.put(np.r_[0, np.cumsum(lengths)], np.int64)
    tokens = b.put(b.rng.integers(-1, b.J, int(lengths.sum())), np.int32)
    given = {"starts": starts, "tokens": tokens, "n_features": b.J, "n_threads": b.n_threads}
    yield Call(_core.count_tokens, given)


def _lists(b: Border) -> dict[str, Any]:
    """One document in each block, one entry for each posting."""
    by_word = np.argwhere(b.counts.T > 0)
    count = b.counts.T[b.counts.T > 0].astype(np.float32)
    length = np.maximum(b.counts.sum(axis=1), 1).astype(np.float32)
    document = by_word[:, 1]
    starts = np.searchsorted(by_word[:, 0], np.arange(b.J + 1))
    numbers = {"entry_count": count, "entry_ratio": count / length[document],
               "entry_length": length[document], "count": count, "length": length,
               "norm": length}  # fmt: skip
    given: dict[str, Any] = {name: b.put(array, np.float32) for name, array in numbers.items()}
    given |= {"list_start": b.put(starts, np.int64), "entry_block": b.put(document, np.int32),
              "entry_start": b.put(np.arange(len(count) + 1), np.int64), "block": 1,
              "document": b.put(document, np.int32)}  # fmt: skip
    return given | {"shares": b.put(np.full((b.I, b.K), 0.5), np.float32),
                    "envelope": b.put(np.full((b.I, b.K), 0.5), np.float32)}  # fmt: skip


def _question(b: Border) -> dict[str, Any]:
    kind = b.choices.of(("mixture", "bm25", "tf-idf", "dirichlet", "jelinek-mercer"))
    Theta = b.put(np.full((1, b.K), 0.5), np.float32) if kind == "mixture" else None
    return {"kind": kind, "term": b.put(np.zeros(1), np.int32), "Theta": Theta,
            "weight": b.put(np.ones(1), np.float64), "background": b.put(np.ones(1), np.float64),
            "parameters": b.put(np.full(3, 0.5), np.float64)}  # fmt: skip


def posting_lists(b: Border) -> Calls:
    made: list[Any] = []
    # There are no lists of no documents.
    make = Call(lambda **given: made.append(_core.PostingLists(**given)), _lists(b))
    make.refusable = b.I == 0
    yield make
    if made:  # whatever was accepted must be safe to ask: lists are checked as they are read
        yield Call(made[0].top, {**_question(b), "n": 1}, refusable=True)
        rest = {"out": b.empty(b.I, dtype=np.float64), "matches": b.empty(b.I, dtype=np.uint8)}
        yield Call(made[0].score, _question(b) | rest, ("out", "matches"), refusable=True)


CALLS: dict[str, Callable[[Border], Calls]] = {
    "Corpus": corpus, "ScorePrior": score_prior, "loadings": loadings, "expect": expect,
    "fold_in": fold_in, "content_keys": content_keys, "split_tokens": split_tokens,
    "split_weights": split_weights, "start_counts": start_counts,
    "log_predictive": log_predictive, "extrapolate": extrapolate, "spread": spread,
    "factor": factor, "laplace": laplace, "laplace_fold_in": laplace_fold_in, "special": special,
    "instruction_set": plain("instruction_set"), "compiled": plain("compiled"),
    "lanes": plain("lanes"), "spread_bins": plain("spread_bins"), "sample": sample,
    "sample_lines": sample_lines,
    "draw_loadings": draw_loadings, "draw_scores": draw_scores,
    "log_loading_moments": log_loading_moments, "log_score_moments": log_score_moments,
    "left_to_right": left_to_right, "tempered_sweeps": tempered_sweeps, "tree_means": tree_means,
    "two_sided_sweeps": two_sided_sweeps,
}  # fmt: skip

CALLS |= {  # with the samplers' methods, whose names begin with their class
    f"{of}.{name}" if name else of: method(of, name)
    for of, (_, names) in METHODS.items()
    for name in ("", *names)
}
CALLS |= {"Stop": plain("Stop"), "Stop.request": stop}
CALLS |= {"WordCounter": word_counter, "WordCounter.add": words, "WordCounter.take": words,
          "count_tokens": count_tokens, "tokens_are": tokens_are}  # fmt: skip
CALLS |= dict.fromkeys(("PostingLists", "PostingLists.top", "PostingLists.score"), posting_lists)

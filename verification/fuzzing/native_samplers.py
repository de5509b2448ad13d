"""How the samplers of the native core are made, and what each of their methods takes when all is
right. A case makes one and then calls some methods in any order, the one that is named last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dcomp import _core
from fuzzing.native import Border, Call

Calls = Iterator[Call]
Method = Callable[[Any], Call]
KINDS = ("fixed", "shared", "document", "phi", "document-phi")


class Tokens:
    """What both samplers share: one number per token."""

    def __init__(self, b: Border) -> None:
        self.b, self.n_tokens = b, int(b.counts.sum())
        self.sampler: Any = None
        self.kept: list[np.ndarray] | None = None
        self.counted: Any = None  # the assignment that its counts are of
        self.n_values = 1
        self.is_void = False  # whether it has lost the counts of features

    def z(self) -> np.ndarray:
        """An assignment."""
        return self.b.put(self.b.rng.integers(0, self.n_values, self.n_tokens), np.uint16)

    def entries(self) -> Call:
        entry = self.b.empty(self.n_tokens, dtype=np.int64)
        return Call(self.sampler.entries, {"entry": entry}, ("entry",))

    def in_entry_order(self) -> Call:
        given = {"z": self.z(), "out": self.b.empty(self.n_tokens, dtype=np.uint16)}
        return Call(self.sampler.in_entry_order, given, ("out",))

    def start(self) -> Call:
        given = {"seed": self.b.choices.byte(), "z": self.z()}
        return Call(self.sampler.start, given, ("z",))

    def count(self) -> Call:
        self.counted = self.z()
        return Call(self.sampler.count, {"z": self.counted})

    def swept(self) -> np.ndarray:
        """The assignment that a sweep goes on from."""
        return self.z() if self.counted is None else self.counted

    def unload(self) -> Call:
        self.kept = self.tables()
        return Call(self.sampler.unload, {})

    def tables(self) -> list[np.ndarray] | None:
        """The counts that it has of features, which it takes back; None where it has none."""
        tables = self.own_tables()
        try:
            self.sampler.read(None, *tables)
        except (RuntimeError, ValueError):
            return self.kept
        return tables

    def own_tables(self) -> list[np.ndarray]:
        """Room for them."""
        raise NotImplementedError

    def n_threads(self) -> int:
        return self.b.n_threads


class Collapsed(Tokens):
    """`CollapsedSampler`."""

    def __init__(self, b: Border) -> None:
        super().__init__(b)
        self.n_values = b.K
        self.sparse = b.choices.flag()
        keys = ("DM", "GP", "CGP") if self.sparse else ("DM", "GP", "CGP", "TM")
        self.prior = b.prior(*keys, exposure=False if self.sparse else None)

    def made(self) -> Calls:
        b = self.b
        totals = b.put(b.counts.sum(axis=0), np.int64) if b.choices.flag() else None
        given = {"corpus": b.corpus(), "block": b.block(), "n_blocks": b.G, "prior": self.prior,
                 "n_parts": b.choices.of((1, 2, 5)), "sparse": self.sparse,
                 "feature_totals": totals}  # fmt: skip
        yield Call(self._make, given)

    def _make(self, **given: Any) -> None:
        self.sampler = _core.CollapsedSampler(**given)

    def start_from(self) -> Call:
        b = self.b
        Theta, _ = b.loadings(np.float32)
        given = {"seed": b.choices.byte(), "scores": b.rows(b.I, b.K, np.float32), "Theta": Theta,
                 "z": self.z(), "n_threads": b.n_threads}  # fmt: skip
        return Call(self.sampler.start_from, given, ("z",))

    def own_tables(self) -> list[np.ndarray]:
        return [np.zeros((self.b.J, self.b.K), np.int32)]

    def load(self) -> Call:
        n, *_ = self.tables() or self.own_tables()
        return Call(self.sampler.load, {"n": self.b.put(n)})

    def sweep(self) -> Call:
        b = self.b
        given = {"z": self.swept(), "gamma": b.gamma(), "prior": self.prior,
                 "seed": b.choices.byte(), "sweep": b.choices.byte(),
                 "n_threads": b.n_threads}  # fmt: skip
        return Call(self.sampler.sweep, given, ("z",))

    def draw_anew(self) -> Call:
        b = self.b
        Theta, log_scale = b.loadings(np.float32)
        given = {"z": self.swept(), "Theta": Theta, "log_scale": log_scale, "prior": self.prior,
                 "seed": b.choices.byte(), "sweep": b.choices.byte(),
                 "switch_from": b.choices.byte(), "n_threads": b.n_threads}  # fmt: skip
        return Call(self.sampler.draw_anew, given, ("z",))

    def add_means(self) -> Call:
        out = self.b.empty(self.b.I, self.b.K, dtype=np.float32)
        given = {"prior": self.prior, "out": out, "n_threads": self.n_threads()}
        return Call(self.sampler.add_means, given, ("out",))

    def read(self) -> Call:
        b = self.b
        given = {"c": b.empty(b.I, b.K, dtype=np.int32), "n": b.empty(b.J, b.K, dtype=np.int32)}
        return Call(self.sampler.read, given, ("c", "n"))

    def record(self) -> Call:
        b, single = self.b, np.float32
        given = {"gamma": b.gamma(), "Theta": b.empty(b.J, b.K, dtype=single),
                 "c_sum": b.empty(b.I, b.K, dtype=single),
                 "zeros": b.empty(b.I, b.K, dtype=single) if b.choices.flag() else None,
                 "n_threads": b.n_threads}  # fmt: skip
        return Call(self.sampler.record, given, ("Theta", "c_sum", "zeros"))

    def log_moments(self) -> Call:
        given = {"gamma": self.b.gamma(), "prior": self.prior, "n_threads": self.n_threads()}
        return Call(self.sampler.log_moments, given)

    def log_score_moments(self) -> Call:
        given = {"prior": self.prior, "n_threads": self.n_threads()}
        return Call(self.sampler.log_score_moments, given)


class Structured(Tokens):
    """`StructuredSampler`: K leaves below one node that is the top, or beside some that are not."""

    def __init__(self, b: Border) -> None:
        super().__init__(b)
        self.K, self.H = b.K, b.K + 1
        self.kind = b.choices.of(KINDS)
        self.leaf = np.repeat(np.arange(self.K), 2)
        self.node = np.ravel([(c, self.K) for c in range(self.K)])
        self.n_values = len(self.leaf)
        self.stick = self.kind.endswith("phi")
        self.prior = b.prior("DM", "GP", "CGP")
        self.width = self.H if self.stick else self.n_values
        self.rows = b.I if self.kind.startswith("document") else 1
        if self.kind == "fixed":
            self.rows = 1

    def made(self) -> Calls:
        b = self.b
        parent = b.put([self.K] * self.K + [-1], np.int32) if self.stick else None
        given = {"corpus": b.corpus(), "block": b.block(), "n_blocks": b.G, "kind": self.kind,
                 "leaf": b.put(self.leaf, np.int32), "node": b.put(self.node, np.int32),
                 "K": self.K, "H": self.H, "parent": parent,
                 "n_parts": b.choices.of((1, 2, 5))}  # fmt: skip
        yield Call(self._make, given)

    def _make(self, **given: Any) -> None:
        self.sampler = _core.StructuredSampler(**given)

    def own_tables(self) -> list[np.ndarray]:
        shapes = ((self.b.J, self.H), (self.rows, self.width))
        return [np.zeros(shape, np.int32) for shape in shapes]

    def load(self) -> Call:
        n, S = self.tables() or self.own_tables()
        shared = self.kind in ("shared", "phi")
        return Call(self.sampler.load, {"n": self.b.put(n), "S": self.b.put(S) if shared else None})

    def sweep(self) -> Call:
        b = self.b
        Theta = None
        if self.kind not in ("shared", "phi") and b.choices.flag():
            Theta, _ = b.loadings(np.float32, self.H)
            self.is_void = True  # of features no counts are left
        nodes = [b.positive(self.H) if self.stick else None for _ in range(2)]
        given = {"z": self.swept(), "gamma": b.gamma(), "prior": self.prior,
                 "pair": None if self.stick else b.positive(self.n_values), "stop": nodes[0],
                 "go": nodes[1], "seed": b.choices.byte(), "sweep": b.choices.byte(),
                 "n_threads": b.n_threads, "Theta": Theta}  # fmt: skip
        return Call(self.sampler.sweep, given, ("z",))

    def read(self) -> Call:
        b, whole = self.b, np.int32
        given = {"C": b.empty(b.I, self.K, dtype=whole), "n": b.empty(b.J, self.H, dtype=whole),
                 "S": b.empty(self.rows, self.width, dtype=whole)}  # fmt: skip
        return Call(self.sampler.read, given, ("C", "n", "S"))

    def read_documents(self) -> Call:
        b, whole = self.b, np.int32
        given = {"C": b.empty(b.I, self.K, dtype=whole),
                 "S": b.empty(self.rows, self.width, dtype=whole)}  # fmt: skip
        return Call(self.sampler.read_documents, given, ("C", "S"))

    def add_loadings(self) -> Call:
        Theta = self.b.empty(self.b.J, self.H, dtype=np.float32)
        given = {"gamma": self.b.gamma(), "Theta": Theta, "n_threads": self.n_threads()}
        return Call(self.sampler.add_loadings, given, ("Theta",))

    def add_nodes(self) -> Call:
        out = self.b.empty(self.b.I, self.H, dtype=np.float32)
        return Call(self.sampler.add_nodes, {"out": out}, ("out",))

    def log_moments(self) -> Call:
        given = {"gamma": self.b.gamma(), "prior": self.prior, "n_threads": self.n_threads()}
        return Call(self.sampler.log_moments, given)

    def log_score_moments(self) -> Call:
        given = {"prior": self.prior, "n_threads": self.n_threads()}
        return Call(self.sampler.log_score_moments, given)


METHODS = {
    "CollapsedSampler": (
        Collapsed,
        ("start", "start_from", "count", "load", "unload", "sweep", "draw_anew", "add_means",
         "read", "record", "log_moments", "log_score_moments", "entries", "in_entry_order"),
    ),
    "StructuredSampler": (
        Structured,
        ("start", "count", "load", "unload", "sweep", "read", "read_documents", "add_loadings",
         "add_nodes", "log_moments", "log_score_moments", "entries", "in_entry_order"),
    ),
}  # fmt: skip


def method(of: str, name: str) -> Callable[[Border], Calls]:
    """Makes a sampler, perhaps counts an assignment and sweeps, and calls this method."""

    def make(b: Border) -> Calls:
        kind, names = METHODS[of]
        case = kind(b)
        yield from case.made()
        if case.sampler is None:
            return
        if name == "":
            return
        # Nothing is right before an assignment was counted but what begins one.
        before = ["count"] if not b.choices.rarely() else []
        if b.choices.flag():
            before += [b.choices.of(names) for _ in range(b.choices.below(3))]
        steps = [*before, name]
        for number, step in enumerate(steps):
            yield case_call(case, step, steps[:number])

    return make


def case_call(case: Any, step: str, before: list[str]) -> Call:
    """The next call, after those before it."""
    was_void = case.is_void
    call: Call = getattr(case, step)()
    means = step == "add_means" and case.prior.key != "TM"
    flat = step == "draw_anew" and case.prior.key == "TM"
    refusable = means or flat or was_void or "unload" in before
    call.refusable = refusable or "count" not in (*before, step)
    return call

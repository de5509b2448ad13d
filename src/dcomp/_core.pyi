"""The native core. Float arrays are all float32 or all float64 within one call."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Float = npt.NDArray[np.floating[Any]]
_Double = npt.NDArray[np.float64]
_Single = npt.NDArray[np.float32]
_Sums = tuple[float, int, list[float], list[float]]

class Corpus:
    def __init__(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        data: npt.NDArray[np.int32 | np.float64],  # float64: fractional counts
        n_features: int,
        first: int = 0,
    ) -> None: ...
    @property
    def first(self) -> int: ...

class Stop:
    def __init__(self) -> None: ...
    def request(self) -> None: ...
    @property
    def requested(self) -> bool: ...
    def __enter__(self) -> Stop: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

class ScorePrior:
    def __init__(
        self,
        key: str,
        parameters: Mapping[str, _Double],
        exposure: _Double | None = None,
        tree: npt.NDArray[np.int32] | None = None,
        mode: str = "expect",
        power: float = 1.0,
        group: npt.NDArray[np.int32] | None = None,
        allowed: npt.NDArray[np.uint8] | None = None,
    ) -> None: ...
    @property
    def key(self) -> str: ...
    @property
    def n_components(self) -> int: ...
    def weights(self, n_docs: int) -> tuple[_Single, _Single, _Single]: ...

def loadings(
    n: _Float,
    gamma: _Double,
    block: npt.NDArray[np.int32],
    n_blocks: int,
    treatment: str,
    log_scale: _Double,
    n_threads: int,
) -> tuple[_Float, float]: ...
def expect(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    prior: ScorePrior,
    c_in: _Float,
    c_out: _Float,
    n: _Float,
    max_inner: int,
    inner_tol: float,
    n_threads: int,
) -> _Sums: ...
def fold_in(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    prior: ScorePrior,
    c_in: _Float,
    c_out: _Float,
    bound: _Double,
    max_inner: int,
    inner_tol: float,
    n_threads: int,
) -> _Sums: ...
def content_keys(corpus: Corpus, key: npt.NDArray[np.uint64], n_threads: int) -> None: ...
def split_tokens(
    corpus: Corpus,
    key: npt.NDArray[np.uint64],
    fraction: float,
    seed: int,
    first: npt.NDArray[np.int32],
    n_threads: int,
) -> None: ...
def split_weights(
    corpus: Corpus,
    key: npt.NDArray[np.uint64],
    fraction: float,
    seed: int,
    first: _Double,
    n_threads: int,
) -> None: ...
def start_counts(
    corpus: Corpus, seed: int, c: npt.NDArray[np.int32], n: npt.NDArray[np.int32]
) -> None: ...
def log_predictive(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    scores: _Float,
    out: _Double,
    n_threads: int,
) -> None: ...
def extrapolate(
    x0: _Float,
    x1: _Float,
    b: float,
    kept: float,
    out: _Float,
    n_threads: int,
) -> None: ...
def spread(
    c: _Float, times: npt.NDArray[np.float64], sums: npt.NDArray[np.float64], n_threads: int
) -> None: ...
def factor(
    corpus: Corpus,
    F: _Float,
    x_in: _Float,
    x_out: _Float,
    update: str,
    max_rounds: int,
    tol: float,
    n_threads: int,
) -> tuple[float, float, float, float]: ...
def laplace(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    mu0: _Double,
    P: _Double,
    half_log_det_P: float,
    eta_in: _Double,
    eta_out: _Double,
    c_out: _Float,
    n: _Float,
    max_inner: int,
    inner_tol: float,
    n_threads: int,
) -> tuple[float, int, int, list[float], list[float], float]: ...
def laplace_fold_in(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    mu0: _Double,
    P: _Double,
    half_log_det_P: float,
    eta_in: _Double,
    eta_out: _Double,
    c_out: _Float,
    value: _Double,
    variance: _Double,
    max_inner: int,
    inner_tol: float,
    n_threads: int,
) -> tuple[float, int, int, list[float], list[float], float]: ...
def special(name: str, x: _Float, out: _Float) -> None: ...
def instruction_set() -> str: ...
def compiled() -> list[tuple[str, str]]: ...
def spread_bins() -> int: ...
def lanes() -> int: ...
def sample(
    corpus: Corpus,
    Theta: npt.NDArray[np.float32],
    log_scale: _Double,
    prior: ScorePrior,
    c_in: npt.NDArray[np.int32],
    c_out: npt.NDArray[np.int32],
    n: npt.NDArray[np.int32] | None,
    scores: npt.NDArray[np.float32] | None,
    seed: int,
    sweep: int,
    n_threads: int,
    number: npt.NDArray[np.int64] | None = None,
    switch_from: int = 0,
) -> float: ...
def sample_lines(
    corpus: Corpus,
    number: npt.NDArray[np.int64],
    Theta: npt.NDArray[np.float32],
    alpha: _Double,
    rate: _Double,
    log_zero: _Double | None,
    zero: _Double | None,
    normalised: bool,
    c: npt.NDArray[np.int32] | None,
    c_out: npt.NDArray[np.int32],
    scores_out: npt.NDArray[np.float32],
    seed: int,
    sweep: int,
    skip: int,
    every: int,
    n_threads: int,
) -> None: ...
def draw_loadings(
    n: npt.NDArray[np.int32],
    gamma: _Double,
    block: npt.NDArray[np.int32],
    n_blocks: int,
    seed: int,
    sweep: int,
    log_scale: _Double,
    n_threads: int,
    kept: bool = False,
) -> npt.NDArray[np.float32]: ...
def draw_scores(
    c: npt.NDArray[np.int32],
    prior: ScorePrior,
    out: npt.NDArray[np.float32],
    seed: int,
    sweep: int,
    n_threads: int,
    first: int = 0,
) -> None: ...
def log_loading_moments(
    n: npt.NDArray[np.int32],
    gamma: _Double,
    block: npt.NDArray[np.int32],
    n_blocks: int,
    n_threads: int,
) -> float: ...
def log_score_moments(
    c: npt.NDArray[np.int32],
    prior: ScorePrior,
    n_threads: int,
) -> float: ...
def left_to_right(
    corpus: Corpus,
    Theta: npt.NDArray[np.float32],
    log_scale: _Double,
    prior: ScorePrior,
    n_particles: int,
    n_moves: int,
    seed: int,
    run: int,
    out: _Double,
    n_threads: int,
) -> None: ...
def tempered_sweeps(
    corpus: Corpus,
    block: npt.NDArray[np.int32],
    n_blocks: int,
    gamma: _Double,
    prior: ScorePrior,
    temperatures: _Double,
    seed: int,
    first: int,
    z: npt.NDArray[np.uint16],
    log_scores: _Double,
    log_words: _Double,
    n_threads: int,
    first_chain: int = 0,
) -> None: ...
def two_sided_sweeps(
    corpus: Corpus,
    block: npt.NDArray[np.int32],
    n_blocks: int,
    gamma: _Double,
    prior: ScorePrior,
    log_scores: _Double,
    log_Theta: _Double,
    temperatures: _Double,
    backward: bool,
    seed: int,
    run: int,
    first: int,
    z: npt.NDArray[np.uint16],
    out: _Double,
) -> None: ...
def tree_means(
    c: npt.NDArray[np.int32], prior: ScorePrior, out: npt.NDArray[np.float32], n_threads: int
) -> None: ...

class StructuredSampler:
    n_tokens: int
    def __init__(
        self,
        corpus: Corpus,
        block: npt.NDArray[np.int32],
        n_blocks: int,
        kind: str,
        leaf: npt.NDArray[np.int32],
        node: npt.NDArray[np.int32],
        K: int,
        H: int,
        parent: npt.NDArray[np.int32] | None,
        n_parts: int,
    ) -> None: ...
    def start(self, seed: int, z: npt.NDArray[np.uint16]) -> None: ...
    def count(self, z: npt.NDArray[np.uint16]) -> None: ...
    def load(self, n: npt.NDArray[np.int32], S: npt.NDArray[np.int32] | None) -> None: ...
    def unload(self) -> None: ...
    def sweep(
        self,
        z: npt.NDArray[np.uint16],
        gamma: _Double,
        prior: ScorePrior,
        pair: _Double | None,
        stop: _Double | None,
        go: _Double | None,
        seed: int,
        sweep: int,
        n_threads: int,
        Theta: npt.NDArray[np.float32] | None = None,
    ) -> float: ...
    def read(
        self,
        C: npt.NDArray[np.int32] | None,
        n: npt.NDArray[np.int32] | None,
        S: npt.NDArray[np.int32] | None,
    ) -> None: ...
    def read_documents(self, C: npt.NDArray[np.int32], S: npt.NDArray[np.int32]) -> None: ...
    def add_loadings(
        self, gamma: _Double, Theta: npt.NDArray[np.float32], n_threads: int
    ) -> None: ...
    def add_nodes(self, out: npt.NDArray[np.float32]) -> None: ...
    def log_moments(
        self,
        gamma: _Double,
        prior: ScorePrior,
        n_threads: int,
    ) -> float: ...
    def log_score_moments(self, prior: ScorePrior, n_threads: int) -> float: ...
    def entries(self, entry: npt.NDArray[np.int64]) -> None: ...
    def in_entry_order(self, z: npt.NDArray[np.uint16], out: npt.NDArray[np.uint16]) -> None: ...

class CollapsedSampler:
    n_tokens: int
    def __init__(
        self,
        corpus: Corpus,
        block: npt.NDArray[np.int32],
        n_blocks: int,
        prior: ScorePrior,
        n_parts: int,
        sparse: bool,
        feature_totals: npt.NDArray[np.int64] | None = None,
    ) -> None: ...
    def start(self, seed: int, z: npt.NDArray[np.uint16]) -> None: ...
    def start_from(
        self,
        seed: int,
        scores: npt.NDArray[np.float32],
        Theta: npt.NDArray[np.float32],
        z: npt.NDArray[np.uint16],
        n_threads: int,
    ) -> None: ...
    def count(self, z: npt.NDArray[np.uint16]) -> None: ...
    def load(self, n: npt.NDArray[np.int32]) -> None: ...
    def unload(self) -> None: ...
    def sweep(
        self,
        z: npt.NDArray[np.uint16],
        gamma: _Double,
        prior: ScorePrior,
        seed: int,
        sweep: int,
        n_threads: int,
    ) -> float: ...
    def draw_anew(
        self,
        z: npt.NDArray[np.uint16],
        Theta: npt.NDArray[np.float32],
        log_scale: _Double,
        prior: ScorePrior,
        seed: int,
        sweep: int,
        switch_from: int,
        n_threads: int,
    ) -> None: ...
    def add_means(
        self, prior: ScorePrior, out: npt.NDArray[np.float32], n_threads: int
    ) -> None: ...
    def read(self, c: npt.NDArray[np.int32] | None, n: npt.NDArray[np.int32] | None) -> None: ...
    def record(
        self,
        gamma: _Double,
        Theta: npt.NDArray[np.float32] | None,
        c_sum: npt.NDArray[np.float32],
        zeros: npt.NDArray[np.float32] | None,
        n_threads: int,
    ) -> None: ...
    def log_moments(
        self,
        gamma: _Double,
        prior: ScorePrior,
        n_threads: int,
    ) -> float: ...
    def log_score_moments(self, prior: ScorePrior, n_threads: int) -> float: ...
    def entries(self, entry: npt.NDArray[np.int64]) -> None: ...
    def in_entry_order(self, z: npt.NDArray[np.uint16], out: npt.NDArray[np.uint16]) -> None: ...

class WordCounter:
    n_docs: int
    n_tokens: int
    n_words: int
    def __init__(self, numbers: str, lower: bool) -> None: ...
    def add(self, texts: Sequence[str], last: npt.NDArray[np.uint8], n_threads: int) -> None: ...
    def take(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], list[str]]: ...

def count_tokens(
    starts: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int32],
    n_features: int,
    n_threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def tokens_are(
    starts: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int32],
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.int32],
    n_threads: int,
) -> bool: ...

class PostingLists:
    def __init__(
        self,
        block: int,
        list_start: npt.NDArray[np.int64],
        entry_block: npt.NDArray[np.int32],
        entry_start: npt.NDArray[np.int64],
        entry_count: npt.NDArray[np.float32],
        entry_ratio: npt.NDArray[np.float32],
        entry_length: npt.NDArray[np.float32],
        document: npt.NDArray[np.int32],
        count: npt.NDArray[np.float32],
        length: npt.NDArray[np.float32],
        norm: npt.NDArray[np.float32],
        shares: npt.NDArray[np.float32] | None = None,
        envelope: npt.NDArray[np.float32] | None = None,
    ) -> None: ...
    def top(
        self,
        kind: str,
        term: npt.NDArray[np.int32],
        weight: _Double,
        background: _Double,
        parameters: _Double,
        Theta: npt.NDArray[np.float32] | None,
        n: int,
    ) -> tuple[npt.NDArray[np.int32], _Double, int]: ...
    def score(
        self,
        kind: str,
        term: npt.NDArray[np.int32],
        weight: _Double,
        background: _Double,
        parameters: _Double,
        Theta: npt.NDArray[np.float32] | None,
        out: _Double,
        matches: npt.NDArray[np.uint8],
    ) -> None: ...

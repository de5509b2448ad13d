"""The native core. Float arrays are all float32 or all float64 within one call."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Float = npt.NDArray[np.floating[Any]]
_Double = npt.NDArray[np.float64]
_Sums = tuple[float, int, list[float], list[float]]

class Corpus:
    def __init__(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        data: npt.NDArray[np.int32],
        n_features: int,
    ) -> None: ...

class ScorePrior:
    def __init__(
        self, name: str, alpha: _Double, beta: _Double | None, exposure: _Double | None
    ) -> None: ...

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
def log_predictive(
    corpus: Corpus,
    Theta: _Float,
    log_scale: _Double,
    scores: _Float,
    out: _Double,
    n_threads: int,
) -> None: ...
def special(name: str, x: _Float, out: _Float) -> None: ...
def instruction_set() -> str: ...
def compiled() -> list[tuple[str, str]]: ...

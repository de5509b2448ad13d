"""What every made-up table needs: a generator that is the same everywhere, checks, and shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.features import frozen_array
from dcomp.errors import InvalidParameter

Floats = NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    """Random numbers that depend on the seed and nothing else: Philox is integers throughout.

    >>> bool(generator(3).random() == generator(3).random())
    True
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidParameter(f"seed must be a whole number of at least 0; got {seed!r}")
    return np.random.Generator(np.random.Philox(int(seed)))


def check_sizes(**sizes: int) -> None:
    """Every size must be a whole number of at least 1.

    >>> check_sizes(n_people=0)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: n_people must be a whole number of at least 1; got 0
    """
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or size < 1:
            raise InvalidParameter(f"{name} must be a whole number of at least 1; got {size!r}")


def check_shares(**shares: float) -> None:
    """Every share must be from 0 to 1.

    >>> check_shares(missing=1.5)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: missing must be from 0 to 1; got 1.5
    """
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise InvalidParameter(f"{name} must be from 0 to 1; got {share!r}")


def check_positive(**numbers: float) -> None:
    """Every number must be finite and above 0.

    >>> check_positive(length=float("inf"))
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: length must be a finite number above 0; got inf
    """
    for name, number in numbers.items():
        if not 0 < number < np.inf:
            raise InvalidParameter(f"{name} must be a finite number above 0; got {number!r}")


def normalised(weights: NDArray[Any]) -> Floats:
    """Rows that sum to 1.

    >>> normalised(np.array([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float64)


def categories(rng: np.random.Generator, shares: Floats, n: int) -> NDArray[np.intp]:
    """n draws for each row of shares (I, K): numbers below K, (I, n).

    >>> categories(generator(0), np.array([[0.0, 1.0], [1.0, 0.0]]), 3).tolist()
    [[1, 1, 1], [0, 0, 0]]
    """
    uniform = rng.random((shares.shape[0], n))
    drawn = np.zeros(uniform.shape, np.intp)
    # The last sum is 1 but for rounding; it is not looked at, so that no draw can pass it.
    for below in np.cumsum(shares, axis=1).T[:-1]:
        drawn += uniform >= below[:, np.newaxis]
    return drawn


def first_to_arrive(
    rng: np.random.Generator, rates: Floats, n: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Draws without replacement: of each row of rates the n[i] that arrive first, (I, J).

    >>> first_to_arrive(generator(0), np.ones((2, 3)), np.array([1, 3])).sum(axis=1).tolist()
    [1, 3]
    """
    arrival = rng.exponential(1, rates.shape) / rates
    place = np.argsort(np.argsort(arrival, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(place < n[:, np.newaxis])


def overdispersed(rng: np.random.Generator, mean: Floats, dispersion: float) -> NDArray[np.int64]:
    """Negative binomial counts of variance mean + dispersion · mean²; Poisson's where it is 0.

    >>> overdispersed(generator(0), np.zeros(2), 0.5).tolist()
    [0, 0]
    """
    if dispersion > 0:
        mean = mean * rng.gamma(1 / dispersion, dispersion, mean.shape)
    return rng.poisson(mean)


def frozen(values: NDArray[Any]) -> Floats:
    """A read-only array of doubles: what was planted stays as it was.

    >>> frozen(np.ones(2)).flags.writeable
    False
    """
    return frozen_array(values, np.float64)


def numbered(what: str, n: int) -> list[str]:
    """Names of equal width that sort as they count.

    >>> numbered("person", 10)[::9]
    ['person01', 'person10']
    """
    width = len(str(n))
    return [f"{what}{i:0{width}d}" for i in range(1, n + 1)]

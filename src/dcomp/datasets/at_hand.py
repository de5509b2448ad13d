"""Real tables that are there once dcomp is installed: they come with the libraries below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts, docstrings
from dcomp.errors import InvalidFile

SIDE = 8  # pixels of a digit's image, each way


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """A real table; what else is known of its documents is in `counts.attributes`."""

    counts: Counts
    label: str | None = None  # the attribute that says what a document is
    source: str = ""  # where the data come from, and whom to cite


def documentation() -> Corpus:
    """The words in the docstrings of NumPy, SciPy and scikit-learn, as installed (`docstrings`);
    the attribute "package" says whose they are."""
    counts, packages = docstrings()
    return Corpus(
        counts.with_attributes(package=packages),
        "package",
        "the documentation of NumPy, SciPy and scikit-learn, as installed",
    )


def digits() -> Corpus:
    """Images of handwritten digits as counts of ink: 1,797 × 64 pixels of 0 to 16, of scikit-learn.

    Components of them are parts of strokes. The attribute "digit" has what was written.

    >>> table = digits()
    >>> table.counts.shape, table.counts.features.name(9), int(table.counts.attributes["digit"][3])
    ((1797, 64), 'row1 column1', 3)
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    if images.shape[1] != SIDE * SIDE:
        raise InvalidFile(f"scikit-learn's digits must have 64 pixels; found {images.shape[1]}")
    pixels = [f"row{row} column{column}" for row in range(SIDE) for column in range(SIDE)]
    counts = Counts.from_matrix(images.astype(np.int64), feature_names=pixels)
    return Corpus(
        counts.with_attributes(digit=labels),
        "digit",
        "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI",
    )

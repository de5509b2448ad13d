"""Counts and where they come from: matrices, frames, tables, text; and how to split them.

>>> from dcomp.data import bag, halves
>>> first, second = halves(bag(["one fish two fish", "red fish blue fish"], stop_words=None))
>>> first.n_tokens + second.n_tokens
8
"""

from dcomp.data.attributes import Attributes
from dcomp.data.convert import as_counts
from dcomp.data.counts import Counts
from dcomp.data.datasets import docstrings
from dcomp.data.features import FeatureSpace
from dcomp.data.languages import english_stop_words
from dcomp.data.sequences import Sequences
from dcomp.data.split import document_keys, halves, train_test
from dcomp.data.text import bag, tokenize
from dcomp.data.text_options import TextOptions, Vocabulary

__all__ = [
    "Attributes",
    "Counts",
    "FeatureSpace",
    "Sequences",
    "TextOptions",
    "Vocabulary",
    "as_counts",
    "bag",
    "docstrings",
    "document_keys",
    "english_stop_words",
    "halves",
    "tokenize",
    "train_test",
]

"""Tables of other fields with what is known to be in them, for tests and benchmarks.

None of the made-up tables is drawn from a model of this package, as no table of the world is:
frequencies drift, words come in bursts, counts vary more than Poisson's, people are absent. An
algorithm and its defaults are good when they are good on all of them. Each function takes sizes and
a seed and gives a frozen record: `counts`, and what was planted. The same seed gives the same table
everywhere.

| function | in it |
|---|---|
| `genotypes` | admixed people, drifted frequencies, missing calls, SNPs that do not vary |
| `votes` | ideal points, cut points, absences, unanimous calls |
| `mutations` | totals over four powers of ten, signatures, more variance than Poisson's |
| `cells` | library sizes, marker genes, negative binomial counts |
| `text` | Zipf's law, words in bursts, reading order |
| `baskets` | few items each, strong popularity, items that go together |
| `docstrings` | a real one: the documentation of NumPy, SciPy and scikit-learn |

>>> from dcomp import datasets
>>> datasets.votes(20, 50, seed=1).counts.shape
(20, 100)
"""

from dcomp.data.datasets import docstrings
from dcomp.datasets.genetics import Genotypes, genotypes
from dcomp.datasets.language import Text, text
from dcomp.datasets.parliament import Votes, votes
from dcomp.datasets.sequencing import Cells, cells
from dcomp.datasets.shopping import Baskets, baskets
from dcomp.datasets.tumours import Mutations, mutations

__all__ = [
    "Baskets",
    "Cells",
    "Genotypes",
    "Mutations",
    "Text",
    "Votes",
    "baskets",
    "cells",
    "docstrings",
    "genotypes",
    "mutations",
    "text",
    "votes",
]

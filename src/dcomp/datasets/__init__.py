"""Tables with what is known to be in them: made up, at hand, drawn from a model, or downloaded.

`load` has them all by name, `names` lists and `describe` describes them; each has a function of its
own, too. What they give is a frozen record: `counts`, and what was planted or is known.

| function | in it |
|---|---|
| `genotypes` | admixed people, drifted frequencies, missing calls, SNPs that do not vary |
| `votes` | ideal points, cut points, absences, unanimous calls |
| `mutations` | totals over four powers of ten, signatures, more variance than Poisson's |
| `cells` | library sizes, marker genes, negative binomial counts |
| `text` | Zipf's law, words in bursts, reading order |
| `baskets` | few items each, strong popularity, items that go together |
| `simulate` | drawn from any model, with its scores and components |
| `docstrings` | a real one: the documentation of NumPy, SciPy and scikit-learn |
| `digits` | a real one: images of digits as counts of ink |
| `voteview` | downloaded: roll calls of a US Congress |
| `newsgroups`, `movie_reviews`, `state_union` | downloaded: texts with labels |

None of the made-up tables (the first six) is drawn from a model of this package, as no table of the
world is: frequencies drift, words come in bursts, counts vary more than Poisson's, people are
absent. An algorithm and its defaults are good when they are good on all of them. They take sizes
and a seed, and the same seed gives the same table everywhere.

Downloads need the extra `datasets`, and a network the first time; they are kept in the user's
cache, or in the folder that DCOMP_DATASETS names, and held to their checksums.

>>> from dcomp import datasets
>>> datasets.votes(20, 50, seed=1).counts.shape
(20, 100)
>>> datasets.load("simulated", model="GP", n_components=3, seed=1).components.shape
(3, 100)
"""

from dcomp.data.datasets import docstrings
from dcomp.datasets.at_hand import Corpus, digits
from dcomp.datasets.download import DownloadFailed
from dcomp.datasets.front import Description, describe, load, names
from dcomp.datasets.genetics import Genotypes, genotypes
from dcomp.datasets.language import Text, text
from dcomp.datasets.parliament import Votes, votes
from dcomp.datasets.remote import movie_reviews, newsgroups, state_union, voteview
from dcomp.datasets.sequencing import Cells, cells
from dcomp.datasets.shopping import Baskets, baskets
from dcomp.datasets.simulated import Simulated, simulate
from dcomp.datasets.tumours import Mutations, mutations

__all__ = [
    "Baskets",
    "Cells",
    "Corpus",
    "Description",
    "DownloadFailed",
    "Genotypes",
    "Mutations",
    "Simulated",
    "Text",
    "Votes",
    "baskets",
    "cells",
    "describe",
    "digits",
    "docstrings",
    "genotypes",
    "load",
    "movie_reviews",
    "mutations",
    "names",
    "newsgroups",
    "simulate",
    "state_union",
    "text",
    "votes",
    "voteview",
]

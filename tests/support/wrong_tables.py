"""Tables that a tired person gives, what is said of each, and the nearest that are right.

docs/guides/wrong-tables.md is made of them: `python tests/support/wrong_tables.py` writes it.
"""

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import dcomp
from dcomp.evaluate import completion
from dcomp.models import DirichletMultinomial, GammaPoisson

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "wrong-tables.md"
LDA, GP = DirichletMultinomial.build(2, alpha=0.5), GammaPoisson.build(2)


@dataclass(frozen=True)
class Case:
    """A wrong table, in words and as it is given, and the right one."""

    name: str
    given: str
    wrong: Callable[[], Any]
    right: Callable[[], Any]


def said(give: Callable[[], Any]) -> str:
    """The error, or the warnings about data, one a line; nothing where all is well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            give()
        except (dcomp.DcompError, OSError) as error:
            return f"{type(error).__name__}: {error}"
    return "\n".join(str(w.message) for w in caught if w.category is dcomp.DataWarning)


def fit(table: Any, model: Any = LDA, **options: Any) -> dcomp.Fit:
    """A short fit by `dcomp.fit`."""
    return dcomp.fit(dcomp.as_counts(table, **options), model, max_iter=3, tol=0, seed=1)


def lda(table: Any) -> dcomp.LDA:
    """A short fit by the estimator."""
    return dcomp.LDA(2, max_iter=3, tol=0, verbose=0).fit(table)


def plain(rows: int = 30, columns: int = 12, seed: int = 0) -> Any:
    """Counts with two kinds of documents, as they should be."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(columns, 0.3), 2)
    return np.array([rng.multinomial(60 + i, kinds[i % 2]) for i in range(rows)])


def words(table: Any = None) -> pandas.DataFrame:
    """The same as a frame with names."""
    table = plain() if table is None else table
    return pandas.DataFrame(table, columns=[f"word{j}" for j in range(table.shape[1])])


def otus() -> pandas.DataFrame:
    """The same with numbered names."""
    return words().rename(columns=lambda name: name.replace("word", "OTU"))


def measured() -> str:
    """The same as a file, with what was measured in front."""
    lines = [f"s{i},{5 * i},{20 + i},{','.join(map(str, row))}" for i, row in enumerate(plain())]
    return "\n".join([f"sample,depth_cm,age,{','.join(otus().columns)}", *lines, ""])


def ages() -> str:
    """Answers 1 to 5 to three questions, and an age."""
    lines = [f"p{i},{20 + i % 30},{i % 5},{i % 3},{i % 2}" for i in range(60)]
    return "\n".join(["id,age,Q1,Q2,Q3", *lines, ""])


def with_nan() -> pandas.DataFrame:
    """A frame in which one entry is missing."""
    frame = words().astype(float)
    frame.iloc[3, 2] = np.nan
    return frame


REVIEWS = ["The film was good and I liked it", "I slept all through the second half of it"]
FILE = "id,review,stars\n1,{},5\n2,{},1\n".format(*REVIEWS)
CALLS = "number,date,result,yea,nay\n1,2003-01-07,Agreed,51,46\n"
CODED = "name,RC1,RC2,RC3,RC4\nAnn,1,2,1,1\nBob,2,1,1,2\nCy,1,2,2,9\n"
TURNED = "call,Ann,Bob,Cy,Dee\nparty,Lab,Con,Lab,LD\nRC1,Y,N,Y,Y\nRC2,Y,N,-,N\nRC3,N,Y,N,Y\n"
UPRIGHT = "\n".join(
    ",".join(row) for row in zip(*(line.split(",") for line in TURNED.split()), strict=True)
)
VOTES = "name,v1,v2\nAnn,Y,N\nBob,N,Y\n"
DRINKS = "whisky,gin,rum,beer\n31,4,1,1\n12,1,1,0\n"
WARDS = "ward,boys,girls\nA,30,41\nB,12,10\nC,7,5\n"
PONDS = "site,newt,toad,frog\nFen,1,2,3\nMere,2,0,4\n"
INDEXED = ",site,newt,toad,frog\n0,Fen,1,2,3\n1,Mere,2,0,4\n"
BIRDS = "a 1 120 7\na 1 124 -9\nb 2 124 9\nb 2 124 7\n"


def from_file(name: str, inside: str, /, encoding: str = "utf-8", **options: Any) -> dcomp.Counts:
    """What `dcomp.read` makes of a file with this in it; its folder goes unsaid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(inside, encoding=encoding)
        try:
            return dcomp.read(path, **options)
        except (dcomp.InvalidFile, dcomp.InvalidParameter) as error:
            raise type(error)(str(error).replace(f"{folder}/", "")) from None


class AnnData:
    """Stands for the class of that name, which dcomp tells by its module and never imports."""

    __module__ = "anndata._core.anndata"
    shape = (30, 12)

    def __init__(self) -> None:
        self.X, self.var_names = plain(), [f"gene{j}" for j in range(12)]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("it is not to be looked through")


def genotypes() -> Any:
    """Raw codes 0, 1, 2, without blocks."""
    return np.random.default_rng(0).binomial(
        2, np.random.default_rng(1).uniform(0.1, 0.5, 50), (30, 50)
    )


def codes() -> Any:
    """Votes as Voteview codes them: 1 yea, 6 nay, 9 not voting."""
    return np.random.default_rng(0).choice([1, 6, 9], (30, 40), p=[0.6, 0.35, 0.05])


def answers(missing: bool = True) -> dcomp.Counts:
    """Answers with a feature per answer in blocks, made by hand, so that nobody said what an empty
    one means."""
    rng = np.random.default_rng(0)
    yes = rng.integers(0, 2, (30, 8))
    given = rng.random((30, 8)) > (0.1 if missing else 0)
    table = np.stack([yes * given, (1 - yes) * given], axis=2).reshape(30, 16)
    return dcomp.Counts.from_matrix(table, blocks=np.repeat(np.arange(8), 2))


def log_normalised() -> Any:
    """ln(1 + counts per ten thousand) of some of the genes."""
    table = plain(40, 30)
    return np.log1p(table / table.sum(axis=1, keepdims=True) * 1e4)[:, :20]


def per_million(table: Any) -> Any:
    """Counts per million."""
    return table / table.sum(axis=1, keepdims=True) * 1e6


def percentages() -> Any:
    """Of each document's words."""
    return per_million(plain()) / 1e4


def rarefied(depth: int) -> Any:
    """Counts of so many words of each document."""
    rng = np.random.default_rng(0)
    return np.array([rng.multivariate_hypergeometric(20 * row, depth) for row in plain()])


def scored(new: Any) -> Any:
    """Held-out score of `new` by a fit to the plain table."""
    return completion(fit(plain()), new)


ERRORS = (
    Case(
        "texts in a file of counts",
        "a CSV with a column of texts, without saying so",
        lambda: from_file("reviews.csv", FILE),
        lambda: from_file("reviews.csv", FILE, text="review"),
    ),
    Case(
        "texts among counts in a file",
        "a wide CSV with a column of texts",
        lambda: from_file("t.csv", f"id,cat,dog,review\n1,2,0,{REVIEWS[0]}\n"),
        lambda: from_file("t.csv", "id,cat,dog,ant\n1,2,0,1\n2,1,1,0\n"),
    ),
    Case(
        "a gap in a file",
        "a wide CSV with an empty field",
        lambda: from_file("t.csv", "id,cat,dog,ant\n1,2,,1\n2,1,1,0\n"),
        lambda: from_file("t.csv", "id,cat,dog,ant\n1,2,0,1\n2,1,1,0\n"),
    ),
    Case(
        "a column of texts",
        "a frame with a column of texts, to `fit`",
        lambda: lda(words().assign(review=REVIEWS * 15)),
        lambda: lda(words()),
    ),
    Case(
        "texts as tokens",
        "lists with one whole text each",
        lambda: lda([[text] for text in REVIEWS]),
        lambda: lda([text.split() for text in REVIEWS]),
    ),
    Case(
        "texts as documents",
        "a list of texts",
        lambda: lda(REVIEWS),
        lambda: lda(dcomp.Counts.from_texts(REVIEWS)),
    ),
    Case(
        "texts as features",
        "a frame (document, text) as a long table",
        lambda: dcomp.Counts.from_table(pandas.DataFrame({"id": [1, 2], "text": REVIEWS})),
        lambda: dcomp.Counts.from_table(
            pandas.DataFrame({"id": [1, 2], "item": ["whole milk", "red wine"]})
        ),
    ),
    Case(
        "a column of words",
        "a frame with a column of words",
        lambda: lda(words().assign(party=["D", "R"] * 15)),
        lambda: lda(words().set_index(np.array([f"D{i}" for i in range(30)]))),
    ),
    Case(
        "a label",
        "a frame with a last column `label` of numbers",
        lambda: lda(words().assign(label=[0, 1] * 15)),
        lambda: lda(words().assign(labelled=[0, 1] * 15)),
    ),
    Case(
        "an id",
        "a frame whose first column numbers the documents",
        lambda: lda(words().reset_index(names="patient")),
        lambda: lda(words().rename_axis("patient")),
    ),
    Case("NaN", "a frame with NaN", lambda: lda(with_nan()), lambda: lda(with_nan().fillna(0))),
    Case(
        "NaN in an array",
        "an array with NaN, to `as_counts`",
        lambda: dcomp.as_counts(with_nan().to_numpy()),
        lambda: dcomp.as_counts(with_nan().fillna(0).to_numpy()),
    ),
    Case(
        "a path",
        "the path of a file, to `fit`",
        lambda: lda("corpus.csv"),
        lambda: lda(from_file("corpus.csv", "doc,word\nd1,cat\nd2,dog\n")),
    ),
    Case(
        "a Series",
        "one column of a frame, to `fit`",
        lambda: lda(pandas.Series(REVIEWS)),
        lambda: lda(dcomp.Counts.from_texts(pandas.Series(REVIEWS))),
    ),
    Case(
        "an array of texts",
        "an array of strings",
        lambda: lda(np.array(REVIEWS)),
        lambda: lda(dcomp.Counts.from_texts(np.array(REVIEWS))),
    ),
    Case(
        "a feature twice",
        "a frame with two columns of one name",
        lambda: lda(words().rename(columns={"word3": "word1"})),
        lambda: lda(words().rename(columns={"word3": "word1b"})),
    ),
    Case(
        "a year in a file",
        "a wide CSV with a column `year` in front of the counts",
        lambda: from_file("t.csv", "doc,year,cat,dog\nd1,1999,3,0\nd2,2001,0,4\n"),
        lambda: from_file("t.csv", "doc,year,cat,dog\nd1,1999,3,0\nd2,2001,0,4\n", label_columns=2),
    ),
    Case(
        "an index in a file",
        "a CSV that pandas wrote with its index, with names behind it",
        lambda: from_file("t.csv", INDEXED),
        lambda: from_file("t.csv", INDEXED, label_columns=2),
    ),
    Case(
        "shares in a file",
        "a CSV of shares",
        lambda: from_file("t.csv", "site,newt,toad,frog\nFen,0.5,0.2,0.3\nMere,0.1,0,0.9\n"),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "a label in a file",
        "a wide CSV with a last column `label` of numbers",
        lambda: from_file("t.csv", "doc,cat,dog,label\nd1,3,0,1\nd2,0,4,2\n"),
        lambda: from_file("t.csv", "doc,cat,dog,labelled\nd1,3,0,1\nd2,0,4,2\n"),
    ),
    Case(
        "a comma at the end of lines",
        "a CSV with an empty last column",
        lambda: from_file("t.csv", PONDS.replace("\n", ",\n")),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "a comma at the end of a line",
        "a CSV with a comma too many in a line",
        lambda: from_file("t.csv", PONDS.replace(",3\n", ",3,\n")),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "a title",
        "a CSV with a title above the header",
        lambda: from_file("t.csv", "Ponds of 2020,,,\n" + PONDS),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "another mark between fields",
        "a CSV with `|` between its fields",
        lambda: from_file("t.csv", PONDS.replace(",", "|")),
        lambda: from_file("t.csv", PONDS.replace(",", "|"), delimiter="|"),
    ),
    Case(
        "a mark between thousands",
        "a CSV with a count such as 1,200 in quotes",
        lambda: from_file("t.csv", PONDS.replace("Fen,1", 'Fen,"1,200"')),
        lambda: from_file("t.csv", PONDS.replace("Fen,1", "Fen,1200")),
    ),
    Case(
        "a mark between thousands, bare",
        "the same without quotes",
        lambda: from_file("t.csv", PONDS.replace("Fen,1", "Fen,1,200")),
        lambda: from_file("t.csv", PONDS.replace("Fen,1", "Fen,1200")),
    ),
    Case(
        "decimal commas",
        "a CSV with semicolons and decimal commas",
        lambda: from_file("t.csv", PONDS.replace(",", ";").replace("Fen;1", "Fen;1,5")),
        lambda: from_file("t.csv", PONDS.replace(",", ";")),
    ),
    Case(
        "Latin-1",
        "a CSV that is not UTF-8",
        lambda: from_file("t.csv", PONDS.replace("Mere", "Étang"), encoding="latin-1"),
        lambda: from_file("t.csv", PONDS.replace("Mere", "Étang")),
    ),
    Case(
        "descriptions of roll calls",
        "a table that describes roll calls, for their votes",
        lambda: from_file("rollcalls.csv", CALLS, format="votes"),
        lambda: from_file("votes.csv", VOTES, format="votes"),
    ),
    Case(
        "votes in other codes",
        "a table of votes coded 1, 2 and 9",
        lambda: from_file("votes.csv", CODED, format="votes"),
        lambda: from_file("votes.csv", CODED.replace("2", "0"), format="votes"),
    ),
    Case(
        "votes on their side",
        "a table of votes with a row per roll call, and a row of parties",
        lambda: from_file("votes.csv", TURNED, format="votes"),
        lambda: from_file("votes.csv", UPRIGHT, format="votes"),
    ),
    Case(
        "a wrong code of missing alleles",
        "a STRUCTURE file, with a code of missing alleles that it does not have",
        lambda: from_file("birds.str", BIRDS, missing="0"),
        lambda: from_file("birds.str", BIRDS, missing="-9"),
    ),
    Case(
        "NaN in LSA",
        "an array with NaN, to `dcomp.LSA`",
        lambda: dcomp.LSA(1).fit(with_nan().to_numpy()),
        lambda: dcomp.LSA(1).fit(with_nan().fillna(0).to_numpy()),
    ),
    Case(
        "AnnData",
        "an AnnData, to `as_counts` or `fit`",
        lambda: dcomp.as_counts(AnnData()),
        lambda: dcomp.as_counts(AnnData().X, feature_names=AnnData().var_names),
    ),
)

WARNINGS = (
    Case(
        "no column of ids",
        "a wide CSV whose first column holds whole numbers and is not called as ids are",
        lambda: from_file("t.csv", DRINKS),
        lambda: from_file("t.csv", DRINKS, label_columns=0),
    ),
    Case(
        "no column of ids, surely",
        "the same where a number comes again",
        lambda: from_file("t.csv", DRINKS + "12,0,3,4\n"),
        lambda: from_file("t.csv", DRINKS.replace("whisky", "pub_id") + "12,0,3,4\n"),
    ),
    Case(
        "two features",
        "a wide CSV of two features",
        lambda: from_file("t.csv", WARDS),
        lambda: from_file("t.csv", WARDS, label_columns=1),
    ),
    Case(
        "two features, perhaps",
        "a table of three columns that may be long or wide",
        lambda: from_file("t.csv", WARDS + "A,3,4\n"),
        lambda: from_file("t.csv", WARDS.replace("boys,girls", "word,count") + "A,3,4\n"),
    ),
    Case(
        "what was measured in a file",
        "a wide CSV with columns of measurements in front of numbered features",
        lambda: from_file("t.csv", measured()),
        lambda: from_file("t.csv", measured(), label_columns=3),
    ),
    Case(
        "what was measured",
        "a frame of the same",
        lambda: lda(otus().assign(depth_cm=30)[["depth_cm", *otus().columns]]),
        lambda: lda(otus()),
    ),
    Case(
        "a measured question",
        "answers with an age, of which `codes` says that all are questions",
        lambda: from_file("t.csv", ages(), format="categories", codes="all"),
        lambda: from_file("t.csv", ages(), format="categories", codes="all", attributes="age"),
    ),
    Case(
        "a line of sums",
        "a CSV with a line `Total`",
        lambda: from_file("t.csv", PONDS + "Total,3,2,7\n"),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "a column of sums",
        "a CSV with a column `Total`",
        lambda: from_file("t.csv", "site,newt,toad,frog,Total\nFen,1,2,3,6\nMere,2,0,4,6\n"),
        lambda: from_file("t.csv", PONDS),
    ),
    Case(
        "blocks of one feature",
        "votes 0/1 with a block for every column",
        lambda: fit(np.minimum(plain(), 1), blocks=range(12)),
        lambda: fit(answers(missing=False)),
    ),
    Case(
        "genotypes as counts",
        "raw codes 0, 1, 2 of genotypes",
        lambda: fit(genotypes()),
        lambda: fit(np.random.default_rng(0).poisson(0.6, (30, 50))),
    ),
    Case(
        "votes as counts",
        "Voteview's codes 1, 6, 9",
        lambda: fit(codes()),
        lambda: fit(np.random.default_rng(0).poisson(3.5, (30, 40))),
    ),
    Case(
        "answers as counts",
        "answers 1 to 5",
        lambda: fit(np.random.default_rng(0).integers(1, 6, (60, 20))),
        lambda: fit(np.random.default_rng(0).poisson(3.0, (60, 20))),
    ),
    Case(
        "everything equal",
        "the same number everywhere",
        lambda: fit(np.full((30, 12), 7)),
        lambda: fit(plain()),
    ),
    Case(
        "documents that are the same",
        "one document, many times",
        lambda: fit(np.repeat(plain(1), 30, axis=0)),
        lambda: fit(np.r_[np.repeat(plain(1), 29, axis=0), plain(1, seed=1)]),
    ),
    Case("nothing counted", "zeros", lambda: fit(np.zeros((5, 4))), lambda: fit(np.eye(5))),
    Case(
        "more components than documents",
        "a table that is on its side, perhaps",
        lambda: fit(plain(5), DirichletMultinomial.build(20)),
        lambda: fit(plain(20), DirichletMultinomial.build(20)),
    ),
    Case(
        "ids that come again",
        "rows of one document apart",
        lambda: fit(plain(), doc_ids=[f"d{i // 2}" for i in range(30)]),
        lambda: fit(plain(), doc_ids=[f"d{i}" for i in range(30)]),
    ),
    Case(
        "counts per million",
        "`fractional=True` with rows of one sum",
        lambda: fit(per_million(plain()), fractional=True),
        lambda: fit(plain() * np.linspace(0.5, 2, 12), fractional=True),
    ),
    Case(
        "counts per million, rounded",
        "whole numbers whose rows sum to a million",
        lambda: fit(np.rint(per_million(plain()))),
        lambda: fit(plain() * 16_000),
    ),
    Case(
        "percentages",
        "percentages with decimals",
        lambda: fit(percentages().round(2), fractional=True),
        lambda: fit(percentages().round(2) * np.linspace(0.5, 2, 12), fractional=True),
    ),
    Case(
        "shares as whole numbers",
        "shares that were scaled to 1000 and rounded",
        lambda: fit(np.rint(10 * percentages())),
        lambda: fit(rarefied(1000)),
    ),
    Case(
        "logarithms",
        "ln(1 + counts per ten thousand)",
        lambda: fit(log_normalised(), fractional=True),
        lambda: fit(plain(40, 30) * np.linspace(0.5, 2, 30), fractional=True),
    ),
    Case(
        "missing without exposure",
        "GP on answers of which some are missing",
        lambda: fit(answers(), GP),
        lambda: dcomp.fit(answers(), GP, exposure="observed", max_iter=3, tol=0),
    ),
    Case(
        "unknown features",
        "`transform` of documents with features that the fit does not know",
        lambda: fit(words()).transform(words().rename(columns={"word3": "verb3"})),
        lambda: fit(words()).transform(words()[:9]),
    ),
    Case(
        "training data as held-out",
        "`completion`, `score` or `left_to_right` of what was fitted",
        lambda: scored(plain()),
        lambda: scored(plain(seed=1)),
    ),
)

_HEAD = """# Wrong tables, and what is said of them

A table may be wrong in a way that no program can be sure of. What cannot be meant is an error,
which says what must hold, what was given and what to give instead. What can be fitted and was
probably not meant is a warning of one line, of class `dcomp.DataWarning`, where a file is read or
a fit begins: `warnings.simplefilter("ignore", dcomp.DataWarning)` silences it, and `"error"` stops
there. The shell says the same in its own words. The tests give each of these tables, compare what
is said with this page, and see that the nearest right table is taken without a word.

```python
import warnings

import numpy as np

import dcomp

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", dcomp.DataWarning)
    dcomp.LDA(2, verbose=0).fit(np.full((30, 12), 7))
print(caught[0].message)  # every count is 7: ...
```
"""


def page() -> str:
    """The guide, of what is said now."""
    return "\n".join([_HEAD, *_table("Errors", ERRORS), *_table("Warnings", WARNINGS)])


def _table(title: str, cases: tuple[Case, ...]) -> list[str]:
    rows = [f"| {case.given} | {said(case.wrong).replace('|', chr(92) + '|')} |" for case in cases]
    return [f"## {title}", "", "| given | said |", "|---|---|", *rows, ""]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""How the shell and config files say how tables of votes, answers and genotypes are read."""

from __future__ import annotations

from dcomp.models.options import Option

# What tables of votes and answers and genotypes are asked for beside their format.
FIELDS = (
    Option(
        "attributes",
        "word",
        "categories, votes: columns that say something of a row and are no question.",
        metavar="NAMES",
        panel="Fields",
    ),
    Option(
        "codes",
        "word",
        "categories: columns whose numbers are codes of answers, or all; the other numbers are "
        "attributes.",
        metavar="NAMES",
        panel="Fields",
    ),
    Option(
        "missing",
        "word",
        "categories, structure: what stands for no answer or no allele.",
        metavar="WORDS",
        panel="Fields",
    ),
    Option(
        "outcome",
        "switch",
        "Votes: the outcome of each call is one more voter.",
        default=False,
        panel="Fields",
    ),
    Option(
        "contested",
        "switch",
        "Votes: without the calls at which all voted alike; of new votes, as the fit was made.",
        default=False,
        panel="Fields",
    ),
    Option(
        "transpose",
        "switch",
        "Votes, categories: roll calls or questions are the documents. table: features come first, "
        "or are the lines, and documents the columns.",
        default=False,
        panel="Fields",
    ),
    Option(
        "label_columns",
        "whole",
        "table: so many columns in front of a wide table name its lines, joined; 0 where there is "
        "no such column.",
        least=0,
        shown="1; with --transpose those before the first number",
        panel="Fields",
    ),
    Option(
        "delimiter",
        "word",
        "table, text-table, votes, categories: what stands between fields, one character or tab.",
        metavar="MARK",
        shown="a comma, semicolon or tab, by the first lines",
        panel="Fields",
    ),
    Option("layer", "word", "h5ad: the layer that has the counts.", shown="X", panel="Fields"),
    Option(
        "populations",
        "file",
        "plink, vcf: a population per line.",
        shown="x.pop beside it",
        panel="Fields",
    ),
    Option(
        "columns",
        "word",
        "structure: what stands in front of the genotypes, such as id,population, or none.",
        metavar="NAMES",
        shown="told from the rows",
        panel="Fields",
    ),
    Option(
        "rows",
        "whole",
        "structure: rows of each individual, 1 or 2.",
        least=1,
        shown="told from the names",
        panel="Fields",
    ),
)

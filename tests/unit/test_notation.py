"""docs/names.md has every name that a model goes by, docs/notation.md cites papers alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dcomp import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
NAMES = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
# key: given name, family name of the first author, year and title, as CITATION.cff has them
CITED = {
    found["key"]: found.groupdict()
    for found in re.finditer(
        r'title: "(?P<title>[^"]+)"\n\s+authors:\n\s+- family-names: (?P<family>\w+)\n'
        r"\s+given-names: (?P<given>\w+)\n(?:(?!title:).*\n)*?\s+year: (?P<year>\d+)\n"
        r'(?:(?!title:).*\n)*?\s+notes: "(?P<key>\w+):',
        (ROOT / "CITATION.cff").read_text(encoding="utf-8"),
    )
}


def test_every_name_of_a_model_is_explained():
    rows = {
        name: line
        for line in NAMES.partition("## BJ06's table II")[0].splitlines()
        for name in re.findall(r"`([^`]+)`", line.split("|")[1] if line.startswith("|") else "")
    }
    names = [name for key in registry.ALIASES for name in registry.ALIASES[key]]
    assert set(rows) == {*names, *registry.FACTORISATIONS}
    for name, line in rows.items():
        meant = registry.named_model(name)
        assert re.search(rf"\b{meant.key}\b", line.split("|")[3]), name
        assert all(f"`{algorithm}`" in line for algorithm in meant.algorithms), name


@pytest.mark.parametrize("key", ["BJ06", "BJ04", "B09", "C04", "B18"])
def test_papers_are_cited_as_in_the_citation_file(key):
    paper = CITED[key]
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {key} |"))
    assert f"{paper['given'][0]}. {paper['family']}" in line
    assert f"({paper['year']}), {paper['title']}" in line

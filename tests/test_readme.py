"""What the README and the guides say is true: the table, the Python blocks, the shell options."""

import re
from pathlib import Path

import pytest
from support.field_files import FILES, SMALL

import dcomp
from dcomp import registry
from dcomp.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted(set((ROOT / "docs" / "guides").glob("*.md")) - {ROOT / "docs" / "guides" / "index.md"}),
    ROOT / "docs" / "tour.md",
    ROOT / "docs" / "algorithms" / "ascent.md",
    ROOT / "docs" / "algorithms" / "climb.md",
]


def blocks(page, language):
    """The fenced blocks of a language, with the number of the line before each."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(1)), found.group(1)


def test_the_table_is_the_registry():
    text = README.read_text(encoding="utf-8")
    inside = re.search(r"<!-- models:begin -->\n(.*?)\n<!-- models:end -->", text, re.DOTALL)
    assert inside is not None
    assert inside.group(1) == registry.markdown_table()


@pytest.fixture(scope="module")
def documents():
    return dcomp.data.docstrings()


def a_third_of(counts, labels):
    return counts.rows(slice(0, None, 3)), labels[::3]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, documents, tmp_path, monkeypatch, capsys):
    if page.name == "clusters.md":
        pytest.importorskip("distributed", reason='needs pip install "dcomp[dask]"')
    monkeypatch.chdir(tmp_path)
    # Reading them takes longer than a fit; and pages that announce no numbers run on a third.
    read = documents if page.name in ANNOUNCED or page == README else a_third_of(*documents)
    monkeypatch.setattr(dcomp.data, "docstrings", lambda: read)
    FILES.get(page.name, lambda folder: None)(tmp_path)
    run_blocks(page)
    if page.name in ANNOUNCED:
        ANNOUNCED[page.name](capsys.readouterr().out)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name in SMALL], ids=lambda page: page.name)
def test_pages_of_fields_run_on_small_files(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SMALL[page.name](tmp_path)
    run_blocks(page)


def run_blocks(page):
    namespace = {"__name__": "__main__"}
    found = list(blocks(page, "python"))
    assert found
    for line, code in found:
        # Empty lines in front make a traceback show the page's own line numbers.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


def first_fit(printed):
    """The numbers that the first guide announces come out."""
    assert "Counts(2 documents × 2 features, 6 tokens, 75.0 % non-zero)" in printed
    assert printed.rstrip().endswith("True")
    agreement = float(re.search(r"agreement: ([0-9.]+)", printed).group(1))
    assert agreement >= 0.9


def choosing_k(printed):
    """So does the number of components that were planted."""
    assert "Recommended: 5 components." in printed
    assert "\n5\n" in printed


ANNOUNCED = {"first-fit.md": first_fit, "choosing-k.md": choosing_k}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_options_exist(page, capsys):
    lines = [line for _, code in blocks(page, "sh") for line in code.splitlines()]
    for words in (line.split() for line in lines if line.startswith("dcomp ")):
        assert main([words[1], "--help"]) == 0
        known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out))
        assert {word for word in words if word.startswith("-")} <= known, words


def test_links_lead_somewhere():
    pages = [*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

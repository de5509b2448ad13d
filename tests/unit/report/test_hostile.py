"""Text from data is text on the page, whatever it says; and the page lets nothing else run."""

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser

import pytest
from support.report_pages import HOSTILE, data_of, hostile

import dcomp
from dcomp.report.packing import name_on_page, script_json


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    counts, fit = hostile()
    path = tmp_path_factory.mktemp("hostile") / "r.html"
    texts = [f"{name} and more" for name in HOSTILE]
    dcomp.report(fit, counts, path, texts=texts, title=HOSTILE[0], command=HOSTILE[7])
    return path.read_bytes().decode("utf-8")  # strict: halves of characters are gone


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self.inside = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_only_our_own_elements_are_there(page):
    parser = Elements()
    parser.feed(page)
    tags = [tag for tag, _ in parser.found]
    assert tags.count("script") == 2
    assert not {"img", "iframe", "object", "embed", "link", "base", "form", "svg"} & set(tags)
    for _, attributes in parser.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert attributes.get("href", "#").startswith("#")


def test_nothing_is_asked_of_anyone(page):
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_the_policy_is_of_the_very_script_and_style(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S)
        found = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{found}'" in policy


def test_no_character_of_the_data_can_end_its_element(page):
    inside = page.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&\u2028\u2029\u202e\x00\x1b") & set(inside)
    data = data_of(page)
    assert HOSTILE[0] in data["features"]
    assert HOSTILE[6] in data["features"]  # emoji keep their joiners
    assert "\\u202eright to left\\u202c" in data["features"]
    assert "half \\ud800 of one" in data["features"]
    assert any(piece.startswith("\\x1b[2J") for piece in data["views"]["7"]["text"] if piece)


def test_names_without_end_are_cut(page):
    assert len(page) < 400_000
    assert max(map(len, data_of(page)["features"])) == 80
    assert name_on_page("a" * 10**7).endswith("a…")


def test_a_line_of_ten_megabytes_is_a_beginning_and_no_markup(tmp_path):
    line = "<b>cat</b> </script><script>window.hacked=1</script> \x1b[2J mouse \u202e" * 160_000
    assert len(line) > 10**7
    texts = [line, "a cat and a mouse", "a mouse"]
    counts = dcomp.Counts.from_texts(["cat mouse cat", *texts[1:]])
    fit = dcomp.LDA(2, verbose=0).fit(counts)
    page = dcomp.report(fit, counts, tmp_path / "r.html", texts=texts).read_text("utf-8")
    assert len(page) < 400_000
    assert page.count("<script") == 2
    view = data_of(page)["views"]["0"]
    assert view["cut"]
    assert 2_000 < sum(len(piece) for piece in view["text"] if isinstance(piece, str)) < 100_000
    assert "\x1b" not in page


def test_versions_and_dates_are_what_a_file_says(tmp_path):
    counts = dcomp.Counts.from_texts(["cat mouse cat", "a mouse", "a cat"])
    fit = dcomp.LDA(2, verbose=0).fit(counts).fit_
    says = "\x1b[2J\u202e<b>" + "9" * 10_000
    versions = ("dcomp", "numpy", "scipy", "python", "created", "data_fingerprint")
    told = dataclasses.replace(fit.provenance, **dict.fromkeys(versions, says))
    path = tmp_path / "r.html"
    page = dcomp.report(dataclasses.replace(fit, provenance=told), counts, path).read_text("utf-8")
    assert not {"\x1b", "\u202e"} & set(page)
    assert "<b>9" not in page
    assert "9" * 3000 not in page


def test_scripts_in_json():
    assert script_json(["<", ">", "&", "\u2028"]) == '["\\u003c","\\u003e","\\u0026","\\u2028"]'
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))

"""What notebooks show of fits and estimators: whole, small, and harmless whatever the names say."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dcomp
from dcomp.result import html

HOSTILE = [
    "<script>alert(1)</script>",
    "</table><img src=x onerror=alert(1)>",
    "' onmouseover='x",
    '"><b>',
    "a\x1b[2J\u202eb",
    "x" * 100_000,
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # fits are short
SAFE = {"div", "p", "strong", "br", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """The tags of a page, which must be closed in order, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = set(), set(), "", []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    counts = dcomp.Counts.from_matrix(
        rng.poisson(3, (20, len(HOSTILE))), feature_names=HOSTILE, doc_ids=range(20)
    )
    return dcomp.LDA(3, max_iter=20, verbose=0).fit(counts)


def test_names_are_text_and_nothing_else(hostile):
    fit = hostile.fit_.rename({0: "<i>taxes</i>", 1: "y" * 10_000_000})
    page = fit._repr_html_()
    read = Page(page)
    assert read.tags <= SAFE
    assert read.attributes <= {"class", "style"}
    assert len(page) < 20_000
    for text in ("<script>alert(1)</script>", "<i>taxes</i>", "a\\x1b[2J\\u202eb", "y" * 60 + "…"):
        assert text in read.text
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_it_says_what_the_fit_is(hostile):
    read = Page(hostile.fit_._repr_html_())
    fit = hostile.fit_
    assert f"DM (dirichlet-multinomial), 3 components by {fit.algorithm.name}" in read.text
    assert f"20 documents × 6 features, {fit.provenance.n_tokens:,} tokens" in read.text
    assert fit.reason in read.text
    shares = fit.expected_counts.sum(axis=0) / fit.expected_counts.sum()
    assert all(f"{share:.1%}" in read.text for share in shares)
    assert all(remark in read.text for remark in fit.remarks if len(remark) <= 400)


def test_colours_are_the_page_s_own(hostile):
    page = hostile.fit_._repr_html_()
    assert "#" not in page.replace("&#", "")
    assert not any(word in page for word in ("white", "black", "rgb(", "<style"))


def test_many_components_are_cut():
    X = np.random.default_rng(1).poisson(1, (40, 12))
    read = Page(dcomp.LDA(30, max_iter=3, verbose=0).fit(X).fit_._repr_html_())
    assert "and 10 smaller ones" in read.text
    assert html.SHOWN == 20


@pytest.mark.parametrize(
    "make",
    [
        lambda: dcomp.GaP(2, verbose=0),
        lambda: dcomp.DCA(2, model="CGP", max_iter=6, n_chains=2, verbose=0),
        lambda: dcomp.CTM(2, max_iter=3, verbose=0),
        lambda: dcomp.TreeDCA(branching=2, depth=2, max_iter=3, verbose=0),
        lambda: dcomp.StructuredDCA(tree=[-1, 0, 0], max_iter=6, n_chains=1, verbose=0),
        lambda: dcomp.NMF(2, max_iter=9, verbose=0),
        lambda: dcomp.DCA(2, blocks=[0, 0, 1, 1], verbose=0),
    ],
)
def test_every_model_is_shown(make):
    X = [[4, 3, 0, 1], [0, 1, 6, 2], [5, 2, 1, 0], [0, 0, 0, 0]]
    estimator = make().fit(X)
    read = Page(estimator.fit_._repr_html_())
    assert "nan" not in read.text
    assert read.text.count("%") == estimator.fit_.n_components


def test_estimators_keep_the_diagram_of_scikit_learn(hostile):
    plain = dcomp.LDA(3)
    assert "LDA" in plain._repr_html_()
    assert "dcomp-fit" not in plain._repr_html_()
    shown = hostile._repr_html_()
    assert "sk-" in shown  # scikit-learn's own
    assert shown.endswith(hostile.fit_._repr_html_())
    bundle = hostile._repr_mimebundle_()
    assert bundle["text/html"].endswith(hostile.fit_._repr_html_())
    assert bundle["text/plain"] == repr(hostile)
    assert "LDA" in make_pipeline(FunctionTransformer(), hostile)._repr_html_()


def test_text_is_shown_where_scikit_learn_is_told_so(hostile):
    with sklearn.config_context(display="text"):
        assert not hasattr(hostile, "_repr_html_")
        assert set(hostile._repr_mimebundle_()) == {"text/plain"}


def test_hostile_parameters_are_harmless():
    shown = dcomp.LDA(2, seed_words={"<script>alert(1)</script>": ["<img onerror=x>"]})
    assert "<script>alert" not in shown._repr_html_()
    assert "<img onerror" not in shown._repr_html_()

"""What is on the page is what the library says: features, shares, documents, panels."""

import re
from collections import Counter

import numpy as np
import pytest
from support.report_pages import TEXTS, unpacked

import dcomp
from dcomp.errors import InvalidParameter
from dcomp.evaluate import by_label, typical
from dcomp.report.build import SAMPLE


def panels(page):
    return re.findall(r'id="panel-(\w+)"', page)


def test_features_by_any_weight_are_those_of_top_features(animals, made):
    _, fit = animals
    data = made(*reversed(animals))[1]
    kinds = ("start", "feature", "theta", "lift")
    start, feature, theta, lift = (unpacked(data["top"][kind]) for kind in kinds)
    for weight in (0.0, 0.3, 0.6, 1.0):
        wanted = fit.top_features(5, by="relevance", weight=weight)
        for k in range(2):
            own = slice(start[k], start[k + 1])
            value = weight * np.log(theta[own]) + (1 - weight) * lift[own]
            best = np.sort(value)[::-1][:5]
            assert best == pytest.approx(wanted.values[k], abs=1e-5)
            names = [data["features"][f] for f in feature[own][np.argsort(-value, kind="stable")]]
            assert names[0] == wanted[k][0]


def test_few_features_of_many_are_enough_for_any_weight(made):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.1, 10, (3, 400))[rng.integers(0, 3, 60)])
    fit = dcomp.LDA(3, verbose=0).fit(X).fit_
    data = made(fit, X)[1]
    start, feature = unpacked(data["top"]["start"]), unpacked(data["top"]["feature"])
    assert start[-1] < 3 * 200
    for weight in np.arange(11) / 10:
        for k, row in enumerate(fit.top_features(30, by="relevance", weight=float(weight)).names):
            shown = {data["features"][f] for f in feature[start[k] : start[k + 1]]}
            assert set(row) <= shown


def test_shares_typical_documents_and_the_table(animals, made):
    counts, fit = animals
    data = made(fit, counts)[1]
    shares = fit.scores / fit.scores.sum(axis=1, keepdims=True)
    table = data["documents"]
    component = unpacked(table["component"]).reshape(6, 2)
    shown = np.take_along_axis(shares, component.astype(int), axis=1)
    assert unpacked(table["share"]).reshape(6, 2) == pytest.approx(shown, abs=1e-5)
    assert unpacked(table["length"]).tolist() == counts.doc_totals.tolist()
    assert table["ids"] == list(counts.doc_ids)
    for found, wanted in zip(data["typical"], typical(fit, counts, 5), strict=True):
        assert found["number"] == wanted.numbers.tolist()
    assert unpacked(data["sizes"]).sum() == pytest.approx(1, abs=1e-4)


def test_groups_and_what_runs_along_a_number_or_a_date(animals, made):
    counts, fit = animals
    data = made(fit, counts)[1]
    by, years = sorted(data["groups"], key=lambda by: by["name"])
    assert years["groups"] == [str(1990 + 5 * i) for i in range(6)]
    wanted = by_label(fit.scores, counts.attributes["party"])
    assert (by["name"], by["groups"]) == ("party", list(wanted.names))
    assert unpacked(by["mean"]) == pytest.approx(wanted.mean.ravel(), abs=1e-5)
    (dates,) = data["trends"]  # six years are groups; dates never are
    assert dates["name"] == "sent"
    assert dates["at"][1] - dates["at"][0] == pytest.approx(1, abs=0.01)


def test_numbers_of_many_values_are_cut_into_equal_parts(made):
    X = np.random.default_rng(0).poisson(2, (200, 4))
    counts = dcomp.Counts.from_matrix(X).with_attributes(age=np.arange(200) / 2)
    fit = dcomp.LDA(2, verbose=0).fit(counts).fit_
    (age,) = made(fit, counts)[1]["trends"]
    assert sum(age["sizes"]) == 200
    assert len(age["at"]) == 30
    shares = fit.scores / fit.scores.sum(axis=1, keepdims=True)
    first = shares[: age["sizes"][0]].mean(axis=0)
    assert unpacked(age["mean"])[:2] == pytest.approx(first, abs=1e-5)


def test_marked_words_of_a_text_are_those_that_were_counted(animals, made):
    counts, fit = animals
    data = made(fit, counts, texts=TEXTS)[1]
    shares = fit.scores / fit.scores.sum(axis=1, keepdims=True)
    for i, text in enumerate(TEXTS):
        pieces = data["views"][str(i)]["text"]
        assert "".join(p for n, p in enumerate(pieces) if n % 3 != 2) == text
        words, component = [w.lower() for w in pieces[1::3]], pieces[2::3]
        row = counts.to_scipy()[[i]].toarray()[0]
        wanted = {counts.features.names[j]: n for j, n in enumerate(row) if n}
        assert Counter(words) == wanted
        for word, k in zip(words, component, strict=True):
            j = counts.features.names.index(word)
            assert k == np.argmax(fit.Theta[j] * shares[i])


def test_stems_and_own_patterns_are_found_in_texts(made):
    texts = ["Cats sleeping, a cat sleeps", "Dogs running; the dog ran"]
    counts = dcomp.Counts.from_texts(texts, stem="english")
    pieces = made(dcomp.LDA(1, verbose=0).fit(counts), counts, texts=texts)[1]["views"]["0"]["text"]
    assert pieces[1::3] == ["Cats", "sleeping", "cat", "sleeps"]
    counts = dcomp.Counts.from_texts(["a-b c", "a-b d"], token=r"([a-z]-[a-z])|[c-d]")
    fit = dcomp.LDA(1, verbose=0).fit(counts)
    assert made(fit, counts, texts=["a-b c", "a-b d"])[1]["views"]["1"]["text"][1] == "a-b"


def test_without_texts_words_come_in_order_or_with_their_counts(animals, made):
    counts, fit = animals
    view = made(fit, counts)[1]["views"]["0"]
    names = made(fit, counts)[1]["features"]
    words = [names[f] if f >= 0 else "" for f in view["order"]]
    assert words == ["", "cat", "chased", "", "mouse", "", "cat", "slept"]
    view = made(fit, counts.without_order())[1]["views"]["0"]
    names = made(fit, counts.without_order())[1]["features"]
    assert dict(zip((names[f] for f in view["words"]), view["count"], strict=True)) == {
        "cat": 2,
        "chased": 1,
        "mouse": 1,
        "slept": 1,
    }


def test_panels_follow_from_what_is_there(animals, made):
    counts, fit = animals
    page, data = made(fit, counts)
    both = ["overview", "components", "correlations", "bars", "documents", "chains"]
    assert panels(page) == both  # two components have no map
    assert "scores alone" in made(fit)[0]
    assert made(fit)[1]["views"] == {}
    one = dcomp.LDA(1, verbose=0).fit(counts)
    assert panels(made(one, counts)[0]) == ["overview", "components", "documents", "chains"]
    tree = dcomp.TreeDCA(2, 2, max_iter=10, verbose=0).fit(counts)
    page, data = made(tree, counts)
    assert {"map", "tree"} <= set(panels(page))
    assert [node["parent"] for node in data["tree"]] == [-1, 0, 0]
    sampled = dcomp.LDA(2, algorithm="collapsed-gibbs", n_chains=2, max_iter=60, verbose=0)
    data = made(sampled.fit(counts), counts)[1]
    assert len(data["chains"]["lines"]) == 2
    assert data["chains"]["quantities"][0]["name"] == "log joint"


def test_documents_that_were_not_fitted_are_folded_in_and_scored_as_new(animals, made):
    _, fit = animals
    other = dcomp.Counts.from_texts(["cat mouse zebra", "dog bone", "cat dog"])
    page, data = made(fit, other)
    assert "3 other documents, folded in afterwards" in page
    assert "14.3 % of the tokens" in page.replace("words", "tokens")  # the zebra
    assert "that the fit has not seen" in page
    assert data["documents"]["n"] == 3
    assert "not held out" in made(fit, animals[0])[0]
    held = dcomp.evaluate.completion(fit, other)
    assert f"{held.perplexity:,.3f} ±" in made(fit, animals[0], heldout=other)[0]


def test_blocks_that_are_few_can_be_looked_at_one_by_one(made):
    counts = dcomp.Counts.join(
        {
            "title": dcomp.Counts.from_texts(["cat", "dog"]),
            "body": dcomp.Counts.from_texts(TEXTS[:2]),
        }
    )
    data = made(dcomp.LDA(2, verbose=0).fit(counts), counts)[1]
    assert data["top"]["blocks"] == ["title", "body"]
    assert {data["features"][i] for i, b in enumerate(data["blocks"]) if b == 0} == {
        "title=cat",
        "title=dog",
    }


def test_a_table_that_is_too_large_is_thinned_and_says_so(made, monkeypatch):
    monkeypatch.setattr("dcomp.report.documents.MOST", 10)
    monkeypatch.setattr("dcomp.report.documents.WHOLE", 20)
    monkeypatch.setattr("dcomp.report.documents.MAIN", 2)
    X = np.random.default_rng(0).poisson(2, (95, 5))
    data = made(dcomp.LDA(3, verbose=0).fit(X), X, n_opened=4, n_typical=1)[1]
    table = data["documents"]
    assert (table["n"], table["of"], table["main"]) == (10, 95, 2)
    number = unpacked(table["number"])
    assert (number[0], number[-1]) == (0, 94)
    assert len(data["views"]) <= 4 + 3
    assert SAMPLE == 300


def test_nothing_is_replaced_unless_asked_and_mistakes_are_said(animals, tmp_path):
    counts, fit = animals
    path = tmp_path / "r.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        dcomp.report(fit, counts, path)
    assert path.read_text() == "mine"
    with pytest.raises(InvalidParameter, match="texts must be one for each of the 6 documents"):
        dcomp.report(fit, counts, tmp_path / "x.html", texts=["a"])
    with pytest.raises(InvalidParameter, match="selection must be"):
        dcomp.report(fit, counts, tmp_path / "x.html", selection=3)
    with pytest.raises(InvalidParameter, match="a Fit or a fitted estimator"):
        dcomp.report(3, counts, tmp_path / "x.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html"]


def test_the_same_fit_gives_the_same_page(animals, tmp_path):
    counts, fit = animals
    pages = [
        dcomp.report(fit, counts, tmp_path / f"{n}.html", n_jobs=n).read_bytes() for n in (1, 2)
    ]
    assert pages[0] == pages[1]


def test_twenty_groups_have_a_bar_each(animals, made):
    counts, fit = animals
    many = [f"g{i % 20}" for i in range(120)]
    X = np.random.default_rng(0).poisson(1.0, (120, counts.n_features))
    table = dcomp.Counts.from_matrix(X, feature_names=counts.features.names)
    data = made(fit, table.with_attributes(group=many))[1]
    assert len(data["groups"][0]["groups"]) == 20


def test_what_many_documents_share_stands_before_what_names_one(animals, made):
    fit = animals[1]
    about = {"surname": [f"s{i}" for i in range(6)], "party": ["D", "R"] * 3}
    table = dcomp.Counts.from_texts(TEXTS).with_attributes(**about)
    columns = made(fit, table)[1]["documents"]["attributes"]
    assert [column["name"] for column in columns] == ["party", "surname"]


def test_what_was_left_out_before_is_said(animals, made):
    counts, fit = animals
    n = int(counts.n_tokens)
    page = made(fit, counts, dropped=n)[0]
    assert (
        f"50.0 % of the words of the file ({n} of {2 * n}) are words that were not fitted" in page
    )
    assert "were not fitted" not in made(fit, counts)[0]

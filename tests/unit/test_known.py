"""What is known beforehand: planted seed words, labels and loadings are found again; wrong input is
told; names go everywhere."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from scipy.special import digamma

import dcomp
from dcomp.cli.main import main
from dcomp.cli.show import summary_lines
from dcomp.errors import DataWarning, InvalidFile, InvalidParameter, UnsupportedCombination
from dcomp.inference import MeanField
from dcomp.models import DirichletLoadings, DirichletMultinomial
from dcomp.models.learning import grouped_alpha, grouped_objective

J, K, N = 60, 4, 240
NAMES = [f"w{j}" for j in range(J)]
ALGORITHMS = ["mean-field", "map", "gibbs", "collapsed-gibbs"]


def planted(seed=1):
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet(np.full(J, 0.1), K)
    m = rng.dirichlet(np.full(K, 0.3), N)
    labels = np.array([None] * N, dtype=object)
    for i in range(80):
        m[i] = np.eye(K)[i % K]
        labels[i] = "abcd"[i % K]
    X = np.stack([rng.multinomial(50, row @ Theta) for row in m])
    counts = dcomp.Counts.from_matrix(X, feature_names=NAMES).with_attributes(group=labels)
    return counts, Theta, m


COUNTS, THETA, SHARES = planted()


def distance(found, true):
    return 0.5 * np.abs(found - true).sum(axis=1)


def told(algorithm="mean-field", **options):
    options = {"max_iter": 60, "verbose": 0, "gamma": 0.05, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        return dcomp.DCA(options.pop("n_components", K), algorithm=algorithm, **options).fit(COUNTS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_seed_words_name_the_components_that_they_are_of(algorithm):
    seeds = {
        name: [NAMES[j] for j in np.argsort(-THETA[k])[:3]] for k, name in ((3, "x"), (1, "y"))
    }
    model = told(algorithm, seed_words=seeds)
    assert model.fit_.component_names == ("x", "y", "2", "3")
    assert (distance(model.components_[:2], THETA[[3, 1]]) < 0.2).all()
    assert list(model.get_feature_names_out()) == ["x", "y", "2", "3"]


@pytest.mark.parametrize("model", ["DM", "GP"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fixed_components_stay_and_the_rest_is_found(algorithm, model):
    given = pd.DataFrame(THETA[[2, 0]], index=["two", "zero"], columns=NAMES)[NAMES[::-1]]
    fitted = told(algorithm, model=model, fixed=given).fit_
    assert fitted.component_names == ("two", "zero", "2", "3")
    assert np.allclose(fitted.components[:2], THETA[[2, 0]], atol=2e-7)
    others = [distance(row[None], THETA).min() for row in fitted.components[2:]]
    assert max(others) < 0.2


@pytest.mark.parametrize("model", ["DM", "GP", "CGP"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_labelled_documents_use_their_own_components_alone(algorithm, model):
    if model == "CGP" and algorithm in ("mean-field", "map"):
        pytest.skip("CGP has none")
    fitted = told(algorithm, model=model, allowed="group").fit_
    assert fitted.component_names == ("a", "b", "c", "d")
    scores = fitted.scores / fitted.scores.sum(axis=1, keepdims=True)
    assert (scores[~fitted.allowed.mask] == 0).all()
    assert np.sqrt(((scores - SHARES) ** 2).mean()) < 0.1
    assert (distance(fitted.components, THETA) < 0.2).all()


@pytest.mark.parametrize("learned", ["auto", "shared"])
def test_the_bound_never_falls_with_all_that_is_known(learned):
    seeds = {"a": ["w1", "w2"], "new": ["w3"]}
    fitted = told(
        dtype_algorithm(),
        n_components=6,
        alpha=learned,
        seed_words=seeds,
        fixed=pd.DataFrame(THETA[[1]], ["b"], NAMES),
        allowed="group",
        n_tries=1,
    ).fit_
    assert fitted.component_names == ("a", "b", "c", "d", "new", "5")
    values = [row.objective for row in fitted.history.rows]
    assert np.diff(values).min() > -1e-9 * abs(values[-1])


def dtype_algorithm():
    return MeanField(dtype="float64", loadings="vb")


def test_alpha_among_groups_is_at_the_maximum():
    masks = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]])
    sizes, true = np.array([20, 15, 30, 8]), np.array([0.2, 0.7, 1.5])
    per_group = sizes[:3, None] * masks[:3] * (digamma(true) - digamma(masks[:3] @ true)[:, None])
    logs = per_group.sum(axis=0)
    alpha, capped = grouped_alpha(np.full(3, 0.5), logs, masks, sizes)
    assert not capped
    assert np.allclose(alpha, true, rtol=1e-3)
    slope = approx_fprime(alpha, lambda a: grouped_objective(a, logs, masks[:3], sizes[:3]), 1e-7)
    assert np.abs(slope * alpha).max() < 0.01
    shared, _ = grouped_alpha(np.full(3, 0.5), logs, masks, sizes, shared=True)
    near = [
        grouped_objective(np.full(3, shared[0] * f), logs, masks[:3], sizes[:3])
        for f in (0.99, 1, 1.01)
    ]
    assert near[1] == max(near)


def test_a_document_that_may_not_use_a_component_is_one_of_a_model_without_it():
    fitted = told(alpha=[0.2, 0.5, 0.3, 0.4]).fit_
    may = np.ones((N, K), dtype=bool)
    may[:, 1] = False
    restricted = fitted.transform(COUNTS, allowed=may)
    without = dcomp.drop(fitted, [1]).transform(COUNTS)
    assert np.allclose(np.delete(restricted, 1, axis=1), without, atol=1e-5)
    assert (restricted[:, 1] == 0).all()


def test_fits_with_what_is_known_are_saved_and_resumed(tmp_path):
    known = {"seed_words": {"a": ["w1"]}, "fixed": THETA[:1], "allowed": "group", "n_components": 6}
    for algorithm in ("mean-field", "collapsed-gibbs"):
        whole = told(algorithm, max_iter=12, tol=0, **known).fit_
        part = told(algorithm, max_iter=8, tol=0, burn_in=None, **known).fit_
        if algorithm == "collapsed-gibbs":
            part = dcomp.fit(
                COUNTS, begun(known), whole.algorithm, allowed="group", max_iter=8, warn=False
            )
        dcomp.save(part, tmp_path / f"{algorithm}.dcomp")
        loaded = dcomp.load(tmp_path / f"{algorithm}.dcomp")
        assert loaded.component_names == part.component_names
        assert loaded.model.loadings == part.model.loadings
        assert np.array_equal(loaded.scores, part.scores)
        on = dcomp.fit(COUNTS, loaded.model, resume=loaded, max_iter=12, tol=0, warn=False)
        assert np.array_equal(on.Theta, whole.Theta)
        assert np.array_equal(on.scores, whole.scores)


def begun(known):
    from dcomp.recipe import Recipe

    return Recipe(algorithm="collapsed-gibbs", gamma=0.05, **known).resolve(COUNTS).model


def test_a_damaged_mask_is_no_fit(tmp_path):
    fitted = told(allowed="group", max_iter=5).fit_
    wrong = dcomp.models.allowed.Allowed.from_mask(~fitted.allowed.mask | (np.arange(K) == 0))
    from dataclasses import replace

    dcomp.save(replace(fitted, allowed=wrong), tmp_path / "x.dcomp")
    with pytest.raises(InvalidFile, match="allowed"):
        dcomp.load(tmp_path / "x.dcomp")


def test_project_finds_scores_alone():
    fitted = dcomp.project(COUNTS, pd.DataFrame(THETA, list("abcd"), NAMES))
    assert fitted.component_names == ("a", "b", "c", "d")
    assert np.allclose(fitted.components, THETA, atol=1e-6)
    assert np.sqrt(((fitted.scores - SHARES) ** 2).mean()) < 0.08
    again = dcomp.project(COUNTS, fitted)
    assert np.allclose(again.scores, fitted.scores, atol=1e-3)


@pytest.mark.parametrize("algorithm", ["mean-field", "gibbs"])
def test_merge_drop_and_rename(algorithm):
    fitted = told(algorithm).fit_.rename({0: "first"})
    merged = dcomp.merge(fitted, [("first", 2)])
    assert merged.component_names == ("first", "1", "3")
    assert np.allclose(merged.scores[:, 0], fitted.scores[:, [0, 2]].sum(axis=1), atol=1e-5)
    assert np.allclose(merged.Theta.sum(axis=0), 1, atol=1e-5)
    dropped = dcomp.drop(merged, ["1"])
    assert np.allclose(dropped.Theta, merged.Theta[:, [0, 2]], atol=1e-6)
    assert dropped.top_features(3)["first"] == merged.top_features(3)[0]
    with pytest.raises(UnsupportedCombination, match="merged or dropped"):
        dcomp.fit(COUNTS, merged.model, resume=merged, max_iter=999)
    for wrong in ([(0,)], [(0, 1), (1, 2)], []):
        with pytest.raises(InvalidParameter, match="two or more"):
            dcomp.merge(fitted, wrong)
    with pytest.raises(InvalidParameter, match="not all"):
        dcomp.drop(fitted, range(K))
    with pytest.raises(InvalidParameter, match="differ"):
        fitted.rename({1: "first"})


def test_simulated_documents_have_the_fitted_means():
    fitted = told().fit_
    counts, scores = fitted.simulate(4000, length=50, seed=3)
    expected = fitted.Theta @ (fitted.model.scores.alpha / fitted.model.scores.alpha.sum())
    assert np.abs(counts.feature_totals / counts.n_tokens - expected).max() < 0.01
    assert np.allclose(scores.sum(axis=1), 1)
    again, _ = fitted.simulate(4000, length=50, seed=3)
    assert again.fingerprint() == counts.fingerprint()


def test_wrong_input_is_told():
    with pytest.raises(InvalidParameter, match="none of the seed words of 'x'"):
        told(seed_words={"x": ["nothing"]})
    with pytest.warns(DataWarning, match="1 of 2 seed words of 'x' .*: nothing"):
        told(seed_words={"x": ["w1", "nothing"]}, max_iter=3, tol=0)
    with pytest.raises(InvalidParameter, match="5 components, and there are 4"):
        told(seed_words={name: ["w1"] for name in "abcde"})
    with pytest.raises(InvalidParameter, match="none of the table's features"):
        told(fixed=pd.DataFrame([[0.5, 0.5]], columns=["p", "q"]))
    with pytest.raises(InvalidParameter, match="each of 60 features"):
        told(fixed=np.ones((1, 7)))
    with pytest.raises(InvalidParameter, match=r"gamma must be .* \(4, 60\)"):
        told(gamma=np.ones((3, J)))
    with pytest.raises(InvalidParameter, match="something is known of 4"):
        told(allowed="group", n_components=3)
    with pytest.raises(InvalidParameter, match="each of 240 documents"):
        told(allowed=["a"])
    with pytest.raises(InvalidParameter, match="allowed none"):
        told(allowed=np.zeros((N, K)))
    with pytest.raises(InvalidParameter, match="no attribute 'party'"):
        told(allowed="party")
    with pytest.raises(UnsupportedCombination, match="may use all components"):
        dcomp.fit(COUNTS, dcomp.models.LogisticNormal.build(3), allowed="group")
    with pytest.raises(UnsupportedCombination, match="ml factorises"):
        told("ml", model="GP", gamma=1.0, fixed=THETA[:1])
    with pytest.raises(UnsupportedCombination, match="one prior for the loadings"):
        dcomp.evaluate.evidence(COUNTS, n_components=2, gamma=np.full((2, J), 0.1))


def test_labels_may_be_numbers_lists_or_a_table():
    model = DirichletMultinomial.build(3)
    small = COUNTS.rows(range(4))
    for value in ([5, 7, -1, 9], [["5"], ["7"], None, ["9"]]):
        allowed = dcomp.models.allowed.Allowed.build(value, small, 3)
        assert allowed.mask.tolist() == [
            [True, False, False],
            [False, True, False],
            [True, True, True],
            [False, False, True],
        ]
    assert model.loadings == DirichletLoadings(0.5)


def test_new_documents_may_use_components_of_the_fit_by_name_or_number():
    named = told(allowed="group", max_iter=5).fit_
    labels = ["b"] * N
    assert (named.transform(COUNTS, allowed=labels).argmax(axis=1) == 1).all()
    assert (named.transform(COUNTS, allowed=[3] * N).argmax(axis=1) == 3).all()
    with pytest.raises(InvalidParameter, match="there is no 'bb', there are 'a', 'b', 'c', 'd'"):
        named.transform(COUNTS, allowed=[*labels[:-1], "bb"])
    bare = told(max_iter=5).fit_
    assert (bare.transform(COUNTS, allowed=["2"] * N).argmax(axis=1) == 2).all()
    with pytest.raises(InvalidParameter, match="there is no 'a', there are '0', '1'"):
        bare.transform(COUNTS, allowed=["a"] * N)


def test_a_number_is_no_component_where_numbers_are_names():
    allowed = [5, 7, 9, -1] * (N // 4)
    years = told(allowed=allowed, n_components=3, max_iter=5).fit_
    assert years.component_names == ("5", "7", "9")
    assert (years.transform(COUNTS, allowed=[7] * N).argmax(axis=1) == 1).all()
    with pytest.raises(InvalidParameter, match="there is no '1'"):
        years.transform(COUNTS, allowed=[1] * N)


def test_lists_of_labels_may_differ_in_length():
    cycle = [["a"], ("a", "b"), [], None, "", ["b", "", None], {"c"}, "d"]
    wanted = ["a", "ab", "abcd", "abcd", "abcd", "b", "c", "d"]
    listed = told(allowed=cycle * (N // 8), max_iter=5).fit_
    assert listed.component_names == ("a", "b", "c", "d")
    found = ["".join(np.array(list("abcd"))[may]) for may in listed.allowed.mask[:8]]
    assert found == wanted
    build = dcomp.models.allowed.Allowed.build
    assert build([[]] * N, COUNTS, K).mask.all()
    frame = pd.DataFrame({"first": ["a", "b"] * (N // 2), "second": ["c", None] * (N // 2)})
    may = build(frame, COUNTS, K).mask[:2].astype(int).tolist()
    assert may == [[1, 0, 1, 0], [0, 1, 0, 0]]
    with pytest.raises(InvalidParameter, match=r"name of an attribute, .* got 3"):
        told(allowed=3)


@pytest.mark.parametrize("as_given", [list, np.array, lambda rows: [tuple(r) for r in rows]])
def test_rows_of_zeros_and_ones_are_a_table(as_given):
    rows = [[1, 0, 0, 1], [0, 1, 1, 0]] * (N // 2)
    fitted = told(allowed=as_given(rows), max_iter=5).fit_
    assert fitted.allowed.mask.astype(int).tolist() == rows
    assert fitted.model.loadings.names is None


def test_lists_in_an_attribute_are_labels_again(tmp_path):
    topics = [["oilseed", "grain"], ["grain"], [], ["oilseed"], None]
    file = tmp_path / "news.jsonl"
    with file.open("w") as out:
        for i in range(20):
            text = "wheat maize barley soy rape oil"
            out.write(json.dumps({"text": text, "topics": topics[i % 5]}) + "\n")
    fit = str(tmp_path / "news.dcomp")
    how = ["-k", "2", "--alpha", "0.1", "--label-field", "topics", "--allowed", "topics", "-q"]
    assert main(["fit", str(file), *how, "-o", fit]) == 0
    found = dcomp.load(fit)
    assert found.component_names == ("grain", "oilseed")
    both, one, other = [True, True], [True, False], [False, True]
    assert found.allowed.mask[:5].tolist() == [both, one, both, other, both]
    counts = dcomp.Counts.from_matrix(np.ones((5, 3), int)).with_attributes(topics=topics)
    again = dcomp.models.allowed.Allowed.build("topics", counts, 2)
    assert again.mask.tolist() == found.allowed.mask[:5].tolist()


@pytest.mark.parametrize("algorithm", ["mean-field", "map"])
def test_where_no_document_has_a_choice_the_fit_is_at_its_end_at_once(algorithm):
    labels = ["abcd"[k] for k in SHARES.argmax(axis=1)]
    fitted = told(algorithm, allowed=labels, max_iter=20).fit_
    assert fitted.reason == "converged"
    assert fitted.remaining.gain == 0
    sums = np.stack([COUNTS.to_scipy()[SHARES.argmax(axis=1) == k].sum(axis=0) for k in range(K)])
    assert np.allclose(fitted.state.n.T, sums, rtol=1e-5)
    longer = told(algorithm, allowed=labels, max_iter=20, tol=0).fit_
    assert np.isclose(longer.objective, fitted.objective, rtol=1e-7)
    assert np.allclose(fitted.scores, np.eye(K)[SHARES.argmax(axis=1)])
    lines = summary_lines(fitted, COUNTS)
    assert not any("alpha (learned)" in line for line in lines)
    amounts = told(algorithm, model="GP", allowed=labels, max_iter=3).fit_
    assert amounts.reason == "limit"  # how much there is of each has still to be learned


@pytest.mark.parametrize("wrong", [np.nan, -0.5, np.inf])
@pytest.mark.parametrize("as_given", [np.asarray, lambda x: x.tolist()])
def test_loadings_that_are_none_are_told_with_their_place(wrong, as_given):
    given = THETA.copy()
    given[2, 5] = wrong
    where = f"finite and not negative; found {wrong} in component 2, feature 5"
    with pytest.raises(InvalidParameter, match=where):
        dcomp.project(COUNTS, as_given(given))
    with pytest.raises(InvalidParameter, match=r"found .* in component"):
        told(fixed=as_given(given))


@pytest.mark.parametrize("groups", [["a", "b"], [0, 1], "ab", 3])
def test_merge_says_what_form_it_takes(groups):
    fitted = told(allowed="group", max_iter=3).fit_
    with pytest.raises(InvalidParameter, match=r"list of groups, .* such as \[\('a', 'b'\)\]"):
        dcomp.merge(fitted, groups)


def test_frequencies_of_other_snps_are_told_in_snps(tmp_path):
    people = dcomp.datasets.genotypes(6, 7, seed=1).counts
    file = tmp_path / "other.2.P"
    file.write_text("0.1 0.9\n" * 5)
    with pytest.raises(InvalidParameter, match="7 SNPs here, and 5 in the file"):
        dcomp.project(people, file, algorithm="ml")


def test_seed_words_are_read_as_the_text_was():
    pytest.importorskip("snowballstemmer")
    texts = ["taxes and cutting budgets", "armies marching to wars"] * 5
    counts = dcomp.Counts.from_texts(texts, stem="english", ngrams=2)
    seeds = {"money": ["Taxes", "cutting budgets"], "war": ["armies"]}
    fitted = dcomp.LDA(2, seed_words=seeds, verbose=0).fit(counts).fit_
    gamma, names = fitted.model.loadings.gamma, counts.features.names
    seeded = [{names[j] for j in np.flatnonzero(row > row.min())} for row in gamma]
    assert seeded == [{"tax", "cut budget"}, {"armi"}]
    with pytest.raises(
        InvalidParameter, match="none of the seed words of 'x' is a feature: 'nothings'"
    ):
        dcomp.LDA(2, seed_words={"x": ["nothings"]}, verbose=0).fit(counts)


def test_in_the_shell(tmp_path, capsys):
    texts = {"taxes": "tax cuts income budget", "war": "war army peace troops"}
    with (tmp_path / "c.jsonl").open("w") as file:
        for i in range(40):
            topic = ("taxes", "war")[i % 2]
            record = {"id": f"d{i}", "text": (texts[topic] + " ") * 3, "topic": topic}
            file.write(json.dumps(record if i < 20 else {**record, "topic": None}) + "\n")
    (tmp_path / "seeds.txt").write_text("# what we look for\nwar: army, troops\ntaxes: tax\n")
    source, fit = str(tmp_path / "c.jsonl"), str(tmp_path / "x.dcomp")
    seeds = ["--seed-words", str(tmp_path / "seeds.txt")]
    assert main(["fit", source, "-k", "3", *seeds, "-o", fit, "-q"]) == 0
    assert dcomp.load(fit).component_names == ("war", "taxes", "2")
    labels = ["--label-field", "topic", "--allowed", "topic"]
    assert main(["fit", source, "-k", "2", *labels, "-o", fit, "-q", "--force"]) == 0
    assert main(["transform", fit, source]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "document,taxes,war"
    other = str(tmp_path / "y.dcomp")
    assert main(["project", source, fit, "-o", other, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["component_names"] == ["taxes", "war"]
    table = tmp_path / "known.csv"
    table.write_text("component,tax,cuts,income\ntaxes,0.5,0.3,0.2\n")
    assert main(["fit", source, "-k", "2", "--fixed", str(table), "-o", other, "--force"]) == 0
    said = capsys.readouterr()
    assert "they have 3 of the table's 8" in said.err
    assert "taxes" in said.out

"""What the chains of a hierarchical model leave behind: all of them, also on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.sealed import edit_manifest, npy, rewrite

import dcomp
from dcomp.inference import CollapsedGibbs, Growth
from dcomp.models import Tree, TreeMultinomial
from dcomp.result.chains import chain_value
from dcomp.result.fitting import chain_seeds

OPTIONS = {"branching": 3, "depth": 2, "max_iter": 12, "verbose": 0}


@pytest.fixture(scope="module")
def fitted(planted):
    return dcomp.TreeDCA(n_chains=3, random_state=5, **OPTIONS).fit(planted[0]).fit_


def test_every_chain_leaves_what_it_leaves_alone(planted, fitted):
    assert [ending.seed for ending in fitted.endings] == chain_seeds(5, 3)
    for ending, trace in zip(fitted.endings, fitted.chains, strict=True):
        alone = dcomp.TreeDCA(random_state=ending.seed, **OPTIONS).fit(planted[0]).fit_
        assert np.array_equal(ending.Theta, alone.Theta)
        assert ending.Theta.dtype == np.float32
        assert not ending.Theta.flags.writeable
        assert ending.value == chain_value(alone.history.rows) == chain_value(trace.rows)
        assert ending.model == alone.model
        assert alone.endings == ()  # one chain is the fit itself
    best = max(fitted.endings, key=lambda ending: ending.value)
    assert best.seed == fitted.seed
    assert np.array_equal(best.Theta, fitted.Theta)


def test_trees_that_grow_differ(planted):
    """Each chain grows its own most populous leaves."""
    model = TreeMultinomial.build(Tree.regular(3, 2), gamma=0.1)
    grow = Growth(at=5, to=9, branching=3)
    options = {"n_chains": 4, "max_iter": 12}
    fit = dcomp.fit(planted[0], model, CollapsedGibbs(burn_in=6, grow=grow), **options)
    parents = [ending.model.tree.parents for ending in fit.endings]
    assert len(set(parents)) > 1
    assert all(ending.Theta.shape == (30, 9) for ending in fit.endings)


def test_models_without_edges_leave_none(planted):
    assert dcomp.LDA(3, n_chains=2, max_iter=5, tol=0, verbose=0).fit(planted[0]).fit_.endings == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mean_field_ends_at_its_loadings(planted, dtype):
    algorithm = dcomp.inference.MeanField(dtype=dtype)
    model = TreeMultinomial.build(Tree.regular(2, 2), gamma=0.1)
    fit = dcomp.fit(planted[0], model, algorithm, n_chains=2, max_iter=5, tol=0)
    best = max(fit.endings, key=lambda ending: ending.value)
    assert fit.Theta.dtype == dtype
    assert best.Theta.dtype == np.float32
    np.testing.assert_allclose(best.Theta, fit.Theta, rtol=1e-6)


@pytest.mark.parametrize(("when", "expected"), [((2, 3), 2), ((3, 1), 3)])
def test_an_interrupt_keeps_the_endings_so_far(planted, when, expected, tmp_path):
    chain = 0

    def interrupt(info):
        nonlocal chain
        chain += info.sweep == 1
        if (chain, info.sweep) == when:
            raise KeyboardInterrupt

    fit = dcomp.TreeDCA(n_chains=4, **OPTIONS, callbacks=[interrupt]).fit(planted[0]).fit_
    assert fit.reason == "interrupted"
    assert len(fit.endings) == len(fit.chains) == expected
    assert max(fit.endings, key=lambda ending: ending.value).seed == fit.seed
    dcomp.save(fit, tmp_path / "part.dcomp")
    assert len(dcomp.load(tmp_path / "part.dcomp").endings) == expected


def test_a_chain_without_a_whole_sweep_leaves_nothing(planted, monkeypatch):
    step, calls = CollapsedGibbs.step, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 2 * OPTIONS["max_iter"] + 1:
            raise KeyboardInterrupt
        return step(*args)

    monkeypatch.setattr(CollapsedGibbs, "step", interrupted)
    fit = dcomp.TreeDCA(n_chains=4, n_jobs=1, **OPTIONS).fit(planted[0]).fit_
    assert fit.reason == "interrupted"
    assert [ending.seed for ending in fit.endings] == chain_seeds(0, 4)[:2]


@pytest.fixture
def path(fitted, tmp_path):
    dcomp.save(fitted, tmp_path / "e.dcomp")
    return tmp_path / "e.dcomp"


def test_endings_come_back(fitted, path):
    loaded = dcomp.load(path)
    assert len(loaded.endings) == 3
    for ending, kept in zip(loaded.endings, fitted.endings, strict=True):
        assert (ending.seed, ending.value) == (kept.seed, kept.value)
        assert ending.model == kept.model
        assert ending.Theta.dtype == np.float32
        assert np.array_equal(ending.Theta, kept.Theta)
    again = dcomp.evaluate.edge_stability(loaded)
    assert again.edges == dcomp.evaluate.edge_stability(fitted).edges
    assert again.nodes == dcomp.evaluate.edge_stability(fitted).nodes


def test_files_from_before_there_were_endings(path):
    def older(members):
        for name in [name for name in members if name.startswith("endings/")]:
            del members[name]
        manifest = json.loads(members["manifest.json"])
        members["manifest.json"] = json.dumps(manifest | {"endings": []}).encode()

    rewrite(path, older)
    loaded = dcomp.load(path)
    assert loaded.endings == ()
    with pytest.raises(dcomp.InvalidParameter, match="a version that did not keep them"):
        dcomp.evaluate.edge_stability(loaded)


def entry(place, **changes):
    return lambda manifest: manifest["endings"][place].update(changes)


def model(place, **changes):
    return lambda manifest: manifest["endings"][place]["model"].update(changes)


def tree(place, value):
    return model(place, scores={"tree": value})


def other_tree(manifest):
    for ending in manifest["endings"]:
        ending["model"]["scores"]["tree"] = {"parents": [-1, 0, 0, 1], "names": list("abcd")}


HOSTILE_ENTRIES = {
    "no list": lambda m: m.update(endings=7),
    "no entries": lambda m: m.update(endings=None),
    "no objects": lambda m: m.update(endings=[1, 2, 3]),
    "one too few": lambda m: m["endings"].pop(),
    "one too many": lambda m: m["endings"].append(m["endings"][0]),
    "in another order": lambda m: m["endings"].append(m["endings"].pop(0)),
    "no chains": lambda m: m.update(chains=[]),
    "a seed in words": entry(0, seed="x"),
    "a seed that is no number": entry(0, seed=True),
    "another best chain": None,
    "a chain without a sweep": lambda m: m["chains"][0].clear(),
    "chains that end nowhere": lambda m: m["chains"][0][-1].update(objective=float("nan")),
    "an unknown model": model(0, key="XX"),
    "a model without edges": model(0, key="DM"),
    "a circle": tree(1, {"parents": [-1, 2, 1, 0], "names": list("abcd")}),
    "fewer nodes": tree(1, {"parents": [-1, 0, 0], "names": list("abc")}),
    "no tree": tree(2, None),
    "another tree than the fit": other_tree,
}


@pytest.mark.parametrize("case", HOSTILE_ENTRIES)
def test_hostile_entries(fitted, path, case):
    change = HOSTILE_ENTRIES[case]
    if case == "another best chain":
        worst = min(range(3), key=lambda place: fitted.endings[place].value)
        change = lambda m: m["chains"][worst][-1].update(objective=1e9)  # noqa: E731
    edit_manifest(path, change)
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(path)


@pytest.mark.parametrize("missing", ["Theta", "model/a2"])
def test_a_missing_array(path, missing):
    rewrite(path, lambda members: members.pop(f"endings/1/{missing}.npy"))
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(path)


HOSTILE_ARRAYS = {
    "fewer features": ("Theta", lambda a: a[1:]),
    "fewer nodes": ("Theta", lambda a: a[:, 1:]),
    "turned": ("Theta", lambda a: a.T.copy()),
    "three dimensions": ("Theta", lambda a: a[None]),
    "double": ("Theta", lambda a: a.astype(float)),
    "nan": ("Theta", lambda a: np.where(a == a.max(), np.nan, a).astype(np.float32)),
    "negative": ("Theta", lambda a: -a),
    "no probability": ("Theta", lambda a: a * 100),
    "fewer priors": ("a1", lambda a: a[1:]),
    "priors below zero": ("b", lambda a: -a),
}


@pytest.mark.parametrize("case", HOSTILE_ARRAYS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_hostile_arrays(fitted, path, case, place):
    name, change = HOSTILE_ARRAYS[case]
    ending = fitted.endings[place]
    array = ending.Theta if name == "Theta" else getattr(ending.model.scores, name)
    member = f"endings/{place}/{'' if name == 'Theta' else 'model/'}{name}.npy"
    content = npy(change(np.array(array)))
    rewrite(path, lambda members: members.update({member: content}))
    with pytest.raises(dcomp.InvalidFile, match=r"e\.dcomp"):
        dcomp.load(path)

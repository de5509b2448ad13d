"""Files: whole or not there, and never believed before they are checked."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import sealed
from support.sealed import npy, rewrite

import dcomp
from dcomp.atomic import atomic_write
from dcomp.inference.keep import KINDS
from dcomp.result import storage

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def fitted():
    counts = dcomp.Counts.from_matrix(
        [[3, 1, 0, 2], [0, 1, 4, 0], [2, 2, 0, 1]],
        feature_names=["é", "b", "c", "d"],
        doc_ids=["x", "y", "z"],
        blocks=["title", "title", "body", "body"],
    )
    return dcomp.GaP(2, exposure="total", verbose=0).fit(counts).fit_


@pytest.fixture
def path(fitted, tmp_path):
    dcomp.save(fitted, tmp_path / "a.dcomp")
    return tmp_path / "a.dcomp"


def edit_manifest(path, **changes):
    sealed.edit_manifest(path, lambda manifest: manifest.update(changes))


def put(path, name, content):
    """The file with another content of one member."""

    def change(members):
        assert name in members
        members[name] = content

    rewrite(path, change)


def test_a_fitted_estimator_is_saved_by_its_fit(tmp_path):
    X, file = [[3, 1, 0], [0, 1, 4], [2, 2, 0]], tmp_path / "e.dcomp"
    model = dcomp.LDA(2, verbose=0).fit(X)
    dcomp.save(model, file)
    np.testing.assert_array_equal(dcomp.load(file).Theta, model.fit_.Theta)
    file.unlink()
    for thing, message in (
        (dcomp.LDA(2), "this LDA is not fitted yet: call its fit first"),
        (dcomp.NMF(2, loss="squared", verbose=0).fit(X), "this NMF has no probability model"),
        (dcomp.LSA(2).fit(X), "this LSA has no probability model"),
        (X, "a Fit or a fitted estimator of dcomp is needed; got a list"),
        (None, "got a NoneType"),
    ):
        with pytest.raises(dcomp.InvalidParameter, match=message):
            dcomp.save(thing, file)
        assert not file.exists()


@pytest.mark.parametrize("sweeps", [1, 2, 3])
def test_factors_that_are_not_there_yet_come_back(tmp_path, sweeps):
    """Maximum likelihood meets the totals of documents at its end only: after two sweeps these
    scores have one word in a hundred too many."""
    X = np.random.default_rng(229).poisson(5, (8, 3))
    options = {"gamma": 1.0, "n_tries": 1, "tol": 0, "random_state": 229, "verbose": 0}
    fit = dcomp.DCA(4, model="GP", algorithm="ml", max_iter=sweeps, **options).fit(X).fit_
    assert sweeps != 2 or fit.state.c.sum() > 1.005 * X.sum()
    dcomp.save(fit, tmp_path / "a.dcomp")
    np.testing.assert_array_equal(dcomp.load(tmp_path / "a.dcomp").scores, fit.scores)


def test_everything_comes_back(fitted, path):
    loaded = dcomp.load(path)
    assert loaded.features == fitted.features
    assert loaded.doc_ids == ("x", "y", "z")
    assert loaded.model == fitted.model
    assert loaded.reason == fitted.reason
    assert loaded.seed == fitted.seed
    np.testing.assert_equal(list(loaded.history), list(fitted.history))  # NaN is NaN
    np.testing.assert_array_equal(loaded.exposure, fitted.exposure)
    np.testing.assert_array_equal(loaded.scores, fitted.scores)


def test_a_long_history_is_no_reason_to_refuse_a_fit(tmp_path):
    """A sampler that was told to go on leaves many rows, which count for what they take."""
    long = dcomp.DCA(2, algorithm="collapsed-gibbs", max_iter=20_000, verbose=0)
    dcomp.save(long.fit([[4, 0, 1], [0, 3, 1]]).fit_, tmp_path / "long.dcomp")
    assert len(dcomp.load(tmp_path / "long.dcomp").history) == 20_000


def test_every_truncation_is_an_error(path):
    content = path.read_bytes()
    for size in [0, 1, 10, 100, len(content) // 2, len(content) - 30, len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(dcomp.InvalidFile, match=r"a\.dcomp"):
            dcomp.load(path)


@pytest.mark.parametrize("change", [lambda array: array[:-4], lambda array: array + b"more"])
def test_an_array_of_another_length_than_its_header(path, change):
    """The archive is sound and the header plausible: only the number of bytes gives it away."""
    with zipfile.ZipFile(path) as archive:
        put(path, "state/n.npy", change(archive.read("state/n.npy")))
    message = "array 'state/n' is not as long as its header says"
    with pytest.raises(dcomp.InvalidFile, match=message):
        dcomp.load(path)


def test_flipped_bytes_never_pass_silently(fitted, path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    # The archive's directory stands at the end: where it points nowhere is damage, too.
    at_the_end = range(len(content) - 60, len(content))
    for place in (*rng.integers(0, len(content), 150).tolist(), *at_the_end):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            loaded = dcomp.load(path)
        except dcomp.InvalidFile:
            continue
        # A byte that nothing depends on (a time stamp of the archive): the fit must be the same.
        assert np.array_equal(loaded.Theta, fitted.Theta)
        assert np.array_equal(loaded.scores, fitted.scores)


def test_a_changed_number_is_found_by_its_digest(path):
    """A file that was edited with the archive's own checksums in order."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in members:
        changed = members | {name: members[name][:-1] + bytes([members[name][-1] ^ 1])}
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in changed.items():
                archive.writestr(member, content)
        with pytest.raises(dcomp.InvalidFile):
            dcomp.load(path)


def test_what_later_versions_add_is_passed_over(fitted, path):
    """Names, other sections and folders: nothing that this version needs."""

    def later(members):
        members["later/party.npy"] = npy(np.array([0, 1, 0]))
        manifest = json.loads(members["manifest.json"])
        manifest |= {"component_names": ["a", "b"], "x": 1}
        members["manifest.json"] = json.dumps(manifest).encode()

    rewrite(path, later)
    assert np.array_equal(dcomp.load(path).Theta, fitted.Theta)


def test_foreign_files(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a fit")
    with pytest.raises(dcomp.InvalidFile, match="not a dcomp fit"):
        dcomp.load(text)
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(dcomp.InvalidFile, match="not a dcomp fit"):
        dcomp.load(other)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        dcomp.load(tmp_path / "absent.dcomp")


def test_a_newer_format_says_to_upgrade(path):
    edit_manifest(path, version=storage.VERSION + 1)
    with pytest.raises(dcomp.InvalidFile, match="upgrade dcomp"):
        dcomp.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"key": "XX"}},
        {"model": {"key": "GP", "scores": {}, "learn_gamma": False}},
        {"model": None},
        {"needs": ["a feature of the future"]},
        {"algorithm": {"name": "magic"}},
        {"algorithm": {"name": "mean-field", "max_inner": -1}},
        {"history": [{"sweep": 1}]},
        {"state": {"sweep": "many", "seed": 0, "recorded": 0}},
        {"state": {"sweep": 3, "seed": 0, "recorded": 2}},
        {"version": "one"},
    ],
)
def test_a_changed_manifest(path, changes):
    edit_manifest(path, **changes)
    with pytest.raises(dcomp.DcompError):
        dcomp.load(path)


@pytest.mark.parametrize(
    "content",
    [
        npy(np.array([object()]), allow_pickle=True),
        npy(np.full((3, 2), np.nan, np.float32)),
        npy(np.zeros((3, 5), np.float32)),
        npy(-np.ones((3, 2), np.float32)),
        npy(np.zeros((3, 2), complex)),
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
        b"'shape': (99999999999, 99999999), }" + b" " * 40 + b"\n",
        b"rubbish",
    ],
    ids=["pickle", "nan", "shape", "negative", "complex", "huge", "rubbish"],
)
def test_a_hostile_array(path, content):
    put(path, "state/c.npy", content)
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(path)


PLAIN = {
    "fewer documents than exposures": ("state/c", lambda a: a[:-1]),
    "fewer components": ("state/c", lambda a: a[:, :1]),
    "one dimension": ("state/c", lambda a: a[:, 0]),
    "fewer features": ("state/n", lambda a: a[:-1]),
    "counts of features of fewer components": ("state/n", lambda a: a[:, :1]),
    "negative counts of features": ("state/n", lambda a: -a),
    "another precision": ("state/n", lambda a: a.astype(np.float64)),
    "not finite": ("state/n", lambda a: np.where(a == a.max(), np.inf, a).astype(a.dtype)),
    "fewer blocks": ("exposure", lambda a: a[:, :1]),
    "columns first": ("state/n", np.asfortranarray),
}
SAMPLED = {
    "a component too many": ("state/z", lambda a: np.where(a == a.max(), 2, a).astype(a.dtype)),
    "a token too few": ("state/z", lambda a: a[1:]),
    "other numbers": ("state/z", lambda a: a.astype(np.int32)),
    "recorded fewer features": ("recorded/Theta", lambda a: a[:-1]),
    "recorded below nothing": ("recorded/zeros", lambda a: a - 100),
    "recorded in double precision": ("recorded/c", lambda a: a.astype(np.float64)),
    "recorded fewer documents": ("recorded/c", lambda a: a[:-1]),
}


def replace_array(path, name, change):
    """The file at `path` with one array changed."""
    with zipfile.ZipFile(path) as archive:
        array = np.load(io.BytesIO(archive.read(f"{name}.npy")))
    put(path, f"{name}.npy", npy(change(array)))


@pytest.mark.parametrize("case", PLAIN)
def test_arrays_that_do_not_belong_together(path, case):
    replace_array(path, *PLAIN[case])
    with pytest.raises(dcomp.InvalidFile, match=r"a\.dcomp"):
        dcomp.load(path)


@pytest.mark.parametrize("case", SAMPLED)
def test_arrays_of_a_sampler_that_do_not_belong_together(with_draws, case):
    replace_array(with_draws, *SAMPLED[case])
    with pytest.raises(dcomp.InvalidFile, match=r"d\.dcomp"):
        dcomp.load(with_draws)


def test_compressed_arrays_are_refused(path):
    """They could be larger than memory, however small the file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(dcomp.InvalidFile, match="dcomp stores arrays plain"):
        dcomp.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["state/more.npy", "state/n.npy", "notes.txt"])
def test_members_that_the_manifest_does_not_list(path, name):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, npy(np.zeros(3)))
    message = "members are not those that the manifest lists|two of its members have one name"
    with pytest.raises(dcomp.InvalidFile, match=message):
        dcomp.load(path)


def test_arrays_that_nobody_asked_for(path, with_draws):
    rewrite(path, lambda members: members.update({"model/omega.npy": npy(np.ones(2))}))
    with pytest.raises(dcomp.InvalidFile, match="has no omega"):
        dcomp.load(path)
    sealed.edit_manifest(with_draws, lambda manifest: manifest["state"].update(recorded=0))
    with pytest.raises(dcomp.InvalidFile, match="sums of no recorded sweep"):
        dcomp.load(with_draws)


def test_text_that_is_too_long_is_not_read(path):
    with pytest.raises(dcomp.InvalidFile, match=r"limits=dcomp\.Limits\(memory=…\) allows more"):
        dcomp.load(path, limits=dcomp.Limits(memory=100))
    assert dcomp.load(path, limits=dcomp.Limits(memory="1 MB")).n_components == 2


def test_a_failed_write_leaves_the_old_file(fitted, path, monkeypatch):
    before = path.read_bytes()

    def full_disk(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(OSError, match="No space left"):
        dcomp.save(fitted, path, overwrite=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["a.dcomp"]


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    pid = os.fork()
    if pid == 0:
        with atomic_write(target) as stream:
            stream.write(b"half of the new")
            stream.flush()
            os._exit(9)
    os.waitpid(pid, 0)
    assert target.read_text() == "old"


def test_the_file_is_as_readable_as_any_other(path):
    plain = path.parent / "plain"
    plain.write_text("x")
    assert path.stat().st_mode == plain.stat().st_mode


def test_bad_targets(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        dcomp.save(fitted, tmp_path / "nowhere" / "a.dcomp")
    with pytest.raises(IsADirectoryError):
        dcomp.save(fitted, tmp_path)


def scores_by_importance(fit, table):
    """Mean and standard deviation of scores of CGP given Θ, by draws from their prior."""
    prior = {p.name: np.asarray(p.value, float) for p in fit.model.scores.parameters()}
    rng, size = np.random.default_rng(0), (100_000, fit.n_components)
    drawn = rng.gamma(prior["alpha"], 1 / prior["beta"], size) * (rng.random(size) >= prior["rho"])
    Theta = np.asarray(fit.Theta, float)
    log_likelihood = np.log(np.maximum(drawn @ Theta.T, 1e-300)) @ table.T - drawn.sum(
        axis=1, keepdims=True
    )
    weight = np.exp(log_likelihood - log_likelihood.max(axis=0))
    weight /= weight.sum(axis=0)
    mean = weight.T @ drawn
    return mean, np.sqrt(weight.T @ drawn**2 - mean**2)


@pytest.mark.parametrize("name", sorted(p.name for p in GOLDEN.glob("*.dcomp")))
def test_fits_of_earlier_versions_still_load(name):
    loaded = dcomp.load(GOLDEN / name)
    expected = json.loads((GOLDEN / name).with_suffix(".json").read_text())
    assert loaded.model.key == expected["model"]
    assert loaded.objective == pytest.approx(expected["objective"])
    np.testing.assert_allclose(loaded.Theta, expected["Theta"], rtol=1e-6)
    given = np.array(expected["new"])
    new = loaded.transform(given)
    if loaded.model.scores.capabilities.exact_zeros:  # means of draws, which are others by now
        mean, sd = scores_by_importance(loaded, given)
        assert (np.abs(new - mean) < 0.5 * sd).all()  # of few draws
        many = loaded.sample_scores(given, n_draws=2000, seed=0).mean
        assert (np.abs(many - mean) < 0.15 * sd).all()
    else:  # documents come to rest more closely than when these files were written
        np.testing.assert_allclose(new, expected["scores"], rtol=1e-3, atol=2e-3)
    for field, values in expected.get("draws", {}).items():
        np.testing.assert_allclose(getattr(loaded.draws, field), values, rtol=1e-6)


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("v1-*.dcomp"))) == 2
    assert len(list(GOLDEN.glob("v2-*.dcomp"))) == 3
    assert len(list(GOLDEN.glob("v3-*.dcomp"))) == 6
    assert len(list(GOLDEN.glob("v4-*.dcomp"))) == 9
    assert "draws" in json.loads((GOLDEN / "v3-CGP.json").read_text())


@pytest.fixture(scope="module")
def sampled():
    X = np.random.default_rng(4).poisson(1.5, (6, 5))
    options = {"max_iter": 12, "burn_in": 6, "n_chains": 2, "n_draws": 3, "draws_of": KINDS}
    return dcomp.DCA(2, model="CGP", **options, verbose=0).fit(X).fit_


@pytest.fixture
def with_draws(sampled, tmp_path):
    dcomp.save(sampled, tmp_path / "d.dcomp")
    return tmp_path / "d.dcomp"


def test_draws_come_back(sampled, with_draws):
    loaded = dcomp.load(with_draws)
    assert loaded.draws.best == sampled.draws.best
    assert loaded.draws.chains == (0, 1)
    assert loaded.algorithm == sampled.algorithm
    for name in ("sweep", "scores", "Theta", "assignments", "alpha", "beta", "rho", "log_joint"):
        kept = getattr(sampled.draws, name)
        np.testing.assert_array_equal(getattr(loaded.draws, name), kept)
        assert getattr(loaded.draws, name).dtype == kept.dtype
    own = sampled.draws.Theta[sampled.draws.best]
    np.testing.assert_array_equal([draw.Theta for draw in loaded.state.draws], own)


HOSTILE_DRAWS = {
    "fewer chains": ("scores", lambda a: a[:1]),
    "fewer draws": ("Theta", lambda a: a[:, :2]),
    "fewer documents": ("scores", lambda a: a[:, :, :3]),
    "five dimensions": ("scores", lambda a: a[None]),
    "nan": ("Theta", lambda a: np.where(a == a.max(), np.nan, a).astype(np.float32)),
    "negative": ("Theta", lambda a: -a),
    "double": ("scores", lambda a: a.astype(float)),
    "too many components": ("assignments", lambda a: a + np.uint16(7)),
    "too few tokens": ("assignments", lambda a: a[:, :, 1:]),
    "not a probability": ("rho", lambda a: a + 1),
    "no such prior": ("alpha", lambda a: a[..., :1]),
    "sweeps backwards": ("sweep", lambda a: a[::-1].copy()),
    "a sweep to come": ("sweep", lambda a: a + 100),
    "sweep zero": ("sweep", lambda a: a - a[0]),
    "sweeps that are no numbers": ("sweep", lambda a: a.astype(float)),
    "sweeps in a table": ("sweep", lambda a: a[None]),
    "no sweeps": ("sweep", lambda a: a[:0]),
}


@pytest.mark.parametrize("case", HOSTILE_DRAWS)
def test_hostile_draws(sampled, with_draws, case):
    field, change = HOSTILE_DRAWS[case]
    content = npy(change(getattr(sampled.draws, field)))
    put(with_draws, f"draws/{field}.npy", content)
    with pytest.raises(dcomp.InvalidFile, match=r"d\.dcomp"):
        dcomp.load(with_draws)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"chains": [0, 1], "best": 2},
        {"chains": [0, 1], "best": -1},
        {"chains": [0, 1], "best": True},
        {"chains": [0, 2], "best": 0},
        {"chains": [1, 1], "best": 0},
        {"chains": ["0", "1"], "best": 0},
        {"chains": [], "best": 0},
        {"chains": 7, "best": 0},
    ],
)
def test_a_hostile_entry_for_draws(with_draws, entry):
    edit_manifest(with_draws, draws=entry)
    with pytest.raises(dcomp.InvalidFile, match=r"d\.dcomp"):
        dcomp.load(with_draws)


@pytest.mark.parametrize(
    "keep",
    [
        7,
        {"n": 1},
        {"n": 3, "every": 2, "kinds": []},
        {"n": 1, "every": 1, "kinds": ["x"]},
        {"m": 1},
    ],
)
def test_a_hostile_rule_for_draws(sampled, with_draws, keep):
    with zipfile.ZipFile(with_draws) as archive:
        algorithm = json.loads(archive.read("manifest.json"))["algorithm"]
    assert algorithm["keep"] == {"n": 3, "every": 6, "kinds": list(KINDS)}
    edit_manifest(with_draws, algorithm=algorithm | {"keep": keep})
    with pytest.raises(dcomp.DcompError):
        dcomp.load(with_draws)


@pytest.mark.parametrize("missing", ["draws/alpha", "draws/sweep", "recorded/zeros", "model/rho"])
def test_a_part_is_missing(with_draws, missing):
    rewrite(with_draws, lambda members: members.pop(f"{missing}.npy"))
    with pytest.raises(dcomp.InvalidFile, match=r"d\.dcomp"):
        dcomp.load(with_draws)


@pytest.fixture
def structured(tmp_path):
    X = np.random.default_rng(4).poisson(1.5, (6, 5))
    options = {"tree": [2, 2, -1], "structure": "document", "max_iter": 8, "verbose": 0}
    fitted = dcomp.StructuredDCA(**options, n_chains=2).fit(X).fit_
    dcomp.save(fitted, tmp_path / "st.dcomp")
    return fitted, tmp_path / "st.dcomp"


def test_a_structure_comes_back(structured):
    fitted, path = structured
    loaded = dcomp.load(path)
    assert loaded.model == fitted.model
    assert loaded.algorithm == fitted.algorithm
    for name in ("scores", "leaf_scores", "upsilon", "leaf_Theta", "expected_counts"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert [e.model for e in loaded.endings] == [e.model for e in fitted.endings]
    assert np.array_equal(loaded.draw(seed=1).scores, fitted.draw(seed=1).scores)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": {"kind": "phi", "learn_psi": True}},
        {"rows": {"kind": "deep", "learn_psi": True}},
        {"leaves": "LN"},
        {"leaves": "GP"},
        {"structure": {"n_leaves": 2, "names": ["a", "b", "c", "d"], "parents": [2, 2, 3, -1]}},
        {"structure": {"n_leaves": 2, "names": ["a", "b", "c"], "parents": [1, 0, -1]}},
        {"structure": None},
    ],
)
def test_a_hostile_structure(structured, change):
    sealed.edit_manifest(structured[1], lambda m: m["model"]["scores"].update(change))
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(structured[1])


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("state/z", np.full(47, 9, np.uint16)),
        ("model/psi", np.full(4, -1.0)),
        ("model/psi", np.ones((3, 2))),
        ("model/alpha", np.ones(3)),
        ("carried/leaf_counts", np.zeros((6, 2), np.int32)),
        ("carried/leaf_counts", np.zeros((6, 3), np.int32)),
        ("carried/structure_counts", np.full((6, 4), -1, np.int32)),
        ("carried/structure_counts", np.zeros((1, 4), np.int32)),
        ("recorded/own/upsilon", np.ones(3, np.float32)),
        ("recorded/own/leaf_scores", -np.ones((6, 2), np.float32)),
    ],
)
def test_hostile_arrays_of_a_structure(structured, name, array):
    put(structured[1], f"{name}.npy", npy(array))
    with pytest.raises(dcomp.InvalidFile):
        dcomp.load(structured[1])

"""Signatures: matched to published ones by the names of types, exposures refitted."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.field_files import small_signatures

import dcomp
from dcomp.cli.main import main
from dcomp.data.mutations import type_name
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.inference.stopping import Remaining
from dcomp.io.mutation_types import lines_are_types, read_types
from dcomp.printable import columns
from dcomp.use.catalogue import Catalogue
from dcomp.use.consensus import consensus_of, resampled, silhouettes
from dcomp.use.cosine import cosines

PLANTED = dcomp.datasets.mutations(60, n_signatures=4, largest=1e4, seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("signatures")
    small_signatures(made)
    return made


@pytest.fixture(scope="module")
def found(folder):
    reference = folder / "sbs_exome_signatures.csv"
    return dcomp.use.signatures(folder / "tcga_exomes.96.csv", 4, reference=reference)


def test_planted_signatures_are_found_by_name(found):
    assert sorted(found.found(0.95)) == ["SBS1", "SBS2", "SBS3", "SBS4"]
    best = cosines(found.loadings, PLANTED.components)
    for name, k in found.found(0.95).items():
        assert best[k].argmax() == int(name.removeprefix("SBS")) - 1
    assert found.reference.unknown == found.reference.spare == ()


def test_exposures_are_the_planted_ones(found):
    true = PLANTED.memberships * PLANTED.counts.doc_totals[:, np.newaxis]
    np.testing.assert_allclose(found.refitted.exposures.sum(axis=1), PLANTED.counts.doc_totals)
    error = np.abs(found.refitted.exposures - true).sum() / true.sum()
    assert error < 0.1
    large = true > 20
    inside = (found.refitted.low <= true) & (true <= found.refitted.high)
    assert inside[large].mean() > 0.4  # counts vary more than Poisson's law, intervals do not know
    assert (found.refitted.high - found.refitted.low)[large].mean() > 1


def test_intervals_cover_where_the_model_holds():
    rng = np.random.default_rng(3)
    published = rng.dirichlet(np.full(30, 0.3), 5)
    shares = rng.dirichlet(np.full(5, 0.1), 150)
    W = np.array([rng.multinomial(80, m @ published) for m in shares])
    names = [f"type{j}" for j in range(30)]
    known = Catalogue(tuple("ABCDE"), tuple(names), published).aligned_to(names)
    counts = dcomp.Counts.from_matrix(W, feature_names=names)
    found = dcomp.use.refit(counts, known, level=0.9)
    expected = 80 * shares
    # A share that is as good as zero has no interval: a hundredth of a mutation is the same.
    inside = (found.low <= expected + 0.01) & (expected <= found.high + 0.01)
    assert 0.86 <= inside.mean() <= 0.95
    quick = dcomp.use.refit(counts, known, with_intervals=False)
    assert quick.low is None
    assert np.abs(quick.exposures - found.exposures).mean() < 2


def test_how_far_below_the_climb_tumours_are_shown_is_said(found, monkeypatch):
    text = "as new tumours, which is how they are shown"
    assert text not in str(found)
    monkeypatch.setattr(type(found.fit), "remaining", Remaining(0.01, 1e-6, apart=0.22))
    lines = found.lines()
    assert f"{text}, 0.22 nats per tumour below where" in lines
    assert found.as_record()["remaining"]["apart"] == 0.22


TYPES = [
    f"{a}[{m}]{b}"
    for m in ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
    for a in "ACGT"
    for b in "ACGT"
]


def tumours_of(seed, totals, n_signatures=5):
    """Mutations as the model has them, and the signatures; the first tumours are of the last."""
    rng = np.random.default_rng(seed)
    signatures = rng.dirichlet(np.full(96, 0.15), n_signatures)
    shares = rng.dirichlet(np.full(n_signatures, 0.3), len(totals))
    shares[:3] = np.append(np.full(n_signatures - 1, 0.01), 1 - 0.01 * (n_signatures - 1))
    W = np.array([rng.multinomial(n, m @ signatures) for n, m in zip(totals, shares, strict=True)])
    return rng, W, signatures


def refitted_to(W, signatures, **options):
    names = tuple(f"S{r}" for r in range(len(signatures)))
    ids = [f"T{i}" for i in range(len(W))]
    counts = dcomp.Counts.from_matrix(W, feature_names=TYPES, doc_ids=ids)
    return dcomp.use.refit(counts, Catalogue(names, TYPES, signatures).aligned_to(TYPES), **options)


def test_the_right_catalogue_explains_small_tumours_and_large_ones():
    """A warning would be an error here: the refit must not cry wolf."""
    totals = np.repeat([30_000, 20, 50, 300, 3000], [6, 30, 60, 30, 30])
    for seed in range(6):
        _, W, signatures = tumours_of(seed, totals, n_signatures=4 + 3 * (seed % 3))
        found = refitted_to(W, signatures, with_intervals=False)
        assert found.quotable.all()
        assert found.unexplained == ""
        assert 0.8 < np.median(found.dispersion[totals >= 50]) < 1.1
    assert "?" not in "\n".join(found.lines())


def test_few_mutations_are_not_taken_for_misfit_where_the_prior_weighs_as_much():
    rng = np.random.default_rng(0)
    signatures = rng.dirichlet(np.full(96, 0.15), 40)
    shares = rng.dirichlet(np.full(40, 0.05), 300)
    W = np.array([rng.multinomial(20, m @ signatures) for m in shares])
    assert refitted_to(W, signatures, with_intervals=False).quotable.all()


@pytest.mark.parametrize("what", ["lacks", "off", "overdispersed"])
def test_tumours_that_the_catalogue_does_not_explain_are_named(what):
    totals = np.repeat([30_000, 50, 300], [3, 20, 57])
    rng, W, signatures = tumours_of(6, totals)
    if what == "lacks":
        signatures = signatures[:-1]
    elif what == "off":
        signatures = np.array([rng.dirichlet(200 * one + 0.01) for one in signatures])
    else:
        W = rng.poisson(W * rng.gamma(3, 1 / 3, W.shape))
    with pytest.warns(dcomp.errors.DataWarning, match="the reference may lack a signature"):
        found = refitted_to(W, signatures)
    assert not found.quotable[:3].any()
    assert (found.dispersion[:3] > 5).all()
    lines = found.lines()
    marked = [line for line in lines if line.startswith("  T0")]
    assert len(marked) == 1
    assert marked[0].endswith(" ?")
    n = int((~found.quotable).sum())
    assert f"?: these signatures do not explain {n} of 80 tumours (T" in " ".join(lines)
    assert all(columns(line) <= 80 for line in lines)
    record = json.loads(json.dumps(found.as_record()))
    assert record["quotable"][:3] == [False] * 3
    assert record["unexplained"] == found.unexplained
    assert len(record["dispersion"]) == 80


def test_only_tumours_with_what_is_missing_are_marked():
    totals = np.repeat([30_000, 300], [3, 57])
    _, W, signatures = tumours_of(7, totals)
    rest = np.array(
        [np.random.default_rng(i).multinomial(300, signatures[i % 4]) for i in range(57)]
    )
    with pytest.warns(dcomp.errors.DataWarning, match=r"3 of 60 tumours \(T\d, T\d, T\d\), whose"):
        found = refitted_to(np.vstack([W[:3], rest]), signatures[:4])
    assert found.quotable[3:].all()


def test_shares_that_are_no_counts_are_not_called_unexplained():
    _, W, signatures = tumours_of(8, np.full(20, 1000))
    shares = W / W.sum(axis=1, keepdims=True)
    counts = dcomp.Counts.from_matrix(shares, feature_names=TYPES, fractional=True)
    known = Catalogue(tuple("ABCD"), TYPES, signatures[:4]).aligned_to(TYPES)
    found = dcomp.use.refit(counts, known, with_intervals=False)
    assert found.quotable.all()
    assert np.isnan(found.dispersion).all()


def test_types_that_do_not_match_are_said():
    known = Catalogue(("A", "B"), ("x", "y", "z"), [[1.0, 1.0, 2.0], [2.0, 0.0, 0.0]])
    aligned = known.aligned_to(["z", "w", "x"])
    assert aligned.unknown == ("w",)
    assert aligned.spare == ("y",)
    assert aligned.loadings.tolist() == [[0.5, 0.0, 0.25], [0.0, 0.0, 1.0]]
    assert "it has no w" in str(aligned)
    assert "the table has no y" in str(aligned)
    counts = dcomp.Counts.from_matrix([[5, 7, 5], [0, 1, 3]], feature_names=["z", "w", "x"])
    found = dcomp.use.refit(counts, aligned)
    assert found.n_left_out == 8
    np.testing.assert_allclose(found.exposures.sum(axis=1), [10, 3], rtol=1e-5)
    with pytest.raises(dcomp.errors.InvalidParameter, match="none of the types"):
        known.aligned_to(["u", "v"])


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("C>A ACA", "A[C>A]A"),
        ("ACA_C>A", "A[C>A]A"),
        ("A[C>A]A", "A[C>A]A"),
        ("C>A ATA", "C>A ATA"),
    ],
)
def test_types_have_one_name(written, name):
    assert type_name(written) == name


def test_tables_lie_either_way(folder, tmp_path):
    lines = [line.split(",") for line in (folder / "tcga_exomes.96.csv").read_text().splitlines()]
    head = ["tumour", *(type_name(f"{a} {b}") for a, b, *_ in lines[1:])]
    turned = [head, *([lines[0][i], *(row[i] for row in lines[1:])] for i in range(2, 62))]
    file = tmp_path / "turned.csv"
    file.write_text("\n".join(map(",".join, turned)))
    assert lines_are_types(folder / "tcga_exomes.96.csv")
    assert not lines_are_types(file)
    one, other = (read_types(path) for path in (folder / "tcga_exomes.96.csv", file))
    assert (one.to_scipy() != other.to_scipy()).nnz == 0
    known = Catalogue.of(folder / "sbs_exome_signatures.csv")
    assert known.aligned_to(other.features.names).unknown == ()


def test_text_is_no_table_of_mutations(tmp_path):
    (tmp_path / "letters.jsonl").write_text('{"text": "Four letters about mutations"}\n')
    with pytest.raises(InvalidFile, match="table or a matrix of counts; this is read as jsonl"):
        dcomp.use.signatures(tmp_path / "letters.jsonl", 2)


@pytest.mark.filterwarnings("ignore::dcomp.ConvergenceWarning")
def test_a_catalogue_in_a_file_can_be_held_fixed(folder, tmp_path):
    """Types in two columns in front, as `reference` takes them; the table may name them in one."""
    reference, names = folder / "sbs_exome_signatures.csv", ("SBS1", "SBS2", "SBS3", "SBS4")
    table = read_types(folder / "tcga_exomes.96.csv")
    known = Catalogue.of(reference).aligned_to(table.features.names).loadings
    brackets = dcomp.Counts.from_matrix(
        table.to_scipy(), feature_names=[type_name(name) for name in table.features.names]
    )
    for counts in (table, brackets):
        fitted = dcomp.DCA(4, model="GP", fixed=reference, max_iter=3, verbose=0).fit(counts).fit_
        assert fitted.component_names == names
        np.testing.assert_allclose(fitted.components, known, atol=1e-6)
    output = tmp_path / "fit.dcomp"
    flags = ["--transpose", "-k", "5", "--max-iter", "3", "-o", str(output), "-q"]
    tumours = str(folder / "tcga_exomes.96.csv")
    assert main(["fit", tumours, "--fixed", str(reference), *flags]) == 0
    assert dcomp.load(output).component_names == (*names, "4")


@pytest.mark.parametrize(
    ("loadings", "names", "says"),
    [
        ([[1.0, -1.0]], ("A",), "non-negative"),
        ([[0.0, 0.0]], ("A",), "'A' has none"),
        ([[1.0]], ("A",), "got shape"),
        ([[1.0, 1.0], [1.0, 2.0]], ("A", "A"), "'A' is there twice"),
    ],
)
def test_a_catalogue_is_checked(loadings, names, says):
    with pytest.raises(dcomp.errors.InvalidParameter, match=says):
        Catalogue(names, ("x", "y"), loadings)


def test_lines_fit_a_terminal(found):
    text = str(found)
    assert max(columns(line) for line in text.splitlines()) <= 80
    assert "4 of 4 are one of 4 published signatures at cosine 0.9, 4 at 0.95" in text
    assert "96 of 96 types" in text


def test_the_shell_says_the_same(folder, tmp_path, capsys):
    table, reference = folder / "tcga_exomes.96.csv", folder / "sbs_exome_signatures.csv"
    fit = tmp_path / "fit.dcomp"
    words = ["signatures", str(table), "-k", "4", "--reference", str(reference), "-o", str(fit)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(one["published"] for one in told["signatures"]) == [
        "SBS1",
        "SBS2",
        "SBS3",
        "SBS4",
    ]
    assert len(told["refitted"]["low"]) == 60
    assert dcomp.load(fit).n_components == 4
    assert main(["signatures", str(table), "-k", "2", "--intervals"]) == 2
    assert "--reference" in capsys.readouterr().err


def test_stability_tells_the_number_of_signatures():
    """Four planted ones are found again in every resampled fit; of seven, some split at random."""
    found = dcomp.use.signatures(PLANTED.counts, [2, 4, 7], n_replicates=4)
    assert found.stability.recommended == found.fit.n_components == 4
    assert found.stability.of(4).stability.min() > 0.9
    assert found.stability.of(7).mean < found.stability.of(4).mean
    errors = [one.errors.mean() for one in found.stability.found]
    assert errors[0] > errors[1]
    near = cosines(found.consensus.loadings, found.loadings)
    assert (near.argmax(axis=1) == np.arange(4)).all()
    np.testing.assert_allclose(found.consensus.loadings.sum(axis=1), 1)
    lines = found.lines()
    assert max(map(columns, lines)) <= 80
    assert any("recommended" in line for line in lines)
    assert found.as_record()["stability"][1]["recommended"]


def test_silhouettes_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.full(6, 0.5), 3) + 0.2 * rng.random((5, 3, 6))
    flat, labels = members.reshape(15, 6), np.tile(np.arange(3), 5)
    theirs = metrics.silhouette_samples(flat, labels, metric="cosine")
    expected = [theirs[labels == k].mean() for k in range(3)]
    np.testing.assert_allclose(silhouettes(members), expected)


def test_a_consensus_does_not_depend_on_the_order_of_components():
    rng = np.random.default_rng(1)
    members = rng.dirichlet(np.full(9, 0.3), 4) + 0.02 * rng.random((6, 4, 9))
    shuffled = [one[rng.permutation(4)] for one in members]
    found = consensus_of(shuffled, [0.1] * 6).ordered_as(members[0])
    means = members.mean(axis=0)
    np.testing.assert_allclose(found.loadings, means / means.sum(axis=1, keepdims=True))


def test_resampled_tumours_keep_their_totals_and_vary_as_they_should():
    counts = dcomp.Counts.from_matrix(np.tile([[30, 60, 10]], (400, 1)))
    drawn = resampled(counts, 5).to_scipy().toarray()
    assert (drawn.sum(axis=1) == 100).all()
    assert drawn.mean(axis=0) == pytest.approx([30, 60, 10], abs=1)
    assert drawn.var(axis=0) == pytest.approx([21, 24, 9], rel=0.25)
    assert resampled(counts, 5) == resampled(counts, 5)


def test_giants_decide_less_when_they_count_for_less():
    """One tumour with most of all mutations takes a component for itself, or does not."""
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.full(96, 0.2), 3)
    shares = rng.dirichlet([0.3, 0.3], 60)
    rows = np.array([rng.multinomial(200, m @ true[:2]) for m in shares])
    rows[0] = rng.multinomial(300_000, true[2])
    counts = dcomp.Counts.from_matrix(rows, feature_names=[f"t{j}" for j in range(96)])
    share = {}
    for most in (None, 50):
        found = dcomp.use.signatures(counts, 2, max_mutations=most)
        own = cosines(found.loadings, rows[:1].astype(float))
        share[most] = float(own.max())
        np.testing.assert_allclose(found.exposures.sum(axis=1), rows.sum(axis=1), rtol=1e-5)
    assert share[None] > 0.99
    assert share[50] < 0.9
    with pytest.raises(InvalidParameter, match="max_mutations must be a number above 0; got 0"):
        dcomp.use.signatures(counts, 2, max_mutations=0)


def test_a_cosine_that_reads_nine_tenths_is_counted_as_such(found):
    levels = np.array([0.8999, 0.9, 0.9499, 0.999])
    matching = replace(found.matching, similarity=levels)
    other = replace(found)
    other.__dict__["matching"] = matching  # as if it had been found
    shown = sorted(line.split()[3] for line in other.lines() if line.startswith("  #"))
    assert shown == ["0.89", "0.90", "0.94", "0.99"]
    assert len(other.found(0.9)) == 3

"""Genotypes: PLINK's and STRUCTURE's files, and ADMIXTURE's answers."""

import gzip

import numpy as np
import pytest

from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io import read
from dcomp.io.ancestry import read_ancestry

BIM = "1\trs1\t0\t10\tA\tG\n1\trs2\t0\t20\tC\tT\n2\trs3\t0\t30\t0\t2\n"
FAM = "".join(f"f{i // 2} p{i} 0 0 {i % 3} {'-9' if i % 2 else '1'}\n" for i in range(5))
CODES = np.array([[0, 1, 2, 3, 0], [3, 3, 2, 1, 0], [2, 2, 2, 0, 1]])  # SNP by person
COPIES = {0: (2, 0), 1: (0, 0), 2: (1, 1), 3: (0, 2)}


def bed(codes, order=1):
    """Genotypes as PLINK packs them."""
    out = bytearray([0x6C, 0x1B, order])
    for row in codes if order else codes.T:
        for start in range(0, len(row), 4):
            four = row[start : start + 4]
            out.append(sum(int(code) << (2 * i) for i, code in enumerate(four)))
    return bytes(out)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.bed").write_bytes(bed(CODES))
    (tmp_path / "x.bim").write_text(BIM)
    (tmp_path / "x.fam").write_text(FAM)
    return tmp_path


def expected():
    rows = [[n for snp in CODES for n in COPIES[int(snp[i])]] for i in range(5)]
    return np.array(rows)


@pytest.mark.parametrize("order", [1, 0])
def test_plink_by_snp_and_by_person(folder, order):
    (folder / "x.bed").write_bytes(bed(CODES, order))
    counts = read(folder / "x.bed")
    np.testing.assert_array_equal(counts.to_scipy().toarray(), expected())
    assert counts.features.labels == ("rs1=A", "rs1=G", "rs2=C", "rs2=T", "rs3=0", "rs3=2")
    assert counts.doc_ids == ("p0", "p1", "p2", "p3", "p4")
    assert counts.attributes["family"].tolist() == ["f0", "f0", "f1", "f1", "f2"]
    assert counts.attributes["sex"].tolist() == [None, "male", "female", None, "male"]
    assert counts.attributes["phenotype"].tolist() == ["1", None, "1", None, "1"]
    assert counts.empty_is_missing
    assert "population" not in counts.attributes


def test_many_people_are_made_in_pieces(folder, monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (3, 41))
    (folder / "x.bed").write_bytes(bed(codes))
    (folder / "x.fam").write_text("".join(f"f p{i} 0 0 0 -9\n" for i in range(41)))
    whole = read(folder / "x.bed")
    monkeypatch.setattr("dcomp.io.plink._AT_ONCE", 12)
    assert read(folder / "x.bed") == whole
    rows = [[n for snp in codes for n in COPIES[int(snp[i])]] for i in range(41)]
    np.testing.assert_array_equal(whole.to_scipy().toarray(), rows)


def test_packed_files_and_labels(folder):
    for name in ("x.bed", "x.bim"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    (folder / "x.pop").write_text("YRI\n-\nCEU\nCEU\nYRI\n")
    counts = read(folder / "x.bed.gz")
    np.testing.assert_array_equal(counts.to_scipy().toarray(), expected())
    assert counts.attributes["population"].tolist() == ["YRI", None, "CEU", "CEU", "YRI"]
    (folder / "other.txt").write_text("a\nb\nc\nd\ne\n")
    named = read(folder / "x.bed.gz", populations=folder / "other.txt")
    assert named.attributes["population"].tolist() == list("abcde")


def test_names_that_repeat_are_told_apart(folder):
    (folder / "x.fam").write_text("f a 0 0 0 -9\ng a 0 0 0 -9\nh b 0 0 0 -9\n")
    (folder / "x.bed").write_bytes(bed(CODES[:, :3]))
    (folder / "x.bim").write_text("1 . 0 10 A G\n1 . 0 20 C C\n1 . 0 20 C T\n")
    counts = read(folder / "x.bed")
    assert counts.doc_ids == ("f:a", "g:a", "b")
    assert counts.features.block_names == ("1:10", "1:20#2", "1:20#3")
    assert counts.features.names[2:4] == ("A1", "A2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: (f / "x.fam").unlink(),
            r"x\.bed: there must be x\.fam beside it, which has the",
        ),
        (lambda f: (f / "x.bim").unlink(), r"x\.bed: there must be x\.bim beside it"),
        (
            lambda f: (f / "x.bed").write_bytes(bed(CODES)[:-1]),
            r"5 people .* 3 SNPs .* make 9 bytes; found 8",
        ),
        (lambda f: (f / "x.bed").write_bytes(bed(CODES) + b"x"), "make 9 bytes; found 10"),
        (lambda f: (f / "x.bed").write_bytes(b"chr1\t0\t10\n"), "begins with .* found 63 68 72"),
        (lambda f: (f / "x.bed").write_bytes(b""), "found nothing"),
        (lambda f: (f / "x.fam").write_text("a b c\n"), r"x\.fam:1: expected 6 fields \(family"),
        (lambda f: (f / "x.bim").write_text(""), r"x\.bim: there must be at least one line"),
        (lambda f: (f / "x.pops").write_text("a\n"), r"x\.pops: expected a label per person, 5"),
    ],
)
def test_wrong_plink_files(folder, change, message):
    change(folder)
    with pytest.raises(InvalidFile, match=message):
        read(folder / "x.bed")


@pytest.mark.realdata
def test_hapmap_as_bed_reader_has_it(data_folder):
    bed_reader = pytest.importorskip("bed_reader")
    path = data_folder / "genotypes" / "hapmap3" / "hapmap3.bed"
    counts = read(path)
    assert counts.shape == (324, 2 * 13_928)
    assert sorted(set(counts.attributes["population"])) == ["ASW", "CEU", "MEX", "YRI"]
    copies = counts.to_scipy().toarray()
    first = np.where(counts.block_totals == 0, np.nan, copies[:, 0::2])
    theirs = bed_reader.open_bed(path).read(dtype="float32")
    np.testing.assert_array_equal(first, theirs)


TWO = "a 1 120 7\na 1 124 -9\nb 2 124 9\nb 2 124 7\n"
LABELS = ("locus1=120", "locus1=124", "locus2=7", "locus2=9")
TABLE = [[1, 1, 1, 0], [0, 2, 1, 1]]


@pytest.mark.parametrize(
    ("content", "options", "loci"),
    [
        (TWO, {}, ("locus1", "locus2")),
        ("L1 L2\n" + TWO, {}, ("L1", "L2")),
        ("L1 L2\n-1 10\n" + TWO, {}, ("L1", "L2")),
        ("who from L1 L2\n" + TWO, {}, ("L1", "L2")),
        (TWO, {"columns": "id,site", "rows": 2}, ("locus1", "locus2")),
        ("a 1 120 124 7 -9\nb 2 124 124 9 7\n", {}, ("locus1", "locus2")),
        ("L1 L2\na 1 120 124 7 NA\nb 2 124 124 9 7\n", {}, ("L1", "L2")),
        (TWO.replace("a 1", "a").replace("b 2", "b"), {}, ("locus1", "locus2")),
        (TWO.replace("-9", "99"), {"missing": "99"}, ("locus1", "locus2")),
        (
            "120 124 7 -9\n124 124 9 7\n",
            {"columns": "none", "rows": 1},
            ("locus1", "locus2"),
        ),
    ],
)
def test_layouts_of_structure(tmp_path, content, options, loci):
    path = tmp_path / "birds.str"
    path.write_text(content)
    counts = read(path, **options)
    assert counts.features.block_names == loci
    assert counts.features.names == ("120", "124", "7", "9")
    assert counts.to_scipy().toarray().tolist() == TABLE
    if options.get("columns") != "none":
        first = "who" if content.startswith("who") else None
        assert counts.doc_ids == (None if first else ("a", "b"))
        assert first is None or counts.attributes["from"].tolist() == ["1", "2"]


def test_zero_is_missing_where_it_never_stands_beside_an_allele(tmp_path):
    path = tmp_path / "x.str"
    path.write_text("a 0 7\na 0 7\nb 5 0\nb 6 0\nc 6 7\nc 6 8\n")
    counts = read(path)
    assert counts.features.labels == ("locus1=5", "locus1=6", "locus2=7", "locus2=8")
    path.write_text("a 0 1\na 1 1\nb 0 0\nb 0 1\nc 1 0\nc 1 0\n")
    assert read(path).features.labels == ("locus1=0", "locus1=1", "locus2=0", "locus2=1")
    assert read(path, missing="0").features.labels == ("locus1=1", "locus2=1")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a 1 5 7\na 1 6\nb 2 5 8\nb 2 6 8\n", {}, r"x\.str:2: expected 4 columns .* found 3"),
        ("a 5 5\na 1 5 7\nb 2 5 8\nb 2 6 8\n", {}, r"x\.str:1: expected 4 columns .* found 3"),
        (
            "L1 L2 L3\na 1 5 7\na 1 6 7\nb 2 5 7\nb 2 6 8\n",
            {"columns": "id,p"},
            "names 3 loci, and",
        ),
        ("a 1 5 7\na 1 6 7\nb 2 5 8\n", {"rows": 2}, "even number of lines; found 3"),
        ("a 5 7 9\nb 5 7 9\n", {"columns": "id", "rows": 1}, r"leave 3 for genotypes, and one"),
        ("a 5 5\na 5 5\nb 5 5\nb 5 5\n", {}, "cannot tell where the genotypes begin, both rows"),
        (
            "a 5 5\na 5 6\na 5 6\n",
            {"rows": 1},
            "the first column has the same name twice: say what",
        ),
        ("a p 5\na q 6\n", {"rows": 2, "columns": "id"}, r"x\.str:1: alleles must .* found 'p' at"),
        ("a -9 5\na -9 6\n", {"columns": "id"}, "an allele at every locus; 'locus1' has none"),
        ("a 1 2\n", {}, "two lines of genotypes or more, found 1"),
    ],
)
def test_wrong_structure_files(tmp_path, content, options, message):
    path = tmp_path / "x.str"
    path.write_text(content)
    with pytest.raises(InvalidFile, match=message):
        read(path, **options)


def test_what_must_be_said_of_structure_files(tmp_path):
    path = tmp_path / "x.str"
    path.write_text(TWO)
    with pytest.raises(InvalidParameter, match="rows must be 1 or 2, of each individual; got 3"):
        read(path, rows=3)
    with pytest.raises(InvalidParameter, match="give rows=1 or rows=2"):
        read(path, columns="none")


@pytest.mark.realdata
def test_thrushes(data_folder):
    counts = read(data_folder / "genotypes" / "thrush" / "thrush-data.str")
    assert counts.n_docs == 155
    assert counts.features.n_blocks == 7
    sites = np.unique(counts.attributes["population"], return_counts=True)
    assert sites[1].tolist() == [17, 80, 54, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0.5 x\n", "expected numbers"),
        ("0.5 0.5\n1\n", r"x\.2\.Q:2: expected 2 numbers as in the first line, found 1"),
        ("0.5 1.5\n", "between 0 and 1"),
        ("nan 1\n", "between 0 and 1"),
        ("\n", "at least one line"),
    ],
)
def test_wrong_answers_of_admixture(tmp_path, content, message):
    path = tmp_path / "x.2.Q"
    path.write_text(content)
    with pytest.raises(InvalidFile, match=message):
        read_ancestry(path)

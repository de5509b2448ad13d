"""VCF: genotypes of variants, against a reading of each by hand."""

import gzip
from itertools import pairwise

import numpy as np
import pytest

import dcomp
from dcomp.errors import DataWarning, InvalidFile
from dcomp.io import Limits, read
from dcomp.io.vcf import COLUMNS

HEAD = "##fileformat=VCFv4.2\n##contig=<ID=1>\n"


def vcf(rows, people=("ann", "bob", "cyd"), keys="GT"):
    """A file of (id, REF, ALT, genotypes)."""
    lines = ["\t".join([*COLUMNS, *people])]
    for place, (name, ref, alt, genotypes) in enumerate(rows):
        front = ["1", str(10 * place), name, ref, alt, ".", "PASS", "DP=3", keys]
        lines.append("\t".join([*front, *genotypes]))
    return HEAD + "\n".join(lines) + "\n"


def written(folder, text, name="x.vcf"):
    path = folder / name
    path.write_text(text)
    return path


ROWS = [
    ("rs1", "A", "G", ["0/0", "0|1", "1/1"]),
    (".", "C", "T,TA", ["1/2", "./.", "2|2"]),  # several alleles, no call
    ("rs3", "G", "<DEL>", ["0", "1", "."]),  # haploid
    (".", "T", "*", ["./1", "0/0/1/1", "/0|1"]),  # half a call, four copies, phase in front
]
COPIES = [[2, 0, 0, 1, 1, 1, 0, 0, 1], [1, 1, 0, 0, 0, 0, 1, 2, 2], [0, 2, 0, 0, 2, 0, 0, 1, 1]]


def test_each_kind_of_genotype(tmp_path):
    counts = read(written(tmp_path, vcf(ROWS)))
    np.testing.assert_array_equal(counts.to_scipy().toarray(), COPIES)
    alleles = ("rs1=A", "rs1=G", "1:10=C", "1:10=T", "1:10=TA", "rs3=G", "rs3=<DEL>")
    assert counts.features.labels == (*alleles, "1:30=T", "1:30=*")
    assert counts.doc_ids == ("ann", "bob", "cyd")
    assert counts.empty_is_missing


def test_other_fields_beside_the_genotype(tmp_path):
    plain = read(written(tmp_path, vcf(ROWS)))
    behind = [(*row[:3], [f"{g}:9:.,3" for g in row[3]]) for row in ROWS]
    assert read(written(tmp_path, vcf(behind, keys="GT:DP:AD"))) == plain
    before = [(*row[:3], [f"9:{g}:1" for g in row[3]]) for row in ROWS]
    before[0] = (*ROWS[0][:3], ["7:0/0", "7:0|1", "7:1/1:2"])  # fields at the end may be dropped
    assert read(written(tmp_path, vcf(before, keys="DP:GT:GQ"))) == plain


@pytest.mark.parametrize("name", ["x.vcf.gz", "x.vcf.bgz"])
def test_packed_in_blocks_as_bgzip_does(tmp_path, name):
    text = vcf(ROWS).encode()
    cuts = [0, 60, 61, 200, len(text)]
    blocks = [gzip.compress(text[a:b]) for a, b in pairwise(cuts)]
    (tmp_path / name).write_bytes(b"".join(blocks))
    (tmp_path / "x.pop").write_text("YRI\n-\nCEU\n")
    counts = read(tmp_path / name)
    np.testing.assert_array_equal(counts.to_scipy().toarray(), COPIES)
    assert counts.attributes["population"].tolist() == ["YRI", None, "CEU"]


def test_many_people_are_made_in_pieces(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, (17, 40, 2))
    rows = [
        (".", "A", "C,G", ["/".join("." if a < 0 else str(a) for a in genotype)
                         for genotype in row])
        for row in codes
    ]  # fmt: skip
    path = written(tmp_path, vcf(rows, [f"p{i}" for i in range(40)]))
    whole = read(path)
    expected = (codes[..., None] == np.arange(3)).sum(axis=2).transpose(1, 0, 2).reshape(40, -1)
    np.testing.assert_array_equal(whole.to_scipy().toarray(), expected)
    monkeypatch.setattr("dcomp.io.vcf._AT_ONCE", 40)
    assert read(path) == whole


def test_the_same_people_by_plink_and_vcf(tmp_path):
    """Ancestries do not depend on the file."""
    table = dcomp.datasets.genotypes(40, 60, f_st=(0.2, 0.3), seed=1).counts
    dense = table.to_scipy().toarray()[:, 1::2]
    called = table.block_totals > 0
    words = np.array(["0/0", "0/1", "1/1"])[dense]
    words[~called] = "./."
    rows = [(f"s{j}", "A", "C", words[:, j]) for j in range(60)]
    counts = read(written(tmp_path, vcf(rows, [f"p{i}" for i in range(40)])))
    np.testing.assert_array_equal(counts.to_scipy().toarray(), table.to_scipy().toarray())


def test_variants_without_another_allele_are_left_out_and_said(tmp_path):
    path = written(tmp_path, vcf([*ROWS, ("fixed", "A", ".", ["0/0"] * 3)]))
    with pytest.warns(DataWarning, match="1 of 5 variants have no ALT allele and are left out"):
        counts = read(path)
    assert counts.features.n_blocks == 4
    only = written(tmp_path, vcf([("fixed", "A", ".", ["0/0"] * 3)]))
    with pytest.raises(InvalidFile, match="at least one variant with an ALT allele; 1 have none"):
        read(only)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with #CHROM; there is none"),
        ("1\t10\n", "x.vcf:1: expected the columns #CHROM"),
        (vcf(ROWS).replace("\tbob", "\tann"), "x.vcf:3: every person .* 'ann' is there twice"),
        (vcf(ROWS).replace("\tann\tbob\tcyd", ""), "a name for each person"),
        (vcf([]), "at least one variant"),
        (vcf([("a", "A", "C", ["0/0", "0/1"])]), "x.vcf:4: expected 12 fields .* found 11"),
        (vcf([("a", "A", "C", ["0/0", "0/2", "1"])]), "below 2, .* person 2 has '0/2'"),
        (vcf([("a", "A", "C", ["0/0", "x", "1"])]), "x.vcf:4: a genotype must be numbers"),
        (vcf([("a", "A", "C", ["0/0", "", "1"])]), "x.vcf:4: a genotype must be numbers"),
        (vcf([("a", "A", "C", ["0/0", "-1/0", "1"])]), "must be numbers .* found '-1/0'"),
        (vcf([("a", "A", "C", ["/".join("0" * 17), "0", "1"])]), "16 at most"),
        (vcf([("a", "A", "C,A", ["0", "0", "1"])]), "alleles must differ"),
        (vcf([("a", "A", "C", ["9", "9", "9"])], keys="DP"), "FORMAT must name GT"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, message):
    with pytest.raises(InvalidFile, match=message):
        read(written(tmp_path, text))


def test_memory_is_asked_for_before_it_is_taken(tmp_path):
    path = written(tmp_path, vcf([ROWS[0]] * 50))
    with pytest.raises(InvalidFile, match="of memory"):
        read(path, limits=Limits(memory=4000))

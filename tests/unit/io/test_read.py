"""dcomp.io.read: the format is told by name and content; compression; options; errors."""

import bz2
import gzip
import lzma

import pytest

import dcomp
from dcomp.data import Counts
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io import FORMATS, read

DOCWORD = "2\n3\n3\n1 1 4\n1 3 2\n2 2 1\n"
LDAC = "2 0:4 2:2\n1 1:1\n"
MTX = "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 4\n1 3 2\n2 2 1\n"
LONG = "doc,word,n\nx,a,4\nx,c,2\ny,b,1\n"
WIDE = "doc\ta\tb\tc\nx\t4\t0\t2\ny\t0\t1.0\t0\n"
TABLE = [[4, 0, 2], [0, 1, 0]]


def dense(counts):
    return counts.to_scipy().toarray().tolist()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docword.tiny.txt", DOCWORD),
        ("anything.txt", DOCWORD.replace("\n", "\r\n")),
        ("tiny.dat", LDAC),
        ("tiny.ldac", LDAC.rstrip("\n")),
        ("tiny.mtx", MTX),
        ("tiny.csv", LONG),
        ("tiny.CSV", "\ufeff" + LONG.replace("\n", "\r\n")),
        ("tiny.tsv", WIDE),
    ],
)
@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_every_format_and_compression(tmp_path, name, content, suffix, pack):
    path = tmp_path / (name + suffix)
    path.write_bytes(pack(content.encode()))
    counts = read(path)
    assert isinstance(counts, Counts)
    assert dense(counts) == TABLE
    assert dense(read(str(path))) == TABLE


def test_format_overrides_the_extension(tmp_path):
    path = tmp_path / "data.xyz"
    path.write_text(LDAC)
    assert dense(read(path, format="ldac")) == TABLE
    with pytest.raises(
        InvalidFile, match=r"data\.xyz: cannot tell .* '\.xyz'; give format= one of"
    ):
        read(path)
    with pytest.raises(InvalidParameter, match=r"format must be one of docword, .*; found 'word'"):
        read(path, format="word")


def test_the_names_of_formats_are_what_users_write():
    names = {"docword", "ldac", "matrix-market", "npz", "table", "text", "jsonl"}
    assert names <= set(FORMATS)


def test_text_that_is_not_docword_is_text(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("12\n13 monkeys\n14\n")
    assert read(path).features.names == ("monkeys",)
    path.write_text("1 2\n3\n4\nwords\n")
    assert read(path).features.names == ("words",)


def test_an_extension_that_promises_too_much(tmp_path):
    path = tmp_path / "model.dat"
    path.write_text("hello world\n")
    with pytest.raises(InvalidFile, match=r"model\.dat:1: expected lda-c.*, found 'hello world'"):
        read(path)


@pytest.mark.parametrize("name", ["absent.csv", "absent.txt", "absent.xyz", "absent.npz"])
def test_missing_file(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"^no such file: .*{name}$"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
def test_an_option_without_effect_is_an_error(tmp_path, name):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(
        InvalidParameter, match=f"'colour' has no effect on the format '{name}'"
    ) as e:
        read(path, format=name, colour=1)
    assert all(option in str(e.value) for option in FORMATS[name].options)


def test_options_are_those_of_the_format(tmp_path):
    path = tmp_path / "tiny.dat"
    path.write_text(LDAC)
    with pytest.raises(InvalidParameter, match=r"'min_count' has no effect .* options are: vocab$"):
        read(path, min_count=3)
    assert read(path, vocab=["p", "q", "r"]).features.names == ("p", "q", "r")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_damaged_compression(tmp_path, suffix):
    path = tmp_path / f"tiny.csv{suffix}"
    path.write_bytes(b"not compressed at all, in no way")
    with pytest.raises(InvalidFile, match=f"tiny.csv{suffix}: cannot be decompressed"):
        read(path)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    path.write_bytes(pack(LONG.encode() * 100)[:-20])
    with pytest.raises(InvalidFile, match=f"tiny.csv{suffix}: cannot be decompressed"):
        read(path)


@pytest.mark.parametrize("name", FORMATS)
def test_empty_files_are_refused(tmp_path, name):
    if name == "h5ad":
        pytest.importorskip("anndata")
    path = tmp_path / "empty.any"
    path.write_bytes(b"")
    with pytest.raises(InvalidFile, match=r"empty\.any"):
        read(path, format=name)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InvalidFile, match="expected a file, found a folder"):
        read(tmp_path, format="ldac")


def test_bad_counts_name_the_file(tmp_path):
    path = tmp_path / "tiny.mtx"
    path.write_text(MTX.replace("1 3 2", "1 3 -2"))
    with pytest.raises(InvalidFile, match=r"tiny\.mtx: .* found -2 at document 0, feature 2"):
        read(path)


@pytest.mark.parametrize(
    "content",
    ["doc,cat,dog\na,3,1\nb,0,4\nc,2,2\n", "doc,word,count\na,cat,3\na,dog,1\nb,dog,4\n"],
)
def test_plain_counts_are_read_like_a_fit_of_such(tmp_path, content):
    path = tmp_path / "counts.csv"
    path.write_text(content)
    counts = dcomp.read(path)
    fit = dcomp.DCA(1, verbose=0, max_iter=2, tol=0).fit(counts).fit_
    assert dcomp.read(path, like=fit) == dcomp.read(path, like=counts) == counts
    with pytest.raises(InvalidParameter, match="like must be a fit or counts; found 3"):
        dcomp.read(path, like=3)
    texts = tmp_path / "texts.txt"
    texts.write_text("a cat\na dog\n")
    with pytest.raises(InvalidParameter, match=r"from text, for it .* this was not: Fit\(DM"):
        dcomp.read(texts, like=fit)
    assert dcomp.read(path, like=dcomp.read(texts)) == counts

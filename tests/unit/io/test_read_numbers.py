"""Files of numbers: docword, lda-c, Matrix Market, npz; fast when good, precise when bad."""

import contextlib
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import io as scipy_io
from scipy import sparse

from dcomp.data import Counts
from dcomp.errors import InvalidFile
from dcomp.io import files, ldac, read
from dcomp.io.numbers import is_whole, parse_lines

tables = hnp.arrays(
    np.int64,
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    elements=st.sampled_from([0, 0, 1, 2, 17, 2**31 - 1]),
)


def as_docword(table):
    rows, columns = np.nonzero(table)
    lines = [f"{i + 1} {j + 1} {table[i, j]}" for i, j in zip(rows, columns, strict=True)]
    return "\n".join([str(table.shape[0]), str(table.shape[1]), str(len(lines)), *lines]) + "\n"


def as_ldac(table):
    lines = []
    for row in table:
        pairs = [f"{j}:{row[j]}" for j in np.flatnonzero(row)]
        lines.append(" ".join([str(len(pairs)), *pairs]))
    return "\n".join(lines) + "\n"


@given(tables, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_round_trips(tmp_path_factory, table, chunk):
    folder = tmp_path_factory.mktemp("numbers")
    words = [f"w{j}" for j in range(table.shape[1])]
    (folder / "t.txt").write_text(as_docword(table))
    (folder / "t.dat").write_text(as_ldac(table))
    scipy_io.mmwrite(folder / "t.mtx", sparse.coo_array(table))
    sparse.save_npz(folder / "t.npz", sparse.csr_array(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK", chunk)
        for name in ("t.txt", "t.dat", "t.mtx", "t.npz"):
            counts = read(folder / name, vocab=words)
            assert np.array_equal(counts.to_scipy().toarray(), table), name
            assert counts.features.names == tuple(words)


@pytest.mark.parametrize(
    ("docword", "vocab"),
    [
        ("docword.kos.txt", "vocab.kos.txt"),
        ("docword.kos.txt.gz", "vocab.kos.txt"),
        ("docword.kos.txt.gz", "vocab.kos.txt.gz"),
        ("corpus.docword.txt", "corpus.vocab.txt"),
    ],
)
def test_docword_finds_its_vocabulary(tmp_path, docword, vocab):
    for name, content in ((docword, "1\n2\n1\n1 2 3\n"), (vocab, "one\ntwo\n")):
        pack = gzip.compress if name.endswith(".gz") else bytes
        (tmp_path / name).write_bytes(pack(content.encode()))
    assert read(tmp_path / docword).features.names == ("one", "two")
    (tmp_path / "other").write_text("eins\r\nzwei")
    assert read(tmp_path / docword, vocab=tmp_path / "other").features.names == ("eins", "zwei")


def test_ldac_finds_its_vocabulary(tmp_path):
    (tmp_path / "a.dat").write_text("1 1:3\n\n0\n")
    assert read(tmp_path / "a.dat").shape == (2, 2)
    (tmp_path / "vocab.txt").write_text("x\ny\nz\n")
    counts = read(tmp_path / "a.dat")
    assert counts.features.names == ("x", "y", "z")
    assert counts.doc_totals.tolist() == [3, 0]
    (tmp_path / "vocab.txt").write_text("x\n")
    with pytest.raises(InvalidFile, match=r"a\.dat: terms must be below 1, .*vocab\.txt; found 1"):
        read(tmp_path / "a.dat")
    (tmp_path / "vocab.txt").write_text("x\ny\nx\n")
    with pytest.raises(InvalidFile, match=r"vocab\.txt:3: .*'x' is on line 1 too"):
        read(tmp_path / "a.dat")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("2\n3\n", ":3: expected the number of entries, found ''"),
        ("2\nx\n1\n1 1 1\n", ":2: expected the number of words, found 'x'"),
        ("2\n3\n2\n1 1 1\n", ":3: the header promises 2 entries, the file holds 1"),
        ("2\n3\n2\n1 1 1\n1 2\n", ":5: expected 'document word count', found '1 2'"),
        ("2\n3\n2\n1 1\n1 2 2 2\n", ":4: expected 'document word count', found '1 1'"),
        ("2\n3\n1\n1 1 a\n", ":4: expected 'document word count', found '1 1 a'"),
        ("2\n3\n1\n1 1:2\n", ":4: expected 'document word count', found '1 1:2'"),
        ("2\n3\n1\n1 1 1.5\n", ":4: expected 'document word count', found '1 1 1.5'"),
        ("2\n3\n2\n1 1 1\n1 1 -1\n", ":5: expected 'document word count', found '1 1 -1'"),
        ("2\n3\n1\n3 1 1\n", ":4: document must be between 1 and 2, found 3"),
        ("2\n3\n1\n0 1 1\n", ":4: document must be between 1 and 2, found 0"),
        ("2\n3\n1\n1 0 1\n", ":4: word must be between 1 and 3, found 0"),
        ("2\n3\n1\n1 4 1\n", ":4: word must be between 1 and 3, found 4"),
        ("2\n3\n1\n1 1 2147483648\n", ":4: count must be at most 2147483647, found 2147483648"),
        ("0\n3\n0\n", ":1: there must be at least one document"),
        ("2\n0\n0\n", ":1: there must be at least one document and one word"),
        ("1\n1\n2147483647\n", ":3: the header promises 2147483647 entries, the file holds 0"),
        ("1\n1\n2147483648\n", ":3: expected the number of entries, found '2147483648'"),
        ("2\n3\n2\n2 3 1\n0 1 1\n", ":5: document must be between 1 and 2, found 0"),
        ("2\n3\n2\n1 1 1\n3 1 1\n", ":5: document must be between 1 and 2, found 3"),
        ("2\n3\n2\n1 1 1\n1 1 2147483648\n", ":5: count must be at most 2147483647"),
        # Lines at the limits are good: the one after them is named.
        (
            "2\n3\n3\n1 1 0\n2 3 2147483647\n\n1 5 1\n",
            ":7: word must be between 1 and 3, found 5",
        ),
        ("2\n3\n1\n1 1 " + "9" * 5000 + "\n", ":4: expected 'document word count'"),
    ],
)
def test_bad_docword(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(InvalidFile) as error:
        read(path, format="docword")
    assert str(error.value).startswith(f"{path}{message}")


def test_docword_with_other_bytes_or_nothing(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"\xff\xfe2\n3\n1\n1 1 1\n")
    with pytest.raises(InvalidFile, match=r"t\.txt:1: expected the number of documents, found "):
        read(path, format="docword")
    path.write_text("2\n3\n2\n1 1 0\n2 3 4\n")  # a count of 0 is none
    assert read(path).to_scipy().toarray().tolist() == [[0, 0, 0], [0, 0, 4]]
    path.write_text("2\n3\n0\n")
    assert read(path).shape == (2, 3)


def test_docword_vocabulary_of_the_wrong_length(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("1\n2\n1\n1 1 1\n")
    with pytest.raises(
        InvalidFile, match=r"bad\.txt:2: the header promises 2 words, vocab holds 3"
    ):
        read(path, vocab=["a", "b", "c"])


def test_repeated_entries_are_summed_and_checked(tmp_path):
    path = tmp_path / "twice.txt"
    path.write_text("1\n2\n2\n1 1 3\n1 1 4\n")
    assert read(path).data.tolist() == [7]
    path.write_text(f"1\n2\n2\n1 1 {2**31 - 1}\n1 1 1\n")
    with pytest.raises(InvalidFile, match="at most 2147483647; found 2147483648 at document 0"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 0:1\n1 abc\n", ":2: expected 'term:count', found 'abc'"),
        ("1 0:1\n\n2 0:1\n", ":3: expected 2 pairs 'term:count', found 1"),
        ("1 0:1\n1 0:1 2:2\n", ":2: expected 1 pairs 'term:count', found 2"),
        ("1 0:1\nx 0:1\n", ":2: expected the number of terms, found 'x'"),
        ("1 0:1\n1 0 1\n", ":2: expected 'term:count', found '0'"),
        ("1 0:1\n1:0 1\n", ":2: expected the number of terms, found '1:0'"),
        ("1 0:1\n1 0: 1\n", ":2: expected 'term:count', found '0:'"),
        ("1 0:1\n1 0 :1\n", ":2: expected 'term:count', found '0'"),
        ("1 0:1\n1 0::1\n", ":2: expected 'term:count', found '0::1'"),
        ("1 0:1\n1 0:1:\n", ":2: expected 'term:count', found '0:1:'"),
        ("1 0:1\n1 0:-1\n", ":2: expected 'term:count', found '0:-1'"),
        ("1 0:1\n1 0:1.5\n", ":2: expected 'term:count', found '0:1.5'"),
        ("1 0:1\n1 2147483647:1\n", ":2: terms and counts must be at most 2147483647"),
        ("1 0:1\n1 0:2147483648\n", ":2: terms and counts must be at most 2147483647"),
        ("1 0:1\n1 0:\n:1\n", ":2: expected 'term:count', found '0:'"),
        ("1 0:2147483647\n1 0:x\n", ":2: expected 'term:count', found '0:x'"),  # the first is good
        ("0\n0\n", ": there must be at least one document with at least one term"),
    ],
)
def test_bad_ldac(tmp_path, content, message):
    path = tmp_path / "ap.dat"
    path.write_text(content)
    with pytest.raises(InvalidFile) as error:
        read(path)
    assert str(error.value).startswith(f"{path}{message}")


def test_whole_numbers_fit_into_64_bits():
    assert is_whole("9" * 18)
    assert not is_whole("9" * 19)
    assert parse_lines(b"9" * 18 + b"\n").values.tolist() == [10**18 - 1]


@given(st.binary(max_size=40).filter(lambda text: b"\r" not in text))
@settings(max_examples=300, deadline=None)
def test_parse_lines_never_accepts_what_python_refuses(text):
    numbers = parse_lines(text + b"\n")
    if numbers is None:
        return
    fields = text.replace(b":", b" ").split()
    assert numbers.values.size == numbers.per_line.sum() == numbers.after_colon.size
    assert numbers.after_colon.sum() == text.count(b":")
    assert numbers.values.size == len(fields)


@given(st.text(alphabet="0123 :\n-x", max_size=30))
@settings(max_examples=500, deadline=None)
def test_fast_and_slow_agree_on_ldac(text):
    fast = ldac._documents((text + "\n").encode())
    lines = [line for line in text.split("\n") if line.strip()]
    slow_finds_fault = any(ldac._complaint(line) for line in lines)
    assert (fast is None) == slow_finds_fault


MTX = "%%MatrixMarket matrix coordinate integer general\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("hello\n", ":1: expected a line like '%%MatrixMarket matrix"),
        ("%x\n1 2\n", ":1: expected a line like"),
        ("%%MatrixMarket matrix coordinate integer\n1 1 0\n", ":1: expected a line like"),
        (MTX.replace("integer", "complex"), ":1: expected integer or .* found 'complex'"),
        (MTX.replace("general", "skew-symmetric"), ":1: expected general or symmetric"),
        (MTX.replace("matrix", "vector"), ":1: expected matrix, found 'vector'"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n", ":1: an array must hold numbers"),
        (MTX, ":1: the file ends before the line of sizes"),
        (MTX + "% a\n\n", ":3: the file ends before the line of sizes"),
        (MTX + "1 2\n", ":2: expected the numbers of rows, columns and entries, found '1 2'"),
        (MTX + "-1 2 3\n", ":2: expected the numbers of rows"),
        (MTX + "%c\n1 2 x\n", ":3: expected the numbers of rows"),
        (MTX + "3000000000 2 1\n1 1 1\n", ":2: rows and columns must be at most 2147483647"),
        (MTX + "1 2 99999999999999\n", ":2: .* promises 99999999999999 entries, .* holds 0"),
        (MTX + "1 2 5\n1 1 1\n", ":2: the header promises 5 entries, the file holds 1"),
        (MTX + "1 2 1\n1 1 1\n1 2 1\n", ":2: the header promises 1 entries, the file holds 2"),
        (MTX + "1 2 1\n1 x 1\n", ":3: expected 'row column count', found '1 x 1'"),
        (MTX + "1 2 1\n1 2\n", ":3: expected 'row column count', found '1 2'"),
        (MTX + "1 2 1\n1 2 1 1\n", ":3: expected 'row column count'"),
        (MTX + "1 2 1\n1 2-1\n", ":3: expected 'row column count'"),
        (MTX + "1 2 1\n1 2:1\n", ":3: expected 'row column count'"),
        (MTX + "1 2 1\n1 1 \0\n", ":3: expected 'row column count'"),
        (MTX + "2 2 2\n1 2 1\n\n3 1 1\n", ":5: row must be a whole number from 1 to 2, found 3"),
        (MTX + "2 2 1\n1 0 1\n", ":3: column must be a whole number from 1 to 2, found 0"),
        (MTX + "2 2 1\n1.5 1 1\n", ":3: row must be a whole number from 1 to 2, found 1.5"),
        (MTX + "2 2 1\nnan 1 1\n", ":3: row must be a whole number from 1 to 2, found nan"),
        (MTX.replace("general", "symmetric") + "2 3 1\n1 3 1\n", ":2: .* as many rows as columns"),
        ("%%MatrixMarket matrix array real general\n99999 99999\n1\n", ":2: .* 9999800001 ent"),
        (
            "%%MatrixMarket matrix array real general\n1 2\n3\nx\n",
            ":4: expected 'count', found 'x'",
        ),
    ],
)
def test_bad_matrix_market(tmp_path, content, message):
    path = tmp_path / "bad.mtx"
    path.write_text(content)
    number, _, reason = message.removeprefix(":").partition(": ")
    with pytest.raises(
        InvalidFile, match=rf"bad\.mtx:{number}: not a Matrix Market file: .*{reason}"
    ):
        read(path)


@pytest.mark.parametrize("value", ["2147483648", "9" * 30, "-1", "0.5", "nan", "inf"])
def test_matrix_market_values_that_are_no_counts(tmp_path, value):
    path = tmp_path / "bad.mtx"
    path.write_text(MTX + f"1 2 1\n1 2 {value}\n")
    shown = f"{float(value):.15g}".replace("+", r"\+")
    with pytest.raises(InvalidFile, match=rf"counts must be .* found {shown} at document 0"):
        read(path)


@given(st.binary(max_size=60), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_matrix_market_file_does_harm(tmp_path_factory, content, with_banner):
    path = tmp_path_factory.mktemp("any") / "any.mtx"
    path.write_bytes((MTX.encode() if with_banner else b"") + content)
    with contextlib.suppress(InvalidFile):
        read(path)


def test_a_matrix_market_file_cut_short_is_refused(tmp_path):
    path = tmp_path / "cut.mtx"
    table = np.array([[3, 0, 12], [0, 41, 0]])
    scipy_io.mmwrite(path, sparse.coo_array(table), comment="a comment")
    content = path.read_bytes().rstrip(b"\n")
    for size in range(len(content) - 1):  # all but the last digit, whose loss no one can see
        path.write_bytes(content[:size])
        with pytest.raises(InvalidFile, match=r"cut\.mtx:"):
            read(path)
    squeezed = gzip.compress(content)
    packed = tmp_path / "cut.mtx.gz"
    for size in range(len(squeezed) - 1):
        packed.write_bytes(squeezed[:size])
        with pytest.raises(InvalidFile, match=r"cut\.mtx"):
            read(packed)
    path.write_bytes(content)
    assert read(path).to_scipy().toarray().tolist() == table.tolist()


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.coo_array])
def test_matrix_market_is_read_as_scipy_does(tmp_path, kind, field, symmetry):
    table = np.array([[2, 0, 5], [0, 1, 0], [5, 0, 3]])
    if symmetry == "general":
        table[0, 1] = 7
    if field == "pattern":
        table = np.minimum(table, 1)
        kind = sparse.coo_array
    scipy_io.mmwrite(tmp_path / "t.mtx", kind(table), field=field, symmetry=symmetry)
    assert read(tmp_path / "t.mtx").to_scipy().toarray().tolist() == table.tolist()


def test_matrix_market_dense_and_pattern(tmp_path):
    path = tmp_path / "t.mtx"
    path.write_text("%%MatrixMarket matrix array real general\n1 2\n3\n0\n")
    assert read(path).to_scipy().toarray().tolist() == [[3, 0]]
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n")
    assert read(path).to_scipy().toarray().tolist() == [[0, 1]]


def test_npz_refuses_pickles_and_foreign_archives(tmp_path):
    path = tmp_path / "bad.npz"
    for content in ({"a": np.arange(3)}, {"format": np.array([{"evil": 1}], object)}):
        np.savez(path, **content)
        with pytest.raises(InvalidFile, match=r"bad\.npz: not a matrix saved by"):
            read(path)
    path.write_bytes(b"PK nonsense")
    with pytest.raises(InvalidFile, match=r"bad\.npz: not a matrix saved by"):
        read(path)
    matrix = sparse.csr_array(np.array([[1, 2]]))
    np.savez(
        path,
        format=b"csr",
        shape=matrix.shape,
        data=matrix.data,
        indices=np.array([0, 77]),
        indptr=matrix.indptr,
    )
    with pytest.raises(InvalidFile, match=r"bad\.npz: counts must be a well-formed sparse matrix"):
        read(path)


@pytest.mark.realdata
def test_associated_press(real_data):
    counts = read(real_data("ap/ap.dat"))
    assert counts.shape == (2246, 10473)
    assert counts.n_tokens == 435_838
    assert counts.features.names[:2] == ("i", "new")
    assert isinstance(counts, Counts)

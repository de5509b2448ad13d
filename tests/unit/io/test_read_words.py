"""Files of words: tables, plain text, folders of text, JSON lines."""

import lzma

import pytest

from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io import read


def dense(counts):
    return counts.to_scipy().toarray().tolist()


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_long_table(tmp_path):
    path = written(tmp_path / "t.csv", 'd,f,n\nx,"b, c",2\ny,a,1.0\nx,"b, c",3\n\nz,a,0\n')
    counts = read(path)
    assert counts.doc_ids == ("x", "y", "z")
    assert counts.features.names == ("a", "b, c")
    assert dense(counts) == [[0, 5], [1, 0], [0, 0]]
    assert dense(read(written(tmp_path / "two.tsv", "d\tf\nx\ta\nx\ta\n"))) == [[2]]


def test_wide_table(tmp_path):
    path = written(tmp_path / "t.csv", "id,a,b\nx,1,2\ny,0,3\n")
    counts = read(path, layout="wide")
    assert counts.features.names == ("a", "b")
    assert counts.doc_ids == ("x", "y")
    assert dense(counts) == [[1, 2], [0, 3]]
    semicolons = written(tmp_path / "s.csv", "id;a;b;c\nx;0;0;0\n")
    assert dense(read(semicolons, delimiter=";")) == [[0, 0, 0]]


def test_whole_numbers_may_be_written_otherwise(tmp_path):
    largest = [[2**31 - 1, 0, 30]]
    long = written(tmp_path / "t.csv", "d,f,n\nx,a,2147483647.0\nx,b,0.0\nx,c,3e1\n")
    assert dense(read(long)) == largest
    wide = written(tmp_path / "w.csv", "d,a,b,c\nx,2147483647.0,0.0,3e1\n")
    assert dense(read(wide)) == largest


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "d,f,n\nx,a,1\nx,b,-1\n",
            {},
            ":3: counts must be non-negative .* found '-1' in column 'n'",
        ),
        ("d,f,n\nx,a,1\nx,b,\n", {}, ":3: counts must be .* found '' in column 'n'"),
        ("d,f,n\nx,a,1.5\n", {}, ":2: counts must be .* found '1.5'"),
        ("d,f,n\nx,a,nan\n", {}, ":2: counts must be .* found 'nan'"),
        ("d,f,n\nx,a,2147483648\n", {}, ":2: counts must be .* found '2147483648'"),
        # The next two would wrap round to 1 in 32 bits, and in 64.
        ("d,f,n\nx,a,4294967297\n", {}, ":2: counts must be .* found '4294967297'"),
        ("d,a,b\nx,1,18446744073709551617\n", {"layout": "wide"}, "found '18446744073709551617'"),
        ("d,a,b\nx,1,4294967297\n", {"layout": "wide"}, ":2: counts must be .* '4294967297'"),
        ("d,f,n\nx,a,1\ny,b\n", {}, ":3: expected 3 columns, found 2"),
        ("x,a,1\ny,b,2\n", {}, ":1: expected a header"),
        ("d,f,n\n", {}, "at least one line below the header"),
        ("d\nx\n", {}, ":1: expected a header of two or more columns"),
        ("d,a,b,c\nx,1,2,3\ny,1,z,3\n", {}, ":3: counts must be .* found 'z' in column 'b'"),
        ("d,a,b,c\nx,1,-2,3\n", {}, ":2: counts must be .* found '-2' in column 'b'"),
        ("d,a,b,a\nx,1,2,3\n", {}, ":1: feature names must be unique; 'a' appears"),
        ("d,a,b,c\nx,1,2,3\n", {"layout": "long"}, ":1: expected 2 or 3 columns, found 4"),
        (b"d,f,n\nx,a,1\nx,\xff,1\n", {}, ":3: text is not utf-8"),
        ("d,a,b,c\n", {}, "at least one line below the header"),
    ],
)
def test_bad_tables(tmp_path, content, options, message):
    path = written(tmp_path / "bad.csv", content)
    with pytest.raises(InvalidFile, match=r"bad\.csv.*" + message):
        read(path, **options)


def test_bad_table_options(tmp_path):
    path = written(tmp_path / "t.csv", "d,f,n\nx,a,1\n")
    with pytest.raises(InvalidParameter, match="layout must be 'long' or 'wide'; found 'tall'"):
        read(path, layout="tall")
    with pytest.raises(InvalidParameter, match="delimiter must be one character"):
        read(path, delimiter="::")


def test_lines_of_text(tmp_path):
    path = written(tmp_path / "t.txt", "The cat sat.\n\nA dog, a cat!\n")
    counts = read(path)
    assert counts.features.names == ("cat", "dog", "sat")
    assert dense(counts) == [[1, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert read(path, min_docs=2).features.names == ("cat",)
    assert "the" in read(path, stop_words=None).features.names


def test_encodings(tmp_path):
    path = written(tmp_path / "t.txt", "fine\ncafé au lait".encode("latin-1"))
    with pytest.raises(InvalidFile, match=r"t\.txt:2: text is not utf-8"):
        read(path)
    assert "café" in read(path, encoding="latin-1").features.names
    with pytest.raises(InvalidParameter, match="encoding must be a known one; found 'klingon'"):
        read(path, encoding="klingon")


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "sub").mkdir()
    written(tmp_path / "b.txt", "dog\ndog")
    written(tmp_path / "a.txt", "cat")
    written(tmp_path / "sub" / "c.txt", "")
    written(tmp_path / "ignored.md", "mouse")
    counts = read(tmp_path)
    assert counts.doc_ids == ("a", "b", "sub/c")
    assert dense(counts) == [[1, 0], [0, 2], [0, 0]]
    (tmp_path / "void").mkdir()
    with pytest.raises(InvalidFile, match=r"void: the folder holds no \.txt file"):
        read(tmp_path / "void")


def test_json_lines(tmp_path):
    path = written(
        tmp_path / "t.jsonl", '{"id": 7, "text": "cat"}\n\n{"text": "dog cat", "id": "e"}\n'
    )
    counts = read(path)
    assert counts.doc_ids == ("7", "e")
    assert dense(counts) == [[1, 0], [1, 1]]
    other = written(tmp_path / "o.ndjson.xz", lzma.compress(b'{"body": "cat", "key": "k"}'))
    assert read(other, text="body").doc_ids is None
    assert read(other, text="body", id="key").doc_ids == ("k",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"text": \n', ":2: not a JSON object"),
        ('{"text": "aa"}\n[1]\n', ":2: expected an object with text in the field 'text'"),
        ('{"text": 3}\n', ":1: expected an object with text"),
        ('{"txt": "a"}\n', ":1: expected an object with text"),
        ('{"text": "a", "id": 1}\n{"text": "b"}\n', ":2: the field 'id' must be on every line"),
        ('{"text": "a"}\n{"text": "b", "id": 1}\n', ":2: the field 'id' must be on every line"),
        ('{"text": "the"}\n', "no word is left"),
    ],
)
def test_bad_json_lines(tmp_path, content, message):
    path = written(tmp_path / "bad.jsonl", content)
    with pytest.raises(InvalidFile, match=r"bad\.jsonl.*" + message):
        read(path)


@pytest.mark.parametrize("number", ["-2", "0.5", "1e3"])
def test_two_columns_of_numbers_are_no_names(tmp_path, number):
    path = tmp_path / "dense.csv"
    path.write_text(f"a,b\n1,7\n3,{number}\n")
    with pytest.raises(InvalidFile, match=rf"dense\.csv:3: two columns .*'{number}' is no name"):
        read(path)
    path.write_text("document,feature\n1,7\n3, 8 \n")
    assert read(path).n_tokens == 2  # ids of features

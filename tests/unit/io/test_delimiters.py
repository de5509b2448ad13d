"""Tables as spreadsheets write them: what stands between fields, and in which bytes."""

import re

import pytest

import dcomp
from dcomp.errors import InvalidFile

SITES = "Site;Elm;Oak;Ash\nFen;1;2;4\nDyke;2;3;5\n"
TABLE = [[1, 2, 4], [2, 3, 5]]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_header_says_what_stands_between(tmp_path, mark, bom, end):
    file = tmp_path / "t.csv"
    file.write_bytes((bom + SITES.replace(";", mark).replace("\n", end)).encode())
    counts = dcomp.read(file)
    assert counts.features.names == ("Elm", "Oak", "Ash")
    assert counts.doc_ids == ("Fen", "Dyke")
    assert counts.to_scipy().toarray().tolist() == TABLE


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ('Site;"Elm, wych, old, tall";Oak;Ash', ("Elm, wych, old, tall", "Oak", "Ash")),
        ("Site;Elm, wych;Oak;Ash", ("Elm, wych", "Oak", "Ash")),
    ],
)
def test_commas_in_names_between_semicolons(tmp_path, header, names):
    file = tmp_path / "t.csv"
    file.write_text(SITES.replace("Site;Elm;Oak;Ash", header))
    assert dcomp.read(file).features.names == names


@pytest.mark.parametrize(
    "header", ['Site,"Elm; wych; old; tall",Oak,Ash', "Site,Elm; wych; old; tall,Oak,Ash"]
)
def test_semicolons_in_names_between_commas(tmp_path, header):
    file = tmp_path / "t.csv"
    file.write_text(header + "\nFen,1,2,4\nDyke,2,3,5\n")
    assert dcomp.read(file).features.names == ("Elm; wych; old; tall", "Oak", "Ash")


@pytest.mark.parametrize("mark", ["|", ":", "^", "~", " "])
def test_another_mark_is_named_and_can_be_given(tmp_path, mark):
    file = tmp_path / "t.csv"
    file.write_text(SITES.replace(";", mark))
    message = rf"found 'Site.* alone; delimiter={re.escape(repr(mark))} reads fields with "
    for how in ({}, {"format": "votes"}, {"format": "categories"}):
        with pytest.raises(InvalidFile, match=message):
            dcomp.read(file, **how)
    assert dcomp.read(file, delimiter=mark).features.names == ("Elm", "Oak", "Ash")


@pytest.mark.parametrize("title", ["Elms of our 2020", "a|b|c"])
@pytest.mark.parametrize("below", ["", SITES.replace(";", ","), "x\n"])
def test_a_title_is_no_header_with_another_mark(tmp_path, title, below):
    file = tmp_path / "t.csv"
    file.write_text(f"{title}\n{below}")
    with pytest.raises(InvalidFile, match="where this is a title"):
        dcomp.read(file)


@pytest.mark.parametrize("mark", ["tab", "\\t", "\t"])
def test_a_tab_may_be_typed(tmp_path, mark):
    file = tmp_path / "t.csv"
    file.write_text("a, b;c\tElm, wych, old;x;y;z\tOak\nFen\t1\t2\n")
    assert dcomp.read(file, delimiter=mark).features.names[1:] == ("Oak",)


@pytest.mark.parametrize("mark", ["", "ab", '"', "\n", "\r", "\0", 3])
def test_what_parts_no_fields_is_no_delimiter(tmp_path, mark):
    file = tmp_path / "t.csv"
    file.write_text(SITES)
    with pytest.raises(dcomp.InvalidParameter, match="delimiter must be one character"):
        dcomp.read(file, delimiter=mark)


def test_what_is_told_wins(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("Site|Elm;1;2;3\nFen|1\nDyke|2\n")
    counts = dcomp.read(file, delimiter="|", label_columns=1)
    assert counts.features.names == ("Elm;1;2;3",)
    file.rename(tmp_path / "t.tsv")  # a name that says it
    with pytest.raises(InvalidFile, match="two or more columns"):
        dcomp.read(tmp_path / "t.tsv")


def test_texts_votes_and_answers_have_semicolons_too(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id;review;stars\nr1;Good, good cat;5\nr2;Bad dog;1\n")
    counts = dcomp.read(file, text="review", labels="stars")
    assert counts.features.names == ("bad", "cat", "dog", "good")
    assert dcomp.read(file, like=counts) == counts
    file.write_text("name;v1;v2\nAnn;Y;N\nBob;-;Y\n")
    assert dcomp.read(file, format="votes").doc_ids == ("Ann", "Bob")
    file.write_text("who;likes;drinks\nAnn;cats, dogs;tea\nBob;dogs;ale\n")
    answers = dcomp.read(file, format="categories", id="who")
    assert "likes=cats, dogs" in answers.features.labels
    assert dcomp.read(file, like=answers) == answers


@pytest.mark.parametrize("fractional", [False, True])
def test_decimal_commas_are_no_counts(tmp_path, fractional):
    file = tmp_path / "t.csv"
    file.write_text(SITES.replace("Fen;1", "Fen;1,5"))
    with pytest.raises(InvalidFile, match=r"'1,5' in column 'Elm': a decimal comma") as e:
        dcomp.read(file, fractional=fractional)
    assert ("fractional=True" in str(e.value)) != fractional


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "WINDOWS-1252"),
        ("utf-16", "UTF-16:"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
    ],
)
def test_other_encodings_are_named(tmp_path, encoding, name):
    file = tmp_path / "t.csv"
    quote = "’" if encoding == "cp1252" else "è"
    file.write_bytes(SITES.replace("Oak", f"Gen{quote}ve").encode(encoding))
    with pytest.raises(InvalidFile, match=f"t.csv:1: text is not utf-8: .*seems to be {name}"):
        dcomp.read(file)
    with pytest.raises(InvalidFile, match="iconv -f"):
        dcomp.read(file, text="Elm")


@pytest.mark.parametrize("damage", [b"\xff\xc3\xa8", b"\0"])
def test_damage_is_no_encoding(tmp_path, damage):
    file = tmp_path / "t.csv"
    file.write_bytes(SITES.encode() + b"Mere" + damage + b";3;4;5\n")
    with pytest.raises(InvalidFile, match=r"t\.csv:4: text is not utf-8") as e:
        dcomp.read(file)
    assert "seems" not in str(e.value)

"""Tables of two and three columns: long ones, and wide ones of few features."""

import pytest
from unit.io.test_first_column import given

import dcomp
from dcomp.cli.main import main

WARDS = "ward,boys,girls\nA,30,41\nB,12,10\nC,7,5\n"


def test_two_features_are_a_wide_table(tmp_path):
    counts, said = given(tmp_path, WARDS)
    assert counts.features.names == ("boys", "girls")
    assert counts.doc_ids == ("A", "B", "C")
    assert counts.to_scipy().toarray().tolist() == [[30, 41], [12, 10], [7, 5]]
    assert len(said) == 1
    assert "'boys' and 'girls'" in said[0]
    assert counts == given(tmp_path, WARDS, label_columns=1)[0]
    assert given(tmp_path, WARDS, label_columns=1)[1] == []


def test_two_lines_of_features_turn(tmp_path):
    counts, _ = given(tmp_path, "gene,t1,t2\nTP53,3,0\nKRAS,1,4\n", transpose=True)
    assert counts.features.names == ("TP53", "KRAS")
    assert counts.to_scipy().toarray().tolist() == [[3, 1], [0, 4]]


def test_three_features_without_ids(tmp_path):
    counts, said = given(tmp_path, "gin,rum,ale\n4,1,1\n1,2,0\n5,3,5\n")
    assert len(said) == 2
    assert counts.doc_ids == ("4", "1", "5")
    counts, said = given(tmp_path, "gin,rum,ale\n4,1,1\n1,2,0\n4,3,5\n", label_columns=0)
    assert counts.features.names == ("gin", "rum", "ale")
    assert said == []


@pytest.mark.parametrize("inside", [WARDS + "A,3,3\n", "ward,boys\nA,30\nB,12\n"])
def test_what_may_be_wide_and_is_read_as_long_is_said(tmp_path, inside):
    counts, said = given(tmp_path, inside)
    assert "12" in counts.features.names
    assert len(said) == 1
    assert "label_columns=1 reads a wide one" in said[0]
    assert counts.reading.layout == "long"
    assert given(tmp_path, inside, layout="long") == (counts, [])
    wide, said = given(tmp_path, inside, label_columns=1)
    assert wide.features.names[0] == "boys"
    assert said == []


@pytest.mark.parametrize(
    "header",
    ["document,feature,count", "user,movie_id,stars", "a,word,b", "a,b,Freq", "person,items,q"],
)
def test_columns_with_the_names_of_long_tables(tmp_path, header):
    counts, said = given(tmp_path, f"{header}\nA,30,41\nB,12,10\n")
    assert counts.features.names == ("12", "30")
    assert said == []
    assert counts.reading is None


@pytest.mark.parametrize("code", ["D1", "007", "99999999999", "1.5", ""])
def test_codes_of_features_are_names(tmp_path, code):
    counts, said = given(tmp_path, f"who,what,much\nA,30,41\nB,{code},10\n")
    assert code in counts.features.names
    assert said == []


def test_new_files_have_the_layout_of_the_first(tmp_path, capsys):
    counts, _ = given(tmp_path, WARDS)
    again, said = given(tmp_path, WARDS + "A,3,3\n", like=counts)
    assert again.features.names == ("boys", "girls")
    assert said == []
    fit, file = tmp_path / "fit.dcomp", tmp_path / "t.csv"
    file.write_text(WARDS)
    assert main(["fit", str(file), "-k", "2", "-q", "-o", str(fit)]) == 0
    assert "--label-columns 1" in capsys.readouterr().err
    file.write_text(WARDS + "A,3,3\n")
    assert main(["transform", str(fit), str(file)]) == 0
    assert "long" not in capsys.readouterr().err


def test_the_rows_looked_at_are_charged(tmp_path):
    inside = "a,b,c\n" + "".join(f"{i},{i % 9},{i % 7}\n" for i in range(3_000))
    with pytest.raises(dcomp.errors.InvalidFile, match="lines would take"):
        given(tmp_path, inside, limits=dcomp.Limits(memory=200_000))

"""What spreadsheets leave in tables: messages say what it is; beside tests/support/wrong_tables."""

import pytest
from unit.io.test_first_column import given

import dcomp
from dcomp.errors import InvalidFile

PONDS = "site,newt,toad,frog\nFen,1,2,3\nMere,2,0,4\n"


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (PONDS.replace("frog", "frog,"), "take the ',' at the end of the header out"),
        (PONDS.replace(",3\n", ",3,\n"), "take the ',' at the end of the line out"),
        ("Ponds of 2020\n" + PONDS, "'Ponds of 2020' alone; where this is a title"),
        ("Ponds, 2020\n" + PONDS, "where this is a title"),
        ("sep=;\n" + PONDS.replace(",", ";"), "take it and all lines above the header out"),
        ("x" * 99 + ",,\n" + PONDS, f"'{'x' * 40}…' alone"),
        (PONDS.replace("2,3", "2 000,3"), "without a mark between them, 2000"),
        (PONDS.replace("2,3", "2'000'000,3"), "without a mark between them, 2000000"),
        (PONDS.replace("newt", "n" * 99).replace("Fen,1", "Fen,q"), f"column '{'n' * 40}…' "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, inside, said):
    with pytest.raises(InvalidFile) as error:
        given(tmp_path, inside)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 330 + len(str(tmp_path))


def test_a_nameless_column_with_counts_is_one(tmp_path):
    counts, _ = given(tmp_path, PONDS.replace("frog", ""))
    assert counts.features.names == ("newt", "toad", "")


@pytest.mark.parametrize(
    ("inside", "n"),
    [
        (PONDS + "Total,3,2,7\n", 1),
        (PONDS + "Total,3,2,8\n", 0),
        (PONDS + "Pond,3,2,7\n", 0),
        ("site,newt,toad,SUM\nFen,1,2,3\nMere,2,0,2\n", 1),
        ("site,newt,toad,Total\nFen,1,2,3\nMere,2,0,2\nTotal:,3,2,5\n", 2),
        ("document,feature,count\na,x,1\na,y,2\na,total,3\nb,x,4\nb,total,4\n", 1),
    ],
)
@pytest.mark.parametrize("fractional", [False, True])
def test_sums_are_seen(tmp_path, inside, n, fractional):
    _, said = given(tmp_path, inside, fractional=fractional)
    assert len(said) == n
    assert all("holds the sums of the others" in line for line in said)


def test_an_empty_file_has_no_header(tmp_path):
    with pytest.raises(InvalidFile, match="found nothing"):
        given(tmp_path, "")
    assert issubclass(InvalidFile, dcomp.DcompError)

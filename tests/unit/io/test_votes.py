"""Votes: Voteview's files and plain tables, and what lies beside them."""

import lzma

import numpy as np
import pytest

import dcomp
from dcomp.errors import DataWarning, InvalidFile, InvalidParameter
from dcomp.io import read
from dcomp.io.calls import Calls

VOTES = "congress,chamber,rollnumber,icpsr,cast_code,prob\n" + "\n".join(
    f"108,Senate,{call},{who},{code},99.0"
    for call, codes in ((1, "169"), (2, "213"), (3, "465"), (4, "178"))
    for who, code in zip((7, 8, 11), codes, strict=True)
)
MEMBERS = """congress,chamber,icpsr,state_abbrev,party_code,bioname,born,nominate_dim1
108,Senate,8,FL,100,"NELSON, Clarence William (Bill)",1942,-0.2
108,Senate,11,NE,100,"NELSON, Earl Benjamin (Ben)",1941,
108,Senate,7,AL,200,"SHELBY, Richard C.",1934,0.447
"""
CALLS = """congress,chamber,rollnumber,date,vote_result,vote_desc,vote_question
108,Senate,1,2003-01-07,Motion Rejected,,On the Motion
108,Senate,2,2003-01-16,Amendment Rejected,To add,On the Amendment
108,Senate,4,2003-01-17,Bill Passed,To pass,On Passage
"""
#           RC1    RC2   RC3   RC4
TABLE = [[1, 0, 1, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1, 0, 0]]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "S108_votes.csv.xz").write_bytes(lzma.compress(VOTES.encode()))
    (tmp_path / "S108_members.csv").write_text(MEMBERS)
    (tmp_path / "S108_rollcalls.csv").write_text(CALLS)
    return tmp_path


def test_voteview_with_what_lies_beside_it(folder):
    counts = read(folder / "S108_votes.csv.xz")
    assert counts.to_scipy().toarray().tolist() == TABLE
    assert counts.doc_ids == ("SHELBY (R-AL)", "NELSON (D-FL)", "NELSON (D-NE)")
    assert counts.features.labels[:3] == ("RC1=yea", "RC1=nay", "RC2=yea")
    assert counts.empty_is_missing
    about = counts.attributes
    assert about["party"].tolist() == ["R", "D", "D"]
    assert about["icpsr"].tolist() == ["7", "8", "11"]
    np.testing.assert_array_equal(about["nominate_dim1"], [0.447, -0.2, np.nan])


def test_the_outcome_votes_as_the_file_says_else_as_the_majority(folder):
    votes = folder / "S108_votes.csv.xz"
    counts = read(votes, outcome=True)
    assert counts.doc_ids[-1] == "OUTCOME"
    # RC2 had three yeas and was rejected; of RC3 the file says nothing, and all voted nay.
    assert counts.to_scipy().toarray()[-1].tolist() == [0, 1, 0, 1, 0, 1, 1, 0]
    assert counts.attributes["party"].tolist() == ["R", "D", "D", None]
    (folder / "S108_rollcalls.csv").unlink()
    alone = read(votes, outcome=True).to_scipy().toarray()[-1]
    assert alone.tolist() == [0, 1, 1, 0, 0, 1, 1, 0]


def test_unanimous_calls_are_left_out_on_request(folder):
    counts = read(folder / "S108_votes.csv.xz", contested=True)
    assert counts.features.block_names == ("RC1",)
    same = folder / "same_votes.csv"
    same.write_text(VOTES[: VOTES.index("\n") + 1] + "108,Senate,1,7,1,9\n")
    with pytest.raises(InvalidFile, match=r"same_votes\.csv: contested calls .* there is none"):
        read(same, contested=True)


def test_roll_calls_are_the_documents_when_transposed(folder):
    counts = read(folder / "S108_votes.csv.xz", transpose=True, outcome=True)
    assert counts.doc_ids == ("RC1", "RC2", "RC3", "RC4")
    assert counts.features.block_names[-1] == "OUTCOME"
    dense = counts.to_scipy().toarray()
    by_name = dict(zip(counts.features.labels, dense.T.tolist(), strict=True))
    assert by_name["SHELBY (R-AL)=yea"] == [1, 1, 0, 1]
    assert by_name["NELSON (D-NE)=nay"] == [0, 0, 1, 0]
    assert counts.attributes["vote_result"].tolist()[1:3] == ["Amendment Rejected", None]


def test_members_are_named_by_number_where_no_file_names_them(folder):
    (folder / "S108_members.csv").unlink()
    assert read(folder / "S108_votes.csv.xz").doc_ids == ("7", "8", "11")


def test_several_congresses_keep_their_calls_apart(tmp_path):
    path = tmp_path / "HS_votes.csv"
    head = VOTES[: VOTES.index("\n") + 1]
    path.write_text(head + "108,Senate,1,7,1,9\n109,House,1,7,6,9\n")
    assert read(path).features.block_names == ("S108-RC1", "H109-RC1")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("S108_members.csv", MEMBERS, r"members\.csv:1: this is Voteview's file of members"),
        ("S108_rollcalls.csv", CALLS, r"this is Voteview's file of roll calls, which holds no"),
        (
            "x_votes.csv",
            "congress,chamber,rollnumber,icpsr\n108,Senate,1,7\n",
            "cast_code not found among",
        ),
        (
            "y_votes.csv",
            "congress,chamber,rollnumber,icpsr,cast_code\n108,Senate,1,7,\n",
            r"y_votes\.csv:2: .* a cast_code from 0 to 9; found '1', '7' and ''",
        ),
        ("z_votes.csv", "congress,chamber,rollnumber,icpsr,cast_code\n", "at least one line"),
    ],
)
def test_wrong_files_are_told_so(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidFile, match=message):
        read(tmp_path / name)


def test_a_voter_who_is_no_member_is_an_error(folder):
    (folder / "S108_members.csv").write_text(MEMBERS.replace("Senate,11", "Senate,12"))
    with pytest.raises(InvalidFile, match=r"members\.csv: there is no member with icpsr 11"):
        read(folder / "S108_votes.csv.xz")


PLAIN = """lis_id,last_name,party,state,v1,v2,v3
S1,Akaka,D,HI,Y,-,N
S2,Baucus,D,MT,n,P,yea
S3,Allard,R,CO,Nay,Y,absent
"""


def test_plain_votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(PLAIN)
    counts = read(path, format="votes")
    assert counts.doc_ids == ("Akaka (D-HI)", "Baucus (D-MT)", "Allard (R-CO)")
    assert counts.features.block_names == ("v1", "v2", "v3")
    expected = [[1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]]
    assert counts.to_scipy().toarray().tolist() == expected
    assert list(counts.attributes) == ["lis_id", "last_name", "party", "state"]
    assert read(path, format="votes", id="LIS_ID").doc_ids == ("S1", "S2", "S3")
    without = read(path, format="votes", attributes="v1")
    assert without.attributes["v1"].tolist() == ["Y", "n", "Nay"]
    (tmp_path / "rollcalls.csv").write_text("number,passed\n1,1\n2,0\n3,0\n")
    told = read(path, format="votes", outcome=True).to_scipy().toarray()[-1]
    assert told.tolist() == [1, 0, 0, 1, 0, 1]


def test_calls_must_have_names_of_their_own(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("who,v1,v1\nx,Y,N\n")
    with pytest.raises(InvalidFile, match=r"votes\.csv:1: columns must differ .* 'v1' is there"):
        read(path, format="votes", outcome=True)


def test_votes_as_numbers(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("who,a,b\nx,1,0\ny,9,1\nz,,1\n")
    counts = read(path, format="votes")
    assert counts.doc_ids == ("x", "y", "z")
    expected = [[1, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0]]
    assert counts.to_scipy().toarray().tolist() == expected


def test_a_table_without_votes_is_told_so(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("q1,q2\nwell,badly\n")
    with pytest.raises(InvalidFile, match=r"nothing but votes .* the last, 'q2', holds 'badly'"):
        read(path, format="votes")
    with pytest.raises(InvalidParameter, match="option 'codes' has no effect on the format"):
        read(path, format="votes", codes="q1")


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        ("Amendment Rejected", False),
        ("Motion to Table Failed", False),
        ("Point of Order Not Sustained", False),
        ("Veto Sustained", False),
        ("Point of Order Sustained", True),
        ("Nomination Confirmed", True),
        ("Cloture Motion Agreed to", True),
        ("Veto Overridden", True),
        (1, True),
        (0, False),
        ("Held over", None),
    ],
)
def test_results_are_read_as_they_are_worded(result, passed):
    assert Calls({"RC1": {"vote_result": result}}).passed("RC1") is passed


@pytest.mark.filterwarnings("ignore:.* answers are missing:dcomp.DataWarning")  # on purpose
def test_absence_is_no_exposure_for_models_of_lengths(folder):
    counts = read(folder / "S108_votes.csv.xz")
    fitted = dcomp.DCA(1, model="GP", verbose=0, max_iter=5, tol=0).fit(counts).fit_
    np.testing.assert_array_equal(fitted.exposure, [[1, 1, 1, 1], [1, 1, 1, 0], [0, 1, 1, 0]])
    assert fitted.exposure_rule == "observed"
    np.testing.assert_array_equal(fitted.observe(counts.rows([2])).exposure, [[0, 1, 1, 0]])
    # Each vote that could be cast was cast: a score is one vote per exposure, whoever was absent.
    assert np.ptp(fitted.scores) < 0.2
    plain = dcomp.Counts.from_matrix(counts.to_scipy(), blocks=counts.features.blocks)
    assert dcomp.DCA(1, model="GP", verbose=0, max_iter=5, tol=0).fit(plain).fit_.exposure is None


@pytest.mark.realdata
def test_the_senate_of_2003_in_both_formats(data_folder):
    voteview = read(data_folder / "senate2003" / "S108_votes.csv.xz", outcome=True)
    plain = read(data_folder / "senate2003" / "votes.csv", format="votes", outcome=True)
    assert plain.shape == (101, 918)
    assert voteview.features.n_blocks == 675
    # The first 459 calls are those of 2003, and both files say how each ended.
    ours = voteview.to_scipy()[[-1]].toarray()[0, :918]
    assert np.array_equal(ours, plain.to_scipy()[[-1]].toarray()[0])
    assert int(ours[0::2].sum()) == 267


def test_votes_in_other_words_are_answers(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("name,v1,v2\nAnn,Ja,Nein\nBob,abwesend,Ja\nCy,Nein,Nein\n")
    with pytest.raises(dcomp.InvalidFile, match=r"format='categories' takes .* missing="):
        dcomp.read(file, format="votes")
    counts = dcomp.read(file, format="categories", id="name", missing="abwesend")
    assert counts.features.labels == ("v1=Ja", "v1=Nein", "v2=Ja", "v2=Nein")


def _with_a_slip(cell, votes=("yes", "no", "abs", "yes", "no", "yes")):
    lines = [f"m{i},{vote},{vote}" for i, vote in enumerate(votes)]
    return "\n".join(["name,v1,v2", *lines, f"last,{votes[0]},{cell}"]) + "\n"


def test_a_vote_that_is_none_is_an_error_which_names_its_place(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(_with_a_slip("yess"))
    message = (
        r"votes\.csv: row 7 below the header, column 'v2': 'yess' is no vote, and 6 of its 7 "
        r"filled cells are: .* named by attributes='v2'"
    )
    with pytest.raises(InvalidFile, match=message):
        read(path, format="votes")
    counts = read(path, format="votes", attributes="v2")
    assert counts.features.block_names == ("v1",)
    assert counts.attributes["v2"].tolist()[-1] == "yess"
    path.write_text(_with_a_slip(""))
    assert read(path, format="votes").features.block_names == ("v1", "v2")


def test_a_code_that_is_none_leaves_a_line(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(_with_a_slip("6", "101010"))
    with pytest.warns(DataWarning, match=r"column 'v2' is an attribute .* for '6' is no vote"):
        assert read(path, format="votes").features.block_names == ("v1",)
    read(path, format="votes", attributes="v2")  # without a word
    many = "\n".join(f"n{i},1,{i}" for i in range(2, 20))
    path.write_text(_with_a_slip("6", "101010" * 6) + many)
    with pytest.warns(DataWarning, match=r"column 'v2' is an attribute .* for '6' is no vote"):
        assert read(path, format="votes").features.block_names == ("v1",)
    path.write_text(_with_a_slip("l", "101010"))
    with pytest.raises(InvalidFile, match=r"row 7 .* 'l' is no vote"):
        read(path, format="votes")


def test_words_that_are_only_now_and_then_votes_are_attributes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("name,region,v1\nAnn,N,Y\nBob,N,N\nCy,S,Y\n")
    assert list(read(path, format="votes").attributes) == ["name", "region"]


def _coded(n_calls, n_rows=30, codes="129", odd=()):
    """A table of votes by these codes; calls by number that have none but the first and last."""
    rng = np.random.default_rng(0)
    table = rng.choice(list(codes), (n_rows, n_calls))
    table[:, list(odd)] = rng.choice([codes[0], codes[-1]], (n_rows, len(odd)))
    rows = [f"M{i},{'DR'[i % 2]},{','.join(row)}" for i, row in enumerate(table)]
    head = ",".join(f"v{j}" for j in range(n_calls))
    return f"name,party,{head}\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(("n_calls", "odd"), [(200, range(10)), (12, (3, 7)), (5, ()), (9, (0, 8))])
def test_codes_of_another_kind_in_most_columns_are_an_error(tmp_path, n_calls, odd):
    """Where a few calls happen to have none of them, those would be all that is fitted."""
    path = tmp_path / "votes.csv"
    path.write_text(_coded(n_calls, odd=odd))
    n_odd = n_calls - len(odd)
    first = next(j for j in range(n_calls) if j not in odd)
    message = (
        rf"votes\.csv:1: a roll call is a column of Y and N, or of 1 and 0, .* {n_odd} columns are "
        rf"none, for '2' stands in them, and {len(odd)} are: column 'v{first}' holds '.', '.', '.'"
        r".* attributes= .* format='categories', codes='all', attributes= .* missing="
    )
    with pytest.raises(InvalidFile, match=message):
        read(path, format="votes")
    how = {"codes": "all", "attributes": "party", "missing": "9", "id": "name"}
    assert read(path, format="categories", **how).features.n_blocks == n_calls


def test_fewer_columns_of_other_codes_are_counted(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(_coded(12, odd=range(7)))
    with pytest.warns(DataWarning, match=r"5 columns are left out .* '2' is .*; 'v7' is the first"):
        assert read(path, format="votes").features.n_blocks == 7


def test_a_table_of_counts_is_none_of_votes(tmp_path):
    path = tmp_path / "counts.csv"
    table = np.random.default_rng(0).poisson(np.linspace(0.01, 40, 60), (40, 60))
    head = ",".join(f"taxon{j}" for j in range(60))
    path.write_text(f"site,{head}\n" + "".join(f"s,{','.join(map(str, r))}\n" for r in table))
    with pytest.raises(
        InvalidFile, match=r"columns are none.* and \d are: column 'taxon\d+' holds"
    ):
        read(path, format="votes")
    large = np.arange(45 * 40).reshape(40, 45) + 10  # no value comes twice
    head = ",".join(f"gene{j}" for j in range(45))
    lines = "".join(f"c,Y,{','.join(map(str, row))}\n" for row in large)
    path.write_text(f"cell,v1,{head}\n{lines}")
    with pytest.raises(InvalidFile, match=r"46 columns are none and 1 are: column 'gene44' holds"):
        read(path, format="votes")


def test_members_may_have_more_attributes_than_votes(tmp_path):
    path = tmp_path / "votes.csv"
    about = ",".join(f"about{j}" for j in range(30))
    rows = [",".join(f"{j}-{i % 4}" for j in range(30)) for i in range(8)]
    votes = "\n".join(f"M{i},{row},{'YN'[i % 2]}" for i, row in enumerate(rows))
    path.write_text(f"name,{about},v1\n{votes}\n")
    assert read(path, format="votes").features.block_names == ("v1",)


@pytest.mark.parametrize("n_calls", [0, 3])
def test_a_table_on_its_side_is_told_so(tmp_path, n_calls):
    """Members are columns where one row has a word in all of them; votes else."""
    path = tmp_path / "votes.csv"
    calls = ["RC1," + "Y,N,-,Y,N,Y,N,Y", "RC2," + "N,N,Y,Y,Y,N,-,Y", "RC3," + "Y,Y,Y,N,N,N,Y,N"]
    party = "party," + ",".join(
        ["Y"] * n_calls + ["Lab", "Con", "LD", "Lab", "Con"][n_calls and 1 :]
    )
    members = [f"M{j}" for j in range(party.count(","))]
    calls = [",".join(call.split(",")[: len(members) + 1]) for call in calls]
    path.write_text("\n".join([",".join(["call", *members]), calls[0], party, *calls[1:]]) + "\n")
    message = (
        r"seems to lie on its side: row 2 below the header holds a word in \d columns .* 'M\d'"
    )
    with pytest.raises(InvalidFile, match=message):
        read(path, format="votes")


def test_a_delimiter_is_asked_of_the_roll_calls_too(tmp_path):
    from dcomp.use.rollcall import read_votes_with_calls

    path = tmp_path / "votes.csv"
    path.write_text(PLAIN.replace(",", "|"))
    (tmp_path / "rollcalls.csv").write_text("number,passed,vote_desc\n1,1,To adjourn\n2,0,\n3,0,\n")
    counts, calls = read_votes_with_calls(path, delimiter="|")
    assert counts.features.block_names == ("v1", "v2", "v3")
    assert calls.title("v1") == "To adjourn"

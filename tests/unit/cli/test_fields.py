"""Tables of votes and answers in the shell: read, fitted, transformed."""

import json

import pytest

import dcomp

SURVEY = "who,party,age,q1,q2,q3\n" + "".join(
    f"p{i},{'DR'[i % 2]},{20 + i},{'yn'[i % 2]},{'yn'[i % 2]},{'' if i == 3 else 'yn'[i % 3 > 0]}\n"
    for i in range(30)
)
READ = ("--format", "categories", "--id", "who", "--attributes", "party")


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    return path


def test_a_survey_is_fitted_and_transformed(run, survey):
    done = run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "--json", "-q")
    record = json.loads(done.out)
    assert (record["features"], record["documents"], record["tokens"]) == (6, 30, 89)
    done = run("transform", "s.dcomp", survey, *READ)
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("p0,")
    assert run("evaluate", "s.dcomp", survey, *READ, "-q").code == 0
    assert run("diagnose", "s.dcomp", survey, *READ, "-q").code == 0


@pytest.mark.parametrize("command", ["transform", "evaluate", "diagnose", "similar", "show"])
def test_a_fit_remembers_how_its_table_was_read(run, survey, command):
    """Its format, the column of ids and those that are no question."""
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    rest = {"similar": ("p3",), "show": ("--by", "party")}.get(command, ())
    said = run(command, "s.dcomp", survey, *rest, *READ)
    unsaid = run(command, "s.dcomp", survey, *rest)
    assert (unsaid.code, unsaid.out) == (0, said.out)
    assert said.out


def test_a_report_reads_a_survey_as_its_fit_did(run, survey):
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    assert run("report", "s.dcomp", survey, "-o", "r.html").code == 0
    with open("r.html") as page:
        assert "p29" in page.read()


def test_what_is_said_of_a_new_table_wins(run, survey, tmp_path):
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    lines = survey.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0].replace("who", "name"), *lines[1:]]))
    done = run("transform", "s.dcomp", other, "--id", "name")
    assert done.out.splitlines()[1].startswith("p0,")
    done = run("transform", "s.dcomp", survey, "--format", "table")
    assert done.code == 1
    assert "counts must be" in done.err
    dcomp.write(dcomp.read(survey, format="categories", id="who", attributes="party"), "s.mtx")
    assert dcomp.load("s.dcomp").reading.format == "categories"
    assert len(run("transform", "s.dcomp", "s.mtx").out.splitlines()) == 31  # as its name says


def test_a_new_table_need_not_have_the_columns_beside_the_questions(run, survey, tmp_path):
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    new = tmp_path / "new.csv"
    new.write_text("q1,q2,q3\ny,n,y\nn,n,n\n")
    done = run("transform", "s.dcomp", new)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 3


def test_a_turned_table_and_its_label_columns_are_remembered(run, tmp_path):
    table = tmp_path / "types.csv"
    table.write_text("type,bases,t1,t2,t3\nC>A,ACA,9,5,0\nC>A,ACC,1,0,7\nC>T,ACC,4,4,2\n")
    run("fit", table, "-k", 2, "--transpose", "--label-columns", 2, "-o", "t.dcomp", "-q")
    done = run("transform", "t.dcomp", table)
    assert done.code == 0, done.err
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == ["t1", "t2", "t3"]
    assert run("transform", "t.dcomp", table, "--no-transpose").code == 1


def test_a_delimiter_is_named_given_and_remembered(run, tmp_path):
    """The hint can be pasted into a shell."""
    table = tmp_path / "t.csv"
    table.write_text("site|elm|oak|ash\nFen|3|0|1\nDyke|0|4|2\n")
    done = run("fit", table, "-k", 2, "-q")
    assert done.code == 1
    assert "alone; --delimiter '|' reads fields with '|' between them" in done.err
    assert run("fit", table, "-k", 2, "--delimiter", "|", "-o", "t.dcomp", "-q").code == 0
    done = run("transform", "t.dcomp", table)
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == ["Fen", "Dyke"]
    table.write_text(table.read_text().replace("|", " "))
    done = run("fit", table, "-k", 2, "-q", "-o", "u.dcomp")
    assert "alone; --delimiter ' ' reads" in done.err


def test_a_config_file_keeps_how_a_table_was_read(run, survey):
    run("fit", survey, "-k", 2, *READ, "--transpose", "--save-config", "run.toml", "-q")
    with open("run.toml") as stream:
        kept = stream.read()
    assert 'attributes = "party"' in kept
    assert "transpose = true" in kept
    done = run("fit", survey, "--config", "run.toml", "-o", "again.dcomp", "--json", "-q")
    assert json.loads(done.out)["documents"] == 3


def test_components_by_attribute(run, survey):
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    done = run("show", "s.dcomp", survey, *READ, "--by", "PARTY")
    assert "mean shares by PARTY; documents: D 15, R 15" in done.out
    record = json.loads(run("show", "s.dcomp", survey, *READ, "--by", "party", "--json").out)
    of = {group["name"]: group["shares"] for group in record["groups"]}
    assert abs(of["D"][0] - of["R"][0]) > 0.5  # q1 and q2 are the parties' own
    assert sum(of["D"]) == pytest.approx(1)
    ages = json.loads(run("show", "s.dcomp", survey, *READ, "--by", "age", "--json").out)["groups"]
    assert ages[0]["name"] == "20 to 27.25"
    assert " clusters against " in run("show", "s.dcomp", survey, *READ, "--by", "party").out
    assert " clusters against " not in run("show", "s.dcomp", survey, *READ, "--by", "age").out
    assert sum(group["documents"] for group in ages) == 30
    assert run("show", "s.dcomp").out.startswith("Fit(DM, K = 2")


def test_attributes_are_kept_where_asked(run, survey):
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q")
    done = run("show", "s.dcomp", "--by", "party")
    assert done.code == 2
    assert "the fit has kept none: give the documents" in done.err
    run("fit", survey, "-k", 2, *READ, "-o", "s.dcomp", "-q", "--force", "--keep-attributes")
    kept = run("show", "s.dcomp", "--by", "party").out
    assert kept == run("show", "s.dcomp", survey, *READ, "--by", "party").out
    done = run("show", "s.dcomp", "--by", "sex")
    assert done.code == 2
    assert "found 'sex', and there are 'party', 'age'" in done.err
    assert "has no effect without --by" in run("show", "s.dcomp", survey, *READ).err


def test_an_option_of_another_format_is_refused(run, survey):
    done = run("fit", survey, "--format", "table", "--outcome")
    assert done.code == 2
    assert "--outcome has no effect on the format 'table'" in done.err


def test_a_survey_read_as_counts_is_told_the_flag(run, survey):
    done = run("fit", survey, "-k", 2)
    assert done.code == 1
    assert "--format categories reads a table of answers" in done.err
